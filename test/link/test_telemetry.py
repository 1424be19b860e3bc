# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an autopilot says of itself: from MAVLink's axes and units to ROS', and as messages."""
from __future__ import annotations

import contextlib
import math
import socket

import pytest
from nav_msgs.msg import Odometry
from pymavlink.dialects.v20 import common as mavlink
from rclpy.serialization import deserialize_message
from stand_in_autopilot import HOST
from transforms3d.euler import euler2mat, euler2quat

from px4_sim_ros.link.pilot.link import PilotLink, accept_only, pilot_port
from px4_sim_ros.messages import autopilot
from px4_sim_ros.messages.codec import Decoder, Encoder
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint

ROLL, PITCH, YAW = 0.3, -0.2, 2.0          # FRD in NED


class Heard:
    """Keeps what a link tells."""

    def __init__(self):
        self.estimates, self.set_points = [], []
        self.on_estimate, self.on_set_point = self.estimates.append, self.set_points.append


@pytest.fixture
def say(instance):
    """Return a function that sends messages of the autopilot, each in a datagram of its own."""
    mav = mavlink.MAVLink(None, srcSystem=instance + 1, srcComponent=1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((HOST, 14580 + instance))

        def said(*messages):
            for message in messages:
                sender.sendto(message.pack(mav), (HOST, pilot_port(instance)))
        yield said


def heard(instance, say, *messages):
    listener = Heard()
    with contextlib.closing(PilotLink(instance, listener)) as link:
        say(*messages)
        link.receive_all(1.0)
    return listener


def attitude():
    w, x, y, z = euler2quat(YAW, PITCH, ROLL, 'rzyx')
    return mavlink.MAVLink_attitude_quaternion_message(900, w, x, y, z, 0.1, 0.2, 0.3)


def position():
    return mavlink.MAVLink_local_position_ned_message(950, 1.0, 2.0, -3.0, 0.5, -0.25, 1.5)


def test_an_estimate_is_in_the_axes_of_ros(instance, say):
    """ENU and FLU: the pitch changes its sign, the yaw is counter-clockwise from east."""
    estimate, = heard(instance, say, attitude(), position()).estimates
    assert estimate.time_us == 950_000
    assert estimate.position_enu == (2.0, 1.0, 3.0)
    assert estimate.velocity_enu == (-0.25, 0.5, -1.5)
    assert estimate.rate_flu == pytest.approx((0.1, -0.2, -0.3))
    expected = euler2quat(math.pi / 2 - YAW, -PITCH, ROLL, 'rzyx')
    assert abs(sum(a * b for a, b in zip(estimate.attitude, expected))) == pytest.approx(1.0)
    data = Encoder(autopilot.ESTIMATE)(estimate.time_us, estimate)
    message = deserialize_message(data, Odometry)
    assert stamp_us(message.header.stamp) == 950_000
    assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')
    forward, left, up = euler2mat(math.pi / 2 - YAW, -PITCH, ROLL, 'rzyx').T @ (-0.25, 0.5, -1.5)
    linear = message.twist.twist.linear
    assert (linear.x, linear.y, linear.z) == pytest.approx((forward, left, up), abs=1e-6)
    assert not any(message.pose.covariance) and not any(message.twist.covariance)
    read = Decoder(autopilot.ESTIMATE, lambda data: deserialize_message(data, Odometry))(data)
    assert read == estimate._replace(velocity_enu=pytest.approx(estimate.velocity_enu))


def test_there_is_no_estimate_before_an_attitude(instance, say):
    assert not heard(instance, say, position()).estimates


def test_a_set_point_is_told_when_it_has_changed(instance, say):
    def target(time_ms, north):
        return mavlink.MAVLink_position_target_local_ned_message(
            time_ms, mavlink.MAV_FRAME_LOCAL_NED, 0, north, 2.0, -3.0, *[0.0] * 8)
    found = heard(instance, say, target(40, 1.0), target(80, 1.0), target(120, math.nan),
                  target(160, 4.0)).set_points
    assert found == [SetPoint(40_000, (2.0, 1.0, 3.0)), SetPoint(160_000, (2.0, 4.0, 3.0))]


@pytest.mark.parametrize('failsafe', [False, True])
def test_a_status_survives_its_message(failsafe):
    status = AutopilotStatus(1_500_000, 'AUTO_LAND', True, False, failsafe)
    message = autopilot.status_message(status)
    assert autopilot.read_status(stamp_us(message.header.stamp), message) == status
    assert message.status[0].message == 'AUTO_LAND, armed, in the air' + ', failsafe' * failsafe


def test_a_link_that_nobody_listens_to_reads_no_attitudes(instance, say):
    with contextlib.closing(PilotLink(instance)) as link:
        say(attitude(), position())
        link.receive_all(1.0)
        assert link.position_enu == (2.0, 1.0, 3.0) and link._attitude is None


def test_the_estimate_at_rest_is_the_identity_facing_east():
    message = deserialize_message(Encoder(autopilot.ESTIMATE)(0, Estimate(
        0, (0.0,) * 3, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0,) * 3)), Odometry)
    assert message.twist.twist.linear.x == 1.0 and message.pose.pose.orientation.w == 1.0


