"""Each example runs, and is what its page shows."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest
import rclpy
from builtin_interfaces.msg import Time
from commands import run
from sensor_msgs.msg import Range
from std_msgs.msg import Header

from px4_sim_ros.cli import command_line
from px4_sim_ros.run.processes import Child

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples'
PAGES = {'own_sensor.py': 'own_sensor', 'my_quad.yaml': 'own_vehicle',
         'first_hop.yaml': 'own_vehicle', 'recording_to_pandas.py': 'recording'}
PATIENCE_S = 60.0


def example(name, *words):
    """Run an example to its end; return the words of each line that it prints."""
    result = subprocess.run([sys.executable, EXAMPLES / name, *map(str, words)],
                            capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr
    return [line.split() for line in result.stdout.splitlines()]


@pytest.mark.parametrize('name', PAGES)
def test_the_page_shows_the_file(name):
    text = (ROOT / 'docs' / f'{PAGES[name]}.md').read_text(encoding='utf-8')
    assert (EXAMPLES / name).read_text(encoding='utf-8') in re.findall(
        r'```(?:python|yaml)\n(.*?)```', text, re.S)


def test_each_example_is_listed_and_says_what_it_is():
    listed = re.findall(r'`([\w.]+)`', '\n'.join(
        line.split('|')[1] for line in (EXAMPLES / 'README.md').read_text(
            encoding='utf-8').splitlines() if line.startswith('| `')))
    assert sorted(listed) == sorted(
        path.name for path in EXAMPLES.iterdir() if path.suffix in ('.py', '.yaml', '.patch'))
    for path in EXAMPLES.glob('*.py'):
        assert path.read_text(encoding='utf-8').startswith('"""'), path


@pytest.mark.slow       # these fly
def test_own_vehicle_with_payloads(instance, capsys):
    assert command_line.main(['check-vehicle', str(EXAMPLES / 'my_quad.yaml'), '--json']) == 0
    figures = json.loads(capsys.readouterr().out)['figures']
    head, without, loaded = example('own_vehicle.py', '--instance', instance)
    assert head[:2] == ['payload_kg', 'hover_command']
    assert without[:2] == ['0.0', f"{figures['hover_command']:.3f}"]
    assert float(loaded[1]) > float(without[1])       # more throttle
    assert float(loaded[2]) < float(without[2])       # for a shorter time
    for line in without, loaded:
        assert float(line[3]) == pytest.approx(3.0, abs=0.7)
        assert line[4] == 'True'


@pytest.mark.slow
def test_a_recording_becomes_a_table(tmp_path, instance):
    bag = tmp_path / 'hop'
    flight = run('fly', '--mode', 'core', '--mission', EXAMPLES / 'first_hop.yaml', '--record', bag,
                 '--instance', instance)
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
