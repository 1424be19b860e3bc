# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recording is a flight that can be flown again, in every mode, to the last bit.

That recordings of graphs can be is seen in test_recording.py.
"""
import json
import os
import shutil
import time

import pytest
from commands import command, family, interrupt, run, running, steps_of, wait_gone
from comparison_flight import record_flight
from report_flights import rewritten
from stand_in_autopilot import ARMED_FROM_US, scripted_controls

from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step.graph import ABSENCE, COMMAND

pytestmark = pytest.mark.process

# In separate the same nodes are in more processes.
MODES = ['core', 'composed', pytest.param('separate', marks=pytest.mark.long)]


@pytest.fixture(scope='module')
def short(tmp_path_factory):
    """Three seconds of mode core, with commands that nobody has chosen."""
    return record_flight(tmp_path_factory.mktemp('short') / 'bag', 750).folder


def test_a_replay_is_kept_and_can_be_flown_again(short, tmp_path, here):
    again = tmp_path / 'again'
    assert here('replay', short, '--record', again).returncode == 0
    assert len(steps_of(again)) == len(steps_of(short))
    result = here('replay', again)
    assert (result.returncode, result.stderr) == (0, '')


@pytest.mark.parametrize('name', ['standard_vtol', 'rover_ackermann'])
def test_a_vehicle_with_servos_surfaces_or_wheels_is_flown_again(name, tmp_path, here):
    vehicle = load_vehicle(name)
    step_us = vehicle.stepping.step_us if vehicle.stepping else 4000
    given = [vehicle.references(scripted_controls(ARMED_FROM_US + i * step_us)[1], armed=True)
             for i in range(250)]
    folder = record_flight(
        tmp_path / 'bag', len(given), {'': {'vehicle': name}}, given=given).folder
    result = here('replay', folder)
    assert (result.returncode, result.stderr) == (0, '')
    assert 'common messages are bit-identical' in result.stdout


def test_another_bit_in_one_command_is_told(short, tmp_path, here):
    """What was recorded does not follow from the commands any more."""
    at_us = 2_000_000

    def is_changed(message):
        return (message.topic, message.time_us) == (COMMAND, at_us)

    command, = filter(is_changed, BagReader(short).messages())
    data = command.data[:-8] + bytes([command.data[-8] ^ 1]) + command.data[-7:]
    changed = rewritten(short, tmp_path / 'changed', lambda m: not is_changed(m),
                        added=[command._replace(data=data)]).folder
    result = here('replay', changed, '--json', tmp_path / 'figures.json')
    assert result.returncode == 1
    # The command of one step moves the vehicle in the next.
    first = json.loads((tmp_path / 'figures.json').read_text())['comparison']['first']
    assert first['time_us'] == at_us + 4000
    assert 'ground_truth' in first['topic'] or 'joint_states' in first['topic']
    assert first['topic'] in result.stdout
    assert 't = 2.004000 s' in result.stdout


@pytest.mark.parametrize('setting', [
    ('--set', 'dynamics.integrator=rk45'), ('--seed', '2'), ('--profile', 'cheap'),
    pytest.param(('--wind', 'none'), marks=pytest.mark.long)], ids=' '.join)
def test_what_if(setting, short, tmp_path, here):
    figures, plot = tmp_path / 'figures.json', tmp_path / 'plot.html'
    result = here('replay', short, *setting, '--json', figures, '--plot', plot)
    assert (result.returncode, result.stderr) == (0, '')
    found = json.loads(figures.read_text())
    moved = found['deviation']['position']['maximum'] > 0.0
    # How good the sensors are does not move the vehicle: the commands are given.
    assert moved == (setting[0] != '--profile')
    assert not found['comparison']['agree']
    assert 'deviation' in result.stdout
    # Then a table of zeros would say nothing.
    assert ('what is measured' in result.stdout) == moved
    assert ('there is no deviation of the motion' in result.stdout
            and 'messages that differ: imu/data_raw 750, ' in result.stdout) == (not moved)
    assert plot.stat().st_size > 1e6


def test_what_changes_nothing_is_no_deviation(short, here):
    result = here('replay', short, '--set', 'dynamics.integrator=rk4')
    assert (result.returncode, result.stderr) == (0, '')
    assert 'bit-identical' in result.stdout


def test_the_vehicle_is_that_of_the_recording(tmp_path, here):
    """Whatever has become of its file."""
    vehicle, bag = tmp_path / 'mine.yaml', tmp_path / 'bag'
    text = (config_directory() / 'vehicles' / 'iris.yaml').read_text()
    vehicle.write_text(text.replace('mass_kg: 1.55', 'mass_kg: 1.65'))
    assert vehicle.read_text() != text
    record_flight(bag, 250, {'': {'vehicle': str(vehicle)}})
    vehicle.unlink()
    result = here('replay', bag)
    assert (result.returncode, result.stderr) == (0, '')
    assert f'all {len(steps_of(bag))} common messages are bit-identical' in result.stdout


# With overlaps; one from the first step on, one to the end; and the wind, which moves the vehicle.
INTERRUPTIONS = [
    (0, 'magnetometer', 'stop'), (250, 'imu', 'stop'), (283, 'gps', 'stop'), (334, 'imu', 'start'),
    (341, 'magnetometer', 'start'), (344, 'barometer', 'stop'), (400, 'wind', 'stop'),
    (420, 'barometer', 'start'), (460, 'imu', 'stop'), (461, 'imu', 'start'),
    (500, 'gps', 'start'), (512, 'wind', 'start'), (600, 'gps', 'stop')]


def absences_of(bag):
    reader = BagReader(bag)
    return [(m.time_us, reader.decode(m).frame_id)
            for m in reader.messages() if m.topic == ABSENCE]


@pytest.fixture(scope='module')
def interrupted(tmp_path_factory):
    """Return the bag of a flight with sensors that stop and start."""
    return record_flight(tmp_path_factory.mktemp('interrupted') / 'bag', 750,
                         interruptions=INTERRUPTIONS).folder


@pytest.mark.parametrize('mode', MODES)
def test_a_replay_stops_and_starts_sensors_as_they_were(mode, interrupted, tmp_path, here):
    bag, again = interrupted, tmp_path / 'again'
    absences = absences_of(bag)
    assert {sensor for _, sensor in absences} == {sensor for _, sensor, _ in INTERRUPTIONS}
    result = (here if mode == 'core' else run)('replay', bag, '--mode', mode, '--record', again)
    assert (result.returncode, result.stderr) == (0, ''), result.stdout
    messages = steps_of(bag)
    assert f'all {len(messages)} common messages are bit-identical' in result.stdout
    assert len(steps_of(again)) == len(messages)
    assert sorted(absences_of(again)) == sorted(absences)


@pytest.mark.parametrize(('words', 'sentence'), [
    (['--set', 'dynamics.integrator=rk5'], 'dynamics.integrator'),
    (['--set', 'nonsense=1'], 'nonsense'),
    (['--vehicle', 'hexa'], 'vehicle hexa: it has 6 rotors, and the recording commands 4'),
    (['--vehicle', 'nobody'], 'nobody'),
    (['--record', '.'], 'exists already'),
    (['--json', 'nowhere/x.json'], 'json nowhere/x.json: its folder is missing'),
    (['--set', 'step_us=2000', '--set', 'periods_us.imu=2000'],
     'step_us = 2000: must be that of the recording, 4000'),
    (['--set', 'hil_bridge.on_stall=fail'],
     'hil_bridge: a replay has no bridge, since the commands are those of the recording'),
    (['--set', 'recorder.flush_us=100000'], 'recorder: a replay sets the parameters'),
], ids=lambda words: ' '.join(words) if isinstance(words, list) else '')
def test_a_replay_that_cannot_be(words, sentence, short, here):
    result = here('replay', short, *words)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith('replay: ')
    assert sentence in result.stderr


def test_a_command_is_missing(short, tmp_path, here):
    bag = rewritten(short, tmp_path / 'bag',
                    lambda m: (m.topic, m.time_us) != (COMMAND, 1_000_000)).folder
    result = here('replay', bag)
    assert result.returncode == 2
    assert result.stderr == f'replay: bag {bag}: {COMMAND} for t = 1.000000 s is missing\n'


def test_there_is_no_command_at_all(short, tmp_path, here):
    bag = rewritten(short, tmp_path / 'bag', lambda m: m.topic != COMMAND).folder
    result = here('replay', bag)
    assert result.returncode == 2
    assert result.stderr == f'replay: bag {bag}: there is no message of {COMMAND} in it\n'


def test_a_bag_that_was_cut_off_is_flown_as_far_as_it_goes(short, tmp_path, here):
    bag = tmp_path / 'bag'
    shutil.copytree(short, bag)
    file, = bag.glob('*.mcap')
    os.truncate(file, file.stat().st_size * 6 // 10)
    result = here('replay', bag)
    assert result.returncode == 0
    # Up to the last chunk that is whole.
    assert result.stderr == (
        f'bag {bag}: bag_0.mcap ends too early; it was read up to t = 1.500000 s\n')
    assert 'bit-identical' in result.stdout


@pytest.mark.parametrize('mode', [
    pytest.param('composed', marks=pytest.mark.long), 'separate'])
def test_a_signal_ends_a_replay(mode, short):
    with running(command('replay', short, '--mode', mode)) as process:
        deadline_s = time.monotonic() + 20.0
        while not (children := family(process.pid)):
            assert time.monotonic() < deadline_s
        assert interrupt(process) < 8.0
        assert process.returncode == 130
        assert wait_gone(children, 5.0) == []
