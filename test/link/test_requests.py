# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the autopilot answers to a scenario, with stand-ins that answer as releases of PX4 do."""
import contextlib
import math
import socket
import struct
import subprocess
import sys

import pytest
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import HOST

from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, PilotLink, pilot_port
from px4_sim_ros.link.pilot.requests import Requests
from px4_sim_ros.link.pilot.scenario_mavlink import command_of
from px4_sim_ros.model.faults.action import Fault
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.model.scenario.situation import Answer
from px4_sim_ros.px4.console import Console
from px4_sim_ros.px4.modes import MODES, custom_mode, mode_name

INT32, REAL32 = mavlink.MAV_PARAM_TYPE_INT32, mavlink.MAV_PARAM_TYPE_REAL32
ACCEPTED, REJECTED = mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_TEMPORARILY_REJECTED
STEP_US = 20_000


def as_float(kind, value):
    """Return the number whose four bytes are those of a value."""
    return value if kind == REAL32 else struct.unpack('<f', struct.pack('<i', value))[0]


class Autopilot:
    """Answers commands with results that a test gives, and parameters as PX4 does."""

    def __init__(self, instance, says_errors):
        self._mav = mavlink.MAVLink(None, srcSystem=instance + 1, srcComponent=1)
        self._mav.robust_parsing = True          # of the byte by which the pilot is found
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, AUTOPILOT_PORT + instance))
        self._socket.setblocking(False)
        self._pilot, self._says_errors = (HOST, pilot_port(instance)), says_errors
        self.parameters = {'MPC_XY_VEL_MAX': [REAL32, 12.0], 'COM_RC_IN_MODE': [INT32, 1]}
        self.results = []
        self.commands = []

    def close(self):
        """Free the port."""
        self._socket.close()

    def _say(self, message):
        self._socket.sendto(message.pack(self._mav), self._pilot)

    def beat(self, main=0, sub=0):
        """Say in which mode it is; as an autopilot that is not PX4, which has a console."""
        self._say(self._mav.heartbeat_encode(
            mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_GENERIC, 0, main << 16 | sub << 24,
            mavlink.MAV_STATE_ACTIVE))

    def answer(self):
        """Carry out what has come."""
        with contextlib.suppress(BlockingIOError):
            while True:
                for message in self._mav.parse_buffer(self._socket.recv(65536)) or ():
                    self._take(message)

    def _take(self, message):
        if message.get_type() == 'COMMAND_LONG':
            self.commands.append(message.command)
            for result in self.results:
                self._say(self._mav.command_ack_encode(message.command, result))
        elif message.get_type() in ('PARAM_SET', 'PARAM_REQUEST_READ'):
            known = self.parameters.get(message.param_id)
            if known is None:
                self._refuse(message.param_id, 1)
                return
            if message.get_type() == 'PARAM_SET':
                if message.param_type != known[0]:
                    self._refuse(message.param_id, 7)
                    return
                known[1] = message.param_value if known[0] == REAL32 else struct.unpack(
                    '<i', struct.pack('<f', message.param_value))[0]
            self._say(self._mav.param_value_encode(
                message.param_id.encode(), as_float(*known), known[0], 1, 0))

    def _refuse(self, name, error):
        if self._says_errors:
            self._say(self._mav.param_error_encode(0, 0, name.encode(), -1, error))


@pytest.fixture(params=[True, False], ids=['PARAM_ERROR', 'silent'])
def asked(request, instance):
    """Return a function that asks for an action, and how long it waits; and the autopilot."""
    with (contextlib.closing(Autopilot(instance, request.param)) as autopilot,
          contextlib.closing(PilotLink(instance)) as link):
        requests = Requests(link, Console(link.autopilot_port))
        autopilot.beat()
        link.receive_all(0.0)

        def ask(kind, seconds=0.1, **values):
            requests.ask(Fault('e', 0, read_action('test', kind, values, {})), 0)
            found = []
            for time_us in range(0, round(seconds * 1e6), STEP_US):
                autopilot.answer()
                link.receive_all(time_us * 1e-6)
                requests.look(time_us, stands_still=False)
                found += requests.answers()
            return found
        yield ask, autopilot, link


