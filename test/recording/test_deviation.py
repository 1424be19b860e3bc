# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The deviation of two runs against closed forms."""
import math

import bags
import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from px4_sim_ros.recording.analysis.attitudes import angle_rad
from px4_sim_ros.recording.analysis.deviation import GROUPS, deviation
from px4_sim_ros.recording.bag.reader import BagReader

END_US = 400_000
_STORE = get_typestore(Stores.ROS2_JAZZY)


def write_motion(folder, *, end_us=END_US, skip=(), **fill):
    """Write a bag; each of `fill`, by topic without slash, changes a message at a time in s."""
    run = bags.description()
    writer = bags.begin_bag(folder)
    for message in bags.messages_of(run, end_us):
        if message.topic in skip:
            continue
        change = fill.get(message.topic.rpartition('/')[2])
        data = message.data
        if change:
            kind = run.graph.topics[message.topic].type
            fields = _STORE.deserialize_cdr(data, kind)
            change(fields, message.time_us / 1e6)
            data = bytes(_STORE.serialize_cdr(fields, kind))
        writer.write(message.topic, message.time_us, data)
    writer.close()
    return BagReader(folder)


def odometry(position=lambda t: (0.0, 0.0, 0.0), yaw=lambda t: 0.0, velocity=(0.0, 0.0, 0.0),
             rate=(0.0, 0.0, 0.0), sign=1.0):
    """Return a function that writes a motion into an odometry."""
    def fill(message, t):
        p, q = message.pose.pose.position, message.pose.pose.orientation
        v, w = message.twist.twist.linear, message.twist.twist.angular
        p.x, p.y, p.z = position(t)
        q.x, q.y = 0.0, 0.0
        q.w, q.z = sign * math.cos(0.5 * yaw(t)), sign * math.sin(0.5 * yaw(t))
        v.x, v.y, v.z = velocity
        w.x, w.y, w.z = rate
    return fill


@pytest.fixture
def apart(tmp_path):
    def of(one, other, **options):
        return deviation(write_motion(tmp_path / 'one', **one),
                         write_motion(tmp_path / 'other', **other, **options))
    return of


def test_a_run_has_no_deviation_from_itself(apart):
    fill = {'odom': odometry(lambda t: (t, 1.0, 2.0), lambda t: 3.0 * t, (1.0, 2.0, 3.0))}
    found = apart(fill, fill)
    assert list(found.groups) == list(GROUPS)
    assert found.is_none and found.sentence == ''
    for group in found.groups.values():
        assert group.maximum == 0.0 and group.rms == 0.0


def test_positions_drift_apart(apart):
    found = apart({'odom': odometry()}, {'odom': odometry(lambda t: (3.0 * t, -4.0 * t, 0.0))})
    group = found.groups['position']
    times_s = 0.004 * np.arange(1, 101)
    np.testing.assert_allclose(group.time_s, times_s, rtol=1e-12)
    np.testing.assert_allclose(group.values, 5.0 * times_s, rtol=1e-12)
    assert group.maximum == pytest.approx(2.0) and group.maximum_at_s == pytest.approx(0.4)
    assert group.rms == pytest.approx(5.0 * math.sqrt(np.mean(times_s ** 2)))
    assert found.groups['attitude'].maximum == 0.0
    assert not found.is_none and found.sentence == ''


def test_the_maximum_is_where_it_is_first_reached(apart):
    found = apart({'odom': odometry()}, {'odom': odometry(
        lambda t: (1.0 if 0.099 < t < 0.3 else 0.5, 0.0, 0.0))})
    assert found.groups['position'].maximum_at_s == pytest.approx(0.1)


def test_a_turned_attitude_turns_the_velocity_in_the_world(apart):
    """The same velocity in body axes, but one of them flies a quarter turn to the left."""
    found = apart({'odom': odometry(velocity=(2.0, 0.0, 1.0))},
                  {'odom': odometry(yaw=lambda t: 0.5 * math.pi, velocity=(2.0, 0.0, 1.0))})
    assert found.groups['attitude'].maximum == pytest.approx(90.0)
    assert found.groups['velocity'].maximum == pytest.approx(2.0 * math.sqrt(2.0))


