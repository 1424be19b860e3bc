# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Core values survive their messages bit by bit, and messages follow the REPs."""
import contextlib
import functools
import math
import struct
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import BatteryState, JointState, Joy, NavSatFix, NavSatStatus
from std_msgs.msg import Empty, Header, String
from visualization_msgs.msg import Marker

from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.link.hil.replies import HilDecoder
from px4_sim_ros.messages import autopilot, codecs
from px4_sim_ros.messages.cdr import serialised
from px4_sim_ros.messages.codec import Encoder
from px4_sim_ros.messages.stamps import serialised_stamp_us, set_stamp, stamp_us
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.faults.autopilot import Sticks
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement
from px4_sim_ros.model.sensors.barometer import PressureMeasurement
from px4_sim_ros.model.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.sensors.range_finder import DIRECTIONS, RangeMeasurement
from px4_sim_ros.model.sensors.visual_odometry import VisualOdometryMeasurement
from px4_sim_ros.model.telemetry import Estimate
from px4_sim_ros.model.truth import BatteryStatus, Truth, WheelMotion, WindSample
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.slot import Input, StampSynchronizer

STEP_US = 4000
THIRD = 1.0 / 3.0
TIME_US = 3_600_000_004_000
TRUTH = Truth(
    TIME_US, (THIRD, 2.0, -3.0), (0.5, -0.5, THIRD, 0.1), (4.0, THIRD, 6.0), (0.7, 0.8, THIRD),
    (THIRD, 11.0, 12.0), (13.0, 14.0, THIRD), (800.0, THIRD, 802.0, 803.0),
    (THIRD, -THIRD, 3.0, -3.0))


