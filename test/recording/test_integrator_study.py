# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All integrators on a recorded trajectory."""
import argparse
import json
import math

import numpy as np
import pytest
from comparison_flight import STILL_STEPS, commands, record_flight
from printed import assert_fits

from px4_sim_ros.cli import compare as command
from px4_sim_ros.recording.analysis import integrator_study
from px4_sim_ros.recording.analysis.integrator_study import read_trajectory, study_integrators
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.recording.report.comparison_report import study_table

STEPS = 375


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return record_flight(tmp_path_factory.mktemp('study') / 'bag', STEPS)


@pytest.fixture(scope='module')
def study(bag):
    return study_integrators(bag, 0.5)


def test_the_flight_is_read_as_it_was_flown(bag):
    trajectory = read_trajectory(bag)
    assert [len(column) for column in trajectory] == [STEPS] * 3
    wanted = [(0.0,) * 4, *commands(STEPS)][:STEPS]      # each is held in the step after it
    assert trajectory.references_rad_s == wanted
    # The wind has a period of five steps, and there is none before the first.
    assert trajectory.winds_enu[:4] == [(0.0, 0.0, 0.0)] * 4
    assert trajectory.winds_enu[4] == trajectory.winds_enu[8] != trajectory.winds_enu[9]


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'rk23', 'rk45'])
def test_the_own_integrator_gives_the_recorded_motion(tmp_path, integrator, monkeypatch):
    monkeypatch.setattr(integrator_study, 'TOLERANCE', 1e-6)     # the reference does not matter
    own = record_flight(tmp_path / 'bag', 200, {
        'dynamics': {'integrator': integrator, 'initial_charge': 0.7}})
    found = study_integrators(own, names=())
    assert found.is_reproduced and found.own == integrator


def test_another_motion_is_not_taken_for_the_recorded_one(bag, monkeypatch):
    """One bit of the first position is another one."""
    trajectory = read_trajectory(bag)
    (x, y, z), *rest = trajectory.motion[0]
    trajectory.motion[0] = ((x, y, math.nextafter(z, 1.0)), *rest)
    monkeypatch.setattr(integrator_study, 'read_trajectory', lambda bag: trajectory)
    assert not study_integrators(bag, names=()).is_reproduced


def test_higher_orders_have_smaller_errors(study):
    in_air = study.in_air
    assert 0.1 < in_air.mean() < 0.9
    for group in ('position', 'velocity', 'attitude', 'rate'):
        euler, rk4, rk45 = (study.integrators[name].rms(group, in_air)
                            for name in ('euler', 'rk4', 'rk45'))
        # rk45 takes the longest steps that keep its tolerance, so rk4 may be nearer.
        assert euler > 100.0 * max(rk4, rk45) > 0.0 < min(rk4, rk45)


def test_errors_are_small_where_a_window_begins(study):
    errors = study.integrators['euler'].errors['position']
    assert errors.shape == (STEPS,)
    for start in range(125, STEPS, 125):
        assert errors[start] < 0.01 * errors[start - 1]


def test_standing_still_has_no_error_worth_mention(study):
    for found in study.integrators.values():
        assert found.errors['attitude'][:STILL_STEPS].max() < 1e-3


def test_maximum_and_rms_are_those_of_the_steps_that_are_asked_for():
    found = integrator_study.IntegratorError({'position': np.array([9.0, 3.0, 4.0])}, 1.0)
    steps = np.array([False, True, True])
    assert found.maximum('position', steps) == 4.0
    assert found.rms('position', steps) == math.sqrt(12.5)
    assert found.rms('position', ~steps & steps) == 0.0


def test_a_motion_out_of_bounds_has_an_infinite_error(tmp_path):
    """With steps of 40 ms the rotors of an explicit method swing up."""
    long = record_flight(tmp_path / 'bag', 60, {
        '': {'step_us': 40_000} | {f'periods_us.{name}': 200_000 if name == 'gps' else 40_000
                                   for name in ('imu', 'magnetometer', 'barometer', 'gps',
                                                'airspeed', 'range_finder', 'optical_flow',
                                                'visual_odometry', 'wind', 'battery', 'display')},
        'dynamics': {'integrator': 'rk45'}})
    found = study_integrators(long, math.inf, names=('euler',))
    assert found.is_reproduced
    everywhere = np.ones(60, bool)
    assert found.integrators['euler'].maximum('position', everywhere) == math.inf


def test_a_missing_command_is_reported(bag, tmp_path, monkeypatch):
    messages = [m for m in bag.messages()
                if (m.topic, m.time_us) != ('actuators/command', 40_000)]
    monkeypatch.setattr(BagReader, 'messages', lambda self: iter(messages))
    with pytest.raises(BagError, match=r'for t = 0\.044000 s is missing'):
        read_trajectory(BagReader(bag.folder))


def test_a_bag_without_steps_is_reported(bag, monkeypatch):
    monkeypatch.setattr(BagReader, 'messages', lambda self: iter(()))
    with pytest.raises(BagError, match='there is no step in it'):
        read_trajectory(BagReader(bag.folder))


def test_the_tables_fit_into_80_columns(study):
    """All but the sentence below them, which may go on in the next line."""
    *parts, _ = study_table(study).renderables
    for part in parts:
        assert_fits(part, 80)


def test_the_command_prints_and_writes_the_study(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(integrator_study, 'TOLERANCE', 1e-9)
    record_flight(tmp_path / 'bag', 100)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    file, page = tmp_path / 'x.json', tmp_path / 'x.html'
    assert command.compare(parser.parse_args([
        str(tmp_path / 'bag'), '--integrators', '--window', '0', '--json', str(file),
        '--plot', str(page)])) == 0
    printed = ' '.join(capsys.readouterr().out.split())
    assert 'rk4 *' in printed and 'bit for bit' in printed
    content = json.loads(file.read_text())
    assert content['window_s'] is None and content['is_reproduced'] is True
    assert set(content['integrators']) == {'euler', 'rk4', 'rk23', 'rk45'}
    assert content['integrators']['euler']['whole flight']['position']['maximum'] > 0.0
    assert '<script src=' not in page.read_text(encoding='utf-8')
