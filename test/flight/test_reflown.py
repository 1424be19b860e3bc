# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which PX4 has flown stands in a recording; `refly` flies with it, and names what is another."""
import dataclasses
import types

import pytest
import yaml

from px4_sim_ros.campaign.conduct import command
from px4_sim_ros.cli import refly
from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.px4.sitl import ALL_CORES, ONE_CORE, REPEATABLE, Px4, command_line, described
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.analysis.recorded_fingerprint import RecordedFingerprint
from px4_sim_ros.recording.bag.fleet_description import read_description
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.flight_spec import VehicleSpec

GAIN, LOGGER = 'PX4_PARAM_MPC_XY_P', 'PX4_PARAM_SDLOG_BACKEND'
# It writes down what it finds in its environment.
STUB = '#!/bin/sh\nenv > found.part\nmv found.part found\nexec sleep 60\n'


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return what looks like the folder of a PX4 that was built."""
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'ros'))
    for name in GAIN, LOGGER:
        monkeypatch.delenv(name, raising=False)
    for name, text in (('bin/px4', STUB), ('etc/init.d-posix/rcS', 'rcS'), ('etc/a', 'a')):
        file = tmp_path / 'build' / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    return tmp_path / 'build'


def recorded(px4):
    """Return the description of a run with a PX4 as it comes out of a bag."""
    run = RunDescription.of(load_configuration(None, {}), mode='core', autopilot='px4',
                            px4=described(px4))
    return read_description('bag', run.to_yaml())


def test_a_recording_says_which_px4_has_flown(build, monkeypatch):
    monkeypatch.setenv(GAIN, '0.9')
    run = recorded(Px4.find(build, ALL_CORES))
    assert run.px4['schedule'] == 'all-cores'
    assert run.px4['parameters'] == {GAIN: '0.9'}
    assert {name: len(digest) for name, digest in run.px4['build'].items()} == {
        'bin/px4': 64, 'etc': 64}
    assert recorded(None).px4 == {}
    # One of before, which does not say it, is read as well.
    content = yaml.safe_load(run.to_yaml())
    del content['px4']
    assert RunDescription.from_content('bag', content).px4 == {}


def test_parameters_of_a_recording_are_set_again_unless_they_are_set_now(build, monkeypatch):
    monkeypatch.setenv(LOGGER, '0')
    px4 = dataclasses.replace(
        Px4.find(build), of_recording=((GAIN, '0.9'), (LOGGER, '1')))
    configuration = load_configuration(None, {'hil_bridge': dict(instance=3)})
    process = start_autopilot(VehicleSpec(configuration, 'px4', px4), build.parent)
    try:
        while not (found := list(build.parent.glob('ros/px4_sim_ros/px4_3_*/found'))):
            assert process.exit_code is None
    finally:
        process.stop()
    lines = found[0].read_text().splitlines()
    assert f'{GAIN}=0.9' in lines and f'{LOGGER}=0' in lines
    assert 'PX4_SYS_AUTOSTART=10016' in lines


def test_what_is_another_px4_is_named(build, monkeypatch):
    run = recorded(Px4.find(build))
    assert refly.differences(run, Px4.find(build)) == []
    (build / 'etc' / 'a').write_text('b')
    monkeypatch.setenv(GAIN, '0.9')
    other = Px4.find(build, ALL_CORES)
    now = other.digests()
    assert now['bin/px4'] == run.px4['build']['bin/px4']
    assert refly.differences(run, other) == [
        'PX4 runs with the schedule all-cores; it was one-core',
        f"another build of PX4: etc {run.px4['build']['etc'][:16]} and now {now['etc'][:16]}",
        f'{GAIN} = 0.9 is set now, and was not']
    monkeypatch.setenv(GAIN, '0.8')
    assert f'{GAIN} = 0.8 is set now; it was 0.9' in refly.differences(
        dataclasses.replace(run, px4=run.px4 | {'parameters': {GAIN: '0.9'}}), other)
    sentence, = refly.differences(dataclasses.replace(run, px4={}), other)
    assert sentence.startswith('the recording does not say which PX4 has flown')


@pytest.mark.parametrize('recorded_schedule, shares_core, schedule', [
    (REPEATABLE, True, REPEATABLE), (REPEATABLE, False, ONE_CORE), (ALL_CORES, False, ALL_CORES),
    (ONE_CORE, True, REPEATABLE), (None, False, ONE_CORE), (None, True, REPEATABLE)])
def test_px4_runs_as_it_did_unless_the_parameters_say_otherwise(
        recorded_schedule, shares_core, schedule):
    run = types.SimpleNamespace(px4={'schedule': recorded_schedule} if recorded_schedule else {})
    assert refly.schedule_of(run, shares_core=shares_core) == schedule


@pytest.mark.parametrize('found, sentence', [
    (RecordedFingerprint('0123', ''), 'the recording: fingerprint 0123, repeatable'),
    (RecordedFingerprint('', 'no mission was flown to its end'),
     'the recording: not repeatable: no mission was flown to its end')])
def test_whether_a_flight_repeats_is_said(found, sentence, monkeypatch):
    monkeypatch.setattr(recorded_fingerprint, 'read', lambda bag: found)
    assert refly.repeats('the recording', None) == sentence


def test_a_command_that_flies_again_has_the_parameters_in_front(build, monkeypatch):
    monkeypatch.setenv(GAIN, '0.9')
    monkeypatch.setenv(LOGGER, '')
    assert command_line(['fly', 'a b']) == f"{GAIN}=0.9 {LOGGER}='' fly 'a b'"
    scenario = build / 'run.yaml'
    assert command(scenario, None, '01').startswith('python -m ')
    assert command(scenario, (str(build), ONE_CORE), '01').startswith(f'{GAIN}=0.9 ')
