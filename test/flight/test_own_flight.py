# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`Flight` of `px4_sim_ros`: a flight from Python is that of the command."""
import gc
import json
import os
import pathlib
import re
import tempfile

import numpy as np
import pytest
from commands import here
from instances import of_px4

from px4_sim_ros import Flight
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import machine_locks as instance_claim
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec import files, resources
from px4_sim_ros.spec.flight_spec import MODES
from px4_sim_ros.spec.resources import named_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'flight_as_a_test.md').read_text(encoding='utf-8')
HOP = {'mission': [{'take_off': {'up_m': 1.5}}, {'land': {}}], 'weather': {'wind': 'dryden'},
       'expect': [{'always': {'tilt_deg': {'below': 30}}}]}


@pytest.mark.process
@pytest.mark.parametrize('code', re.findall(r'<!-- flown -->\n```python\n(.*?)```', PAGE, re.S))
def test_the_code_of_the_page_flies(code, capsys):
    exec(code, {})
    printed, said = capsys.readouterr()
    assert printed and said == ''


@pytest.mark.process
def test_it_is_the_flight_of_the_command(instance, tmp_path):
    file, summary = tmp_path / 'hop.yaml', tmp_path / 'summary.json'
    file.write_text(json.dumps(HOP))
    assert here('fly', '--mode', 'core', '--scenario', file, '--seed', 5, '--instance', instance,
                '--summary', summary).returncode == 0
    command = json.loads(summary.read_text())
    result = Flight(scenario=HOP, seed=5, instance=instance).fly()
    assert result.fingerprint == command['fingerprint']
    assert result.summary()['expectations'] == command['expectations']
    assert result.has_succeeded


@pytest.mark.slow
def test_a_fault_and_a_wind_are_given_by_hand(instance):
    with Flight(mission='hover', instance=instance, set={'by_hand': True}) as flight:
        flight.run(lambda situation: situation.height_m > 2.0)
        assert flight.do({'name': 'leak', 'sensor_bias': {
            'sensor': 'barometer', 'value': -50}}) == 'leak'
        assert flight.do({'wind': {'speed_m_s': 3.0, 'from_deg': 90}, 'for_s': 1}) == 'hand_1'
        with pytest.raises(ParameterError, match='motor = 9: must be at most 4'):
            flight.do({'motor_off': {'motor': 9}})
        for event in 5, ['motor_off'], None:
            with pytest.raises(ParameterError, match=r'fault = .*: must be a mapping of at_s or'):
                flight.do(event)
        for name in '', 'leak', 0.5, ['a'], {'a': 1}:
            with pytest.raises(ParameterError, match=r'name = .*: must be a text that no other'):
                flight.do({'name': name, 'motor_off': {'motor': 1}})
        flight.run(lambda situation: situation.time_us >= 8_000_000)
    result = flight.end()
    wind = result.table('wind')
    assert np.max(-wind['velocity_m_s.x']) == pytest.approx(3.0)
    assert [event['event'].partition(':')[0] for event in result.events][:3] == [
        'leak', 'hand_1', 'hand_1 ends'] and not result.summary()['repeatable']
    with Flight(mission='hover', instance=instance) as flight:
        with pytest.raises(ParameterError, match='by_hand = False: must be True for `do`'):
            flight.do({'motor_off': {'motor': 1}})
        with pytest.raises(ParameterError, match='by_hand = False: must be True for `until`'):
            flight.run(lambda situation: True)


@pytest.mark.px4
def test_a_flight_that_is_ended_at_a_step_has_not_failed():
    with Flight(mission='hover', set={'by_hand': True}, instance=of_px4(), autopilot='px4',
                px4_dir=os.environ['PX4_DIR']) as flight:
        flight.run(lambda situation: situation.height_m > 1.0)
    result = flight.end()
    assert not result.failure and not result.summary()['mission_flown']


@pytest.mark.slow
def test_tables_are_those_of_the_recording(instance, tmp_path):
    flight = Flight(scenario=HOP, instance=instance, record=tmp_path / 'bag')
    result = flight.fly()
    truth, estimate = result.table(), result.table('autopilot/odometry')
    assert truth['time_s'][-1] == result.summary()['sim_time_s']
    assert np.max(truth['position_m.z']) - truth['position_m.z'][0] == pytest.approx(
        result.summary()['max_altitude_m'], abs=1e-3)
    assert abs(np.max(estimate['position_m.z']) - 1.5) < 0.3
    assert BagReader(tmp_path / 'bag').run.scenario
    with pytest.raises(ParameterError, match="did you mean ground_truth/odom"):
        result.table('ground_truth/odometry')
    with pytest.raises(ParameterError, match=r"^vehicle 'bravo': there are $"):
        result.table(vehicle='bravo')


