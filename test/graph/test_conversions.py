"""Core values survive their messages bit by bit, and messages follow the REPs."""
import math
import struct

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock

from px4_sim_ros.convert import measurements as m
from px4_sim_ros.convert import truth as t
from px4_sim_ros.convert.stamps import serialised_stamp_us, set_stamp, stamp_us
from px4_sim_ros.core.dynamics import Truth
from px4_sim_ros.core.geodesy import GeodeticPosition
from px4_sim_ros.core.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.core.sensors.barometer import PressureMeasurement
from px4_sim_ros.core.sensors.gnss import GnssMeasurement
from px4_sim_ros.core.sensors.imu import ImuMeasurement
from px4_sim_ros.core.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.core.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.core.sensors.range_finder import DIRECTIONS, RangeMeasurement
from px4_sim_ros.core.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.mavlink.hil_codec import HilEncoder, StepMeasurements

THIRD = 1.0 / 3.0
TIME_US = 3_600_000_004_000
TRUTH = Truth(
    TIME_US, (THIRD, 2.0, -3.0), (0.5, -0.5, THIRD, 0.1), (4.0, THIRD, 6.0), (0.7, 0.8, THIRD),
    (THIRD, 11.0, 12.0), (13.0, 14.0, THIRD), (800.0, THIRD, 802.0, 803.0))


AIRSPEED = DifferentialPressureMeasurement(TIME_US, 100.0 + THIRD, 1.0 + THIRD)
FLOW = FlowMeasurement(TIME_US, (THIRD, -2.0 * THIRD, 0.0), 20_000)
VISUAL_ODOMETRY = VisualOdometryMeasurement(
    TIME_US, (THIRD, 2.0, -3.0), (0.5, -0.5, THIRD, 0.1), (4.0, THIRD, 6.0), 0.01 * THIRD,
    0.02 * THIRD, 0.03 * THIRD)


def in_32_bits(value):
    """Return what is left of a number in a message of 32-bit floats, as the sensor rounds it."""
    return struct.unpack('<f', struct.pack('<f', value))[0]


def range_measurement(range_m, direction='down'):
    """Return a range as the sensor tells it."""
    return RangeMeasurement(
        TIME_US, *map(in_32_bits, (range_m, 0.01 * THIRD, 0.1, 50.0 + THIRD, 0.2)), direction)


def over_the_wire(message):
    return deserialize_message(serialize_message(message), type(message))


def test_truth_survives_exactly():
    odometry = over_the_wire(t.fill_odometry(t.new_odometry(), TRUTH))
    accel = over_the_wire(t.fill_accel(t.new_accel(), TRUTH))
    assert t.truth_from(odometry, accel) == TRUTH._replace(rotor_speeds_rad_s=())


def test_odometry_has_the_pose_in_map_and_the_twist_in_base_link():
    odometry = t.fill_odometry(t.new_odometry(), TRUTH)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ('map', 'base_link')


@pytest.mark.parametrize('new, fill, read, value', [
    (m.new_imu, m.fill_imu, m.imu_from,
     ImuMeasurement(TIME_US, (THIRD, 2.0, 3.0), (4.0, THIRD, 6.0), 0.01, 0.002)),
    (m.new_magnetic_field, m.fill_magnetic_field, m.magnetic_field_from,
     MagneticFieldMeasurement(TIME_US, (2e-5, THIRD * 1e-5, -4e-5), 1e-14)),
    (m.new_pressure, m.fill_pressure, m.pressure_from,
     PressureMeasurement(TIME_US, 95000.0 + THIRD, 1.0)),
    (m.new_differential_pressure, m.fill_differential_pressure, m.differential_pressure_from,
     AIRSPEED),
    (m.new_flow, m.fill_flow, lambda message: m.flow_from(message, 20_000), FLOW),
    (m.new_visual_odometry, m.fill_visual_odometry, m.visual_odometry_from, VISUAL_ODOMETRY),
])
def test_measurements_survive_exactly(new, fill, read, value):
    assert read(over_the_wire(fill(new(), value))) == value


@pytest.mark.parametrize('range_m', [10.0 + THIRD, math.inf, -math.inf])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_range_survives_exactly(range_m, direction):
    """Its numbers have 32 bits, and its frame, whose x axis is the beam, tells the direction."""
    value = range_measurement(range_m, direction)
    message = over_the_wire(m.fill_range(m.new_range(), value))
    assert message.header.frame_id == f'range_{direction}_link'
    assert m.range_from(message) == value


