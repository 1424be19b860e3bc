# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fixed layouts: the same bytes as rclpy's, and messages that do not fit are noticed."""
import array
import dataclasses

import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import (
    BatteryState,
    CameraInfo,
    Image,
    Imu,
    JointState,
    LaserScan,
    NavSatFix,
    PointCloud2,
    PointField,
    Range,
)
from std_msgs.msg import Header

from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.cdr import Layout, serialised
from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.model.truth import WindSample
from px4_sim_ros.step import graph
from px4_sim_ros.step.repeatability import NonRepeatability

TIME_US = 3_600_000_004_000
FIELDS = {
    Odometry: ('pose.pose', 'twist.twist'), JointState: ('velocity',), NavSatFix: ('status.status',
    'latitude', 'position_covariance'), BatteryState: ('voltage', 'percentage', 'present'),
    Range: ('field_of_view', 'variance'), Imu: ('angular_velocity', 'linear_acceleration')}
STORE = get_typestore(Stores.ROS2_JAZZY)


def filled(cls, text='a frame'):
    """Return a message with another number in each field that changes."""
    message = cls(header=Header(frame_id=text))
    if cls is JointState:
        message.name, message.velocity = ['one', 'another one'], [1.5, -2.5]
    if cls is BatteryState:
        message.cell_voltage, message.serial_number = [3.7, 3.8, 3.9], 'X'
    return message


def numbers_in(message, fields):
    """Return the numbers of some fields of a message object, as `Layout.unpack` does."""
    numbers = []
    for field in fields:
        value = message
        for name in field.split('.'):
            value = getattr(value, name)
        collect(value, numbers)
    return tuple(numbers)


def collect(value, numbers):
    if hasattr(value, 'get_fields_and_field_types'):
        for name in value.get_fields_and_field_types():
            collect(getattr(value, name), numbers)
    elif isinstance(value, bool | int | float):
        numbers.append(value)
    elif not isinstance(value, str):
        for item in value:
            collect(float(item), numbers)


@pytest.mark.parametrize('cls', FIELDS)
@pytest.mark.parametrize('text', ['', 'a', 'abc', 'abcd', 'a longer frame'])
def test_bytes_are_those_of_rclpy(cls, text):
    """Whatever the lengths of texts shift; rosbags, which has a CDR of its own, agrees."""
    message = filled(cls, text)
    layout = Layout(message, FIELDS[cls])
    assert repr(layout.numbers) == repr(numbers_in(message, FIELDS[cls]))
    count = len(layout.numbers)
    numbers = [i % 2 for i in range(count)] if cls is BatteryState else list(range(1, count + 1))
    data = layout.pack(TIME_US, numbers)
    read = deserialize_message(data, cls)
    assert read.header.stamp.sec * 10**9 + read.header.stamp.nanosec == TIME_US * 1000
    assert numbers_in(read, FIELDS[cls]) == tuple(numbers)
    # All else is as it was in the message that was looked at.
    blank = deserialize_message(layout.pack(0, numbers_in(message, FIELDS[cls])), cls)
    assert repr(blank) == repr(message)
    name = f"{cls.__module__.partition('.')[0]}/msg/{cls.__name__}"
    other = STORE.deserialize_cdr(data, name)
    assert bytes(STORE.serialize_cdr(other, name)) == data


@pytest.mark.parametrize('cls', FIELDS)
def test_what_rclpy_serialises_is_read(cls):
    """Also with whatever is in the gaps between fields; what follows the end is no part of it."""
    message = filled(cls)
    layout = Layout(message, FIELDS[cls])
    data = layout.pack(TIME_US, numbers_in(message, FIELDS[cls]))
    read = deserialize_message(data, cls)
    theirs = bytes(serialize_message(read))[:len(data)]
    assert layout.unpack(theirs) == (TIME_US, numbers_in(message, FIELDS[cls]))


@pytest.mark.parametrize('cls', FIELDS)
def test_what_rtps_pads_is_read(cls):
    """What comes from another process is padded to whole words of four bytes."""
    layout = Layout(filled(cls), FIELDS[cls])
    data = layout.pack(TIME_US, layout.numbers)
    assert layout.unpack(data + bytes(-len(data) % 4)) == layout.unpack(data)
    if cls in (BatteryState, NavSatFix):
        assert len(data) % 4