@pytest.mark.parametrize(('name', 'value', 'found'), [
    ('MPC_XY_VEL_MAX', 5, 5.0), ('MPC_XY_VEL_MAX', 0.1, struct.unpack('<f', b'\xcd\xcc\xcc=')[0]),
    ('COM_RC_IN_MODE', 3, 3), ('COM_RC_IN_MODE', 4.0, 4), ('COM_RC_IN_MODE', -2**31, -2**31)])
def test_a_parameter_is_set_with_the_type_that_it_has(asked, name, value, found):
    """A whole number is for both; PX4 reads four bytes as its own type (MAVLink: by bytes)."""
    ask, autopilot, _ = asked
    assert ask('parameter', name=name, value=value) == [Answer('e', '')]
    assert autopilot.parameters[name][1] == found


def test_no_integer_becomes_another_number(asked):
    """`param set` would make 3 of 3.7."""
    ask, autopilot, _ = asked
    assert ask('parameter', name='COM_RC_IN_MODE', value=3.7) == [
        Answer('e', 'it is of type INT32, a whole number')]
    assert autopilot.parameters['COM_RC_IN_MODE'][1] == 1


def test_a_name_that_is_not_known_is_refused(asked):
    """By PARAM_ERROR, or by silence, as of PX4 up to 1.16."""
    ask, autopilot, _ = asked
    answer, = ask('parameter', seconds=5.1, name='NO_SUCH', value=1)
    assert answer.refusal == (
        'MAV_PARAM_ERROR_DOES_NOT_EXIST' if autopilot._says_errors else
        'no PARAM_VALUE within 5 s: the autopilot does not know it')


@pytest.mark.parametrize(('results', 'refusal'), [
    ([ACCEPTED], ''), ([mavlink.MAV_RESULT_IN_PROGRESS, ACCEPTED], ''),
    ([mavlink.MAV_RESULT_UNSUPPORTED], 'MAV_RESULT_UNSUPPORTED'),
    ([mavlink.MAV_RESULT_IN_PROGRESS, mavlink.MAV_RESULT_FAILED], 'MAV_RESULT_FAILED'),
    ([], 'no COMMAND_ACK within 5 s')])
def test_a_command_is_what_its_result_says(asked, results, refusal):
    ask, autopilot, _ = asked
    autopilot.results = results
    assert ask('command', 5.1, command='MAV_CMD_DO_WINCH') == [Answer('e', refusal)]
    assert autopilot.commands == [mavlink.MAV_CMD_DO_WINCH]          # once


def test_two_that_wait_are_answered_in_their_order(asked):
    ask, autopilot, _ = asked
    assert ask('command', command='MAV_CMD_DO_WINCH') == []
    autopilot.results = [mavlink.MAV_RESULT_DENIED]
    assert [a.refusal for a in ask('command', 5.1, command='MAV_CMD_DO_WINCH')] == [
        'MAV_RESULT_DENIED', 'no COMMAND_ACK within 5 s']


@pytest.mark.parametrize(('results', 'mode', 'refusal'), [
    ([ACCEPTED, ACCEPTED], (0, 0), ''), ([ACCEPTED], (3, 0), ''),
    ([ACCEPTED, REJECTED], (0, 0), 'MAV_RESULT_TEMPORARILY_REJECTED'),
    ([REJECTED], (0, 0), 'MAV_RESULT_TEMPORARILY_REJECTED'),
    ([ACCEPTED], (4, 3), 'the autopilot is not in mode POSCTL within 5 s')])
def test_a_mode_is_taken_when_the_commander_of_px4_says_so(asked, results, mode, refusal):
    """Its receiver accepts each mode at once; the second answer, or HEARTBEAT, decides."""
    ask, autopilot, link = asked
    autopilot.results = results
    autopilot.beat(*mode)
    link.receive_all(0.0)
    assert ask('mode', 5.1, to='POSCTL') == [Answer('e', refusal)]


def test_nothing_is_sent_over_a_link_that_is_lost(asked):
    ask, autopilot, link = asked
    link.is_cut = True
    assert ask('command', command='MAV_CMD_DO_WINCH') == [
        Answer('e', 'link_lost is in force: it was not sent')]
    assert autopilot.commands == []


