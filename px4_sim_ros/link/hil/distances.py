# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Distances as PX4 gets them, as DISTANCE_SENSOR: of range finders and of a lidar's scan.

Of a scan PX4's collision prevention gets the nearest in each of eight sectors: PX4 takes no
OBSTACLE_DISTANCE on its simulated link. Of DISTANCE_SENSOR it takes ten; which way one looks says
its orientation or its quaternion, and how wide a sector is its horizontal field of view
(SimulatorMavlink.cpp, CollisionPrevention.cpp).
"""
from __future__ import annotations

import math
import struct
import typing

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import UINT8_MAX, UINT16_MAX, UINT32_MAX, saturated
from px4_sim_ros.model.frames import Quaternion, flu_to_frd
from px4_sim_ros.model.own_blocks import SECTORS
from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.sensors.mounting import Mounting
from px4_sim_ros.model.sensors.range_finder import DIRECTIONS, RangeMeasurement
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import Truth

_WIDTH_RAD = math.tau / SECTORS
# PX4 rounds to bins of 5 degrees, and two sectors are to share none.
_FIELD_OF_VIEW_RAD = _WIDTH_RAD - math.radians(5.0)
_FIRST_ID = 10                     # those below are of range finders
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
    '': mavlink.MAV_SENSOR_ROTATION_CUSTOM,        # its quaternion says
}
_NO_QUATERNION: Quaternion = (0.0, 0.0, 0.0, 0.0)
_ALONG = 1e-9                      # of a direction, for one along an axis
# PX4 takes 0 for unknown, and then uses the distance; 1 becomes its 0, which is invalid.
_INVALID_SIGNAL, _PERFECT_SIGNAL = 1, 100

_STAMP = struct.Struct('<iII')
_SCAN, _RANGE = struct.Struct('<7f'), struct.Struct('<5f')
_LENGTH = struct.Struct('<I')


def distance_message(
    m: RangeMeasurement, sensor_id: int = 0, quaternion: Quaternion = _NO_QUATERNION,
) -> mavlink.MAVLink_distance_sensor_message:
    """Return the DISTANCE_SENSOR of a range.

    What is out of range is sent, too, because PX4 wants to hear from the sensor regularly: as
    an invalid signal, with a distance just outside the limits, for the parts of PX4 that look
    only at those.

    :param quaternion: of a direction '', from axes of the sensor into FRD
    """
    smallest = saturated(m.min_range_m * _CM_PER_M, 0, UINT16_MAX - 1)
    largest = saturated(m.max_range_m * _CM_PER_M, 0, UINT16_MAX - 1)
    if math.isfinite(m.range_m):
        distance = saturated(m.range_m * _CM_PER_M, smallest, largest)
    else:
        distance = max(smallest - 1, 0) if m.range_m < 0.0 else largest + 1
    return mavlink.MAVLink_distance_sensor_message(
        m.time_us // _US_PER_MS & UINT32_MAX,
        smallest,
        largest,
        distance,
        mavlink.MAV_DISTANCE_SENSOR_LASER,
        sensor_id,
        _ORIENTATIONS[m.direction],
        saturated(m.variance * _CM2_PER_M2, 0, UINT8_MAX - 1),     # 255 means unknown
        m.field_of_view_rad,
        m.field_of_view_rad,
        quaternion,
        _PERFECT_SIGNAL if math.isfinite(m.range_m) else _INVALID_SIGNAL,
    )


def range_messages(
    data: bytes, mounting: Mounting, truth: Truth, sensor_id: int,
) -> list[mavlink.MAVLink_distance_sensor_message]:
    """Return the DISTANCE_SENSOR of a range finder that is mounted anywhere.

    One that is fixed along an axis of the body has the orientation for it: of a quaternion PX4
    uses the azimuth only.

    :param data: a Range, whose axis is x, as CDR, with its header of four bytes
    """
    time_us, body, at = _after_header(data)
    # Behind the kind of radiation, a byte.
    field_of_view, shortest, longest, distance, variance = _RANGE.unpack_from(
        body, (at + 4) // 4 * 4)
    rotation = mounting.at(truth)
    axis = matrix(rotation)[::3]
    direction = '' if mounting.is_gimbal else next(
        (name for name, along in DIRECTIONS.items() if math.dist(axis, along) < _ALONG), '')
    w, *v = rotation
    return [distance_message(
        RangeMeasurement(time_us, distance, variance, shortest, longest, field_of_view, direction),
        sensor_id, _NO_QUATERNION if direction else (w, *flu_to_frd((v[0], v[1], v[2]))))]


class Scan(typing.NamedTuple):
    """A scan in the axes of the lidar: azimuths to the left."""

    time_us: int
    first_rad: float
    step_rad: float
    min_range_m: float
    max_range_m: float
    ranges_m: np.ndarray


def read_scan(data: bytes) -> Scan:
    """Return the numbers of a LaserScan.

    :param data: as CDR, with its header of four bytes
    """
    time_us, body, at = _after_header(data)
    at = (at + 3) // 4 * 4
    first, _, step, _, _, shortest, longest = _SCAN.unpack_from(body, at)
    at += _SCAN.size
    count, = _LENGTH.unpack_from(body, at)
    return Scan(time_us, first, step, shortest, longest,
                np.frombuffer(body, '<f4', count, at + _LENGTH.size))


def _after_header(data: bytes) -> tuple[int, memoryview, int]:
    """Return the time of a message (us), its bytes, and where those after its header begin."""
    body = memoryview(data)[4:]
    seconds, nanoseconds, size = _STAMP.unpack_from(body)
    return seconds * US_PER_S + nanoseconds // 1000, body, _STAMP.size + size


def sector_messages(
    data: bytes, left_rad: float = 0.0,
) -> list[mavlink.MAVLink_distance_sensor_message]:
    """Return a DISTANCE_SENSOR for each sector that a scan has a ray in.

    A sector in which nothing is near says so with a distance beyond the longest.

    :param data: a LaserScan of a lidar whose z is up
    :param left_rad: how far its x is turned to the left, from ahead
    """
    scan = read_scan(data)
    # To the right, as PX4 counts; the first sector is about ahead.
    azimuths = -(scan.first_rad + left_rad + scan.step_rad * np.arange(len(scan.ranges_m)))
    sectors = np.floor(azimuths / _WIDTH_RAD + 0.5).astype(int) % SECTORS
    messages = []
    for sector in range(SECTORS):
        ranges = scan.ranges_m[sectors == sector]
        ranges = ranges[~np.isnan(ranges)]
        if len(ranges):
            half = 0.5 * sector * _WIDTH_RAD
            message = distance_message(
                RangeMeasurement(scan.time_us, float(ranges.min()), 0.0, scan.min_range_m,
                                 scan.max_range_m, _FIELD_OF_VIEW_RAD, ''),
                _FIRST_ID + sector, (math.cos(half), 0.0, 0.0, math.sin(half)))
            message.vertical_fov = 0.0
            messages.append(message)
    return messages
