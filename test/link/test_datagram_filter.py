# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the kernel lets through to a pilot."""
import socket

import pytest
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.pilot.link import accept_only

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
