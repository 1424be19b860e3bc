# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States of a real PX4 whose outputs do not leave it, or are the disarmed ones: its vehicle falls.

One for each row of the table in docs/px4_and_ports.md.
"""
import contextlib
import dataclasses
import json
import os
import re
import socket
import subprocess
import threading
import typing

import instances
import numpy as np
import pytest
from commands import command, running, wait_for_line
from px4_flight import NEEDS_FIFO
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.schema import decode, topic_type
from px4_sim_ros.step.graph import COMMAND

pytestmark = [pytest.mark.process, pytest.mark.px4]

INSTANCE = instances.of_px4()
# From 5 m to 0.3 m takes 0.98 s without air; with the rotors' run-out and their drag a little more.
LONGEST_FALL_S = 1.25


@dataclasses.dataclass
class Case:
    """How a state is brought about at 4.5 m, and what is seen of it."""

    event: dict
    px4: dict = dataclasses.field(default_factory=dict)
    is_terminated: bool = True
    is_held: bool = False        # before that, for a second: steps without an answer
    do: typing.Callable[[], object] = lambda: None      # what is done from outside then


def injected(unit):
    return Case({'px4_failure': {'unit': unit, 'type': 'off'}}, {'SYS_FAILURE_EN': 1}, is_held=True)


def commanded(name, *params, **options):
    return Case({'command': {'command': name, 'params': list(params)}}, **options)


def stop_estimator():
    binary = Px4.find(os.environ['PX4_DIR']).build / 'bin' / 'px4-ekf2'
    subprocess.run([binary, '--instance', str(INSTANCE), 'stop'], check=True)


CASES = {
    'termination': commanded('MAV_CMD_DO_FLIGHTTERMINATION', 1),
    'fence': Case({'note': {'text': 'out: too high'}}, {'GF_ACTION': 4, 'GF_MAX_VER_DIST': 4.6}),
    'attitude failure': Case({'torque': {'torque_n_m': [3.0, 0.0, 0.0]}, 'for_s': 1},
                             {'CBRK_FLIGHTTERM': 0}),
    'gyro': injected('gyro'), 'accelerometer': injected('accel'),
    'imu': Case({'sensor_off': {'sensor': 'imu'}}, is_held=True),
    'estimator': Case({'note': {'text': 'out: ekf2 stop'}}, do=stop_estimator),
    'disarmed': commanded('MAV_CMD_COMPONENT_ARM_DISARM', 0, 21196, is_terminated=False),
    'kill': Case({'sticks': {'roll': 1.0, 'pitch': -1.0, 'yaw': -1.0, 'throttle': 0.0}},
                 {'MAN_KILL_GEST_T': 0.2, 'COM_RC_IN_MODE': 1}, is_terminated=False),
}


HOVER = [{'take_off': {'up_m': 5.0}}, {'hold': {'duration_s': 60.0}}, {'land': {}}]
TO_THE_GROUND = {'height_m': {'below': 0.3}, 'age_s': {'event': 'out', 'above': 0}}


def fly(case, tmp_path, monkeypatch, *words, vehicle='iris', mission=HOVER, at=None,
        end=TO_THE_GROUND):
    """Fly it to an end; return what was printed, and the summary."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    scenario, file = tmp_path / 'scenario.yaml', tmp_path / 'summary.json'
    scenario.write_text(json.dumps({
        'vehicle': vehicle, 'mission': mission, 'px4': case.px4,
        'events': [{'name': 'out', 'when': at or {'height_m': {'above': 4.5}}, **case.event}],
        'expect': [{'eventually': end}], 'end': {'at_s': 60, 'when': end}}))
    with running(command('fly', '--autopilot', 'px4', '--instance', INSTANCE, '--mode', 'core',
                         '--scenario', scenario, '--summary', file, *words)) as process:
        printed = wait_for_line(process, 'out: ')
        case.do()
        text = ''.join(printed) + process.communicate(timeout=180)[0]
    assert process.returncode == 0, text
    return text, json.loads(file.read_text())


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_the_vehicle_falls(case, tmp_path, monkeypatch):
    """At the simulated time, and not when the wall clock has waited for an answer in vain."""
    text, summary = fly(case, tmp_path, monkeypatch)
    assert (summary['misses'], summary['states']['STALLED']) == (0, 0.0), text
    assert (summary['states']['TERMINATED'] > 0.0) is case.is_terminated, text
    # A second of steps; without an accelerometer PX4 answers one in five. Otherwise it has
    # terminated when it is asked, every 13 steps, for the second time at the latest, or says so.
    assert (summary['unanswered'] > 50) is case.is_held, text
    if case.is_terminated:
        began_s = float(re.search(r'TERMINATED at t = ([0-9.]+) s', text)[1])
        assert 0.0 < summary['sim_time_s'] - began_s < LONGEST_FALL_S, text


