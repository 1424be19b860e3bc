# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight controller at the end of a line answers each step with its newest controls."""
import contextlib
import os
import select
import socket
import time

import pytest
from line_controller import terminal
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil import line as lines
from px4_sim_ros.link.hil.flight_controller import FlightController, Histogram
from px4_sim_ros.link.hil.line import is_line, line_of
from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, pilot_port
from px4_sim_ros.model.errors import ParameterError

TIME_LIMIT_S = 20.0
STEP_US = 4000


class Board:
    """The other end, by UDP."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.socket.settimeout(0.05)
        self.serve = lambda: None                # lets the other end go on
        self.mav = mavlink.MAVLink(None, 7, 1)
        self.parser = mavlink.MAVLink(None)
        self.there = None

    def next(self, kind):
        """Return the next message of a kind."""
        deadline_s = time.monotonic() + TIME_LIMIT_S
        while time.monotonic() < deadline_s:
            with contextlib.suppress(TimeoutError):
                data, self.there = self.socket.recvfrom(65536)
                for message in self.parser.parse_buffer(data):
                    if message.get_type() == kind:
                        return message
            self.serve()
        raise AssertionError(f'no {kind} has come')

    def send(self, message):
        self.socket.sendto(message.pack(self.mav), self.there)

    def send_controls(self, time_us, first):
        self.send(self.mav.hil_actuator_controls_encode(time_us, [first] + [0.0] * 15, 129, 0))


@pytest.fixture
def board():
    board = Board()
    with board.socket:
        yield board


@pytest.fixture
def controller(board, instance):
    line = f'udp:127.0.0.1:{board.socket.getsockname()[1]}'
    with contextlib.closing(FlightController(line, instance, STEP_US)) as controller:
        assert not controller.accept()           # says that it is there
        board.serve = controller.accept
        board.next('HEARTBEAT')
        yield controller


def sensor(time_us, number=0):
    mav = mavlink.MAVLink(None)
    return mav.hil_sensor_encode(time_us, *[0.5] * 13, 0x1bff, number).pack(mav)


def comes(condition):
    """Wait until it holds."""
    deadline_s = time.monotonic() + TIME_LIMIT_S
    while not (found := condition()):
        assert time.monotonic() < deadline_s
    return found


def next_of(receiver, controller):
    """Return the next message that another program gets."""
    def received():
        controller.accept()
        with contextlib.suppress(TimeoutError):
            return receiver.recv(65536)
        return b''
    message, = mavlink.MAVLink(None).parse_buffer(comes(received))
    return message


def answer(controller):
    message, = mavlink.MAVLink(None).parse_buffer(comes(lambda: controller.receive(0.1)))
    return message


def test_it_is_there_when_it_has_said_something(board, controller):
    assert not controller.connected
    board.send(board.mav.heartbeat_encode(2, 12, 0, 0, 4))
    assert comes(lambda: controller.accept(0.1)) and controller.connected
    controller.retire_client()
    assert not controller.connected
    assert controller.accept()                    # it cannot be started again from here


def test_a_step_is_answered_once_with_the_newest_controls(board, controller):
    controller.send(sensor(4000))
    assert board.next('HIL_SENSOR').time_usec == 4000
    assert controller.receive(0.0) == b''
    for time_us, first in (70_000, 0.25), (75_000, 0.75):
        board.send_controls(time_us, first)
    comes(lambda: controller.accept() and controller.figures()['controls_interval_ms'][0] == '5')
    reply = answer(controller)
    assert (reply.time_usec, reply.controls[0], reply.mode, reply.get_srcSystem()) == (
        4000, 0.75, 129, 7)
    assert controller.receive(0.0) == b''
    controller.send(sensor(8000, number=1) + sensor(8000))
    board.send_controls(80_000, 0.5)
    assert answer(controller).time_usec == 8000


def test_one_that_is_silent_answers_no_more(board, controller):
    board.send_controls(1000, 0.5)
    controller.send(sensor(4000))
    assert answer(controller)
    controller.send(sensor(8000))
    comes(lambda: controller.receive(0.0) == b'' and controller.connected)
    board.send_controls(9000, 0.5)
    comes(lambda: controller.receive(0.1) or not controller.send(sensor(12_000)))


def test_all_else_goes_to_pilot_and_ground_station_and_back(board, controller, instance):
    with contextlib.ExitStack() as stack:
        others = [(pilot_port(instance), AUTOPILOT_PORT + instance), (14550, 18570 + instance)]
        for its_port, port in others:
            other = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            try:
                other.bind(('127.0.0.1', its_port))
            except OSError:
                continue                          # a ground station of this machine
            other.settimeout(0.05)
            board.send_controls(1000, 0.5)
            board.send(board.mav.attitude_encode(0, 1, 2, 3, 0, 0, 0))
            message = next_of(other, controller)
            assert (message.get_type(), message.get_srcSystem()) == ('ATTITUDE', 7)
            mav = mavlink.MAVLink(None, 255, 190)
            other.sendto(mav.param_request_read_encode(7, 1, b'SYS_HITL', -1).pack(mav),
                         ('127.0.0.1', port))
            assert board.next('PARAM_REQUEST_READ').param_id == 'SYS_HITL'


def test_the_way_there_and_back_is_measured(board, controller):
    board.send(board.mav.heartbeat_encode(2, 12, 0, 0, 4))
    comes(lambda: controller.accept(0.1))
    asked = board.next('TIMESYNC')
    time.sleep(0.02)
    board.send(board.mav.timesync_encode(1, asked.ts1))
    assert comes(lambda: controller.receive(0.1) or float(
        controller.figures()['round_trip_ms'].split()[0]) >= 20.0)


def test_a_serial_line_may_be_unplugged_and_plugged_in_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, '_AGAIN_S', 0.01)
    link = tmp_path / 'tty'
    with contextlib.closing(line_of(f'serial:{link}:921600', 1000)) as line:
        assert line.read() == b'' and line.write(b'lost')            # there is none yet
        for _ in range(2):
            with terminal(link) as own:
                comes(lambda: line.write(b'there') and select.select([own], [], [], 0.01)[0])
                assert os.read(own, 5) == b'there'
                os.write(own, b'back')
                assert comes(line.read) == b'back'
            comes(lambda: line.read() == b'' and line.write(b'lost'))


def test_what_does_not_fit_is_dropped_in_whole_frames(tmp_path):
    link = tmp_path / 'tty'
    frame = bytes(range(256)) * 4
    with terminal(link) as own, contextlib.closing(line_of(f'serial:{link}:921600', 1000)) as line:
        written = 0
        while line.write(frame):
            written += 1
        assert not line.write(frame)
        read = b''
        while select.select([own], [], [], 0.1)[0]:
            read += os.read(own, 65536)
            line.write(frame)
            written += 1
            if written > 100:
                break
        whole = len(read) // len(frame) * len(frame)
        assert read[:whole] == frame * (whole // len(frame))


@pytest.mark.parametrize('name, is_one', [
    ('udp:127.0.0.1:14577', True), ('serial:/dev/ttyACM0:921600', True), ('serial:a:b:57600', True),
    ('udp:14577', False), ('tcp:a:1', False), ('serial::1', False), ('embedded', False)])
def test_the_name_of_a_line(name, is_one):
    assert is_line(name) is is_one


@pytest.mark.parametrize('name, said', [
    ('udp:no such host:1', 'host:1: '), ('udp:127.0.0.1:99999', 'the port must be 1 to 65535'),
    ('serial:/dev/ttyS0:57600', 'must be a rate that carries 19000 bytes/s: 230400, 460800'),
    ('serial:/dev/ttyS0:921601', 'must be a rate'), ('udp', 'must be udp:HOST:PORT or serial:')])
def test_what_is_wrong_with_one_is_said(name, said):
    with pytest.raises(ParameterError, match=said):
        line_of(name, 19_000)


def test_the_figures_of_intervals():
    histogram = Histogram()
    assert histogram.text() == 'nan nan nan' and histogram.late() == 0
    for interval_ms in [5.0] * 98 + [9.0, 15.04]:
        histogram.add(interval_ms)
    assert (histogram.text(), histogram.late()) == ('5.0 9.0 15.0', 1)
