# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight controller at the end of a line answers each step with its newest controls."""
import contextlib
import itertools
import os
import select
import socket
import struct
import time

import pytest
from line_controller import terminal
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil import board as settings
from px4_sim_ros.link.hil import flight_controller
from px4_sim_ros.link.hil import line as lines
from px4_sim_ros.link.hil.board import Board as Settings
from px4_sim_ros.link.hil.board import names
from px4_sim_ros.link.hil.flight_controller import FlightController, Histogram
from px4_sim_ros.link.hil.line import is_line, line_of
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, pilot_port
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4.sitl import no_priority
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_vehicle

TIME_LIMIT_S = 20.0
STEP_US = 4000


PLACES = {f'CA_ROTOR{i}_{key}': value for i, place in enumerate((
    (0.1515, 0.245, 0.05), (-0.1515, -0.1875, 0.05), (0.1515, -0.245, -0.05),
    (-0.1515, 0.1875, -0.05))) for key, value in zip(('PX', 'PY', 'KM'), place)}


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
        self.parameters = {
            'SYS_HITL': 1, 'CBRK_SUPPLY_CHK': 894281, 'GPS_1_CONFIG': 201, 'CA_ROTOR_COUNT': 4,
            **PLACES, **{f'HIL_ACT_FUNC{i}': 100 + i for i in (1, 3, 4)}, 'HIL_ACT_FUNC2': 0}

    def next_of_any(self):
        """Return the next message; None if there is none for a while."""
        with contextlib.suppress(TimeoutError):
            data, self.there = self.socket.recvfrom(65536)
            message, = self.parser.parse_buffer(data)
            return message
        return None

    def next(self, kind):
        """Return the next message of a kind."""
        deadline_s = time.monotonic() + TIME_LIMIT_S
        while time.monotonic() < deadline_s:
            message = self.next_of_any()
            if message is not None and message.get_type() == kind:
                return message
            self.serve()
        raise AssertionError(f'no {kind} has come')

    def send(self, message):
        self.socket.sendto(message.pack(self.mav), self.there)

    def send_parameter(self, name):
        """Send what there is of a parameter."""
        if name not in self.parameters:
            return self.send(self.mav.param_error_encode(255, 190, name.encode(), -1, 1))
        value = self.parameters[name]
        kind = mavlink.MAV_PARAM_TYPE_REAL32
        if isinstance(value, int):
            kind = mavlink.MAV_PARAM_TYPE_INT32
            value, = struct.unpack('<f', struct.pack('<i', value))
        self.send(self.mav.param_value_encode(name.encode(), value, kind, 1, 0))

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
    with contextlib.closing(FlightController(
            line, instance, STEP_US, Settings(load_vehicle('iris')))) as controller:
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


@pytest.mark.parametrize('runs_s, waits', [
    (199, []), (3089, ['154 s']), (4300, [])])
def test_one_that_has_run_for_a_while_is_told(runs_s, waits, board, controller):
    """Its estimator waits for a twentieth of what PX4 counts in 32 bits."""
    said = []
    controller.remark = lambda kind, sentence: said.append(sentence)
    controller.send(sensor(4000))
    for _ in range(2):
        board.send_controls(runs_s * 1_000_000, 0.5)
    assert answer(controller)
    assert [sentence.partition(' begins ')[2][:5] for sentence in said] == waits


def test_what_is_set_wrong_is_read_and_said_once(board, controller):
    said = []
    controller.remark = lambda kind, sentence: said.append(sentence)
    board.send(board.mav.heartbeat_encode(2, 12, 0, 0, 4))
    asked = set()
    while not said:
        name = board.next('PARAM_REQUEST_READ').param_id
        asked.add(name)
        board.send_parameter(name)
        controller.accept()
    assert asked == set(names(load_vehicle('iris')))
    assert said == [
        'on the controller GPS_1_CONFIG = 201: must be 0: else a receiver at its port is in the'
        ' place of the simulated one',
        'on the controller HIL_ACT_FUNC2 = 0: must be 101 to 104: it drives rotor 2 of iris']