FAR = [{'take_off': {'up_m': 30.0}}, {'go_to': {'north_m': 400.0, 'east_m': 0.0, 'up_m': 40.0}},
       {'land': {}}]
OTHERS = {
    'plane': ('gyro', FAR, {'height_m': {'above': 20}}),
    'standard_vtol': ('termination', FAR, {'speed_m_s': {'above': 12}}),     # on its wing
    'rover_ackermann': ('gyro', [FAR[1]], {'speed_m_s': {'above': 1.5}})}


@pytest.mark.parametrize('vehicle', OTHERS)
def test_motors_stop_and_servos_are_centred(vehicle, tmp_path, monkeypatch):
    name, mission, at = OTHERS[vehicle]
    bag = tmp_path / 'bag'
    text, summary = fly(CASES[name], tmp_path, monkeypatch, '--record', bag, vehicle=vehicle,
                        mission=mission, at=at, end={'age_s': {'event': 'out', 'above': 2}})
    assert (summary['misses'], summary['states']['STALLED']) == (0, 0.0), text
    assert summary['states']['TERMINATED'] > 0.0, text
    reader = BagReader(bag)
    commands = [decode(m.data, topic_type(reader.run.graph, COMMAND))
                for m in reader.messages() if m.topic == COMMAND]
    event_us = stamp_us(commands[-1].header.stamp) - 2_100_000
    before = next(m for m in commands if stamp_us(m.header.stamp) > event_us)
    for kind in 'velocity', 'position':       # of motors, and of servos; NaN of the others
        then, now = (np.nan_to_num(getattr(m, kind)) for m in (before, commands[-1]))
        assert then.any() and not now.any(), text


RECEIVER = {'COM_RC_IN_MODE': 0, 'RC_CHAN_CNT': 8, 'RC_MAP_ROLL': 1, 'RC_MAP_PITCH': 2,
            'RC_MAP_THROTTLE': 3, 'RC_MAP_YAW': 4, 'RC_MAP_KILL_SW': 8}


@contextlib.contextmanager
def remote_control(is_killed):
    """Send PX4 what a receiver gives, 100 times a second of the wall clock."""
    over = threading.Event()

    def send():
        mav = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            while not over.wait(0.01):
                own.sendto(mavlink.MAVLink_rc_channels_override_message(
                    1 + INSTANCE, 1, *[1500] * 7, 2000 if is_killed.is_set() else 1000).pack(mav),
                    ('127.0.0.1', 18570 + INSTANCE))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_kill_switch(tmp_path, monkeypatch):
    """In real time: PX4 takes a receiver for lost after half a simulated second."""
    is_killed = threading.Event()
    case = Case({'note': {'text': 'out: switched'}}, RECEIVER, do=is_killed.set)
    with remote_control(is_killed):
        text, summary = fly(case, tmp_path, monkeypatch, '--speed-factor', 1)
    assert (summary['misses'], summary['unanswered']) == (0, 0), text
    assert summary['states']['TERMINATED'] == 0.0, text
    began_s = float(re.search(r'out: switched, at ([0-9.]+) s', text)[1])
    assert summary['sim_time_s'] - began_s < LONGEST_FALL_S + 0.2, text
    log, = tmp_path.rglob('px4.log')
    assert 'Kill engaged' in log.read_text(errors='replace')


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
