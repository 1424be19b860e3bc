# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Distances as PX4 gets them: which way each DISTANCE_SENSOR looks, as PX4 reads it."""
import array
import json
import math

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink
from sensor_msgs.msg import LaserScan, Range

from px4_sim_ros.link.hil.distances import range_messages, read_scan, sector_messages
from px4_sim_ros.messages.cdr import serialised
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.own_blocks import OwnBlockRow
from px4_sim_ros.model.sensors.mounting import Mounting
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.step.graph import Graph

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


def test_the_sectors_of_a_lidar_that_is_turned_turn_with_it():
    """By 90 degrees to the left: what is ahead of it is on the left of the vehicle."""
    found = {m.id: m for m in sector_messages(serialised(scan()), math.pi / 2.0)}
    straight = {m.id: m for m in sector_messages(serialised(scan()))}
    for sector in range(8):
        assert found[10 + (sector - 2) % 8].current_distance == (
            straight[10 + sector].current_distance)


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


def distance(angles_rad=(), range_m=12.344, **given):
    """Return the DISTANCE_SENSOR of a range finder on a plane, whose servos have such angles."""
    message = Range(field_of_view=0.125, min_range=0.1, max_range=40.0, range=range_m,
                    variance=4e-4)
    message.header.stamp.sec, message.header.frame_id = 7, 'distance_sensor_link'
    row = OwnBlockRow('distance_sensor', 'px4_sim_ros:DistanceSensor', 'distance',
                      'sensor_msgs/msg/Range', 40_000, (), json.dumps(given))
    still = (0.0, 0.0, 0.0)
    truth = Truth(0, still, (1.0, 0.0, 0.0, 0.0), still, still, still, still, (), (),
                  servo_angles_rad=angles_rad)
    found, = range_messages(
        serialised(message), Mounting.of_block(row, Files().vehicle('plane')), truth, 3)
    return found


@pytest.mark.parametrize('mounting_deg, orientation', [
    ((0, 90, 0), 25), ((0, -90, 0), 24), ((0, 0, 0), 0), ((0, 0, 90), 6), ((0, 0, -90), 2),
    ((0, 0, 180), 12), ((30, 90, 0), 25)])
def test_a_range_finder_along_an_axis_has_its_orientation(mounting_deg, orientation):
    """PX4's estimator takes only those that it calls downward facing."""
    found = distance(mounting_deg=mounting_deg)
    assert (found.orientation, found.quaternion) == (orientation, (0.0,) * 4)
    assert (found.id, found.current_distance, found.time_boot_ms) == (3, 1234, 7000)
    assert (found.min_distance, found.max_distance, found.covariance) == (10, 4000, 4)


def beam_frd(q):
    """Return where a quaternion turns x to: matrix::Quatf(q).rotateVector in PX4."""
    w, x, y, z = q
    return (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y))


def test_any_other_has_a_quaternion_in_frd():
    """Up by 20 and to the right by 30 degrees; PX4 takes the azimuth of it."""
    up, right = math.radians(20.0), math.radians(30.0)
    ahead = (math.cos(up) * math.cos(right), math.cos(up) * math.sin(right), -math.sin(up))
    for found in (
            distance(mounting_deg=(0, -20, -30)),
            distance((right, 0.0, 0.0, up), gimbal_pitch='elevator', gimbal_yaw='rudder')):
        assert found.orientation == mavlink.MAV_SENSOR_ROTATION_CUSTOM
        assert beam_frd(found.quaternion) == pytest.approx(ahead)
        assert yaw_deg(found.quaternion) == pytest.approx(30.0)
    # On a gimbal also where it happens to look along an axis.
    ahead = distance((0.0,) * 4, gimbal_pitch='elevator')
    assert (ahead.orientation, ahead.quaternion) == (100, (1.0, 0.0, 0.0, 0.0))


def test_more_distances_than_px4_takes_are_refused():
    """Ten: two range finders beside the eight sectors of a scan."""
    blocks = rows_of({'': [
        {'class': 'px4_sim_ros:Lidar2d', 'to_autopilot': True},
        *({'class': 'px4_sim_ros:DistanceSensor', 'name': name, 'topic': name, 'to_autopilot': True}
          for name in ('distance', 'other'))]})
    Graph({}, blocks)
    with pytest.raises(ParameterError, match=r'to_autopilot: 11 distances, .* at most 10, as many'):
        Graph({'range_finder': 1}, blocks)
