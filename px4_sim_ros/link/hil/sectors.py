# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A lidar's scan as PX4's collision prevention gets it: the nearest in each of eight sectors.

PX4 takes no OBSTACLE_DISTANCE on its simulated link. Of DISTANCE_SENSOR it takes ten; which way one
looks its quaternion says, and how wide the sector is its horizontal field of view
(SimulatorMavlink.cpp, CollisionPrevention.cpp).
"""
from __future__ import annotations

import math
import struct
import typing

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import UINT16_MAX, UINT32_MAX, saturated
from px4_sim_ros.model.timebase import US_PER_S

SECTORS = 8
_WIDTH_RAD = math.tau / SECTORS
# PX4 rounds to bins of 5 degrees, and two sectors are to share none.
_FIELD_OF_VIEW_RAD = _WIDTH_RAD - math.radians(5.0)
_FIRST_ID = 10                     # those below are of range finders
_CM_PER_M = 1e2
_US_PER_MS = 1000
_INVALID_SIGNAL, _PERFECT_SIGNAL = 1, 100
_STAMP = struct.Struct('<iII')
_NUMBERS = struct.Struct('<7f')
_LENGTH = struct.Struct('<I')


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
    body = memoryview(data)[4:]
    seconds, nanoseconds, size = _STAMP.unpack_from(body)
    at = (_STAMP.size + size + 3) // 4 * 4
    first, _, step, _, _, shortest, longest = _NUMBERS.unpack_from(body, at)
    at += _NUMBERS.size
    count, = _LENGTH.unpack_from(body, at)
    return Scan(seconds * US_PER_S + nanoseconds // 1000, first, step, shortest, longest,
                np.frombuffer(body, '<f4', count, at + _LENGTH.size))


def sector_messages(data: bytes) -> list[mavlink.MAVLink_distance_sensor_message]:
    """Return a DISTANCE_SENSOR for each sector that a scan has a ray in.

    A sector in which nothing is near says so with a distance beyond the longest.

    :param data: a LaserScan of a lidar whose x is ahead and whose z is up
    """
    scan = read_scan(data)
    # To the right, as PX4 counts; the first sector is about ahead.
    azimuths = -(scan.first_rad + scan.step_rad * np.arange(len(scan.ranges_m)))
    sectors = np.floor(azimuths / _WIDTH_RAD + 0.5).astype(int) % SECTORS
    messages = []
    for sector in range(SECTORS):
        ranges = scan.ranges_m[sectors == sector]
        ranges = ranges[~np.isnan(ranges)]
        if len(ranges):
            messages.append(_message(scan, sector, float(ranges.min())))
    return messages


def _message(
    scan: Scan, sector: int, nearest_m: float,
) -> mavlink.MAVLink_distance_sensor_message:
    shortest = saturated(scan.min_range_m * _CM_PER_M, 0, UINT16_MAX - 1)
    longest = saturated(scan.max_range_m * _CM_PER_M, 0, UINT16_MAX - 1)
    is_there = math.isfinite(nearest_m)
    distance = saturated(nearest_m * _CM_PER_M, shortest, longest) if is_there else (
        longest + 1 if nearest_m > 0.0 else max(shortest - 1, 0))
    half = 0.5 * sector * _WIDTH_RAD
    return mavlink.MAVLink_distance_sensor_message(
        scan.time_us // _US_PER_MS & UINT32_MAX, shortest, longest, distance,
        mavlink.MAV_DISTANCE_SENSOR_LASER, _FIRST_ID + sector, mavlink.MAV_SENSOR_ROTATION_CUSTOM,
        0, _FIELD_OF_VIEW_RAD, 0.0, (math.cos(half), 0.0, 0.0, math.sin(half)),
        _PERFECT_SIGNAL if is_there else _INVALID_SIGNAL)
