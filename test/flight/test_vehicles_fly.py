# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each vehicle that comes along flies: a corner with the embedded autopilot, a square with PX4."""
import json
import pathlib
import re

import instances
import pytest
from commands import run
from px4_flight import complaints

pytestmark = pytest.mark.process

INSTANCE = instances.of_px4()


# The square of the iris is flown by test_fly.py. Here, there are all kinds of motion once.
CORNER = {'name': 'corner', 'items': [
    {'take_off': {'up_m': 4.0}}, {'go_to': {'north_m': 4.0, 'east_m': 4.0, 'up_m': 4.0}},
    {'go_to': {'north_m': 0.0, 'east_m': 0.0, 'up_m': 4.0}}, {'land': {}}]}


def flight(tmp_path, vehicle, instance, autopilot, *words, start=run):
    """Fly; return the summary and what was printed."""
    file = tmp_path / 'summary.json'
    result = start('fly', '--mode', 'core', '--vehicle', vehicle, '--autopilot', autopilot,
                   '--instance', instance, '--summary', file, *words)
    assert result.returncode == 0, result.stderr
    return json.loads(file.read_text()), result.stdout


def assert_was_flown(summary, vehicle, up_m):
    """Assert that the whole mission was flown well, and in lockstep."""
    assert summary['vehicle'] == vehicle
    assert summary['mission_flown']
    assert summary['landed']
    assert summary['misses'] == 0
    assert all(abs(a['altitude_error_m']) < 0.5 for a in summary['arrivals'])
    assert all(a['position_error_m'] < 1.0 for a in summary['arrivals'])
    assert summary['position_error_at_landing_m'] < 1.0
    assert summary['max_altitude_m'] < up_m + 1.0


@pytest.mark.parametrize('vehicle', ['x500', 'hexa', 'octo'])
def test_with_the_embedded_autopilot(tmp_path, vehicle, instance, here):
    mission = tmp_path / 'corner.yaml'
    mission.write_text(json.dumps(CORNER))
    summary, _ = flight(
        tmp_path, vehicle, instance, 'embedded', '--mission', mission, start=here)
    assert len(summary['arrivals']) == 3
    assert_was_flown(summary, vehicle, 4.0)


@pytest.mark.px4
@pytest.mark.parametrize('vehicle', ['x500', 'hexa', 'octo'])
def test_with_px4(tmp_path, vehicle):
    summary, printed = flight(tmp_path, vehicle, INSTANCE, 'px4')
    assert_was_flown(summary, vehicle, 10.0)
    folder = re.search(r'PX4 runs in (\S+);', printed).group(1)
    console = (pathlib.Path(folder) / 'px4.log').read_text(errors='replace')
    assert 'Ready for takeoff!' in console
    assert complaints(console) == []


# NAV_ACC_RAD of the airframes, and a step of the way.
MISSIONS = [('plane', 'plane', 17.0, 150.0),
            ('standard_vtol', 'vtol', 7.0, 1.0),
            ('tiltrotor', 'vtol', 7.0, 1.0),
            ('tailsitter', 'vtol', 7.0, 1.0)]


@pytest.mark.parametrize(
    'vehicle', ['plane', 'standard_vtol', 'tiltrotor', 'tailsitter', 'rover_ackermann'])
def test_the_embedded_autopilot_refuses_it(vehicle, here):
    result = here('fly', '--vehicle', vehicle)
    assert result.returncode == 2
    assert result.stderr == (
        f'fly: vehicle {vehicle}: the embedded autopilot controls multirotors only; the autopilot'
        ' px4 controls all\n')


@pytest.mark.px4
@pytest.mark.parametrize(
    ('vehicle', 'mission', 'acceptance_m', 'landing_m'), MISSIONS)
def test_px4_flies_its_mission(tmp_path, vehicle, mission, acceptance_m, landing_m):
    """And a replay of it, without PX4, is bit-identical."""
    file, bag = tmp_path / 'summary.json', tmp_path / 'bag'
    result = run('fly', '--mode', 'core', '--vehicle', vehicle, '--mission', mission,
                 '--autopilot', 'px4', '--instance', INSTANCE, '--summary', file, '--record', bag)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert summary['mission_flown']
    assert summary['landed']
    assert summary['misses'] == 0
    assert len(summary['arrivals']) == 4
    assert all(abs(a['altitude_error_m']) < 5.0 for a in summary['arrivals'])
    assert all(a['position_error_m'] < acceptance_m for a in summary['arrivals'])
    assert summary['position_error_at_landing_m'] < landing_m
    folder = re.search(r'PX4 runs in (\S+);', result.stdout).group(1)
    # Before that PX4 misses modules of its own that are not up yet.
    _, ready, console = (pathlib.Path(folder) / 'px4.log').read_text(
        errors='replace').partition('Ready for takeoff!')
    assert ready
    assert complaints(console) == []
    replay = run('replay', bag)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert 'common messages are bit-identical' in replay.stdout


# NAV_ACC_RAD is 0.5 m; with steering PX4 cuts corners by RA_ACC_RAD_MAX, 1.5 m.
@pytest.mark.px4
@pytest.mark.parametrize(('vehicle', 'acceptance_m'), [
    ('rover_differential', 0.7), ('rover_ackermann', 1.7)])
def test_px4_drives_its_mission(tmp_path, vehicle, acceptance_m):
    summary, printed = flight(tmp_path, vehicle, INSTANCE, 'px4', '--mission', 'rover')
    assert summary['mission_flown']
    assert summary['misses'] == 0
    assert len(summary['arrivals']) == 5
    assert all(a['position_error_m'] < acceptance_m for a in summary['arrivals'])
    folder = re.search(r'PX4 runs in (\S+);', printed).group(1)
    _, ready, console = (pathlib.Path(folder) / 'px4.log').read_text(
        errors='replace').partition('Startup script returned successfully')
    assert ready
    assert complaints(console) == []