def test_a_message_that_is_not_alike_is_noticed():
    layout = Layout(filled(Odometry), FIELDS[Odometry])
    data = layout.pack(TIME_US, range(13))
    assert layout.unpack(data) is not None
    assert layout.unpack(data[:-1]) is None
    assert layout.unpack(data + b'0') is None
    assert layout.unpack(b'\x00\x00' + data[2:]) is None          # big-endian
    other = Layout(filled(Odometry, 'b frame'), FIELDS[Odometry]).pack(TIME_US, range(13))
    assert len(other) == len(data)
    assert layout.unpack(other) is None


def test_a_decoder_goes_on_with_another_sender():
    """A node of a user may fill frames in as it likes, and byte orders differ."""
    topic = graph.TOPICS['wind']
    decode = codecs.decoder(topic, lambda data: deserialize_message(data, TwistStamped))
    ours = codecs.encoder(topic)(TIME_US, WindSample(TIME_US, (1.0, 2.0, 3.0)))
    message = deserialize_message(ours, TwistStamped)
    message.header.frame_id = 'another frame'
    message.twist.linear.x = 7.0
    theirs = bytes(serialize_message(message))
    for _ in range(2):
        assert decode(ours) == WindSample(TIME_US, (1.0, 2.0, 3.0))
        assert decode(theirs) == WindSample(TIME_US, (7.0, 2.0, 3.0))
    name = topic.type
    big = bytes(STORE.serialize_cdr(STORE.deserialize_cdr(ours, name), name, little_endian=False))
    assert decode(big) == WindSample(TIME_US, (1.0, 2.0, 3.0))


# The run status: its texts in a DiagnosticStatus, and back.

STATUS = RunStatus(
    RunState.OVERDUE, 'imu does not answer', 2, 3, 2, 'active', 3001, 12_004_000, 6.5, 1.847, 2.0,
    0.25, 0.125)
TEXTS = {
    'state': 'OVERDUE', 'run': '3', 'resets': '2', 'lifecycle': 'active', 'steps': '3001',
    'sim_time_s': '12.004000', 'wall_time_s': '6.500000', 'real_time_factor': '1.847',
    'speed_factor': '2', 'paced_s': '0.250000', 'busy_s': '0.125000'}


def message(texts, sentence='', level=DiagnosticStatus.OK):
    return DiagnosticStatus(level=level, message=sentence, values=[
        KeyValue(key=key, value=text) for key, text in texts.items()])


def test_the_texts_of_a_status():
    assert STATUS.values() == TEXTS


def test_a_status_is_read_as_it_was_written():
    assert RunStatus.of(message(TEXTS, STATUS.sentence, DiagnosticStatus.ERROR)) == STATUS


def test_reasons_are_there_when_there_are_some():
    status = dataclasses.replace(
        STATUS, unrecorded='the disk was full', unasked='a signal was received',
        gap=NonRepeatability(4000, 'imu was stopped by hand'))
    assert status.values() == TEXTS | {
        'unrecorded': 'the disk was full', 'unasked': 'a signal was received',
        'gap': 'imu was stopped by hand', 'gap_us': '4000'}
    assert RunStatus.of(message(status.values(), STATUS.sentence, DiagnosticStatus.ERROR)) == status


def test_values_that_are_not_there_are_none():
    status = RunStatus.of(message({'state': 'STARTING'}))
    assert (status.sim_time_us, status.sim_time_s, status.real_time_factor) == (None,) * 3
    assert status.values() == {
        'state': 'STARTING', 'run': '0', 'resets': '0', 'lifecycle': '', 'steps': '0'}


@pytest.mark.parametrize('state', RunState)
def test_a_state_is_known_by_its_text(state):
    assert RunStatus.of(message({'state': state.value})).state == state


def test_a_text_in_place_of_a_number_is_an_error():
    with pytest.raises(ValueError):
        RunStatus.of(message({'state': 'RUNNING', 'sim_time_s': 'soon'}))


@pytest.mark.parametrize('count', [0, 1, 5])
def test_arrays_are_written_so_that_rclpy_reads_them(count):
    """What rclpy writes itself has other bytes where there is nothing."""
    header, octets = Header(frame_id='lidar'), array.array('B', range(count))
    points = PointField(name='x', datatype=PointField.FLOAT32, count=1)
    for message in (
            PointCloud2(header=header, fields=[points] * count, data=octets, is_dense=True),
            LaserScan(header=header, ranges=array.array('f', range(count))),
            Image(header=header, encoding='32FC1', data=octets, step=3),
            CameraInfo(header=header, d=[0.5] * count, k=[float(i) for i in range(9)])):
        data = serialised(message)
        assert deserialize_message(data, type(message)) == message
        assert len(data) == len(serialize_message(message))