def test_the_same_velocity_in_the_world_has_no_deviation(apart):
    found = apart({'odom': odometry(velocity=(2.0, 0.0, 1.0))},
                  {'odom': odometry(yaw=lambda t: 0.5 * math.pi, velocity=(0.0, -2.0, 1.0))})
    assert found.groups['velocity'].maximum == pytest.approx(0.0, abs=1e-12)


def rolling(rate_rad_s):
    """Return a function that writes a roll at a constant rate into an odometry."""
    def fill(message, t):
        odometry()(message, t)
        q = message.pose.pose.orientation
        q.w, q.x, q.z = math.cos(0.5 * rate_rad_s * t), math.sin(0.5 * rate_rad_s * t), 0.0
    return fill


@pytest.mark.parametrize('one, other, who', [(0.0, 10.0, 'other'), (10.0, 3.0, 'one')])
def test_the_one_that_turns_over_is_told(one, other, who, apart, tmp_path):
    """At 10 rad/s the tilt passes 90 deg after pi / 20 s; at 3 rad/s it stays below."""
    found = apart({'odom': rolling(one)}, {'odom': rolling(other)})
    assert found.sentence == f'the vehicle of {tmp_path / who} has turned over at t = 0.160 s'


def test_two_that_turn_over_are_no_difference(apart):
    assert apart({'odom': rolling(10.0)}, {'odom': rolling(9.0)}).sentence == ''


def test_rates_are_compared_in_body_axes(apart):
    found = apart({'odom': odometry(rate=(0.0, 0.3, 0.0))},
                  {'odom': odometry(yaw=lambda t: 1.0, rate=(0.4, 0.3, 0.0))})
    assert found.groups['rate'].maximum == pytest.approx(0.4)
    assert found.groups['rate'].rms == pytest.approx(0.4)


def test_a_quaternion_and_its_negative_are_one_attitude(apart):
    found = apart({'odom': odometry(yaw=lambda t: 1.0)},
                  {'odom': odometry(yaw=lambda t: 1.0, sign=-1.0)})
    assert found.groups['attitude'].maximum == 0.0


@pytest.mark.parametrize('angle', [1e-12, 1e-6, 0.1, 1.0, 3.0, math.pi])
def test_angles_keep_their_precision(angle):
    one = np.array([[0.5, 0.5, -0.5, 0.5]])
    turn = np.array([math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0])
    (a, b, c, d), (w, _, y, _) = one[0], turn
    other = np.array([[a * w - c * y, b * w - d * y, c * w + a * y, d * w + b * y]])
    assert angle_rad(one, other)[0] == pytest.approx(angle, rel=1e-3 if angle < 1e-9 else 1e-7)


def test_rotors_and_battery(apart):
    def rotors(speeds):
        def fill(message, t):
            message.velocity = np.array(speeds)
        return fill

    def battery(voltage, charge):
        def fill(message, t):
            message.voltage, message.charge = voltage, charge
        return fill

    found = apart({'joint_states': rotors([700.0, 800.0]), 'battery_state': battery(12.0, 4.0)},
                  {'joint_states': rotors([690.0, 830.0]), 'battery_state': battery(12.5, 3.75)})
    assert found.groups['rotor speed'].maximum == 30.0
    assert found.groups['battery voltage'].maximum == 0.5
    assert found.groups['battery charge'].rms == 0.25


def test_what_cannot_be_compared_is_left_out(apart):
    """Other rotors, and no battery."""
    def rotors(message, t):
        message.velocity = np.zeros(6)

    def battery(message, t):
        message.voltage = message.charge = math.nan

    found = apart({'joint_states': rotors}, {'battery_state': battery})
    assert list(found.groups) == ['position', 'velocity', 'attitude', 'rate']


def test_the_common_part_is_compared(apart):
    found = apart({'odom': odometry()}, {'odom': odometry(lambda t: (t, 0.0, 0.0))},
                  end_us=100_000)
    assert found.groups['position'].time_s[-1] == pytest.approx(0.1)
    assert found.groups['position'].maximum == pytest.approx(0.1)


def test_runs_without_common_times_have_no_groups(apart):
    assert apart({}, {}, end_us=0).groups == {}
