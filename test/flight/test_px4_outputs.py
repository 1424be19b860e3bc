# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States of a real PX4 whose outputs do not leave it, or are the disarmed ones: its vehicle falls.

One for each row of the table in docs/px4_and_ports.md.
"""
import dataclasses
import json
import os
import re
import subprocess
import threading

import pytest
from commands import command, running, wait_for_line
from px4_flight import NEEDS_FIFO

from px4_sim_ros.flight.px4 import Px4

pytestmark = [pytest.mark.slow, pytest.mark.px4]

INSTANCE = 1
# From 5 m to 0.3 m takes 0.98 s without air; with the rotors' run-out and their drag a little more.
LONGEST_FALL_S = 1.25


@dataclasses.dataclass
class Case:
    """How a state is brought about at 4.5 m, and what is seen of it."""

    event: dict
    px4: dict = dataclasses.field(default_factory=dict)
    is_terminated: bool = True
    is_held: bool = False        # before that, for a second: steps without an answer
    stops_estimator: bool = False


def injected(unit):
    return Case({'px4_failure': {'unit': unit, 'type': 'off'}}, {'SYS_FAILURE_EN': 1}, is_held=True)


def commanded(name, *params, **options):
    return Case({'command': {'command': name, 'params': list(params)}}, **options)


CASES = {
    'termination': commanded('MAV_CMD_DO_FLIGHTTERMINATION', 1),
    'fence': Case({'note': {'text': 'out: too high'}}, {'GF_ACTION': 4, 'GF_MAX_VER_DIST': 4.6}),
    'attitude failure': Case({'torque': {'torque_n_m': [3.0, 0.0, 0.0]}, 'for_s': 1},
                             {'CBRK_FLIGHTTERM': 0}),
    'gyro': injected('gyro'), 'accelerometer': injected('accel'),
    'imu': Case({'sensor_off': {'sensor': 'imu'}}, is_held=True),
    'estimator': Case({'note': {'text': 'out: ekf2 stop'}}, stops_estimator=True),
    'disarmed': commanded('MAV_CMD_COMPONENT_ARM_DISARM', 0, 21196, is_terminated=False),
    'kill': Case({'sticks': {'roll': 1.0, 'pitch': -1.0, 'yaw': -1.0, 'throttle': 0.0}},
                 {'MAN_KILL_GEST_T': 0.2, 'COM_RC_IN_MODE': 1}, is_terminated=False),
}


def fly(case, tmp_path, monkeypatch, *words):
    """Fly it to the ground; return what was printed, and the summary."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    scenario, file = tmp_path / 'scenario.yaml', tmp_path / 'summary.json'
    scenario.write_text(json.dumps({
        'mission': [{'take_off': {'up_m': 5.0}}, {'hold': {'duration_s': 60.0}}, {'land': {}}],
        'px4': case.px4,
        'events': [{'name': 'out', 'when': {'height_m': {'above': 4.5}}, **case.event}],
        'expect': [{'eventually': {'height_m': {'below': 0.3}},
                    'after': {'age_s': {'event': 'out', 'above': 0}}}],
        'end': {'at_s': 60, 'when': {'height_m': {'below': 0.3},
                                     'age_s': {'event': 'out', 'above': 0}}}}))
    with running(command('fly', '--autopilot', 'px4', '--instance', INSTANCE, '--mode', 'core',
                         '--scenario', scenario, '--summary', file, *words)) as process:
        printed = wait_for_line(process, 'out: ')
        if case.stops_estimator:
            binary = Px4.find(os.environ['PX4_DIR']).build / 'bin' / 'px4-ekf2'
            threading.Thread(target=subprocess.run, args=[
                [binary, '--instance', str(INSTANCE), 'stop']]).start()
        text = ''.join(printed) + process.communicate(timeout=180)[0]
    assert process.returncode == 0, text
    return text, json.loads(file.read_text())


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_the_vehicle_falls(case, tmp_path, monkeypatch):
    """At the simulated time, and not when the wall clock has waited for an answer in vain."""
    text, summary = fly(case, tmp_path, monkeypatch)
    assert (summary['misses'], summary['states']['STALLED']) == (0, 0.0), text
    assert (summary['states']['TERMINATED'] > 0.0) is case.is_terminated, text
    # A second of steps; without an accelerometer PX4 answers one in five.
    assert (summary['unanswered'] > 100) is case.is_held, text
    if case.is_terminated:
        began_s = float(re.search(r'TERMINATED at t = ([0-9.]+) s', text)[1])
        assert 0.0 < summary['sim_time_s'] - began_s < LONGEST_FALL_S, text


def test_locked_down_it_does_not_take_off(tmp_path, monkeypatch):
    """Armed, and waiting to be thrown."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    scenario, file = tmp_path / 'scenario.yaml', tmp_path / 'summary.json'
    scenario.write_text(json.dumps({
        'mission': [{'take_off': {'up_m': 5.0}}, {'land': {}}], 'px4': {'COM_THROW_EN': 1},
        'expect': [{'eventually': {'armed': True}}, {'always': {'height_m': {'below': 0.01}}}],
        'end': {'at_s': 14}}))
    text = subprocess.run(
        command('fly', '--autopilot', 'px4', '--instance', INSTANCE, '--mode', 'core',
                '--scenario', scenario, '--summary', file),
        capture_output=True, text=True, timeout=180, check=False)
    assert text.returncode == 0, text.stdout + text.stderr
    assert json.loads(file.read_text())['unanswered'] == 0


@NEEDS_FIFO
def test_a_fall_repeats(tmp_path, monkeypatch):
    """Held outputs and their end as well, in one process and in several."""
    found = set()
    for mode in 'core', 'separate':
        (tmp_path / mode).mkdir()
        _, summary = fly(CASES['gyro'], tmp_path / mode, monkeypatch, '--mode', mode,
                         '--px4-schedule', 'repeatable')
        assert summary['repeatable'], summary['not_repeatable_because']
        found.add((summary['fingerprint'], summary['unanswered'], summary['sim_time_s']))
    assert len(found) == 1
