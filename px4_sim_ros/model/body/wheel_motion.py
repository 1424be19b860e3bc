# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How wheels turn, for viewers and encoders: no force depends on it.

A wheel that is driven turns with its motor, through a differential slower on the inner side of a
turn by as much as the ground is; so one that slips turns as fast as its motor all the same.
Others roll as fast as the ground passes below their point of contact, along their heading; off
the ground they stand, because they have no inertia. A caster heads where its point of contact
goes, and where it went last when it is slow.
"""
from __future__ import annotations

import math

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.body.contact import (
    DIFFERENTIAL_ARM,
    IS_WHEEL,
    RADIUS,
    STANDING_M_S,
    arm,
    heading,
    rim_speed_m_s,
    steered,
)
from px4_sim_ros.model.body.scene_contact import moving_shape, touches_scene, was
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import to_body, to_world
from px4_sim_ros.model.scene.moving import surface_velocity

_to_body = compiled(to_body)
_to_world = compiled(to_world)

_SLOW_M_S = 0.05
"""A caster that is slower keeps its heading: a vehicle that stops springs back a little."""
ROWS = 3
"""Of all wheels: what they have rolled by (rad), how fast they roll, how far left they head."""


def wheel_count(points: np.ndarray) -> int:
    """Return how many of the points of a `foot_table` are wheels."""
    return int(np.count_nonzero(points[:, RADIUS]))


@compiled
def turn_wheels(
    wheels: np.ndarray, points: np.ndarray, rows: np.ndarray, touches: np.ndarray,
    slope: tuple[float, ...], position: Vector, velocity: Vector, rotation: tuple[float, ...],
    rate_flu: Vector, actuators: np.ndarray, duration_s: float,
) -> None:
    """Turn all wheels in place, to the motion at the end of a time.

    By the trapezoidal rule between the speeds before and those now.

    :param wheels: `ROWS` numbers for each, all of one kind together
    :param points: from `foot_table`
    :param rows: shapes in a scene
    :param touches: of the points in a scene
    :param slope: the rotation from axes of the ground into ENU
    :param position: of the centre of mass, m, in axes of the ground
    :param velocity: of the centre of mass, m/s
    :param rotation: from body axes into those of the ground
    :param actuators: speeds of motors and angles of servos
    """
    count = len(wheels) // ROWS
    k = 0
    for i in range(len(points)):
        if points[i, RADIUS] == 0.0:
            continue
        wheels[k] += 0.5 * duration_s * wheels[count + k]
        wheels[count + k], wheels[2 * count + k] = _rolling_and_heading(
            points, i, rows, touches, slope, position, velocity, rotation, rate_flu, actuators,
            wheels[2 * count + k])
        wheels[k] += 0.5 * duration_s * wheels[count + k]
        k += 1


@compiled
def _rolling_and_heading(
    points: np.ndarray, index: int, rows: np.ndarray, touches: np.ndarray,
    slope: tuple[float, ...], position: Vector, velocity: Vector, rotation: tuple[float, ...],
    rate_flu: Vector, actuators: np.ndarray, was_rad: float,
) -> tuple[float, float]:
    """Return how fast a wheel rolls, rad/s, and how far left it heads, rad.

    :param was_rad: where it headed before
    """
    rim_m_s, is_driven = rim_speed_m_s(points, index, actuators)
    ahead, left = steered(points, index, actuators)
    radius = points[index, RADIUS]
    if is_driven:
        if abs(rim_m_s) >= STANDING_M_S:
            rim_m_s -= points[index, DIFFERENTIAL_ARM] * rate_flu[2]
        return rim_m_s / radius, math.atan2(left, ahead)
    if len(touches) and touches_scene(touches, index):
        # Along the body, as the surface below lies.
        passing = _velocity(points, index, velocity, rotation, rate_flu)
        shape = moving_shape(rows, touches, index)
        if shape >= 0:
            x, y, z = _to_body(slope, surface_velocity(rows, shape, was(touches, index)))
            passing = passing[0] - x, passing[1] - y, passing[2] - z
        if points[index, IS_WHEEL]:
            x, y, z = _to_world(rotation, (ahead, left, 0.0))
            return ((passing[0] * x + passing[1] * y + passing[2] * z)
                    / math.sqrt(ahead * ahead + left * left) / radius, math.atan2(left, ahead))
    else:
        passing = _passing_m_s(points, index, position, velocity, rotation, rate_flu)
    if points[index, IS_WHEEL]:
        east, north = heading(points, index, rotation, actuators)
        return (passing[0] * east + passing[1] * north) / radius, math.atan2(left, ahead)
    forward, to_left, _ = _to_body(rotation, passing)
    if forward * forward + to_left * to_left >= _SLOW_M_S * _SLOW_M_S:
        was_rad = math.atan2(to_left, forward)
    return (forward * math.cos(was_rad) + to_left * math.sin(was_rad)) / radius, was_rad


@compiled
def _passing_m_s(
    points: np.ndarray, index: int, position: Vector, velocity: Vector,
    rotation: tuple[float, ...], rate_flu: Vector,
) -> Vector:
    """Return how fast a point of contact passes over the ground; 0 of one that is off it."""
    _, _, rz = arm(points, index, rotation)
    if position[2] + rz >= 0.0:
        return 0.0, 0.0, 0.0
    x, y, _ = _velocity(points, index, velocity, rotation, rate_flu)
    return x, y, 0.0


@compiled
def _velocity(
    points: np.ndarray, index: int, velocity: Vector, rotation: tuple[float, ...],
    rate_flu: Vector,
) -> Vector:
    """Return the velocity of a point of contact, m/s."""
    rx, ry, rz = arm(points, index, rotation)
    wx, wy, wz = _to_world(rotation, rate_flu)
    return (velocity[0] + wy * rz - wz * ry, velocity[1] + wz * rx - wx * rz,
            velocity[2] + wx * ry - wy * rx)
