# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The messages of sensors that not every vehicle has: distance, optical flow, odometry.

What PX4 makes of each field was read from its sources: SimulatorMavlink.cpp, which takes the
messages, VehicleOpticalFlow.cpp and EKF2.
"""
from __future__ import annotations

import math

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import UINT8_MAX, UINT16_MAX, UINT32_MAX, float32, saturated
from px4_sim_ros.model.frames import enu_to_ned, flu_to_frd, quaternion_enu_flu_to_ned_frd
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.sensors.range_finder import RangeMeasurement
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.model.timebase import US_PER_S

_CM_PER_M = 1e2
_CM2_PER_M2 = 1e4
_US_PER_MS = 1000

# As PX4 reads them. Turns are right-handed about FRD axes, so a yaw of 90 degrees is to the
# right; the text of DISTANCE_SENSOR has left and right the other way round.
_ORIENTATIONS = {
    'forward': mavlink.MAV_SENSOR_ROTATION_NONE,
    'backward': mavlink.MAV_SENSOR_ROTATION_PITCH_180,
    'left': mavlink.MAV_SENSOR_ROTATION_YAW_270,
    'right': mavlink.MAV_SENSOR_ROTATION_YAW_90,
    'up': mavlink.MAV_SENSOR_ROTATION_PITCH_90,
    'down': mavlink.MAV_SENSOR_ROTATION_PITCH_270,
}
# PX4 takes 0 for unknown, and then uses the distance; 1 becomes its 0, which is invalid.
_INVALID_SIGNAL, _PERFECT_SIGNAL = 1, 100
_NO_QUATERNION = (0.0, 0.0, 0.0, 0.0)

_NO_FLOW, _BEST_FLOW = 0, 255
_UNKNOWN_DISTANCE_M = -1.0

_BEST_ODOMETRY = 100


def distance_message(m: RangeMeasurement) -> mavlink.MAVLink_distance_sensor_message:
    """Return the DISTANCE_SENSOR of a range.

    What is out of range is sent, too, because PX4 wants to hear from the sensor regularly: as
    an invalid signal, with a distance just outside the limits, for the parts of PX4 that look
    only at those.
    """
    smallest = saturated(m.min_range_m * _CM_PER_M, 0, UINT16_MAX)
    largest = saturated(m.max_range_m * _CM_PER_M, 0, UINT16_MAX)
    if math.isfinite(m.range_m):
        distance = saturated(m.range_m * _CM_PER_M, smallest, largest)
    else:
        distance = max(smallest - 1, 0) if m.range_m < 0.0 else min(largest + 1, UINT16_MAX)
    return mavlink.MAVLink_distance_sensor_message(
        m.time_us // _US_PER_MS & UINT32_MAX,
        smallest,
        largest,
        distance,
        mavlink.MAV_DISTANCE_SENSOR_LASER,
        0,
        _ORIENTATIONS[m.direction],
        saturated(m.variance * _CM2_PER_M2, 0, UINT8_MAX - 1),     # 255 means unknown
        m.field_of_view_rad,
        m.field_of_view_rad,
        _NO_QUATERNION,
        _PERFECT_SIGNAL if math.isfinite(m.range_m) else _INVALID_SIGNAL,
    )


def flow_message(m: FlowMeasurement) -> mavlink.MAVLink_hil_optical_flow_message:
    """Return the HIL_OPTICAL_FLOW of a flow: its angles over the period.

    Without a gyro of the camera (NaN) PX4 integrates its own over the same time; with the
    distance unknown it takes that of a range finder that looks down. No flow is sent as zero
    with quality 0: PX4 would drop a NaN together with the quality.
    """
    x, y, _ = flu_to_frd(m.rate_flu)
    is_valid = math.isfinite(x) and math.isfinite(y)
    period_s = m.period_us / US_PER_S
    return mavlink.MAVLink_hil_optical_flow_message(
        m.time_us,
        0,
        m.period_us,
        float32(x * period_s) if is_valid else 0.0,
        float32(y * period_s) if is_valid else 0.0,
        math.nan,
        math.nan,
        math.nan,
        0,
        _BEST_FLOW if is_valid else _NO_FLOW,
        0,
        _UNKNOWN_DISTANCE_M,
    )


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
