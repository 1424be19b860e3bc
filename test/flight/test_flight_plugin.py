# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: the page about it, what fails, and what a failure leaves."""
import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import types
import xml.etree.ElementTree

import pytest
import yaml
from bags import largest_file
from commands import here
from px4_flight import NEEDS_FIFO

from px4_sim_ros.campaign import statistics
from px4_sim_ros.flight.instances import own_instance
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.process.machine_locks import hold, is_claimed
from px4_sim_ros.px4 import sitl
from px4_sim_ros.px4 import sitl as px4
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.resources import named_files
from px4_sim_ros.testing import artefacts, job_summary, words
from px4_sim_ros.testing.flight import Flight, FlightError, Plan
from px4_sim_ros.testing.words import motor, sensor

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'flight_as_a_test.md').read_text(encoding='utf-8')
CODE = '\n'.join(re.findall(r'(?<!-->\n)```python\n(.*?)```', PAGE, re.S))
FAILING = '''
import pytest
from px4_sim_ros.testing import always, eventually, motor, note, push

@pytest.mark.flight(mission=[{'take_off': {'up_m': 2.0}}, {'land': {}}])
def test_without_a_motor(flight):
    flight.expect(always({'tilt_deg': {'below': 20}}))
    flight.run_until(lambda s: s.height_m > 1.0, timeout_s=30)
    pushed = flight.when({'height_m': {'above': 1.2}}, push(1, 0, 0), for_s=0.3)
    flight.run_for(0.2)
    flight.clear(pushed)
    flight.now(motor(2).off())
    flight.expect(eventually({'height_m': {'above': 5}}, within_s=1))
    flight.when({'height_m': {'above': 50}}, note('high'))
    flight.run_for(2.0)
    assert flight.misses == 0

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


# A sourced ROS 2 has plugins on PYTHONPATH with which pytest 9 does not start.
WITHOUT_ROS = '-p no:launch_testing -p no:launch_ros'


def flown(folder, *arguments):
    """Run pytest with the plugin in a folder, as a user without PX4 does."""
    environment = {k: v for k, v in os.environ.items() if k != 'PX4_DIR'}
    environment['PYTEST_ADDOPTS'] = WITHOUT_ROS
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'px4_sim_ros.testing.plugin', '-p',
         'no:cacheprovider', '--junitxml', 'flights.xml', *map(str, arguments)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


def cases_of(folder):
    """Return the test cases that JUnit has, by name."""
    suite = xml.etree.ElementTree.parse(folder / 'flights.xml').getroot()[0]
    return {case.get('name'): case for case in suite.iter('testcase')}


def text_of(case):
    return ''.join(case.itertext())


def property_of(case, name):
    """Return a property of a test case, None if it has none."""
    return next((p.get('value') for p in case.iter('property') if p.get('name') == name), None)


@pytest.mark.process
def test_a_failure_leaves_recording_report_and_the_command_that_flies_it_again(tmp_path):
    """In workers that do not meet; the code of the page flies beside it, and leaves nothing."""
    (tmp_path / 'test_hop.py').write_text(CODE, encoding='utf-8')
    (tmp_path / 'test_bad.py').write_text(FAILING, encoding='utf-8')
    (tmp_path / 'ground.scenario.yaml').write_text(yaml.dump(
        {'mission': 'none', 'end': {'at_s': 0.1},
         'expect': [{'always': {'height_m': {'above': 1}}}]}), encoding='utf-8')
    for name, at_least, limits in ('some', 0.3, [1, -1, -1]), ('all', 0.01, [1]):
        (tmp_path / f'{name}.campaign.yaml').write_text(yaml.dump({
            'scenario': {'mission': 'none', 'end': {'at_s': 0.1},
                         'expect': [{'always': {'height_m': {'below': 1}}}]},
            'runs': len(limits), 'at_least': at_least, 'keep_failed': 0,
            'vary': {'expect.1.always.height_m.below': {'table': limits}}}), encoding='utf-8')
    result = flown(tmp_path, '-n', '2')
    assert result.returncode == 1 and '4 failed, 4 passed' in result.stdout, result.stdout
    assert not [*(tmp_path / 'flights').glob('test_hop.py*')]
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
    again = ("python -m pytest -p px4_sim_ros.testing.plugin"
             " 'test_bad.py::test_without_a_motor[embedded]'")
    assert f'again: {again}' in result.stdout
    assert (kept / 'again.txt').read_text() == f'{again}\n'
    assert 'the flight has not begun' in cases['test_nothing_was_flown[embedded]']
    assert 'fly: expected always height_m above 1: fails' in cases['embedded']
    assert 'fly: again: python -m px4_sim_ros fly' in cases['embedded']
    check_that_it_fails_alone(result.stdout, kept)
    page = (tmp_path / 'flights' / 'ground.scenario.yaml__embedded' / 'report.html').read_text()
    assert 'height_m is 0 m, margin -1 m' in page


@contextlib.contextmanager
def kept_from_others(bag):
    """Keep the instance of a recording from flights of other workers; wait until they are over."""
    run = BagReader(bag).run
    if run.autopilot == 'px4':       # tests that fly one do so one after the other
        yield
        return
    instance = run.configuration({}).of_node('hil_bridge', HilParameters).instance
    while (reserved := hold(f'instance/{instance}/reserved')) is None:
        time.sleep(0.05)
    with reserved:
        yield


def check_that_it_fails_alone(printed, kept):
    """Without pytest it fails the same way, and ends; so does what its recording flies again."""
    alone, = re.findall(rf'alone: python (.* --scenario {kept}/flight.yaml .*)', printed)
    again = here(*shlex.split(alone.removeprefix('-m px4_sim_ros ')), cwd=ROOT)
    fingerprint = shlex.split(alone)[-1]
    assert f'fingerprint                  {fingerprint}\n' in again.stdout
    # Without a line `fly: expect ...`: the fingerprint is the same.
    assert again.returncode == 1
    assert [line.split()[:3] for line in again.stderr.splitlines() if ' is in use: ' not in line
            ] == [['fly:', 'expected', 'always'], ['fly:', 'expected', 'eventually'],
                  ['fly:', 'again:', 'python']], again.stderr
    with kept_from_others(kept / 'recording'):
        again = here('refly', kept / 'recording', cwd=ROOT)
    assert (again.returncode, again.stderr) == (0, ''), again.stdout
    assert again.stdout.endswith(' common messages are bit-identical\n')
    assert f'the new flight: fingerprint {fingerprint}, ' in again.stdout
    assert re.findall('^the new flight: expected (always|eventually) .*: fails', again.stdout, re.M
                      ) == ['always', 'eventually']


@pytest.mark.slow
def test_what_is_too_late_says_how_far_it_has_come(instance, tmp_path):
    plan = Plan(instance, None, {'mission': 'none'}, 300.0)
    sentence = r'condition not met within 0\.1 s of simulated time; t = 0\.100 s: '
    with contextlib.closing(Flight(plan, tmp_path)) as flight, pytest.raises(
            FlightError, match=sentence):
        flight.run_until(lambda s: s.height_m > 1.0, timeout_s=0.1)


def test_a_full_disk_takes_nothing_away_from_what_a_failure_says(tmp_path):
    """Pytest itself would end with an error, and with it the verdicts of all tests."""
    (tmp_path / 'flights').touch()
    options = {'flights': str(tmp_path / 'flights'), 'plugins': []}
    item = types.SimpleNamespace(
        nodeid='test_a.py::test_a[embedded]', path=tmp_path / 'test_a.py', user_properties=[],
        get_closest_marker=lambda name: None, config=types.SimpleNamespace(
            getoption=options.get, invocation_params=types.SimpleNamespace(dir=tmp_path)))
    flight = types.SimpleNamespace(
        said=['armed'], fingerprint='0123456789abcdef', folder=tmp_path, close=lambda: None,
        command=lambda file: 'fly', write_scenario=lambda head: '')
    again = "again: python -m pytest 'test_a.py::test_a[embedded]'"
    assert artefacts.keep(item, flight, 'why').splitlines() == [
        'armed', 'fingerprint 0123456789abcdef',
        'what the flight has left cannot be kept: File exists', again]
    (tmp_path / 'flights').unlink()
    with largest_file(10):
        assert artefacts.where_to_look(item, tmp_path).splitlines() == [
            'what the flight has left cannot be kept: File too large', again]


@pytest.mark.process
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
    cases = cases_of(tmp_path)
    for case in 'test_it_hangs[embedded]', 'embedded':
        assert 'the flight has hung for 6 s of wall time' in text_of(cases[case])
    assert 'barometer has been in its step at t = 0.100000 s' in result.stdout


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_px4_flies_the_page_twice_alike_and_a_failure_leaves_its_logs(tmp_path):
    (tmp_path / 'test_hop.py').write_text(CODE, encoding='utf-8')
    (tmp_path / 'test_bad.py').write_text(FAILING, encoding='utf-8')
    (tmp_path / 'boots.scenario.yaml').write_text(yaml.dump(
        {'mission': 'none', 'end': {'at_s': 0.1},
         'expect': [{'always': {'height_m': {'above': 1}}}]}), encoding='utf-8')
    px4_dir = f"--px4-dir={os.environ['PX4_DIR']}"
    hop = 'test_hop.py::test_a_weak_motor_is_made_up_for'
    first = flown(tmp_path, px4_dir, '-m', 'px4', hop)
    assert first.returncode == 0, first.stdout
    assert not (tmp_path / 'flights').exists()
    fingerprints = {property_of(cases_of(tmp_path)[f'{hop[13:]}[px4]'], 'fingerprint')}
    second = flown(tmp_path, px4_dir, '-m', 'px4', hop,
                   'test_bad.py::test_without_a_motor', 'boots.scenario.yaml')
    assert '2 failed, 1 passed' in second.stdout, second.stdout
    fingerprints.add(property_of(cases_of(tmp_path)[f'{hop[13:]}[px4]'], 'fingerprint'))
    assert len(fingerprints) == 1 and None not in fingerprints
    assert 'may be others' not in second.stdout
    failed = tmp_path / 'flights' / 'test_bad.py__test_without_a_motor_px4_'
    log, = failed.rglob('px4.log')
    assert 'Startup script returned successfully' in log.read_text(errors='replace')
    assert [path.stat().st_size > 100_000 for path in failed.rglob('*.ulg')] == [True]
    assert (tmp_path / 'flights' / 'boots.scenario.yaml__px4').is_dir()
    check_that_it_fails_alone(second.stdout, failed)
    for folder in (tmp_path / 'flights').iterdir():
        assert [*folder.rglob('px4.log')] and px4_dir in (
            folder / 'again.txt').read_text()
        assert not [path for path in folder.rglob('*') if path.is_symlink()]


def test_where_px4_cannot_repeat_itself_the_report_says_why(tmp_path, monkeypatch):
    """As for a user without the right to SCHED_FIFO; the line is in JUnit and at the end."""
    monkeypatch.setattr(sitl, 'no_priority', lambda: 'this user may not use SCHED_FIFO')
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'etc').mkdir()
    (tmp_path / 'bin' / 'px4').touch(0o755)
    item = types.SimpleNamespace(
        config=types.SimpleNamespace(getoption={'px4_dir': tmp_path}.get), user_properties=[])
    assert artefacts.px4_of(item).schedule == px4.ONE_CORE
    artefacts.note_unrepeatable(item, 'PX4 does not run with the schedule repeatable')
    reports = [types.SimpleNamespace(when=when, user_properties=item.user_properties)
               for when in ('setup', 'call', 'teardown')]
    assert artefacts.summary(reports) == [
        'flights that may be others the next time: 1, because this user may not use SCHED_FIFO']


@pytest.mark.process
def test_the_plugin_loads_nothing_before_there_is_a_flight():
    code = ("import sys\nimport px4_sim_ros.testing.plugin\n"
            "assert not {'numpy', 'rclpy', 'pymavlink'} & set(sys.modules)\n")
    assert subprocess.run([sys.executable, '-c', code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.process
def test_a_fixture_of_that_name_may_be_somebody_elses(tmp_path):
    """The plugin is loaded wherever the package is installed; one that asks for ours is flown."""
    (tmp_path / 'test_plain.py').write_text(
        'import pytest\n@pytest.fixture\ndef flight():\n    return 1\n'
        'def test_plain(flight):\n    assert flight == 1\n')
    (tmp_path / 'test_params.py').write_text(
        'import pytest\n@pytest.fixture(params=["calm"])\ndef flight(request):\n'
        '    return request.param\ndef test_params(flight):\n    assert flight == "calm"\n')
    (tmp_path / 'test_wrapped.py').write_text(
        'import pytest\n@pytest.fixture\ndef flight(flight):\n    return flight\n'
        'def test_wrapped(flight):\n    pass\n')
    result = flown(tmp_path, '--collect-only', '-q')
    assert result.stdout.split()[:3] == [
        'test_params.py::test_params[calm]', 'test_plain.py::test_plain',
        'test_wrapped.py::test_wrapped[embedded]'], result.stdout


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Return PYTHONPATH with what pip leaves: the entry point."""
    folder = tmp_path_factory.mktemp('installed')
    subprocess.run([sys.executable, 'setup.py', '-q', 'egg_info', '--egg-base', str(folder)],
                   cwd=ROOT, check=True, capture_output=True)
    assert 'pytest11' in (folder / 'px4_sim_ros.egg-info' / 'entry_points.txt').read_text()
    return os.pathsep.join([str(folder), os.environ['PYTHONPATH']])


@pytest.mark.process
def test_an_installed_plugin_may_be_named_as_well(installed):
    """As in a checkout from which pip has installed."""
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'px4_sim_ros.testing.plugin', '--markers'],
        cwd=ROOT, env=os.environ | {'PYTHONPATH': installed}, capture_output=True, text=True,
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


ACTION = yaml.safe_load((ROOT / 'action.yml').read_text('utf-8'))
STEPS = ACTION['runs']['steps']
RUNS = {step['name']: step['run'] for step in STEPS if 'name' in step}


def program(path, text):
    """Write a program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{text}\n', encoding='utf-8')
    path.chmod(0o755)


@pytest.mark.process
def test_the_action_flies_the_tests_of_a_repository_without_this_package(tmp_path, installed):
    """Its steps, as the runner's shell runs them; its rights are those of `sudo` there."""
    program(tmp_path / 'bin' / 'sudo', f'echo "$@" > {tmp_path}/rights')
    program(tmp_path / 'flying' / 'bin' / 'python', f'exec {sys.executable} "$@"')
    program(tmp_path / 'flying' / 'bin' / 'px4_sim_ros',
            f'exec {sys.executable} -m px4_sim_ros "$@"')
    (tmp_path / 'flights_of_mine').mkdir()
    (tmp_path / 'flights_of_mine' / 'test_ground.py').write_text(
        'import pytest\n@pytest.mark.flight(mission="none")\n'
        'def test_ground(flight):\n    assert flight.run_for(0.1).height_m < 0\n')

    def run(step):
        return subprocess.run(
            ['bash', '-e', '-o', 'pipefail', '-c', RUNS[step]], cwd=tmp_path, capture_output=True,
            text=True, check=False, env=os.environ | {
                'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}', 'PYTHONPATH': installed,
                'RUNNER_TEMP': str(tmp_path), 'GITHUB_OUTPUT': str(tmp_path / 'output'),
                'GITHUB_STEP_SUMMARY': str(tmp_path / 'summary.md'), 'PX4': '', 'PX4_DIR': '',
                'TESTS': 'flights_of_mine', 'OPTIONS': f'-p no:cacheprovider {WITHOUT_ROS}'})
    assert run('Find PX4').returncode == 0
    assert (tmp_path / 'output').read_text() == 'dir=\n'
    result = run('Fly')
    assert result.returncode == 1 and '1 failed' in result.stdout, result.stdout
    assert run('Summary').returncode == 0
    said = (tmp_path / 'summary.md').read_text()
    assert re.search(
        r'^\| flights_of_mine\.test_ground::test_ground\[embedded\] \| ❌ failed \| .* s \|'
        r' [0-9a-f]{16} \|$', said, re.M)
    assert 'assert flight.run_for(0.1).height_m < 0' in said
    *_, artefacts = STEPS
    for name in artefacts['with']['path'].split():
        assert (tmp_path / name).exists()
    prlimit, _, pid, *rights = (tmp_path / 'rights').read_text().split()
    assert prlimit == 'prlimit' and pid.isdigit()
    assert rights == [f'--rtprio={sitl._PRIORITY}', '--memlock=102400000']


@pytest.mark.parametrize(('px4', 'written'), [
    ('/', 'dir=/\n'), ('v1.17.0', 'dir=/runner/px4\nref=v1.17.0\n')])
@pytest.mark.process
def test_the_action_builds_a_commit_and_takes_a_folder(px4, written, tmp_path):
    subprocess.run(['bash', '-e', '-c', RUNS['Find PX4']], check=True, env=os.environ | {
        'PX4': px4, 'RUNNER_TEMP': '/runner', 'GITHUB_OUTPUT': str(tmp_path / 'output')})
    assert (tmp_path / 'output').read_text() == written


def test_the_recipe_names_inputs_of_the_action():
    workflow = yaml.safe_load((ROOT / 'examples' / 'flights.yaml').read_text('utf-8'))
    _, step = workflow['jobs']['fly']['steps']
    assert step['uses'].startswith('OWNER/px4_sim_ros@')
    assert set(step['with']) <= set(ACTION['inputs'])
    create, install = RUNS['Install'].splitlines()
    assert create == '"$PYTHON" -m venv "$RUNNER_TEMP/flying"'
    assert install.endswith('install --quiet "$GITHUB_ACTION_PATH[flight]"')
    assert re.search(r'config/scenarios/(\w+).yaml', PAGE)[1] in named_files('scenarios')


def test_the_summary_of_a_job_names_each_flight_by_its_file():
    cases = ''.join(
        f'<testcase classname="{name}.scenario.yaml" name="embedded" time="2.25">{more}</testcase>'
        for name, more in (('hop', ''), ('gust', '<failure message="m">it tilts</failure>')))
    lines = job_summary.summary(f'<testsuites>{cases}</testsuites>').splitlines()
    assert '| hop.scenario.yaml::embedded | ✅ passed | 2.2 s |  |' in lines
    assert '| gust.scenario.yaml::embedded | ❌ failed | 2.2 s |  |' in lines
    assert '<details><summary>gust.scenario.yaml::embedded</summary>' in lines
    assert 'it tilts' in lines