def test_what_stands_still_is_waited_for(instance):
    """Time that does not pass for the autopilot does not count."""
    with (contextlib.closing(Autopilot(instance, True)) as autopilot,
          contextlib.closing(PilotLink(instance)) as link):
        autopilot.beat()
        link.receive_all(0.0)
        requests = Requests(link, Console(link.autopilot_port))
        requests.ask(Fault('e', 0, read_action(
            'test', 'command', {'command': 'MAV_CMD_DO_WINCH'}, {})), 0)
        requests.look(60_000_000, stands_still=True)
        assert requests.answers() == ()
        requests.look(65_000_000, stands_still=False)
        assert requests.answers() == (Answer('e', 'no COMMAND_ACK within 5 s'),)


def test_the_console_of_whoever_has_the_port_is_read_from_a_place_on(instance, tmp_path):
    """Warnings and errors, without what a terminal would obey, each once, the last three."""
    port, log = AUTOPILOT_PORT + instance, tmp_path / 'px4.log'
    program = (
        'import socket, sys\n'
        f's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("{HOST}", {port}))\n'
        'print("WARN  [a] before", flush=True); sys.stderr.write("."); sys.stderr.flush()\n'
        'sys.stdin.readline()\n'
        'print("INFO  [b] no matter\\nERROR [c] \\x1b[31mred\\t\\nERROR [c] \\x1b[31mred\\nfoo\\n'
        'WARN  [d] 1\\nWARN  [e]  2", flush=True)\n'
        'sys.stderr.write("."); sys.stderr.flush(); sys.stdin.readline()\n')
    with log.open('w') as out, subprocess.Popen(
            [sys.executable, '-c', program], stdin=subprocess.PIPE, stdout=out,
            stderr=subprocess.PIPE) as process:
        process.stderr.read(1)
        console = Console(port)
        size = console.size()
        assert size == len('WARN  [a] before\n') and console.words(size) == ''
        process.stdin.write(b'\n')
        process.stdin.flush()
        process.stderr.read(1)
        assert console.words(size) == 'ERROR [c] red; WARN [d] 1; WARN [e] 2'
        assert console.words(0).startswith('ERROR [c]')              # three at most
        process.stdin.write(b'\n')
        process.stdin.flush()
    assert console.words(0) == ''                                    # it has ended


# What a scenario says to the autopilot, as MAVLink has it; and the names of PX4's modes.

MAV = mavlink.MAVLink(None, srcSystem=245)


def message(kind, **values):
    return command_of(MAV, 3, read_action('test', kind, values, {}))


def test_a_command_has_its_number_its_parameters_and_zeros():
    m = message('command', command='MAV_CMD_NAV_LAND', params=[1.5, None])
    assert (m.command, m.target_system, m.target_component) == (21, 3, 1)
    assert m.param1 == 1.5 and math.isnan(m.param2)
    assert [m.param3, m.param4, m.param5, m.param6, m.param7] == [0.0] * 5


@pytest.mark.parametrize('kind', ['off', False])      # what YAML takes for off
def test_a_failure_within_px4_has_its_unit_its_type_and_its_instance(kind):
    m = message('px4_failure', unit='gps', type=kind, instance=2)
    assert m.command == mavlink.MAV_CMD_INJECT_FAILURE and m.target_system == 3
    assert (m.param1, m.param2, m.param3) == (
        mavlink.FAILURE_UNIT_SENSOR_GPS, mavlink.FAILURE_TYPE_OFF, 2)


@pytest.mark.parametrize(('name', 'main', 'sub'), [
    ('POSCTL', 3, 0), ('ALTCTL', 2, 0), ('AUTO_MISSION', 4, 4), ('AUTO_RTL', 4, 5)])
def test_a_mode_is_set_by_its_numbers(name, main, sub):
    """Those of PX4's px4_custom_mode.h."""
    m = message('mode', to=name)
    assert (m.command, m.target_system) == (mavlink.MAV_CMD_DO_SET_MODE, 3)
    assert (m.param1, m.param2, m.param3) == (
        mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, main, sub)


def test_the_modes_that_fly_by_themselves_survive():
    names = [name for name in MODES if name.startswith('AUTO_')]
    assert len(names) > 5 and [mode_name(custom_mode(name)) for name in names] == names
    assert mode_name(6 << 16) == 'OFFBOARD' and mode_name(99 << 16) == ''
