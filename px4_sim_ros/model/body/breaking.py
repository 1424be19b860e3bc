# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Propellers that break: one that turns and touches something in a scene is off for good.

A rotor is a disc. In a shape it is as spokes and the chords between their ends: so what is thin is
met as well. In a mesh or a height map it is as the ends, in the plane of the ground as a disc. It
is only looked at: there is no force, and what is left has no thrust, no drag and no torque of the
air while the motor runs down.
"""
from __future__ import annotations

import math

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.body.rotors import (
    AXIS_X,
    AXIS_Y,
    AXIS_Z,
    DRAG,
    LEAST_SPEED,
    MAX_SPEED,
    PROFILE,
    RADIUS,
    ROLLING,
    SLOPE,
    STANDING_RAD_S,
)
from px4_sim_ros.model.body.scene_contact import (
    AT_X,
    AT_Y,
    AT_Z,
    COUNT,
    IN_STEP,
    IS_MAP_NEAR,
    IS_MESH_NEAR,
    MOST_BEGUN,
    MOVED_M,
    NEAR,
    OF_SHAPE,
    STEPS,
    distance_m,
    surface_axes,
)
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import to_world
from px4_sim_ros.model.scene import meshes
from px4_sim_ros.model.scene.height_map import height_and_normal, meshes_at
from px4_sim_ros.model.scene.meshes import nearest_of_mesh
from px4_sim_ros.model.scene.shapes import ray_to_shape

_to_world = compiled(to_world)

SPOKES = 12
_NOTHING, _GROUND = -2, -1
"""In place of the number of what is touched."""


@compiled
def break_rotors(
    rotors: np.ndarray, speeds_rad_s: np.ndarray, points: np.ndarray, rows: np.ndarray,
    relief: np.ndarray, touches: np.ndarray, ground: tuple[float, Vector], position: Vector,
    rotation: tuple[float, ...],
) -> None:
    """Take rotors off that touch something; call it after each integration step.

    :param rotors: the table of a RotorSet: what is touched loses its blades and its motor
    :param points: from `foot_table`
    :param rows: from `contact_rows`, where they are now
    :param relief: from `relief_of`
    :param touches: from `no_touches`
    :param ground: the height of the centre of mass over the plane of the ground, m, infinity where
        there is none, and the plane's normal in body axes
    :param position: of the centre of mass, m, ENU
    :param rotation: from body axes into ENU
    """
    near = len(points)
    first = near + 1 + MOST_BEGUN
    for i in range(len(touches) - first):
        if rotors[i, MAX_SPEED] == 0.0 or abs(speeds_rad_s[i]) < STANDING_RAD_S:
            continue
        hub = rotors[i, 0], rotors[i, 1], rotors[i, 2]
        axis = rotors[i, AXIS_X], rotors[i, AXIS_Y], rotors[i, AXIS_Z]
        rx, ry, rz = _to_world(rotation, hub)
        place = position[0] + rx, position[1] + ry, position[2] + rz
        height, (gx, gy, gz) = ground
        along = axis[0] * gx + axis[1] * gy + axis[2] * gz
        touched = _NOTHING
        if height + hub[0] * gx + hub[1] * gy + hub[2] * gz < rotors[i, RADIUS] * math.sqrt(
                max(0.0, 1.0 - along * along)):
            touched = _GROUND
        else:
            touched = _touched(
                rows, relief, touches, near, place, _to_world(rotation, axis), rotors[i, RADIUS])
        if touched == _NOTHING:
            continue
        for column in (SLOPE, PROFILE, DRAG, ROLLING, MAX_SPEED, LEAST_SPEED):
            rotors[i, column] = 0.0
        row = first + i
        touches[row, IN_STEP], touches[row, OF_SHAPE] = touches[near, STEPS], touched
        touches[row, AT_X], touches[row, AT_Y], touches[row, AT_Z] = place
        touches[row, MOVED_M] = 0.0


@compiled
def _touched(
    rows: np.ndarray, relief: np.ndarray, touches: np.ndarray, near: int, hub: Vector,
    axis: Vector, radius: float,
) -> int:
    """Return the number of what a disc touches."""
    turn = surface_axes(axis)
    for k in range(int(touches[near, COUNT])):
        shape = int(rows[k, NEAR])
        if distance_m(rows, shape, hub) < radius and _cuts(rows, shape, hub, turn, radius):
            return shape
    if touches[near, IS_MAP_NEAR] > 0.0:
        for j in range(SPOKES):
            x, y, z = _end(hub, turn, radius, j)
            if z < height_and_normal(relief, x, y)[0]:         # not true for NaN
                return _GROUND
    if touches[near, IS_MESH_NEAR] > 0.0:
        at = meshes_at(relief)
        if nearest_of_mesh(rows, relief, at, hub, radius)[0] >= 0:
            for j in range(SPOKES):
                t, distance, _, _, _ = nearest_of_mesh(
                    rows, relief, at, _end(hub, turn, radius, j), radius)
                if t >= 0 and distance < 0.0:
                    return len(rows) + int(relief[t + meshes.OBJECT])
    return _NOTHING


@compiled
def _end(hub: Vector, turn: tuple[float, ...], radius: float, j: int) -> Vector:
    """Return where a spoke ends, ENU.

    :param turn: from axes whose z is the rotor's into ENU
    """
    angle = j * (math.tau / SPOKES)
    x, y, z = _to_world(turn, (radius * math.cos(angle), radius * math.sin(angle), 0.0))
    return hub[0] + x, hub[1] + y, hub[2] + z


@compiled
def _cuts(
    rows: np.ndarray, shape: int, hub: Vector, turn: tuple[float, ...], radius: float,
) -> bool:
    """Return whether a spoke or a chord between two ends is in a shape."""
    before = _end(hub, turn, radius, SPOKES - 1)
    chord = 2.0 * radius * math.sin(math.pi / SPOKES)
    for j in range(SPOKES):
        end = _end(hub, turn, radius, j)
        if _is_met(rows, shape, end, hub, radius) or _is_met(rows, shape, end, before, chord):
            return True
        before = end
    return False


@compiled
def _is_met(rows: np.ndarray, shape: int, one: Vector, other: Vector, length: float) -> bool:
    """Return whether what is between two places is in a shape, as far as it is not all inside."""
    ray = ((other[0] - one[0]) / length, (other[1] - one[1]) / length,
           (other[2] - one[2]) / length)
    distance: float = ray_to_shape(rows, shape, one, ray)[0]
    return distance <= length
