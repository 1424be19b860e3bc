# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`fly --autopilot none`: the world waits for an autopilot that somebody else starts."""
import json
import math
import signal
import sys

import pytest
from commands import command, interrupt, running, wait_for_line
from mavlink_frames import controls_frame
from stand_in_autopilot import StandInAutopilot

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.process.children import Child

pytestmark = pytest.mark.process

INSTANCE = 84


@pytest.fixture
def autopilot():
    """Return a function that starts the autopilot of a user."""
    started = []

    def start():
        started.append(Child('autopilot', [
            sys.executable, '-m', 'px4_sim_ros.autopilot.process', '--instance', str(INSTANCE)]))

    yield start
    for child in started:
        child.stop()


def fly(mode, *words):
    return command('fly', '--autopilot', 'none', '--mode', mode, '--instance', INSTANCE, *words)


WAITS = f'waiting for your autopilot on TCP port {port_of(INSTANCE)}'


# That a graph waits for who comes is seen below.
@pytest.mark.parametrize('mode', ['core', pytest.param('composed', marks=pytest.mark.long)])
def test_a_mission_that_is_asked_for_is_flown(mode, autopilot, hop, tmp_path):
    file = tmp_path / 'summary.json'
    with running(fly(mode, '--mission', hop, '--summary', file)) as process:
        wait_for_line(process, WAITS)
        autopilot()
        process.communicate(timeout=120)
    assert process.returncode == 0
    summary = json.loads(file.read_text())
    assert (summary['autopilot'], summary['mission']) == ('none', 'hop')
    assert summary['landed']


# Both signals have one handler, test_signals compares them.
@pytest.mark.parametrize('number', [
    signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_without_a_mission_a_signal_is_the_end(number, autopilot, hop, here, tmp_path):
    """In mode core, which nothing else ends; what was recorded is whole."""
    file, bag = tmp_path / 'summary.json', tmp_path / 'bag'
    with running(fly('core', '--summary', file, '--record', bag)) as process:
        wait_for_line(process, WAITS)
        autopilot()
        pilot = here('pilot', '--instance', INSTANCE, '--mission', hop)
        assert pilot.returncode == 0, pilot.stderr
        assert interrupt(process, number) < 10.0
        assert process.returncode == 0, process.stdout.read()
    summary = json.loads(file.read_text())
    assert (summary['mission'], summary['mission_flown'], summary['stopped']) == (
        'none', False, True)
    assert summary['max_altitude_m'] > 0.25
    assert here('replay', bag).returncode == 0


def test_a_world_that_nobody_came_to_ends_when_it_is_stopped(here):
    with running(fly('composed')) as process:
        wait_for_line(process, WAITS)
        stopped = here('stop')
        assert stopped.returncode == 0, stopped.stderr
        process.wait(30)
        assert process.returncode == 0
        assert 'mission                      none' in process.stdout.read()


@pytest.mark.parametrize('mode', ['core', 'composed'])
def test_an_autopilot_that_is_out_of_step_and_wild_is_reported(mode, tmp_path):
    """On the terminal once for each kind, and in the summary as numbers."""
    file = tmp_path / 'summary.json'
    with running(fly(mode, '--summary', file)) as process:
        wait_for_line(process, WAITS)
        autopilot = StandInAutopilot(port_of(INSTANCE))
        autopilot.start(lambda time_us: [controls_frame(time_us + 1, (1500.0, math.nan))])
        printed = wait_for_line(process, 'limited_controls') + wait_for_line(
            process, 'stale_replies')
        interrupt(process, signal.SIGINT)
        autopilot.close()
        text = ''.join(printed) + process.stdout.read()
    assert text.count('answer no step that waits for an answer') == 1
    assert text.count('a control of 1500 came in') == 1
    summary = json.loads(file.read_text())
    assert summary['replies'] == 0 < summary['stale_replies'] <= summary['steps']
    assert summary['limited_controls'] == 2 * summary['stale_replies']
    assert f"stale_replies                {summary['stale_replies']}" in text
