# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A block of the user's that is added: in lockstep, recorded, replayed, in the fingerprint."""
import csv
import math
import os
import pathlib
import re
import shutil

import instances
import numpy as np
import pytest
from commands import (
    IN_MODES,
    command,
    flown_in_modes,
    here,
    replayed,
    run,
    running,
    wait_for_line,
)
from scipy.spatial.transform import Rotation

from px4_sim_ros import Flight
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.model.own_blocks import from_text
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.resources import config_directory

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERIOD_S, AZIMUTH_DEG, ELEVATION_DEG, NOISE = 0.05, 120.0, 30.0, 0.01
# 20 Hz are a whole number of steps of 2 ms.
SUN = f'''
stepping: {{step_us: 2000, substeps: 2}}
blocks:
  - {{class: 'sun_sensor.py:SunSensor', period_us: 50000, azimuth_deg: {AZIMUTH_DEG:g},
     elevation_deg: {ELEVATION_DEG}}}
'''
HOP = {'mission': [{'take_off': {'up_m': 0.6}},
                   {'go_to': {'north_m': 0.0, 'east_m': 1.0, 'up_m': 0.6}}, {'land': {}}],
       'weather': {'wind': 'dryden'}}
HOP_FILE = '''
mission:
  - take_off: {up_m: 0.5}
  - land: {}
weather: {wind: dryden}
'''


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the sensor of the examples, a vehicle with it, and a flight."""
    shutil.copy(ROOT / 'examples' / 'sun_sensor.py', tmp_path)
    write_vehicle(tmp_path, SUN)
    (tmp_path / 'hop.yaml').write_text(HOP_FILE)
    return tmp_path


def write_vehicle(folder, more):
    iris = (config_directory() / 'vehicles' / 'iris.yaml').read_text()
    (folder / 'mine.yaml').write_text(iris + more)


def fly(folder, instance, **how):
    """Fly in this process."""
    return Flight(vehicle=str(folder / 'mine.yaml'), scenario=HOP, instance=instance, **how).fly()


def test_its_class_is_short():
    code = (ROOT / 'examples' / 'sun_sensor.py').read_text()
    assert len(code[code.index('class '):].splitlines()) <= 30


def assert_replayed(folder, modes):
    allow = '--allow', 'sun_sensor.py:SunSensor'
    refused = here('replay', 'core', cwd=folder)
    assert (refused.returncode, refused.stderr) == (
        2, "replay: block sun_sensor: class = 'sun_sensor.py:SunSensor': data may not import a"
        f' class that you have not allowed; {" ".join(allow)} allows it\n')
    for mode in modes[:2]:
        replayed(folder, 'core', '--mode', mode, *allow)
    reflown = here('refly', 'core', *allow, cwd=folder)
    assert reflown.returncode == 0, reflown.stdout + reflown.stderr


def assert_exported(folder):
    exported = here('export', 'core', '-o', 'tables', cwd=folder)
    assert exported.returncode == 0, exported.stderr
    with open(folder / 'tables' / 'sun.csv') as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ['time_s', 'vector.x', 'vector.y', 'vector.z']


# It is over when the last event is.
FAULTY = HOP_FILE + '''
set: {sun_sensor.noise: 0.5}
events:
  - {name: dark, at_s: 1, for_s: 0.5, sensor_off: {sensor: sun_sensor}}
  - {name: stuck, at_s: 2, for_s: 0.5, sensor_frozen: {sensor: sun_sensor}}
  - {name: late, at_s: 3, for_s: 0.5, sensor_delay: {sensor: sun_sensor, delay_s: 0.2}}
end: {at_s: 3.5}
'''


@pytest.mark.process
@IN_MODES
def test_it_flies_in_all_modes_with_parameters_and_faults_and_is_replayed(
        modes, folder, instance):
    """The option wins over the scenario, which wins over the vehicle file."""
    (folder / 'faulty.yaml').write_text(FAULTY)
    bags, compared = flown_in_modes(
        folder, instance, '--vehicle', 'mine.yaml', '--scenario', 'faulty.yaml',
        '--set', 'sun_sensor.noise=0.25', '--set', 'sun_sensor.azimuth_deg=90', modes=modes)
    assert all(found.topics['sun'].equal > 50 for found in compared)
    version = bags['core'].run.versions['block sun_sensor']
    assert re.fullmatch('sun_sensor.py:SunSensor [0-9a-f]{16}', version)
    row, = bags['core'].run.world.own_blocks
    assert row.parameters == {'noise': 0.25, 'azimuth_deg': 90.0, 'elevation_deg': ELEVATION_DEG}
    assert_exported(folder)
    with open(folder / 'tables' / 'sun.csv') as file:
        x = {round(float(row['time_s']), 6): float(row['vector.x']) for row in csv.DictReader(file)}

    def within(first_s, last_s):
        return [x[round(t_s, 6)] for t_s in np.arange(first_s, last_s + 1e-6, PERIOD_S)
                if round(t_s, 6) in x]
    assert np.std(within(0.05, 0.95)) == pytest.approx(0.25, rel=0.5)
    assert within(1.0, 1.45) == [] and len(within(1.5, 1.95)) == 10
    assert len(within(1.95, 2.45)) == 11 and len(set(within(1.95, 2.45))) == 1
    assert len(set(within(2.45, 2.95))) == 11
    # What was measured last holds until the delay is over.
    assert len(set(within(2.95, 3.15))) == 1 and len(set(within(3.15, 3.45))) == 7
    assert_replayed(folder, modes)
    assert (code := here('report', 'core', '-o', 'core.html', cwd=folder)).returncode == 0, code


@pytest.mark.process
@pytest.mark.parametrize('mode', [
    'composed', pytest.param('separate', marks=pytest.mark.long)])
def test_it_is_stopped_and_started_as_a_sensor_is(mode, folder, instance, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / 'hold.yaml').write_text(
        'name: hold\nitems: [take_off: {up_m: 0.5}, hold: {duration_s: 3}, land: {}]\n')
    words = command('fly', '--mode', mode, '--vehicle', 'mine.yaml', '--mission', 'hold.yaml',
                    '--speed-factor', '1', '--instance', instance, '--record', 'bag')
    with running(words) as process:
        wait_for_line(process, 'armed')
        stopped = here('sensor', 'sun_sensor', 'stop')
        assert (stopped.returncode, stopped.stdout) == (0, 'sun_sensor is inactive\n'), stopped
        wait_for_line(process, 'arrived')
        started = here('sensor', 'sun_sensor', 'start')
        assert (started.returncode, started.stdout) == (0, 'sun_sensor is active\n'), started
        unknown = here('sensor', 'sun_senso', 'stop')
        assert unknown.returncode == 1
        assert 'this graph has no sun_senso; did you mean sun_sensor' in unknown.stderr
        assert here('stop').returncode == 0
        said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    reader = BagReader(folder / 'bag')
    times_us = [message.time_us for message in reader.messages() if message.topic == 'sun']
    # A gap, as long as the commands took. A replay measures all the time: see docs/own_code.md.
    assert np.diff(times_us).max() >= 3e6 * PERIOD_S


def test_an_action_on_a_channel_of_it_is_refused(folder, instance):
    event = {'at_s': 1, 'sensor_bias': {'sensor': 'sun_sensor', 'value': 1.0}}
    with pytest.raises(ParameterError, match="sensor = 'sun_sensor': is a block that is added"):
        Flight(vehicle=str(folder / 'mine.yaml'), scenario=HOP | {'events': [event]})


@pytest.mark.parametrize('name, value, sentence', [
    ('sun_sensor.nois', 1, 'block sun_sensor.nois: unknown parameter; did you mean noise'),
    ('sun_sensor.noise', 'much', "block sun_sensor: noise = 'much': must be a number"),
    ('sun_sensor.name', 'moon', 'block sun_sensor.name: unknown parameter'),
    ('sun_senso.noise', 1, 'there is no node sun_senso; did you mean sun_sensor'),
    ('sun_sensor.period_us', 3, 'block sun_sensor: period_us = 3: must be a multiple')])
def test_a_wrong_setting_is_refused(name, value, sentence, folder):
    with pytest.raises(ParameterError, match=sentence):
        Flight(vehicle=str(folder / 'mine.yaml'), mission='hover', set={name: value})


@pytest.mark.slow
def test_it_turns_with_the_vehicle_and_is_in_the_fingerprint(folder, instance, monkeypatch):
    """Against the rotation of another library, in the recorded attitude.

    Steps taken at once end where it is due: with each step by itself the flight is the same.
    """
    from px4_sim_ros.step.runner import Runner
    result = fly(folder, instance, record=folder / 'at_once')
    sun, truth = result.table('sun'), result.table()
    times_s = sun['time_s']
    assert times_s == pytest.approx(PERIOD_S * np.arange(1, len(times_s) + 1))
    assert len(times_s) == int(result.summary()['sim_time_s'] / PERIOD_S)
    at = np.searchsorted(truth['time_s'], times_s - 1e-6)
    attitude = Rotation.from_quat(np.stack(
        [truth[f'attitude_wxyz.{axis}'][at] for axis in 'xyzw'], axis=1))
    azimuth, up = math.radians(AZIMUTH_DEG), math.radians(ELEVATION_DEG)
    exact = attitude.inv().apply([math.cos(up) * math.sin(azimuth),
                                  math.cos(up) * math.cos(azimuth), math.sin(up)])
    errors = np.stack([sun[f'vector.{axis}'] for axis in 'xyz'], axis=1) - exact
    assert np.std(errors) == pytest.approx(NOISE, rel=0.15)
    assert np.ptp(exact[:, 2]) > 0.02                      # it has tilted
    with monkeypatch.context() as by_step:
        counts = []
        by_step.setattr(Runner, '_run_ahead', lambda *arguments: counts.append(1))
        again = fly(folder, instance, record=folder / 'by_step')
    assert counts and again.fingerprint == result.fingerprint
    assert compare_bags(BagReader(folder / 'at_once'), BagReader(folder / 'by_step')).identical
    # The flight is the same with another sensor, and the fingerprint is not.
    write_vehicle(folder, SUN.replace(f'{AZIMUTH_DEG:g}', '121'))
    other = fly(folder, instance)
    assert other.fingerprint != result.fingerprint
    assert np.array_equal(other.table()['position_m.z'], truth['position_m.z'])


@pytest.mark.slow
def test_two_of_one_class_and_one_of_a_scenario(folder, instance, monkeypatch):
    monkeypatch.chdir(folder)
    write_vehicle(folder, '''
blocks:
  - {class: 'sun_sensor.py:SunSensor', name: left, topic: left/sun, noise: 0}
''')
    more = [{'class': 'sun_sensor:SunSensor', 'noise': 0, 'name': 'right', 'topic': 'right/sun'}]
    result = Flight(vehicle='mine.yaml', scenario=HOP | {'blocks': more}, instance=instance).fly()
    left, right = (result.table(f'{side}/sun') for side in ('left', 'right'))
    assert len(left['time_s']) > 50
    assert all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.px4
def test_px4_flies_with_it(folder):
    write_vehicle(folder, "blocks: [{class: 'sun_sensor.py:SunSensor'}]\n")
    result = fly(folder, instances.of_px4(), autopilot='px4', px4_dir=os.environ['PX4_DIR'])
    assert result.has_succeeded and len(result.table('sun')['time_s']) > 100


# Bad input.

BROKEN = '''
from geometry_msgs.msg import Point, PointStamped
from px4_sim_ros import OwnBlock

class Broken(OwnBlock):
    topic, message = 'broken', PointStamped
    def measure(self, time_us, inputs):
        if time_us == 100_000:
            return 1 // 0
        return PointStamped()

class Headless(Broken):
    message = Point

class Another(Broken):
    def measure(self, time_us, inputs):
        return Point()

class Late(Broken):
    inputs = 'actuators/command',
'''


@pytest.mark.parametrize('entry, sentence', [
    ('{}', r'blocks\[0\] = \{\}: must be a mapping with a class, file.py:Class or module:Class'),
    ('{class: sun_sensor}', "block sun_sensor: class = 'sun_sensor': must be file.py:Class or"),
    ("{class: 'none.py:Mine'}", r"block mine: class = '.*none.py:Mine.*: cannot be imported:"
     ' No such file or directory$'),
    ("{class: 'sun_sensor.py:Moon'}", "block moon: class = '.*: cannot be imported:"
     " AttributeError: .* has no attribute 'Moon'"),
    ("{class: 'pathlib:Path'}", 'must be a subclass of px4_sim_ros.OwnBlock'),
    ("{class: 'sun_sensor.py:SunSensor', period_us: 50000}",
     'block sun_sensor: period_us = 50000: must be a multiple of step_us = 4000; the nearest valid'
     ' values are 48000 and 52000 us'),
    ("{class: 'sun_sensor.py:SunSensor', period_us: 0}", 'must be a whole number greater than 0'),
    ("{class: 'sun_sensor.py:SunSensor', topic: mag}",
     "block sun_sensor: topic = 'mag': another block publishes it"),
    ("{class: 'sun_sensor.py:SunSensor', topic: /sun}", "topic = '/sun': must be lower-case"),
    ("{class: 'sun_sensor.py:SunSensor', topic: sim/status}",
     "'sim/status': must be one that no other has"),
    ("{class: 'sun_sensor.py:SunSensor', name: gps}", 'is that of a node of the graph'),
    ("{class: 'sun_sensor.py:SunSensor', name: sun_1}", 'ends as further instances of a sensor do'),
    ("{class: 'sun_sensor.py:SunSensor', azimut_deg: 3}",
     'block sun_sensor.azimut_deg: unknown parameter; did you mean azimuth_deg'),
    ("{class: 'sun_sensor.py:SunSensor', noise: much}",
     "block sun_sensor: noise = 'much': must be a number"),
    ("{class: 'broken.py:Headless'}", 'must be a class of messages that begin with a header'),
    ("{class: 'broken.py:Late'}", "block late: inputs = 'actuators/command': must be a topic of"
     ' this graph that is there before the autopilot: ground_truth/odom'),
])
def test_bad_input_is_one_sentence(entry, sentence, folder):
    (folder / 'broken.py').write_text(BROKEN)
    write_vehicle(folder, f'blocks: [{entry}]\n')
    refused = here('fly', '--mode', 'core', '--vehicle', folder / 'mine.yaml')
    assert refused.returncode == 2 and refused.stderr.count('\n') == 1
    assert re.search(sentence, refused.stderr), refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize('name, sentence', [
    ('Broken', r'block broken: t = 0\.100000 s: ZeroDivisionError: .* \(.*broken\.py, line 9\)'),
    ('Another', r'block another: t = 0\.020000 s: measure has returned a Point: must be a'
     ' geometry_msgs/msg/PointStamped or None')])
def test_an_error_in_it_names_it_and_the_time(name, sentence, folder, instance):
    (folder / 'broken.py').write_text(BROKEN)
    write_vehicle(folder, f"blocks: [{{class: 'broken.py:{name}'}}]\n")
    with pytest.raises(RunError, match=sentence):
        fly(folder, instance)


# What fails in a graph, test_own_code shows in each push: one in the place of a sensor.
@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_an_error_in_it_ends_the_graph(mode, folder, instance):
    (folder / 'broken.py').write_text(BROKEN)
    write_vehicle(folder, "blocks: [{class: 'broken.py:Broken'}]\n")
    flown = run('fly', '--mode', mode, '--vehicle', 'mine.yaml', '--scenario', 'hop.yaml',
                '--instance', instance, cwd=folder)
    assert flown.returncode == 1
    assert 'block broken: t = 0.100000 s: ZeroDivisionError' in flown.stderr


@pytest.mark.parametrize('text', ['no JSON', '[1]', '[{"name": "sun"}]', '{"name": 1}'])
def test_a_recording_that_is_damaged_is_refused(text):
    with pytest.raises(ParameterError, match='must be what the section blocks of a vehicle file'):
        from_text(text)


def test_a_recording_names_standard_messages_only():
    row = ('[{"name": "sun", "path": "a:B", "topic": "sun", "type": "os/msg/path", "period_us": 1,'
           ' "inputs": [], "values": "{}"}]')
    with pytest.raises(ParameterError, match="block sun: message = 'os/msg/path': must be"):
        from_text(row)
