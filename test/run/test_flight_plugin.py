# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: the page about it, what fails, and what a failure leaves."""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest
import yaml

from px4_sim_ros.campaign import statistics
from px4_sim_ros.campaign.instances import own_instance
from px4_sim_ros.config.instance_claim import is_claimed
from px4_sim_ros.config.resources import named_files
from px4_sim_ros.testing import motor, sensor, words

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'flight_as_a_test.md').read_text(encoding='utf-8')
CODE = '\n'.join(re.findall(r'```python\n(.*?)```', PAGE, re.S))
FAILING = '''
import pytest
from px4_sim_ros.testing import always, motor

@pytest.mark.flight(mission=[{'take_off': {'up_m': 2.0}}, {'land': {}}])
def test_without_a_motor(flight):
    flight.expect(always({'tilt_deg': {'below': 20}}))
    flight.run_until(lambda s: s.height_m > 1.0, timeout_s=30)
    flight.now(motor(2).off())
    flight.run_for(2.0)

@pytest.mark.flight(mission='none')
def test_too_late(flight):
    flight.run_until(lambda s: s.height_m > 1.0, timeout_s=0.1)

@pytest.mark.flight(mission='none')
def test_nothing_was_flown(flight):
    flight.expect(always({'tilt_deg': {'below': 20}}))
'''

# An action whose effect does not come back.
HANGING = '''
import dataclasses
import time
from px4_sim_ros.model.faults.sensors import SensorAction

@dataclasses.dataclass(frozen=True)
class Hang(SensorAction):
    """A sensor that hangs."""

    def begin(self, onset):
        return lambda time_us, measured: time.sleep(3600)
'''
HANGS = '''
import pytest
from hanging import Hang

@pytest.mark.flight(mission='none')
def test_it_hangs(flight):
    flight.at(0.1, Hang('barometer'))
    flight.run_for(1.0)

def test_after_it():
    pass
'''


def flown(folder, *arguments):
    """Run pytest with the plugin in a folder, as a user without PX4 does."""
    environment = {k: v for k, v in os.environ.items() if k not in ('PX4_DIR', 'PYTEST_ADDOPTS')}
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'px4_sim_ros.testing.plugin', '-p',
         'no:cacheprovider', '--junitxml', 'flights.xml', *map(str, arguments)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_the_code_of_the_page_flies_in_workers_that_do_not_meet(tmp_path):
    (tmp_path / 'test_hop.py').write_text(CODE, encoding='utf-8')
    result = flown(tmp_path, '-n', '2', 'test_hop.py')
    assert result.returncode == 0, result.stdout
    assert '3 passed' in result.stdout
    assert not (tmp_path / 'flights').exists()


@pytest.mark.slow
def test_a_failure_leaves_recording_report_and_the_command_that_flies_it_again(tmp_path):
    (tmp_path / 'test_bad.py').write_text(FAILING, encoding='utf-8')
    (tmp_path / 'ground.scenario.yaml').write_text(yaml.dump(
        {'mission': 'none', 'end': {'at_s': 0.1},
         'expect': [{'always': {'height_m': {'above': 1}}}]}), encoding='utf-8')
    for name, limits in ('some', [1, -1, -1]), ('all', [1, 1, 1]):
        (tmp_path / f'{name}.campaign.yaml').write_text(yaml.dump({
            'scenario': {'mission': 'none', 'end': {'at_s': 0.1},
                         'expect': [{'always': {'height_m': {'below': 1}}}]},
            'runs': 3, 'at_least': 0.3, 'keep_failed': 0,
            'vary': {'expect.1.always.height_m.below': {'table': limits}}}), encoding='utf-8')
    result = flown(tmp_path)
    assert result.returncode == 1 and '5 failed, 1 passed' in result.stdout, result.stdout
    kept = tmp_path / 'flights' / 'test_bad.py__test_without_a_motor_embedded_'
    assert (kept / 'report.html').stat().st_size > 10_000
    assert list((kept / 'recording').glob('*.mcap'))
    suite = xml.etree.ElementTree.parse(tmp_path / 'flights.xml').getroot()[0]
    cases = {case.get('name'): ''.join(case.itertext()) for case in suite.iter('testcase')
             if 'campaign' not in case.get('classname')}
    some, = [''.join(case.itertext()) for case in suite.iter('testcase')
             if case.get('classname').startswith('some.campaign')]
    bound = statistics.at_least([{'outcome': 'held'}, *[{'outcome': 'failed'}] * 2])
    assert f'at_least = 0.3: with a confidence of 95% it is only {bound:.4g}' in some
    for run in 2, 3:
        assert f'run {run}: always height_m below -1: fails at t = ' in some
        assert f'scenarios/run_00000{run}.yaml --expect ' in some
    assert (tmp_path / 'flights' / 'some.campaign.yaml__embedded' / 'report.html').exists()
    assert not (tmp_path / 'flights' / 'all.campaign.yaml__embedded').exists()
    assert 'always tilt_deg below 20: fails at t = ' in cases['test_without_a_motor[embedded]']
    assert "again: python -m pytest 'test_bad.py::test_without_a_motor[embedded]'" in result.stdout
    assert 'within 0.1 s of simulated time it has not come' in cases['test_too_late[embedded]']
    assert 'the flight has not begun' in cases['test_nothing_was_flown[embedded]']
    assert 'fly: expected always height_m above 1: fails' in cases['embedded']
    assert 'fly: again: python -m px4_sim_ros fly' in cases['embedded']