class SettableBoard(Board):
    """Takes a PARAM_SET as PX4 does: of the right type, and answers it."""

    def set(self, message, keeps=()):
        name = message.param_id
        if name not in self.parameters:
            return self.send(self.mav.param_error_encode(255, 190, name.encode(), -1, 1))
        is_whole = isinstance(self.parameters[name], int)
        assert message.param_type == (
            mavlink.MAV_PARAM_TYPE_INT32 if is_whole else mavlink.MAV_PARAM_TYPE_REAL32)
        if name not in keeps:
            value = message.param_value
            self.parameters[name] = struct.unpack(
                '<i', struct.pack('<f', value))[0] if is_whole else value
        return self.send_parameter(name)


@pytest.fixture
def board_that_is_set(monkeypatch):
    monkeypatch.setattr(settings, '_AGAIN_S', 0.05)
    board = SettableBoard()
    with board.socket:
        yield board


def set_on(board, instance, *, armed=False, keeps=(), vehicle='iris'):
    """Return what is said while a board is read and set."""
    said = []
    line = f'udp:127.0.0.1:{board.socket.getsockname()[1]}'
    own = Settings(load_vehicle(vehicle), sets=True)
    with contextlib.closing(FlightController(line, instance, STEP_US, own)) as controller:
        controller.remark = lambda kind, sentence: said.append(sentence)
        controller.accept()
        board.serve = controller.accept
        board.next('HEARTBEAT')
        # The first that comes says nothing of whether it is armed.
        board.send(board.mav.attitude_encode(0, 1, 2, 3, 0, 0, 0))
        mode = mavlink.MAV_MODE_FLAG_SAFETY_ARMED if armed else 0
        while not own.is_done:
            message = board.next_of_any()
            if message is not None and message.get_type() == 'PARAM_REQUEST_READ':
                board.send_parameter(message.param_id)
                board.send(board.mav.heartbeat_encode(2, 12, mode, 0, 4))
            elif message is not None and message.get_type() == 'PARAM_SET':
                board.set(message, keeps)
            controller.accept()
    return said


def test_what_is_wrong_is_set_and_said(board_that_is_set, instance):
    board = board_that_is_set
    board.parameters |= {'SYS_HITL': 0, 'CA_ROTOR1_PX': 0.2, 'CA_ROTOR2_KM': 0.04}
    said = set_on(board, instance, keeps=['GPS_1_CONFIG'])
    assert [sentence for sentence in said if sentence.startswith('set on')] == [
        'set on the controller: SYS_HITL = 1', 'set on the controller: HIL_ACT_FUNC2 = 102',
        'set on the controller: CA_ROTOR1_PX = -0.13', 'set on the controller: CA_ROTOR1_PY = -0.2',
        'set on the controller: CA_ROTOR2_PX = 0.13', 'set on the controller: CA_ROTOR2_PY = -0.22',
        'set on the controller: CA_ROTOR2_KM = -0.04']
    assert said[-1] == (
        'start the controller again: what was set holds from its next start on')
    assert 'the controller has not taken GPS_1_CONFIG = 0: it has 201; set it there' in said
    assert said.index('on the controller SYS_HITL = 0: must be 1: then it takes simulated'
                      ' measurements from its next start on') == 0
    assert board.parameters['HIL_ACT_FUNC2'] == 102 and board.parameters['SYS_HITL'] == 1
    board.parameters['GPS_1_CONFIG'] = 0
    assert set_on(board, instance) == []


def test_motors_in_another_order_get_that_of_the_vehicle(board_that_is_set, instance):
    board = board_that_is_set
    board.parameters |= {'GPS_1_CONFIG': 0, 'HIL_ACT_FUNC1': 102, 'HIL_ACT_FUNC2': 101,
                         'CA_ROTOR_COUNT': 3}
    set_on(board, instance)
    assert [board.parameters[f'HIL_ACT_FUNC{i}'] for i in range(1, 5)] == [101, 102, 103, 104]
    assert board.parameters['CA_ROTOR_COUNT'] == 4
    assert {name: board.parameters[name] for name in PLACES} == PLACES


