# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feet on flat ground at z = 0: a spring, a damper and dry friction at each point.

Friction is a spring from the foot to an anchor on the ground, so that a vehicle at rest
stays where it is instead of creeping. Anchors move between integration steps only; within
one the force is a pure function of the state.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.compiled import compiled
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import to_world
from px4_sim_ros.model.vehicle.sections import ContactModel

_to_world = compiled(to_world)


def contact_constants(
    model: ContactModel, points_m: typing.Sequence[Vector],
) -> dict[str, float]:
    """Return what the functions below need in a record, by name."""
    return {'stiffness_n_m': model.stiffness_n_m, 'damping_n_s_m': model.damping_n_s_m,
            'friction_coefficient': model.friction_coefficient, 'reach_m': reach_m(points_m)}


def no_anchors(feet: int) -> np.ndarray:
    """Return the anchors of feet off the ground, (n, 2): NaN."""
    return np.full((feet, 2), math.nan)


def reach_m(points_m: typing.Sequence[Vector]) -> float:
    """Return the height of the body's origin above which no foot touches the ground."""
    return max((math.dist((0.0, 0.0, 0.0), point) for point in points_m), default=-math.inf)


def resting_height_m(
    model: ContactModel, points_m: typing.Sequence[Vector], weight_n: float,
) -> float:
    """Return the height of the body's origin when it stands level under `weight_n`."""
    sinking = weight_n / (model.stiffness_n_m * len(points_m))
    return -min(z for _, _, z in points_m) - sinking


@compiled
def contact_wrench(
    constants: np.ndarray, points: np.ndarray, anchors: np.ndarray, position: Vector,
    velocity: Vector, rotation: tuple[float, ...], rate_flu: Vector,
) -> tuple[float, float, float, float, float, float]:
    """Return force and torque about the centre of mass, N and N m, both in ENU.

    :param constants: a record with the `contact_constants`
    :param points: (n, 3), the feet in FLU from the body's origin, m
    :param anchors: from `no_anchors` and `move_anchors`
    :param position: of the body's origin in the world, m
    :param velocity: of the body's origin in the world, m/s
    :param rotation: body to world, from `rotation.matrix`
    """
    c = constants[0]
    stiffness, damping = c.stiffness_n_m, c.damping_n_s_m
    x, y, z = position
    ux, uy, uz = velocity
    wx, wy, wz = _to_world(rotation, rate_flu)
    fx = fy = fz = tx = ty = tz = 0.0
    for i in range(len(points)):
        rx, ry, rz = _arm(points, i, rotation)
        depth = -(z + rz)
        if depth <= 0.0:
            continue
        vx = ux + wy * rz - wz * ry
        vy = uy + wz * rx - wx * rz
        vz = uz + wx * ry - wy * rx
        normal = stiffness * depth - damping * vz
        if normal < 0.0:
            normal = 0.0
        px, py = -damping * vx, -damping * vy
        if not math.isnan(anchors[i, 0]):
            px -= stiffness * (x + rx - anchors[i, 0])
            py -= stiffness * (y + ry - anchors[i, 1])
        px, py = _limited(px, py, c.friction_coefficient * normal)
        fx += px
        fy += py
        fz += normal
        tx += ry * normal - rz * py
        ty += rz * px - rx * normal
        tz += rx * py - ry * px
    return fx, fy, fz, tx, ty, tz


@compiled
def move_anchors(
    constants: np.ndarray, points: np.ndarray, anchors: np.ndarray, position: Vector,
    rotation: tuple[float, ...],
) -> None:
    """Set, drag or drop the anchors; call it after each integration step."""
    c = constants[0]
    if position[2] > c.reach_m:
        anchors[:] = math.nan
        return
    for i in range(len(points)):
        rx, ry, rz = _arm(points, i, rotation)
        depth = -(position[2] + rz)
        if depth <= 0.0:
            anchors[i, 0] = anchors[i, 1] = math.nan
            continue
        x, y = position[0] + rx, position[1] + ry
        if math.isnan(anchors[i, 0]):
            anchors[i, 0], anchors[i, 1] = x, y
        # A spring never holds more than friction can: beyond that the foot slides.
        longest = c.friction_coefficient * depth
        dx, dy = _limited(x - anchors[i, 0], y - anchors[i, 1], longest)
        anchors[i, 0], anchors[i, 1] = x - dx, y - dy


@compiled
def _arm(points: np.ndarray, index: int, rotation: tuple[float, ...]) -> Vector:
    """Return where a foot is from the body's origin, in ENU."""
    return _to_world(rotation, (points[index, 0], points[index, 1], points[index, 2]))


@compiled
def _limited(x: float, y: float, limit: float) -> tuple[float, float]:
    """Return (x, y), shortened to `limit` if it is longer."""
    length = math.sqrt(x * x + y * y)
    if length <= limit:
        return x, y
    return x * limit / length, y * limit / length