IMU = ImuMeasurement(TIME_US, (0, 0, 0), (0, 0, 0), 0.01, 0.002)
GNSS = GnssMeasurement(
    TIME_US, GeodeticPosition(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.9, 1.78)
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


def deserialised(name, data):
    return deserialize_message(data, message_class(graph.TOPICS[name].type))


def sent(name, value, time_us=TIME_US):
    """Return the message of a value as rclpy reads it."""
    return deserialised(name, codecs.encoder(graph.TOPICS[name])(time_us, value))


def received(name, value):
    """Return what is read of the message of a value, the first time and later."""
    data = codecs.encoder(graph.TOPICS[name])(TIME_US, value)
    decode = codecs.decoder(graph.TOPICS[name], lambda data: deserialised(name, data))
    first, again = decode(data), decode(data)
    assert repr(first) == repr(again)       # NaN is not equal to itself
    # Others serialise as rclpy does, with anything in the gaps between fields.
    assert repr(decode(bytes(serialize_message(deserialised(name, data))))) == repr(first)
    return first


# A value of each kind of message that has numbers, none of which is 0.
VALUES = {
    'wind': WindSample(TIME_US, (THIRD, -2.0, 0.5)),
    'imu/data_raw': ImuMeasurement(TIME_US, (THIRD, 2.0, 3.0), (4.0, THIRD, 6.0), 0.01, 0.002),
    'mag': MagneticFieldMeasurement(TIME_US, (2e-5, THIRD * 1e-5, -4e-5), 1e-14),
    'baro': PressureMeasurement(TIME_US, 95000.0 + THIRD, 1.0),
    'gps/fix': GnssMeasurement(
        TIME_US, GeodeticPosition(47.1 + THIRD, 8.5, 535.3), (THIRD, -2.0, 0.5), 0.5, 2.0),
    'airspeed': AIRSPEED, 'range': range_measurement(THIRD), 'optical_flow': FLOW,
    'visual_odometry': VISUAL_ODOMETRY, '/clock': None, 'ground_truth/odom': TRUTH,
    'ground_truth/accel': TRUTH, 'ground_truth/pose': TRUTH, 'joint_states': TRUTH,
    'battery_state': BatteryStatus(TIME_US, 11.1, 20.0, 2.0, 5.0, 5.5),
    'actuators/command': TRUTH.rotor_speeds_rad_s,
    'autopilot/odometry': Estimate(
        TIME_US, (THIRD, 2.0, 3.0), (4.0, THIRD, 6.0), (0.5, -0.5, THIRD, 0.1), (7.0, THIRD, 9.0))}
VALUES['gps/vel'] = VALUES['gps/fix']
VALUES['gps/sky'] = VALUES['gps/fix']._replace(satellites=9, hdop=THIRD, vdop=99.99)
ALL_CODECS = codecs.CODECS | {'autopilot/odometry': autopilot.ESTIMATE}


def fields_in(message, path=''):
    """Yield all fields of a message that are no message, with their names."""
    for name in message.get_fields_and_field_types():
        field = getattr(message, name)
        if hasattr(field, 'get_fields_and_field_types'):
            yield from fields_in(field, f'{path}{name}.')
        else:
            yield path + name, field


# 1 to 8 letters: so each number stands at each distance from what is before it.
@pytest.mark.parametrize('letters', range(1, 9))
@pytest.mark.parametrize('kind', ALL_CODECS)
def test_each_field_is_packed(kind, letters):
    """What is no number of the codec is as in its message, whatever stands between its numbers."""
    codec, value = ALL_CODECS[kind], VALUES[kind]
    encoder = Encoder(codec, 'f' * letters if kind != '/clock' else None)
    wanted = encoder.message(value)
    packed = deserialize_message(encoder(TIME_US, value), type(wanted))
    found, numbers = dict(fields_in(packed)), []
    for name, field in fields_in(wanted):
        if any(f'{name}.'.startswith(f'{number}.') for number in codec.fields):
            numbers += np.ravel(found[name]).tolist()
        elif 'stamp' not in name and kind != '/clock':
            assert np.array_equal(found[name], field, equal_nan=name == 'temperature'), name
    assert np.allclose(numbers, codec.numbers(value), rtol=1e-7, atol=0.0, equal_nan=True)


def joined(*names, value):
    """Return what a block is given of a value whose parts come on these topics."""
    synchronizer = StampSynchronizer(
        [Input(graph.TOPICS[name], STEP_US, 0, False) for name in names], STEP_US)
    for name in names:
        synchronizer.put(name, STEP_US, functools.partial(received, name, value))
    return synchronizer.take()


@pytest.mark.parametrize('names', [
    ('ground_truth/odom', 'ground_truth/accel', 'joint_states'),
    ('joint_states', 'ground_truth/accel', 'ground_truth/odom')])
def test_truth_survives_exactly(names):
    assert joined(*names, value=TRUTH) == {'ground_truth/odom': TRUTH}
    assert joined(*(set(names) - {'joint_states'}), value=TRUTH) == {
        'ground_truth/odom': TRUTH._replace(rotor_speeds_rad_s=(), rotor_angles_rad=())}
    assert received('ground_truth/pose', TRUTH)[:3] == TRUTH[:3]


@pytest.mark.parametrize('rotors, servos', [(0, 0), (0, 1), (1, 2)])
def test_wheels_survive_exactly_with_whatever_else_turns(rotors, servos):
    """Rolling joints, then those of wheels that are steered, after all others."""
    wheels = WheelMotion((THIRD, -8.0, 9.0), (1.0, THIRD, 3.0), (0, 2), (0.25, -THIRD))
    truth = TRUTH._replace(
        rotor_speeds_rad_s=(400.0,) * rotors, rotor_angles_rad=(THIRD,) * rotors,
        servo_angles_rad=(0.5,) * servos, wheels=wheels)
    message = sent('joint_states', truth)
    assert list(message.name)[rotors + servos:] == [
        'wheel_1', 'wheel_2', 'wheel_3', 'wheel_1_steering', 'wheel_3_steering']
    assert len(message.position) == len(message.velocity) == rotors + servos + 5
    assert received('joint_states', truth) == {
        'rotor_angles_rad': truth.rotor_angles_rad, 'servo_angles_rad': truth.servo_angles_rad,
        'rotor_speeds_rad_s': truth.rotor_speeds_rad_s, 'wheels': wheels}


def test_odometry_has_the_pose_in_map_and_the_twist_in_base_link():
    odometry = sent('ground_truth/odom', TRUTH)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ('map', 'base_link')
    q = odometry.pose.pose.orientation
    assert (q.w, q.x, q.y, q.z) == TRUTH.attitude


@pytest.mark.parametrize('name, value, is_read_as', [
    ('joint_states', TRUTH, {'rotor_angles_rad': TRUTH.rotor_angles_rad,
                             'rotor_speeds_rad_s': TRUTH.rotor_speeds_rad_s,
                             'servo_angles_rad': ()}),
    ('actuators/command', TRUTH.rotor_speeds_rad_s, TRUTH.rotor_speeds_rad_s)])
def test_rotor_speeds_survive_exactly(name, value, is_read_as):
    message = sent(name, value)
    assert list(message.name) == ['rotor_1', 'rotor_2', 'rotor_3', 'rotor_4']
    assert tuple(message.velocity) == TRUTH.rotor_speeds_rad_s
    assert tuple(message.position) == (
        TRUTH.rotor_angles_rad if name == 'joint_states' else ())
    assert received(name, value) == is_read_as


@pytest.mark.parametrize('name', [
    'imu/data_raw', 'mag', 'baro', 'airspeed', 'visual_odometry', 'wind'])
def test_measurements_survive_exactly(name):
    assert received(name, VALUES[name]) == VALUES[name]


def test_flow_survives_but_for_the_period_that_no_message_carries():
    assert received('optical_flow', FLOW) == FLOW._replace(period_us=0)


@pytest.mark.parametrize('range_m', [10.0 + THIRD, math.inf, -math.inf])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_range_survives_exactly(range_m, direction):
    """Its numbers have 32 bits, and its frame, whose x axis is the beam, tells the direction."""
    value = range_measurement(range_m, direction)
    assert sent('range', value).header.frame_id == f'range_{direction}_link'
    assert received('range', value) == value


def test_no_flow_survives():
    """As NaN about x and y."""
    x, y, z = received('optical_flow', FLOW._replace(rate_flu=(math.nan, math.nan, 0.0))).rate_flu
    assert math.isnan(x) and math.isnan(y) and z == 0.0


def test_a_battery_survives_with_32_bits():
    value = BatteryStatus(TIME_US, 11.1 + THIRD, 20.0 + THIRD, 2.0, 5.0, 5.5).with_32_bits()
    message = sent('battery_state', value)
    assert (message.current, message.percentage) == (-value.current_a, np.float32(0.4))
    assert message.present
    assert math.isnan(message.temperature)
    assert received('battery_state', value) == value


def test_no_battery_survives():
    message = sent('battery_state', None)
    assert not message.present
    assert math.isnan(message.voltage) and math.isnan(message.percentage)
    assert received('battery_state', None) is None


@pytest.mark.parametrize('rate_flu', [FLOW.rate_flu, (math.nan, math.nan, 0.0)])
@pytest.mark.parametrize('range_m', [10.0 + THIRD, math.inf, -math.inf])
def test_an_autopilot_gets_the_same_bytes_with_and_without_ros(rate_flu, range_m):
    """What the encoder reads of the optional sensors is not changed by their messages."""
    measured = {
        'airspeed': AIRSPEED, 'range': range_measurement(range_m),
        'optical_flow': FLOW._replace(rate_flu=rate_flu), 'visual_odometry': VISUAL_ODOMETRY}
    got = {name: received(name, value) for name, value in measured.items()}
    bridge = block_configuration(load_configuration(None, {'': {
        f'instances.{kind}': 1 for kind in (
            'airspeed', 'range_finder', 'optical_flow', 'visual_odometry')}}), 'hil_bridge')

    def frames_of(inputs):
        frames = HilFrames(bridge)
        now = frames.of(TIME_US, inputs)
        frames.keep(inputs)
        return [now, *(frames.of(TIME_US + late_us, {}) for late_us in (1, 50_000, 200_000))]

    assert frames_of(got) == frames_of(measured)
    assert len(set(frames_of(got))) == 4


def test_visual_odometry_tells_what_it_knows():
    """Pose in odom, velocity in base_link; angular rates are unknown."""
    message = sent('visual_odometry', VISUAL_ODOMETRY)
    assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')
    pose, twist = (np.reshape(c, (6, 6)) for c in (
        message.pose.covariance, message.twist.covariance))
    assert np.array_equal(pose, np.diag([0.01 * THIRD] * 3 + [0.02 * THIRD] * 3))
    assert np.array_equal(twist, np.diag([0.03 * THIRD] * 3 + [1e6] * 3))


def test_a_fix_survives_in_several_messages():
    value = VALUES['gps/fix']
    assert joined('gps/fix', 'gps/vel', value=value) == {'gps/fix': value}
    value = VALUES['gps/sky']
    assert joined('gps/fix', 'gps/vel', 'gps/sky', value=value) == {'gps/fix': value}
    assert sent('gps/fix', value).status.service == NavSatStatus.SERVICE_GPS


def test_the_imu_says_that_it_has_no_orientation():
    """REP-145: the first element of the orientation covariance is -1."""
    assert sent('imu/data_raw', IMU).orientation_covariance[0] == -1.0


@pytest.mark.parametrize('name, frame', [('imu/data_raw', 'imu_1_link'), ('gps/vel', 'map')])
def test_a_further_sensor_has_a_frame_of_its_own(name, frame):
    topic = graph.TOPICS[name].of_instance(1)
    value = IMU if name == 'imu/data_raw' else GNSS
    message = deserialize_message(
        codecs.encoder(topic)(TIME_US, value), message_class(topic.type))
    assert message.header.frame_id == frame


def test_no_covariance_is_all_zero():
    imu = sent('imu/data_raw', IMU)
    assert np.array_equal(
        np.reshape(imu.linear_acceleration_covariance, (3, 3)), np.diag([0.01] * 3))
    assert np.array_equal(np.reshape(imu.angular_velocity_covariance, (3, 3)), np.diag([0.002] * 3))
    fix = sent('gps/fix', GNSS)
    assert list(np.diag(np.reshape(fix.position_covariance, (3, 3)))) == [0.81, 0.81, 1.78 ** 2]
    odometry = sent('ground_truth/odom', TRUTH)
    assert np.all(np.diag(np.reshape(odometry.pose.covariance, (6, 6))) > 0.0)


@pytest.mark.parametrize('time_us', [0, 4000, 999_996, 1_000_000, TIME_US])
def test_a_stamp_is_exact_and_readable_without_deserialising(time_us):
    clock = Clock()
    set_stamp(clock.clock, time_us)
    assert stamp_us(clock.clock) == time_us
    assert serialised_stamp_us(serialize_message(clock)) == time_us
    assert sent('/clock', None, time_us) == clock
    assert stamp_us(sent('ground_truth/pose', TRUTH, time_us).header.stamp) == time_us


# The type of a GNSS fix, from the receiver through its messages to HIL_GPS.

FIX = graph.TOPICS['gps/fix']


def read_fix(data):
    return deserialize_message(data, NavSatFix)


VALUE = GnssMeasurement(
    4000, GeodeticPosition(47.0, 8.0, 535.3), (1.0, 2.0, 3.0), 0.9, 1.78)


@pytest.mark.parametrize(('fix_type', 'status', 'hil', 'satellites'), [
    (FixType.NONE, NavSatStatus.STATUS_NO_FIX, 0, 0),
    (FixType.FIX, NavSatStatus.STATUS_FIX, 3, 9),
    (FixType.SBAS, NavSatStatus.STATUS_SBAS_FIX, 4, 9),
    (FixType.GBAS, NavSatStatus.STATUS_GBAS_FIX, 6, 9)])
def test_fix_type(fix_type, status, hil, satellites):
    """NavSatStatus, back, and GPS_FIX_TYPE; without a fix there are no satellites."""
    value = VALUE._replace(fix_type=fix_type)
    data = codecs.encoder(FIX)(value.time_us, value)
    assert deserialize_message(data, NavSatFix).status.status == status
    read = codecs.decoder(FIX, read_fix)(data)._replace(velocity_enu=value.velocity_enu)
    assert read == value
    frame = HilEncoder().gps(read, 47.3, 9)
    message, = HilDecoder()._mav.parse_buffer(frame)
    assert (message.fix_type, message.satellites_visible) == (hil, satellites)


def test_a_fix_of_unknown_type_is_none():
    """STATUS_UNKNOWN is a status that was never set."""
    message = deserialize_message(codecs.encoder(FIX)(VALUE.time_us, VALUE), NavSatFix)
    message.status.status = NavSatStatus.STATUS_UNKNOWN
    decode = codecs.decoder(FIX, read_fix)
    for _ in range(2):
        assert decode(serialize_message(message)).fix_type is FixType.NONE


# What a gamepad publishes reaches the pilot.

PATIENCE_S = 20.0


@pytest.fixture
def pilot(make_process):
    """Return the node, configured, and the list of the sticks that its block is given."""
    _, (node,) = make_process('pilot')
    node.set_parameters([Parameter('mission', value='hover'),
                         Parameter('joy_axes', value='0 1 3 2')])
    node.trigger_configure()
    node.block.take_sticks = (found := []).append
    return node, found


def test_a_joy_of_any_reliability_moves_the_sticks(pilot):
    node, found = pilot
    with contextlib.ExitStack() as stack:
        person = rclpy.create_node('person')
        stack.callback(person.destroy_node)
        # As joy_node does.
        publisher = person.create_publisher(Joy, 'joy', 10)
        end_s = time.monotonic() + PATIENCE_S
        while not found and time.monotonic() < end_s:
            publisher.publish(Joy(axes=[0.25, 0.5, 1.0, -1.0]))
            rclpy.spin_once(node, timeout_sec=0.1)
    assert found and set(found) == {Sticks(-0.25, 0.5, 1.0, 1.0)}


def test_one_with_too_few_axes_is_refused_once(pilot):
    node, found = pilot
    with mock.patch.object(type(node), 'get_logger') as logger:
        for _ in range(3):
            node._on_joy(Joy(axes=[0.25, 0.5]))
    (said,), = (call.args for call in logger().warning.call_args_list)
    assert not found and 'axes' in said


# Message objects as CDR without rclpy: its bytes are those of rclpy and of rosbags.

STORE = get_typestore(Stores.ROS2_JAZZY)
STAMP = Time(sec=3600, nanosec=4_000_000)
HEADER = Header(stamp=STAMP, frame_id='map')


def status(name, level, values):
    return DiagnosticStatus(name=name, level=level, message='all is wéll', hardware_id='', values=[
        KeyValue(key=key, value=value) for key, value in values.items()])


MESSAGES = [
    HEADER,
    Header(frame_id='a longer frame'),
    String(),
    String(data='µ is two bytes'),
    Log(stamp=STAMP, level=Log.WARN, name='pilot', msg='arrived', file='f', function='g', line=7),
    Log(level=20, name='', msg='x' * 1000),
    DiagnosticArray(),
    DiagnosticArray(header=HEADER, status=[
        status('/manager', DiagnosticStatus.OK, {'steps': '12', 'busy_s': '0.5'}),
        status('/imu', DiagnosticStatus.ERROR, {}),
        status('', DiagnosticStatus.STALE, {'a': '', '': 'b'})]),
    DiagnosticStatus(level=DiagnosticStatus.WARN),
    Odometry(header=HEADER),
    JointState(header=HEADER, name=['one', 'two'], velocity=[1.5, -2.5]),
    BatteryState(header=HEADER, cell_voltage=[3.7, 3.8, 3.9], present=True),
    Marker(header=HEADER, points=[Point(x=1.0), Point(y=2.0)], text='two points'),
    Empty()]


@pytest.mark.parametrize('message', MESSAGES, ids=lambda message: type(message).__name__)
def test_bytes_are_those_of_rclpy(message):
    """It may pad its messages at the end, and leaves what is between fields undefined."""
    data = serialised(message)
    assert deserialize_message(data, type(message)) == message
    theirs = bytes(serialize_message(message))
    assert 0 <= len(theirs) - len(data) < 8
    assert deserialize_message(theirs, type(message)) == message
    name = f"{type(message).__module__.partition('.')[0]}/msg/{type(message).__name__}"
    read = STORE.deserialize_cdr(data, name)
    assert bytes(STORE.serialize_cdr(read, name)) == data


def test_a_number_that_does_not_fit_is_an_error():
    class Wrong:
        value = 300

        @classmethod
        def get_fields_and_field_types(cls):
            return {'value': 'uint8'}
    with pytest.raises(struct.error):
        serialised(Wrong())


@pytest.mark.process
def test_it_needs_no_rclpy():
    code = ('import sys; from std_msgs.msg import Header;'
            ' from px4_sim_ros.messages.cdr import serialised; serialised(Header());'
            ' assert "rclpy" not in sys.modules')
    subprocess.run([sys.executable, '-c', code], check=True)
