# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pose and velocity that a camera's program has found, as PX4 gets them."""
from __future__ import annotations

import math
import struct

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import float32
from px4_sim_ros.model.frames import enu_to_ned, flu_to_frd, quaternion_enu_flu_to_ned_frd
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.model.timebase import US_PER_S

_BEST_ODOMETRY = 100
_STAMP = struct.Struct('<iI')
_LENGTH = struct.Struct('<I')
# Place, quaternion and covariance of the pose; velocity, rate and covariance of the twist.
_NUMBERS = struct.Struct('<3d4d36d3d3d36d')
_ANGULAR = 21                      # of a covariance, the first on its diagonal that is of a turn


def read_odometry(data: bytes) -> VisualOdometryMeasurement:
    """Return the numbers of an Odometry.

    :param data: as CDR, with its header of four bytes
    """
    body = memoryview(data)[4:]
    seconds, nanoseconds = _STAMP.unpack_from(body)
    at = _STAMP.size
    for _ in range(2):             # the names of both frames
        size, = _LENGTH.unpack_from(body, at := (at + 3) // 4 * 4)
        at += _LENGTH.size + size
    n = _NUMBERS.unpack_from(body, (at + 7) // 8 * 8)
    place, (x, y, z, w), pose, velocity, twist = n[:3], n[3:7], n[7:43], n[43:46], n[49:]
    return VisualOdometryMeasurement(
        seconds * US_PER_S + nanoseconds // 1000, place, (w, x, y, z), velocity, pose[0],
        pose[_ANGULAR], twist[0])


def odometry_message(m: VisualOdometryMeasurement) -> mavlink.MAVLink_odometry_message:
    """Return the ODOMETRY of a pose in NED and a velocity in body FRD, without rates."""
    return mavlink.MAVLink_odometry_message(
        m.time_us,
        mavlink.MAV_FRAME_LOCAL_NED,
        mavlink.MAV_FRAME_BODY_FRD,
        *map(float32, enu_to_ned(m.position_enu)),
        [float32(v) for v in quaternion_enu_flu_to_ned_frd(m.attitude)],
        *map(float32, flu_to_frd(m.velocity_flu)),
        math.nan,
        math.nan,
        math.nan,
        _upper_triangle(m.position_variance, m.attitude_variance),
        _upper_triangle(m.velocity_variance, math.nan),
        0,
        mavlink.MAV_ESTIMATOR_TYPE_VISION,
        _BEST_ODOMETRY,
    )


def _upper_triangle(first: float, last: float) -> list[float]:
    """Return a 6x6 covariance row by row from its diagonal: three equal ones, then three."""
    triangle = [0.0] * 21
    for i in (0, 6, 11):
        triangle[i] = float32(first)
    for i in (15, 18, 20):
        triangle[i] = float32(last)
    return triangle