def test_no_flow_survives():
    """As NaN about x and y."""
    value = FLOW._replace(rate_flu=(math.nan, math.nan, 0.0))
    x, y, z = m.flow_from(over_the_wire(m.fill_flow(m.new_flow(), value)), 20_000).rate_flu
    assert math.isnan(x) and math.isnan(y) and z == 0.0


@pytest.mark.parametrize('rate_flu', [FLOW.rate_flu, (math.nan, math.nan, 0.0)])
@pytest.mark.parametrize('range_m', [10.0 + THIRD, math.inf, -math.inf])
def test_an_autopilot_gets_the_same_bytes_with_and_without_ros(rate_flu, range_m):
    """What the encoder reads of the optional sensors is not changed by their messages."""
    measured = StepMeasurements(
        airspeed=AIRSPEED, range=range_measurement(range_m),
        flow=FLOW._replace(rate_flu=rate_flu), odometry=VISUAL_ODOMETRY)
    airspeed, distance, flow, odometry = (
        over_the_wire(m.OUTPUTS[topic].fill(m.OUTPUTS[topic].new(), value))
        for topic, value in (
            ('airspeed', measured.airspeed), ('range', measured.range),
            ('optical_flow', measured.flow), ('visual_odometry', measured.odometry)))
    received = StepMeasurements(
        airspeed=m.differential_pressure_from(airspeed), range=m.range_from(distance),
        flow=m.flow_from(flow, 20_000), odometry=m.visual_odometry_from(odometry))
    assert HilEncoder().step(TIME_US, received, 0.0, 7) == HilEncoder().step(
        TIME_US, measured, 0.0, 7)


def test_visual_odometry_tells_what_it_knows():
    """Pose in map, velocity in base_link; angular rates are unknown."""
    message = m.fill_visual_odometry(m.new_visual_odometry(), VISUAL_ODOMETRY)
    assert (message.header.frame_id, message.child_frame_id) == ('map', 'base_link')
    pose, twist = (np.reshape(c, (6, 6)) for c in (
        message.pose.covariance, message.twist.covariance))
    assert np.array_equal(pose, np.diag([0.01 * THIRD] * 3 + [0.02 * THIRD] * 3))
    assert np.array_equal(twist, np.diag([0.03 * THIRD] * 3 + [1e6] * 3))


def test_a_fix_survives_in_two_messages():
    value = GnssMeasurement(
        TIME_US, GeodeticPosition(47.1 + THIRD, 8.5, 535.3), (THIRD, -2.0, 0.5), 0.5, 2.0)
    fix = over_the_wire(m.fill_fix(m.new_fix(), value))
    velocity = over_the_wire(m.fill_velocity(m.new_velocity(), value))
    assert m.gnss_from(fix, velocity) == value


def test_the_imu_says_that_it_has_no_orientation():
    """REP-145: the first element of the orientation covariance is -1."""
    assert m.new_imu().orientation_covariance[0] == -1.0


def test_no_covariance_is_all_zero():
    imu = m.fill_imu(m.new_imu(), ImuMeasurement(0, (0, 0, 0), (0, 0, 0), 0.01, 0.002))
    assert np.array_equal(
        np.reshape(imu.linear_acceleration_covariance, (3, 3)), np.diag([0.01] * 3))
    assert np.array_equal(np.reshape(imu.angular_velocity_covariance, (3, 3)), np.diag([0.002] * 3))
    fix = m.fill_fix(m.new_fix(), GnssMeasurement(
        0, GeodeticPosition(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.9, 1.78))
    assert list(np.diag(np.reshape(fix.position_covariance, (3, 3)))) == [0.81, 0.81, 1.78 ** 2]
    assert np.all(np.diag(np.reshape(t.new_odometry().pose.covariance, (6, 6))) > 0.0)


@pytest.mark.parametrize('time_us', [0, 4000, 999_996, 1_000_000, TIME_US])
def test_a_stamp_is_exact_and_readable_without_deserialising(time_us):
    clock = Clock()
    set_stamp(clock.clock, time_us)
    assert stamp_us(clock.clock) == time_us
    assert serialised_stamp_us(serialize_message(clock)) == time_us
    pose = t.fill_pose(t.new_pose(), TRUTH._replace(time_us=time_us))
    assert serialised_stamp_us(serialize_message(pose)) == time_us