# What the kernel lets through to a pilot.

MAV = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
WANTED = MAV.heartbeat_encode(2, 3, 0, 0, 4).pack(MAV)
TARGET = MAV.position_target_local_ned_encode(
    7, 1, 0, *(0.5,) * 11).pack(MAV)                                # its id is above 80
OTHER = MAV.attitude_encode(7, *(0.25,) * 6).pack(MAV)
HIGH = MAV.play_tune_encode(1, 1, b'a').pack(MAV)                   # its id has two bytes
SIGNED = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
SIGNED.signing.secret_key, SIGNED.signing.sign_outgoing = b'x' * 32, True
OLD = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
OLD_FRAME = OLD.heartbeat_encode(2, 3, 0, 0, 4).pack(OLD, force_mavlink1=True)


@pytest.fixture
def pair():
    """Return a socket with the filter, and a function that sends to it."""
    with (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender):
        receiver.bind(('127.0.0.1', 0))
        receiver.setblocking(False)
        accept_only(receiver, {mavlink.MAVLINK_MSG_ID_HEARTBEAT,
                               mavlink.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED})
        yield receiver, lambda data: sender.sendto(data, receiver.getsockname())


def received(receiver):
    found = []
    while True:
        try:
            found.append(receiver.recv(65536))
        except BlockingIOError:
            return found


def test_only_what_is_wanted_comes(pair):
    receiver, send = pair
    for data in OTHER, WANTED, HIGH, OTHER, TARGET, OTHER:
        send(data)
    assert received(receiver) == [WANTED, TARGET]


@pytest.mark.parametrize('data', [
    OTHER + WANTED, OTHER + OTHER, OTHER[:-1], OTHER + b'x', OLD_FRAME,
    SIGNED.attitude_encode(7, *(0.25,) * 6).pack(SIGNED), b'', b'\xfd', b'\xfd\x01', b'garbage'])
def test_what_is_no_single_frame_is_for_whoever_parses_it(pair, data):
    """What ends before the length of its payload is dropped: it holds no frame."""
    receiver, send = pair
    send(data)
    send(WANTED)
    assert received(receiver) == [*([data] if len(data) > 1 else []), WANTED]


def test_another_filter_takes_its_place(pair):
    receiver, send = pair
    accept_only(receiver, {mavlink.MAVLINK_MSG_ID_ATTITUDE})
    send(WANTED)
    send(OTHER)
    assert received(receiver) == [OTHER]


def test_a_sender_at_another_port_is_not_heard(pair):
    receiver, send = pair
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(('127.0.0.1', 0))
        accept_only(receiver, {mavlink.MAVLINK_MSG_ID_HEARTBEAT}, own.getsockname()[1])
        send(WANTED)
        own.sendto(OTHER, receiver.getsockname())
        own.sendto(WANTED, receiver.getsockname())
    assert received(receiver) == [WANTED]
