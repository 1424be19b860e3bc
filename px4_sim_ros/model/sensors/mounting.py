# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An instrument as it is mounted: how it is turned, how high it is and how it moves."""
from __future__ import annotations

import math

from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import (
    cross,
    from_rotation_vector,
    matrix,
    multiply,
    to_world,
)
from px4_sim_ros.model.truth import Truth


def mounting_rotation(roll_pitch_yaw_deg: Vector) -> Quaternion:
    """Return the rotation from sensor into body axes: first roll, then pitch, then yaw."""
    roll, pitch, yaw = (math.radians(angle) for angle in roll_pitch_yaw_deg)
    return multiply(
        from_rotation_vector((0.0, 0.0, yaw)),
        multiply(from_rotation_vector((0.0, pitch, 0.0)), from_rotation_vector((roll, 0.0, 0.0))))


def velocity_flu(truth: Truth, position_m: Vector) -> Vector:
    """Return the velocity of a place on the body: v + w x r, in FLU."""
    x, y, z = cross(truth.rate_flu, position_m)
    vx, vy, vz = truth.velocity_flu
    return vx + x, vy + y, vz + z


def height_m(truth: Truth, rotation: tuple[float, ...], position_m: Vector) -> float:
    """Return how high a place on the body is above home; `rotation` is that of the attitude."""
    x, y, z = position_m
    return truth.position_enu[2] + rotation[6] * x + rotation[7] * y + rotation[8] * z


def plane_along_m(
    ground: Ground, truth: Truth, position_m: Vector, axis: Vector, half_angle_rad: float = 0.0,
) -> float:
    """Return how far ground that is a plane is along an axis of the body, or within a cone, m.

    :param position_m: from where it is seen, FLU
    :param axis: FLU, of length 1
    :param half_angle_rad: of the cone about it
    """
    truth = ground.seen(truth)
    rotation = matrix(truth.attitude)
    off_nadir_rad = math.acos(min(1.0, max(-1.0, -to_world(rotation, axis)[2])))
    return distance_to_ground_m(
        height_m(truth, rotation, position_m), max(0.0, off_nadir_rad - half_angle_rad))


def distance_to_ground_m(height: float, off_nadir_rad: float) -> float:
    """Return how far the ground at height 0 is along a ray, or infinity; negative below it.

    :param off_nadir_rad: the angle between the ray and straight down
    """
    if off_nadir_rad >= math.pi / 2.0:
        return math.inf
    return height / math.cos(off_nadir_rad)
