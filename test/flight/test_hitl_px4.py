# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A real PX4 without lockstep, started as a flight controller in HITL is, at the end of a line."""
import contextlib
import json
import os
import re
import socket
import subprocess
import time

import px4_controller
import pytest
from commands import command, wait_for_line, write_long_hover
from px4_controller import FIRST, NEEDS_NO_LOCKSTEP, Cable, on_cores
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.board import names, wrong
from px4_sim_ros.link.hil.line import FIGURES
from px4_sim_ros.spec.files import load_vehicle

INSTANCE = 96
CABLES = 'udp', 'serial'
# A square of 10 m, at 5 m, in which a motor weakens and it gets windy.
SCENARIO = {
    'vehicle': 'iris',
    'mission': [{'take_off': {'up_m': 5.0}},
                *({'go_to': {'north_m': north, 'east_m': east, 'up_m': 5.0}}
                  for north, east in ((10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (0.0, 0.0))),
                {'land': {}}],
    'weather': {'wind': 'constant', 'speed_m_s': 0.0},
    'events': [
        {'name': 'weak', 'when': {'items': {'above': 0.5}}, 'for_s': 3,
         'motor_thrust': {'motor': 1, 'share': 0.9}},
        {'name': 'windy', 'when': {'items': {'above': 1.5}}, 'for_s': 5,
         'wind': {'speed_m_s': 4.0, 'from_deg': 90}}],
    'expect': [{'always': {'tilt_deg': {'below': 45}}}, {'eventually': {'height_m': {'above': 4}}}]}


@contextlib.contextmanager
def flying(cable, *words):
    process = subprocess.Popen(
        [*FIRST, *on_cores(of_board=False), *command(
            'fly', '--mode', 'core', '--autopilot', cable.name, '--instance', INSTANCE, *words)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture
def cable(request, tmp_path):
    with contextlib.closing(Cable(request.param, tmp_path)) as cable:
        yield cable


@pytest.mark.px4
@NEEDS_NO_LOCKSTEP
@pytest.mark.parametrize('cable', CABLES, indirect=True)
def test_it_flies_a_square_with_a_weak_motor_in_wind(cable, here, tmp_path):
    file, summary, bag = (tmp_path / name for name in ('square.yaml', 'summary.json', 'bag'))
    file.write_text(json.dumps(SCENARIO))
    with (px4_controller.controller(tmp_path, INSTANCE, cable),
          flying(cable, '--scenario', file, '--summary', summary, '--record', bag) as process):
        said, _ = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert 'on the controller' not in said
    found = json.loads(summary.read_text())
    assert found['landed'] and not found['repeatable']
    assert {'weak', 'windy'} <= {event['event'].partition(':')[0] for event in found['events']}
    assert [arrival['target_enu_m'][:2] for arrival in found['arrivals']][1:] == [
        [0.0, 10.0], [10.0, 10.0], [10.0, 0.0], [0.0, 0.0]]
    # What PX4 takes for its place is its true one.
    assert all(arrival['position_error_m'] < 1.5 for arrival in found['arrivals'])
    assert found['real_time_factor'] < 1.01
    controls = [int(part.split(':')[1]) for part in found['controls_age_histogram'].split()]
    assert 0.5 * found['replies'] < sum(controls) <= found['replies']
    assert int(found['missed_periods']) < 0.1 * found['replies']
    replayed = here('replay', bag)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.long
@pytest.mark.px4
@NEEDS_NO_LOCKSTEP
def test_no_period_is_missed(tmp_path):
    """HITL_S is the time in the air; half an hour is `make hitl`, on a machine that is idle."""
    duration_s, file = float(os.environ.get('HITL_S', '5')), tmp_path / 'summary.json'
    mission, vehicle = write_long_hover(tmp_path, duration_s)
    with (contextlib.closing(Cable('udp', tmp_path)) as cable,
          px4_controller.controller(tmp_path, INSTANCE, cable),
          flying(cable, '--mission', mission, '--vehicle', vehicle, '--summary', file) as process):
        said, _ = process.communicate(timeout=200 + 1.2 * duration_s)
    assert process.returncode == 0, said
    summary = json.loads(file.read_text())
    print('', *(f'{key} {summary[key]}' for key in ('landed', 'sim_time_s', 'real_time_factor',
                                                    'misses', 'unanswered', *FIGURES)), sep='\n')
    assert summary['landed'] and summary['sim_time_s'] > duration_s
    assert summary['missed_periods'] == '0', said


class Station:
    """A ground station: it has the ports of one, and sends a heartbeat first."""

    def __init__(self):
        self.mav = mavlink.MAVLink(None, 255, 190)
        self.parser = mavlink.MAVLink(None)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(0.1)
        self.system = 1 + INSTANCE

    def send(self, message):
        self.socket.sendto(message.pack(self.mav), ('127.0.0.1', 18570 + INSTANCE))

    def hears(self, kind, ask, wanted=lambda message: True, limit_s=20.0):
        """Ask until an answer comes; return it."""
        deadline_s = time.monotonic() + limit_s
        while time.monotonic() < deadline_s:
            self.send(self.mav.heartbeat_encode(6, 8, 0, 0, 4))
            self.send(ask)
            with contextlib.suppress(TimeoutError):
                while True:
                    for message in self.parser.parse_buffer(self.socket.recv(65536)) or ():
                        if message.get_type() == kind and wanted(message):
                            return message
        raise AssertionError(f'no {kind} has come')


@pytest.mark.px4
@NEEDS_NO_LOCKSTEP
@pytest.mark.parametrize('cable, cut_s', [
    ('udp', 3.0), ('serial', 0.5), ('serial', 3.0)], indirect=['cable'])
def test_the_line_is_cut_in_flight_and_comes_back(cable, cut_s, tmp_path):
    """PX4 terminates a flight without measurements for 3 s, and flies on after 0.5 s."""
    station, summary = Station(), tmp_path / 'summary.json'
    with (contextlib.closing(station.socket),
          px4_controller.controller(tmp_path, INSTANCE, cable),
          flying(cable, '--mission', 'hover', '--summary', summary) as process):
        wait_for_line(process, 'ready to fly')
        value = station.hears('PARAM_VALUE', station.mav.param_request_read_encode(
            station.system, 1, b'MPC_TKO_SPEED', -1), lambda m: m.param_id == 'MPC_TKO_SPEED')
        assert 0.5 < value.param_value < 10.0
        beat = station.hears('HEARTBEAT', station.mav.heartbeat_encode(6, 8, 0, 0, 4))
        assert beat.get_srcSystem() == station.system and beat.autopilot == 12
        wait_for_line(process, 'arrived')
        cable.cut()
        wait_for_line(process, 'STALLED')
        time.sleep(cut_s)              # which is what is tested
        cable.mend()
        said = ''.join(wait_for_line(process, 'LOCKED'))
        again = station.hears('HEARTBEAT', station.mav.heartbeat_encode(6, 8, 0, 0, 4))
        is_terminated = again.system_status == mavlink.MAV_STATE_FLIGHT_TERMINATION
        assert is_terminated == (cut_s > 1.0)
        assert ('the controller has terminated the flight' in said) == is_terminated
        process.terminate()
        process.communicate(timeout=30)
    found = json.loads(summary.read_text())
    assert 0.5 * cut_s < found['states']['STALLED'] < cut_s + 5.0
    assert found['unanswered'] > 100 * cut_s


@pytest.mark.px4
@NEEDS_NO_LOCKSTEP
@pytest.mark.skipif(not px4_controller.with_clock(0), reason='no clock of its own is permitted')
def test_how_long_the_estimator_of_one_that_has_run_waits(tmp_path):
    """A twentieth of that, since its first sample is as long."""
    with (contextlib.closing(Cable('udp', tmp_path)) as cable,
          px4_controller.controller(tmp_path, INSTANCE, cable, runs_s=600),
          flying(cable, '--mission', 'hover') as process):
        said = ''.join(wait_for_line(process, 'ready to fly'))
    runs_s, waits_s = (int(found) for found in re.search(
        r'has run for (\d+) s: .* begins (\d+) s after the first one', said).groups())
    assert 600 <= runs_s < 620 and waits_s == round(runs_s / 20)
    # Ready it is 8 s after its estimator has begun.
    ready_s = float(re.search(r't = +([\d.]+) s  ready to fly', said)[1])
    assert waits_s < ready_s < waits_s + 20


@pytest.mark.px4
@NEEDS_NO_LOCKSTEP
def test_each_wrong_setting_of_a_board_is_named(tmp_path):
    with (contextlib.closing(Cable('udp', tmp_path)) as cable,
          px4_controller.controller(
              tmp_path, INSTANCE, cable, SYS_HITL=0, CBRK_SUPPLY_CHK=0, PWM_MAIN_FUNC3=0,
              CA_ROTOR0_KM=-0.05, CA_ROTOR1_PX=0.2),
          flying(cable) as process):
        said = ''.join(wait_for_line(process, 'CA_ROTOR1_PX'))
    for sentence in (
            'on the controller SYS_HITL = 0: must be 1', 'CBRK_SUPPLY_CHK = 0: must be 894281',
            'PWM_MAIN_FUNC3 = 0: must be 101 to 104: it drives rotor 3 of iris',
            'CA_ROTOR0_KM = -0.05: iris has the rotor of motor 1', 'CA_ROTOR1_PX = 0.2'):
        assert sentence in said, said


@pytest.mark.px4
@NEEDS_NO_LOCKSTEP
def test_what_is_set_wrong_is_set_on_request_and_then_flies(tmp_path):
    """All but SYS_HITL, which is of its start script, holds at once in this build."""
    summary = tmp_path / 'summary.json'
    with (contextlib.closing(Cable('udp', tmp_path)) as cable,
          px4_controller.controller(
              tmp_path, INSTANCE, cable, SYS_HITL=0, CBRK_SUPPLY_CHK=0, PWM_MAIN_FUNC3=0,
              CA_ROTOR0_KM=-0.05, CA_ROTOR1_PX=0.2)):
        with flying(cable, '--set', 'hil_bridge.set_board=true') as process:
            said = ''.join(wait_for_line(process, 'start the controller again'))
        for setting in ('SYS_HITL = 1', 'CBRK_SUPPLY_CHK = 894281', 'PWM_MAIN_FUNC3 = 103',
                        'CA_ROTOR0_KM = 0.05', 'CA_ROTOR1_PX = -0.13'):
            assert f'set on the controller: {setting}' in said, said
        assert 'has not taken' not in said
        with flying(cable, '--mission', 'hover', '--summary', summary) as process:
            said, _ = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert 'on the controller' not in said
    assert json.loads(summary.read_text())['landed']


# Without a PX4: what is said of values.

IRIS = {**{name: 0 for name in names(load_vehicle('iris')) if name.startswith('HIL')},
        **{f'HIL_ACT_FUNC{i}': 100 + i for i in range(1, 5)}, 'GPS_1_CONFIG': 0,
        **{name: value for name, value in px4_controller.PARAMETERS.items()
           if name in names(load_vehicle('iris'))}}


def test_a_board_that_is_set_right_is_not_mentioned():
    assert wrong(load_vehicle('iris'), IRIS) == []
    plane = {f'HIL_ACT_FUNC{output}': 101 if output == 4 else 421 for output in (3, 4, 6, 7, 8)}
    assert not any('servo' in found for found in wrong(load_vehicle('plane'), {
        'SYS_HITL': 1, **plane})), 'those of a gimbal'


@pytest.mark.parametrize('vehicle, values, said', [
    ('iris', {'GPS_1_CONFIG': 201}, 'GPS_1_CONFIG = 201: must be 0: else a receiver'),
    ('iris', {'SYS_HITL': 2}, 'SYS_HITL = 2: must be 1'),
    ('iris', {'CBRK_SUPPLY_CHK': 1}, 'CBRK_SUPPLY_CHK = 1: must be 894281'),
    ('iris', {'HIL_ACT_FUNC2': 201}, 'HIL_ACT_FUNC2 = 201: must be 101 to 104: it drives rotor 2'),
    ('iris', {'HIL_ACT_FUNC1': 102, 'HIL_ACT_FUNC2': 101}, 'iris has the rotor of motor 2'),
    ('iris', {'CA_ROTOR_COUNT': 6}, 'CA_ROTOR_COUNT = 6: must be 4, as many as iris has'),
    ('iris', {'CA_ROTOR2_PY': 0.2}, 'CA_ROTOR2_PY = 0.2'),
    ('iris', {'CA_ROTOR3_PX': 0.0, 'CA_ROTOR3_PY': 0.0}, 'CA_ROTOR3_PX = 0'),
    ('plane', {'HIL_ACT_FUNC6': 101},
     'HIL_ACT_FUNC6 = 101: must be 201 to 208: it drives the servo'),
])
def test_each_wrong_value_is_a_sentence(vehicle, values, said):
    found = wrong(load_vehicle(vehicle), {**IRIS, **values} if vehicle == 'iris' else {
        'SYS_HITL': 1, **values})
    assert any(said in sentence for sentence in found), found


def test_one_that_does_not_answer_is_told():
    assert 'does not answer' in wrong(load_vehicle('iris'), {})[0]