@pytest.mark.process
# As in composed, and in more processes.
@pytest.mark.parametrize('mode', [
    mode if mode != 'separate' else pytest.param(mode, marks=pytest.mark.long) for mode in MODES])
def test_no_process_reads_a_file_again(mode, instance, tmp_path, monkeypatch):
    """A file that changes meanwhile would give a flight that was never described."""
    opened = []
    monkeypatch.setattr(files, 'read_text', lambda path, what: (
        opened.append(pathlib.Path(path)), resources.read_text(path, what))[1])
    vehicle, mission, scenario = (tmp_path / f'{name}.yaml' for name in ('own', 'hop', 'faults'))
    vehicle.write_text(named_file('vehicles', 'x500').read_text())
    mission.write_text(json.dumps({'name': 'hop', 'items': HOP['mission']}))
    scenario.write_text(json.dumps({
        **HOP, 'mission': str(mission), 'vehicle': str(vehicle),
        'events': [{'at_s': 2.0, 'motor_thrust': {'motor': 1, 'share': 0.95}, 'for_s': 1.0}]}))
    flight = Flight(scenario=str(scenario), mode=mode, instance=instance)
    assert sorted(opened) == sorted([vehicle, mission, scenario])
    for file in opened[:]:
        file.unlink()
    result = flight.fly()
    assert (result.failure, result.has_succeeded) == ('', True)
    assert len(opened) == 3
    assert BagReader(result.recording).run.files().vehicle(str(vehicle)).name == 'x500'


def test_it_holds_where_it_is_asked_to_and_frees_all(instance):
    flight = Flight(scenario=HOP, instance=instance, record=False)
    assert instance_claim.is_claimed(instance)
    with flight:
        flight.run(lambda situation: situation.height_m > 0.5)
        there = flight.scenario().course.situation
        assert 0.5 < there.height_m < 0.6
        flight.run(lambda situation: situation.time_us >= there.time_us + 100_000)
        assert flight.scenario().course.situation.time_us == there.time_us + 100_000
        flight.run()
    assert flight.end().has_succeeded
    assert not instance_claim.is_claimed(instance)
    with pytest.raises(ParameterError, match=r'^record = False: '):
        flight.result.table()


@pytest.mark.parametrize('given, sentence', [
    ({'mode': 'fast'}, "mode = 'fast': must be one of core, composed, separate"),
    ({'vehicle': 'iriss'}, "vehicle 'iriss': there is no such vehicle; did you mean iris"),
    ({'set': {'wind.spedd_m_s': 1}, 'wind': 'constant'}, 'wind.spedd_m_s: unknown parameter'),
    ({'scenario': {'events': 3}}, 'scenario scenario.yaml'),
    ({'autopilot': 'px4', 'px4_dir': '/nowhere'}, 'px4_dir = /nowhere: has no bin/px4')])
def test_what_is_wrong_is_refused_before_anything_starts(given, sentence, instance):
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        Flight(instance=instance, **given)
    assert not instance_claim.is_claimed(instance)


def test_a_flight_that_does_not_begin_frees_its_instance(instance):
    beyond = Flight(scene='hills', set={'dynamics.start_east_m': 9e3}, mission='hover',
                    instance=instance, record=False)
    with pytest.raises(ParameterError, match=r'^start_east_m = 9000'):
        beyond.fly()
    assert not instance_claim.is_claimed(instance)


@pytest.mark.slow
def test_its_files_end_with_the_result_or_with_a_refusal(instance, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    result = Flight(scenario=HOP, instance=instance).fly()
    assert pathlib.Path(result.recording).is_dir()
    del result
    gc.collect()
    with pytest.raises(ParameterError):
        Flight(vehicle='iriss', instance=instance)
    assert list(tmp_path.iterdir()) == []


def test_a_situation_takes_a_scenario(instance):
    with Flight(mission='hover', instance=instance, record=False) as flight, pytest.raises(
            ParameterError, match='by_hand = False: must be True for `until`'):
        flight.run(lambda situation: True)
