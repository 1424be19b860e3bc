# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A scan as PX4 gets it: which way each DISTANCE_SENSOR looks, as PX4 reads it, and how far."""
import array
import math

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink
from sensor_msgs.msg import LaserScan

from px4_sim_ros.link.hil.sectors import read_scan, sector_messages
from px4_sim_ros.messages.cdr import serialised

DISTANCES_M = [10.0, math.inf, 3.0, 4.0, 5.0, 6.0, -math.inf, 8.0]
"""By sector, clockwise from ahead."""


def scan(columns=720):
    """Return a scan with one near ray in each sector, 3 degrees from its middle."""
    message = LaserScan(
        angle_min=-math.pi, angle_increment=math.tau / columns, range_min=0.5, range_max=30.0)
    message.header.stamp.sec, message.header.stamp.nanosec = 7, 250_000_000
    message.header.frame_id = 'lidar2d_link'
    ranges = np.full(columns, 20.0, np.float32)
    ranges[:4] = math.nan
    for sector, distance in enumerate(DISTANCES_M):
        right_deg = 45.0 * sector + 3.0
        index = round((-right_deg + 180.0) % 360.0 / 360.0 * columns)
        if math.isinf(distance):
            near = np.abs((np.degrees(-np.arange(columns) * math.tau / columns + math.pi)
                           - 45.0 * sector + 180.0) % 360.0 - 180.0) < 24.0
            ranges[near] = math.inf
        ranges[index] = distance
    message.ranges = array.array('f', ranges.tobytes())
    return message


def yaw_deg(q):
    """Return what PX4 makes of a quaternion: Eulerf(Quatf(q)).psi()."""
    w, x, y, z = q
    return math.degrees(math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def test_each_sector_has_its_nearest():
    found = sector_messages(serialised(scan()))
    assert len(found) == 8 and len({m.id for m in found}) == 8
    for sector, (m, distance) in enumerate(zip(found, DISTANCES_M)):
        assert yaw_deg(m.quaternion) % 360.0 == pytest.approx(45.0 * sector, abs=1e-6)
        assert m.orientation == mavlink.MAV_SENSOR_ROTATION_CUSTOM
        assert (m.min_distance, m.max_distance, m.time_boot_ms) == (50, 3000, 7250)
        cm = {math.inf: 3001, -math.inf: 49}.get(distance, distance * 100)
        assert m.current_distance == cm
        assert m.signal_quality == (100 if math.isfinite(distance) else 1)
        # PX4's bins of 5 degrees, from the first to the last, are in no other sector's.
        half = math.degrees(m.horizontal_fov) / 2.0
        bins = {b % 72 for b in range(round((45 * sector - half) / 5), round(
            (45 * sector + half) / 5) + 1)}
        assert len(bins) == 9
    assert sum(len(m.quaternion) for m in found) == 32


def test_sectors_without_a_ray_say_nothing():
    message = LaserScan(angle_min=-0.2, angle_increment=0.1, range_min=0.5, range_max=30.0,
                        ranges=array.array('f', [2.0] * 5))
    found, = sector_messages(serialised(message))
    assert found.current_distance == 200 and yaw_deg(found.quaternion) == 0.0


@pytest.mark.parametrize('frame', ['', 'a', 'lidar', 'lidar2d_link'])
def test_a_scan_is_read_whatever_its_frame_is_called(frame):
    message = scan()
    message.header.frame_id = frame
    found = read_scan(serialised(message) + b'\0\0')
    assert found.time_us == 7_250_000 and found.max_range_m == 30.0
    assert np.array_equal(found.ranges_m, np.array(message.ranges, '<f4'), equal_nan=True)
