# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each example runs, and is what its page shows."""
import ast
import contextlib
import io
import json
import os
import pathlib
import re
import runpy
import shutil
import signal
import statistics
import subprocess
import sys
import time

import pytest
import rclpy
from builtin_interfaces.msg import Time
from commands import command, run, running, wait_for_line, write_hop
from sensor_msgs.msg import Range
from std_msgs.msg import Header

from px4_sim_ros.cli import command_line
from px4_sim_ros.process.children import Child
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.ros_environment import ros_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples'
PAGES = {'own_sensor.py': 'own_code', 'first_hop.yaml': 'own_vehicle'}
PATIENCE_S = 60.0


def example(name, *words):
    """Run an example here, to its end; return the words of each line that it prints."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(printed):
        patched.setattr(sys, 'argv', [name, *map(str, words)])
        runpy.run_path(str(EXAMPLES / name), run_name='__main__')
    return [line.split() for line in printed.getvalue().splitlines()]


@pytest.mark.parametrize('name', PAGES)
def test_the_page_shows_the_file(name):
    text = (ROOT / 'docs' / f'{PAGES[name]}.md').read_text(encoding='utf-8')
    # Without its licence, which test_package.py looks at.
    source = re.sub(r'\A# Copyright.*\n# SPDX.*\n', '', (EXAMPLES / name).read_text('utf-8'))
    assert source in re.findall(
        r'```(?:python|yaml)\n(.*?)```', text, re.S)


def test_each_example_is_listed_and_says_what_it_is():
    listed = re.findall(r'`([\w.]+)`', '\n'.join(
        line.split('|')[1] for line in (EXAMPLES / 'README.md').read_text(
            encoding='utf-8').splitlines() if line.startswith('| `')))
    assert sorted(listed) == sorted(
        path.name for path in EXAMPLES.iterdir()
        if path.suffix in ('.py', '.yaml', '.patch', '.plan'))
    for path in EXAMPLES.glob('*.py'):
        assert ast.get_docstring(ast.parse(path.read_text(encoding='utf-8'))), path


def test_the_topics_that_logs_may_differ_in_are_those_of_the_page():
    page = (ROOT / 'docs' / 'journal' / 'repeatable.md').read_text(encoding='utf-8')
    table = page.partition('| topic | what differs |')[2].partition('\n\n')[0]
    listed = re.findall(r'`(\w+)`', '\n'.join(
        line.split('|')[1] for line in table.splitlines() if line.startswith('| ')))
    source = ast.parse((EXAMPLES / 'compare_ulogs.py').read_text(encoding='utf-8'))
    constant, = (node.value for node in source.body if isinstance(node, ast.Assign))
    assert sorted(ast.literal_eval(constant)) == sorted(listed)


@pytest.mark.process       # these fly
def test_own_vehicle_with_payloads(capsys):
    assert command_line.main(['check-vehicle', str(EXAMPLES / 'my_quad.yaml'), '--json']) == 0
    figures = json.loads(capsys.readouterr().out)['figures']
    head, without, loaded = example('own_vehicle.py')
    assert head[:2] == ['payload_kg', 'hover_command']
    assert without[:2] == ['0.0', f"{figures['hover_command']:.3f}"]
    assert float(loaded[1]) > float(without[1])       # more throttle
    assert float(loaded[2]) < float(without[2])       # for a shorter time
    for line in without, loaded:
        assert float(line[3]) == pytest.approx(3.0, abs=0.7)
        assert line[4] == 'True'


@pytest.mark.process
def test_the_limit_of_the_wind_and_the_worst_direction_are_found():
    pytest.importorskip('scipy')
    (_, limit_m_s, _), (_, _, _, least_deg) = example('worst_wind.py')
    assert 2.0 < float(limit_m_s) < 10.0 and abs(float(least_deg)) < 2.0


@pytest.mark.process
def test_a_recording_becomes_a_table(tmp_path, here, instance):
    bag = tmp_path / 'hop'
    flight = here('fly', '--mode', 'core', '--mission', EXAMPLES / 'first_hop.yaml', '--record',
                  bag, '--instance', instance)
    assert flight.returncode == 0, flight.stderr
    found = {name: [float(value) for value in values]
             for name, *values in example('recording_to_pandas.py', bag)[1:]}
    sim_time_s, = (float(line.split()[1]) for line in flight.stdout.splitlines()
                   if line.startswith('sim_time_s'))
    # 50 Hz and 10 Hz; what is recorded is what was measured.
    assert found['count'] == pytest.approx([50.0 * sim_time_s, 10.0 * sim_time_s], abs=1.0)
    # The air's noise of 1 Pa is 8 cm; GNSS wanders within its 0.5 m.
    baro_m, gnss_m = zip(found['mean'], found['std'])
    assert abs(baro_m[0]) < 0.15 and 0.05 < baro_m[1] < 0.15
    assert abs(gnss_m[0]) < 1.5 and gnss_m[1] < 1.0


@pytest.mark.process
def test_a_topic_is_printed(tmp_path):
    log = tmp_path / 'printed.log'
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('publisher', context=context)
    publisher = node.create_publisher(Range, 'beacon/range', 100)
    child = Child('print_topic', [
        sys.executable, EXAMPLES / 'print_topic.py', 'beacon/range', 'sensor_msgs/msg/Range',
        'header.stamp.sec', 'range'], environment=os.environ, log=log)
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while '12 2.5\n' not in log.read_text() and time.monotonic() < deadline_s:
            publisher.publish(Range(header=Header(stamp=Time(sec=12)), range=2.5))
            time.sleep(0.05)
    finally:
        child.stop()
        node.destroy_node()
        rclpy.shutdown(context=context)
    assert set(log.read_text().splitlines()) == {'12 2.5'}


@pytest.mark.parametrize('words, wrong', [
    ([], 'not enough values'), (['beacon/range', 'Range'], 'not enough values'),
    (['beacon/range', 'nobody/msg/Range'], "No module named 'nobody'"),
    (['beacon/range', 'sensor_msgs/msg/Range', 'rnge'], "no attribute 'rnge'")])
def test_a_topic_that_cannot_be_printed_is_one_sentence(words, wrong, monkeypatch):
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE)}
    monkeypatch.setattr(sys, 'argv', ['print_topic.py', *words])
    try:
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(EXAMPLES / 'print_topic.py'))
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert wrong in str(end.value) and '\n' not in str(end.value)


# A new kind of sensor: the patch, applied to a copy of the package.

PATCH = EXAMPLES / 'new_sensor.patch'


@pytest.fixture(scope='module')
def patched(tmp_path_factory):
    """Return a copy of the package with the new sensor."""
    folder = tmp_path_factory.mktemp('patched')
    for name in ('px4_sim_ros', 'config', 'test', 'package.xml', 'pyproject.toml'):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)       # with what Python has compiled
        else:
            shutil.copy(source, folder)
    result = subprocess.run(['git', 'apply', str(PATCH)], cwd=folder, capture_output=True,
                            text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


def in_copy(folder, *words):
    """Run Python in the copy, and return what it prints.

    Nothing is compiled: for a copy it would be done anew, which takes longer than a hop without.
    """
    environment = os.environ | {'PYTHONPATH': str(folder), 'NUMBA_DISABLE_JIT': '1'}
    result = subprocess.run([sys.executable, *map(str, words)], cwd=folder, env=environment,
                            capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_new_kind_of_sensor_touches_five_places():
    touched = re.findall(r'^\+\+\+ b/(.*)$', PATCH.read_text(encoding='utf-8'), re.M)
    assert touched == [
        'config/simulation.yaml', 'px4_sim_ros/messages/measurements.py',
        'px4_sim_ros/model/sensors/thermometer.py', 'px4_sim_ros/step/graph.py',
        'test/model/test_thermometer.py']


@pytest.mark.process
def test_a_new_kind_of_sensor_measures_in_every_mode(patched, instance):
    """Its own test passes; it measures, is recorded, and is replayed bit by bit as a node."""
    in_copy(patched, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
            'test/model/test_thermometer.py')
    bag, scenario = patched / 'bag', patched / 'stand.yaml'
    scenario.write_text('mission: none\nend: {at_s: 1.2}\n')
    in_copy(patched, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--instance', instance,
            '--scenario', scenario, '--set', 'instances.thermometer=1',
            '--record', bag)
    figures = patched / 'figures.json'
    in_copy(patched, '-m', 'px4_sim_ros', 'replay', '--mode', 'composed', bag, '--json', figures)
    comparison = json.loads(figures.read_text(encoding='utf-8'))['comparison']
    temperature = comparison['topics']['temperature']
    assert temperature['equal'] > 10 and temperature['differ'] == 0


# A node between two of ours.

INTERPOSED = '--remap', 'imu:imu/data_raw:=imu/unbiased'


@pytest.mark.process
def test_a_topic_is_interposed(tmp_path, instance):
    """The bridge gets, and the bag has, what the node between puts out; nothing is lost.

    For one that is late the graph waits, and names it.
    """
    between = Child('interpose', [sys.executable, EXAMPLES / 'interpose.py'],
                    environment=os.environ | ros_environment())
    words = command('fly', '--instance', instance, '--record', tmp_path / 'bag',
                    '--mission', write_hop(tmp_path, 1.0), '--speed-factor', '2', *INTERPOSED)
    try:
        with running(words) as flight:
            wait_for_line(flight, 'armed')
            os.kill(between.pid, signal.SIGSTOP)
            try:
                line = wait_for_line(flight, 'stands between')[-1]
            finally:
                os.kill(between.pid, signal.SIGCONT)
            assert 'biased_gyro has not published imu/data_raw for t = ' in line
            assert 'it stands between imu, which has, and hil_bridge' in line
            said, _ = flight.communicate(timeout=PATIENCE_S)
    finally:
        between.stop()
    assert flight.returncode == 0, said
    bag = BagReader(tmp_path / 'bag')
    found = {'imu/data_raw': {}, 'ground_truth/odom': {}}
    for message in bag.messages():
        if message.topic in found:
            found[message.topic][message.time_us] = bag.decode(message)
    measured, true = found.values()
    assert list(measured) == list(true) == list(range(4000, max(true) + 1, 4000))
    errors = {t: measured[t].angular_velocity.z - true[t].twist.twist.angular.z for t in true}
    before, after = ([error for t, error in errors.items() if (t >= 4_000_000) is late]
                     for late in (False, True))
    assert statistics.fmean(after) - statistics.fmean(before) == pytest.approx(0.02, abs=0.002)


@pytest.mark.process
def test_without_who_stands_between_nothing_flies(instance):
    missing = run('fly', '--instance', instance, '--mission', EXAMPLES / 'first_hop.yaml',
                  '--set', 'manager.startup_timeout_s=3.0', *INTERPOSED)
    assert missing.returncode == 1
    assert 'imu has no connection on /imu/unbiased; the graph is taken down' in (
        missing.stderr)


@pytest.mark.parametrize(('rule', 'sentence'), [
    ('imu/data_raw', "fly: remap 'imu/data_raw': must be [NODE:]TOPIC:=NAME"),
    ('gyro:imu/data_raw:=x', "fly: remap 'gyro:imu/data_raw:=x': there is no node gyro; there are"),
    ('imu:imu/raw:=x', "fly: remap 'imu:imu/raw:=x': there is no topic imu/raw; did you mean"
     ' imu/data_raw; there are /clock')])
def test_a_wrong_remapping_is_one_sentence(rule, sentence, capsys):
    assert command_line.main(['fly', '--remap', rule]) == 2
    assert capsys.readouterr().err.startswith(sentence)


@pytest.mark.slow
def test_learning_begins_and_draws_its_curve(tmp_path):
    """Few steps: that it learns, the curve of the page shows."""
    pytest.importorskip('stable_baselines3')
    model, picture = tmp_path / 'hover.zip', tmp_path / 'curve.png'
    *_, last = example('learn_to_hover.py', model, picture, 8192)
    assert model.exists() and picture.stat().st_size > 10_000
    assert last[:4] == ['metres', 'from', 'the', 'target:'] and len(last) == 14