@pytest.mark.slow
def test_what_hangs_is_given_up_and_says_so(tmp_path, monkeypatch):
    """By the wall clock, in a test as in a scenario file; the tests after it go on."""
    (tmp_path / 'hanging.py').write_text(HANGING, encoding='utf-8')
    (tmp_path / 'test_hangs.py').write_text(HANGS, encoding='utf-8')
    (tmp_path / 'hangs.scenario.yaml').write_text(yaml.dump(
        {'mission': 'none', 'end': {'at_s': 1}, 'actions': {'hang': 'hanging:Hang'},
         'events': [{'at_s': 0.1, 'hang': {'sensor': 'barometer'}}]}), encoding='utf-8')
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([str(tmp_path), os.environ['PYTHONPATH']]))
    result = flown(tmp_path, '--wall-limit', '6')
    assert '2 failed, 1 passed' in result.stdout, result.stdout
    suite = xml.etree.ElementTree.parse(tmp_path / 'flights.xml').getroot()[0]
    for case in 'test_it_hangs[embedded]', 'embedded':
        said, = [''.join(c.itertext()) for c in suite.iter('testcase') if c.get('name') == case]
        assert 'the flight has hung for 6 s of wall time' in said
    assert 'barometer has been in its step at t = 0.100000 s' in result.stdout


def test_the_plugin_loads_nothing_before_there_is_a_flight():
    code = ("import sys\nimport px4_sim_ros.testing.plugin\n"
            "assert not {'numpy', 'rclpy', 'pymavlink'} & set(sys.modules)\n")
    assert subprocess.run([sys.executable, '-c', code], cwd=ROOT, check=False).returncode == 0


def test_an_installed_plugin_may_be_named_as_well(tmp_path):
    """As in a checkout from which pip has installed: what pip leaves there has the entry point."""
    subprocess.run([sys.executable, 'setup.py', '-q', 'egg_info', '--egg-base', str(tmp_path)],
                   cwd=ROOT, check=True, capture_output=True)
    assert 'pytest11' in (tmp_path / 'px4_sim_ros.egg-info' / 'entry_points.txt').read_text()
    path = os.pathsep.join([str(tmp_path), os.environ['PYTHONPATH']])
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'px4_sim_ros.testing.plugin', '--markers'],
        cwd=ROOT, env=os.environ | {'PYTHONPATH': path}, capture_output=True, text=True,
        check=False)
    assert result.returncode == 0, result.stderr


def test_two_flights_have_two_instances():
    with own_instance(of_px4=False) as one, own_instance(of_px4=False) as other:
        assert one != other and is_claimed(one) and is_claimed(other)
        # A process that is told of it flies: it claims it, and nobody else is given it meanwhile.
        with (own_instance(of_px4=False, flies_here=False) as third,
              own_instance(of_px4=False) as fourth):
            assert len({one, other, third, fourth}) == 4 and not is_claimed(third)
    assert not is_claimed(one)


def test_words_are_the_actions_of_scenario_files():
    assert motor(2).off() == words.action('motor_off', motor=2)
    assert sensor('imu').bias(channel='gyro', value=0.1) == words.action(
        'sensor_bias', sensor='imu', channel='gyro', value=0.1)
    assert words.gps().denied() == words.action('gnss_denied')
    assert words.push(1, 2, 3) == words.action('push', force_n=[1, 2, 3])


def test_the_workflow_can_be_read_and_names_what_there_is():
    workflow = yaml.safe_load((ROOT / 'examples' / 'flights.yaml').read_text(encoding='utf-8'))
    steps = [step.get('run', '') for step in workflow['jobs']['fly']['steps']]
    assert any('-p px4_sim_ros.testing.plugin' in step for step in steps)
    assert re.search(r'^check:', (ROOT / 'Makefile').read_text(encoding='utf-8'), re.M)
    assert re.search(r'config/scenarios/(\w+).yaml', PAGE)[1] in named_files('scenarios')