def test_nothing_is_set_on_one_that_is_armed(board_that_is_set, instance):
    before = dict(board_that_is_set.parameters)
    said = set_on(board_that_is_set, instance, armed=True)
    assert said[-1] == 'the controller is armed: nothing is set on it'
    assert board_that_is_set.parameters == before


def test_servos_are_left_to_the_user(board_that_is_set, instance):
    vehicle = load_vehicle('plane')
    board = board_that_is_set
    board.parameters = {'SYS_HITL': 0, **{
        f'HIL_ACT_FUNC{servo.control + 1}': 101 for servo in vehicle.servos}}
    said = set_on(board, instance, vehicle='plane')
    left = [sentence for sentence in said if sentence.endswith('; it is not set from here')]
    assert len(left) == len(vehicle.servos) and all('drives the servo' in each for each in left)
    assert said[-2:] == [
        'set on the controller: SYS_HITL = 1',
        'start the controller again: what was set holds from its next start on']


def test_it_is_for_a_line_only():
    with pytest.raises(ParameterError, match='set_board = True: must be False, unless'):
        load_configuration(None, {'hil_bridge': {'set_board': True}}).of_node(
            'hil_bridge', HilParameters)


def test_one_that_has_terminated_the_flight_and_is_silent_is_disarmed(board, controller):
    said = []
    controller.remark = lambda kind, sentence: said.append(sentence)
    board.send_controls(1000, 0.5)
    controller.send(sensor(4000))
    assert answer(controller).controls[0] == 0.5
    board.send(board.mav.heartbeat_encode(2, 12, 0, 0, mavlink.MAV_STATE_FLIGHT_TERMINATION))
    comes(lambda: said or controller.receive(0.1))
    controller.send(sensor(8000))
    reply = answer(controller)         # when the last controls are old
    assert (reply.time_usec, reply.controls[0], reply.mode) == (8000, 0.0, 1)
    assert said[0].startswith('the controller has terminated the flight')


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
            other.sendto(mav.param_request_read_encode(7, 1, b'MPC_XY_P', -1).pack(mav),
                         ('127.0.0.1', port))
            while board.next('PARAM_REQUEST_READ').param_id != 'MPC_XY_P':
                pass                          # ours


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
    histogram.add(5.1)
    histogram.add(1000.0)
    assert histogram.classes() == (
        '1:0 2:0 3:0 4:0 5:98 6:1 8:0 10:1 15:1 20:0 50:0 inf:1')


def test_the_step_goes_before_ordinary_threads_until_the_end(controller, board, monkeypatch):
    def policy():
        return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK

    def refuse(thread, flags):
        raise PermissionError

    before, may = policy(), not no_priority()
    board.send_controls(1000, 0.5)
    while not controller.connected:
        controller.receive(0.01)
    assert policy() == (os.SCHED_RR if may else before)
    controller.close()
    assert policy() == before
    monkeypatch.setattr(flight_controller, 'go_last', refuse)
    controller._keep_real_time()             # a user without the right to it
    assert policy() == before


def test_a_period_that_the_controller_misses_is_counted_and_said_once(controller, monkeypatch):
    said, wall_s = {}, 100.0
    controller.remark = said.setdefault      # as the report: the first of a kind
    monkeypatch.setattr(flight_controller.time, 'monotonic', lambda: wall_s)
    monkeypatch.setattr(flight_controller.time, 'thread_time', itertools.count(0.0, 3e-4).__next__)
    for time_us, later_s in ((4000, 3.0), (8000, 0.004), (12_000, 0.0079), (16_000, 0.0081),
                             (20_000, 0.0), (24_000, 0.1)):
        wall_s += later_s
        controller.send(sensor(time_us, number=1) + sensor(time_us))
    assert controller.figures()['missed_periods'] == '2'
    assert list(said.values()) == [
        'samples of t = 0.016 s were sent 8.1 ms after those before, in place of 4 ms, of which the'
        ' step ran for 0.3 ms: the controller has missed a period; counted as missed_periods']
    controller.retire_client()               # until the next one is there, there is no period
    wall_s += 1.0
    controller.send(sensor(4000))
    assert controller.figures()['missed_periods'] == '2'
