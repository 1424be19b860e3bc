# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Message objects as CDR without rclpy: its bytes are those of rclpy and of rosbags."""
import struct
import subprocess
import sys

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import BatteryState, JointState
from std_msgs.msg import Empty, Header, String
from visualization_msgs.msg import Marker

from px4_sim_ros.messages.cdr import serialised

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

        def get_fields_and_field_types(self):
            return {'value': 'uint8'}
    with pytest.raises(struct.error):
        serialised(Wrong())


@pytest.mark.slow
def test_it_needs_no_rclpy():
    code = ('import sys; from std_msgs.msg import Header;'
            ' from px4_sim_ros.messages.cdr import serialised; serialised(Header());'
            ' assert "rclpy" not in sys.modules')
    subprocess.run([sys.executable, '-c', code], check=True)
