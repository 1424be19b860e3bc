# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The code of a user, as the pages have it: a sensor beside the graph, and a block in it."""
import contextlib
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys

import pytest
from commands import (
    command,
    family,
    port_is_free,
    run,
    running,
    wait_for_line,
    write_hop,
)
from graph_processes import PATIENCE_S, STEP_US, running_graph
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import FluidPressure, Range
from workspace import ROS2, needs_workspace

from px4_sim_ros.cli import command_line
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.sensors.barometer import Barometer
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.process.children import Child
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.spec import node_overrides
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.ros_environment import ros_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS, EXAMPLES = ROOT / 'docs', ROOT / 'examples'
OWN = 'barometer=my_nodes:HoseBarometer'
BARO_US = 20_000
# What the page says of the beacon.
BEACON_ENU_M, BEACON_US, NOISE_M, SAMPLES = (30.0, 40.0, 2.0), 100_000, 0.3, 30


SENSOR, NODE, ADDED = re.findall(
    r'```python\n(.*?)```', (DOCS / 'own_code.md').read_text('utf-8'), re.S)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the code of the page about nodes and a short mission."""
    (tmp_path / 'my_nodes.py').write_text(NODE)
    write_hop(tmp_path, 0.4)
    return tmp_path


@pytest.mark.parametrize('code, most', [(SENSOR, 30), (NODE, 40), (ADDED, 32)],
                         ids=['sensor', 'node', 'added'])
def test_the_code_is_short(code, most):
    assert len(code.splitlines()) <= most


def test_the_added_block_is_that_of_the_examples():
    assert (EXAMPLES / 'sun_sensor.py').read_text().endswith(f'Apache-2.0\n{ADDED}')


# The sensor.

def as_ros_comes():
    """Return the environment without any choice of ours for DDS."""
    return {name: value for name, value in os.environ.items()
            if name not in ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE',
                            'ROS_AUTOMATIC_DISCOVERY_RANGE')}


@pytest.mark.process
def test_the_sensor_measures_beside_a_graph(folder, instance):
    """Once with the settings of ROS as they come, and once with the profile of the graph."""
    found = {'beacon/range': {}, 'again/range': {}}

    def common():
        truths = {t for topic, t in world.observer.recordings.of_run(0)
                  if topic == 'ground_truth/odom'}
        return sorted(truths.intersection(*found.values()))

    with contextlib.ExitStack() as stack:
        world = stack.enter_context(running_graph(
            folder, 'composed', instance, {'manager': {'speed_factor': 2.0}}))
        listeners = [world.observer.node.create_subscription(
            Range, topic, lambda m, seen=seen: seen.update({stamp_us(m.header.stamp): m}),
            qos.LOOP) for topic, seen in found.items()]
        world.record('ground_truth/odom')
        words = [sys.executable, EXAMPLES / 'own_sensor.py']
        sensors = [
            Child('sensor', words, environment=as_ros_comes(), log=folder / 'sensor_1.log'),
            Child('again', [*words, '--ros-args', '-r', 'beacon/range:=again/range'],
                  environment=os.environ, log=folder / 'sensor_2.log')]
        for sensor in sensors:
            stack.callback(sensor.stop)
        world.wait_up()
        world.connect()
        world.wait_for(lambda: len(common()) > SAMPLES, PATIENCE_S, f'{SAMPLES} measurements')
        assert [sensor.exit_code for sensor in sensors] == [None] * len(listeners)
        assert [log.read_text() for log in folder.glob('sensor_*.log')] == [''] * len(sensors)
        times = common()
        truth = {t: deserialize_message(
            world.observer.recordings.of_run(0)['ground_truth/odom', t], Odometry) for t in times}
    assert not any(t % BEACON_US for seen in found.values() for t in seen)
    for t in times:
        message, again = found['beacon/range'][t], found['again/range'][t]
        assert message == again
        assert message.header == truth[t].header
        assert message.variance == pytest.approx(NOISE_M**2)
        assert message.max_range == math.inf
    errors_m = [found['beacon/range'][t].range - distance_m(truth[t]) for t in times]
    assert max(map(abs, errors_m)) < 5.0 * NOISE_M
    assert 0.5 * NOISE_M < statistics.stdev(errors_m) < 1.6 * NOISE_M
    assert abs(statistics.mean(errors_m)) < 0.8 * NOISE_M


def distance_m(truth):
    p = truth.pose.pose.position
    return math.hypot(*(mine - there for mine, there in zip((p.x, p.y, p.z), BEACON_ENU_M)))


# The node.

def assert_a_hose(odometries, pressures_pa, configuration):
    """See that pressures, by time, are those of our model at heights that lag, and not at others.

    :param odometries: by time, of all steps at which the barometer is due, from the first on
    """
    def model():
        return Barometer('barometer', configuration.nodes['barometer'], configuration.world)

    hose, ours = model(), model()
    height_m, effects_pa = 0.0, []
    for t in sorted(pressures_pa):
        position = odometries[t].pose.pose.position
        east, north, up = position.x, position.y, position.z
        truth = Truth(t, (east, north, up), (1.0, 0.0, 0.0, 0.0), *((0.0, 0.0, 0.0),) * 4, (), ())
        height_m += (1.0 - math.exp(-0.02 / 0.5)) * (up - height_m)
        expected_pa = hose.measure(truth._replace(position_enu=(east, north, height_m))).pressure_pa
        assert pressures_pa[t] == pytest.approx(expected_pa, abs=1e-6)
        effects_pa.append(pressures_pa[t] - ours.measure(truth).pressure_pa)
    # In a climb it feels the denser air below.
    assert max(effects_pa) > 1.0


# In a graph of processes the next test looks at what it measures.
@pytest.mark.process
@pytest.mark.parametrize('mode', ['core', pytest.param('composed', marks=pytest.mark.long)])
def test_the_block_flies_in_lockstep_and_the_recording_tells_of_it(
        mode, folder, here, instance):
    with running(command('fly', '--mode', mode, '--node', OWN, '--mission', 'hop.yaml', '--record',
                         'bag', '--instance', instance), cwd=folder) as process:
        lines = wait_for_line(process, 'step_cost_us')
        assert process.wait(PATIENCE_S) == 0, lines
    assert any(line.split() == ['landed', 'True'] for line in lines)
    assert any(line.split() == ['misses', '0'] for line in lines)
    bag = BagReader(folder / 'bag')
    assert bag.run.versions['node barometer'] == 'my_nodes:HoseBarometer'
    messages = {topic: {} for topic in ('ground_truth/odom', 'baro')}
    for message in bag.messages():
        if message.topic in messages and message.time_us % BARO_US == 0:
            messages[message.topic][message.time_us] = bag.decode(message)
    assert len(messages['baro']) > 200
    assert_a_hose(messages['ground_truth/odom'],
                  {t: m.fluid_pressure for t, m in messages['baro'].items()},
                  bag.run.configuration({}))
    if mode == 'core':
        assert_flown_again_with_it(folder, here)


def assert_flown_again_with_it(folder, here):
    """See that it is taken from the recording if that is allowed, and found where it was then."""
    allow = '--allow', 'my_nodes:HoseBarometer'
    refused = here('refly', 'bag', cwd=folder)
    assert (refused.returncode, refused.stderr) == (
        2, "refly: node barometer = 'my_nodes:HoseBarometer': data may not import a class that you"
        f' have not allowed; {" ".join(allow)} allows it\n')
    again = run('refly', 'bag', *allow, cwd=folder)
    assert (again.returncode, again.stderr) == (0, ''), again.stdout
    assert again.stdout.splitlines()[-1].endswith(' common messages are bit-identical')
    elsewhere = here('refly', folder / 'bag', *allow)
    assert elsewhere.returncode == 2
    assert elsewhere.stderr.startswith(
        "refly: node barometer = 'my_nodes:HoseBarometer': my_nodes cannot be imported from ")
    given = here('refly', folder / 'bag', '--node', 'barometer=my_others:Barometer')
    assert "my_others:Barometer'" in given.stderr and 'my_nodes' not in given.stderr


@pytest.mark.process
def test_the_block_has_a_process_of_its_own(folder, instance):
    """As the page starts it by hand, beside one of all others; it begins again with them."""
    steps = 500
    parameters = {'manager': {'paused': True, 'speed_factor': 0.0}}
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(running_graph(
            folder, 'composed', instance, parameters, absent=['world']))
        others = [name for name in world.graph.nodes if name != 'barometer']
        for nodes in others, ['barometer', '--node', OWN]:
            process = Child(nodes[0], [
                sys.executable, '-m', 'px4_sim_ros.ros.world', *nodes,
                '--ros-args', '--params-file', folder / 'run.yaml'],
                environment=ros_environment(), folder=folder, log=folder / f'{nodes[0]}.log')
            stack.callback(process.stop)
        world.record('baro', 'ground_truth/odom')
        world.wait_up()
        # Of the first run some messages may have come before those who listen were known.
        world.connect()
        world.step(steps)
        world.reset()
        world.connect()
        world.step(steps)
        seen = world.observer.recordings.of_run(1)
        last_us = steps * STEP_US
        world.wait_for(lambda: ('baro', last_us) in seen and (
            'ground_truth/odom', last_us) in seen, PATIENCE_S, 'the last messages')
        odometries, pressures = ({
            t: deserialize_message(data, cls)
            for (topic, t), data in seen.items() if topic == name and t % BARO_US == 0}
            for name, cls in (('ground_truth/odom', Odometry), ('baro', FluidPressure)))
    assert len(pressures) == len(odometries) == last_us // BARO_US
    assert_a_hose(odometries, {t: m.fluid_pressure for t, m in pressures.items()},
                  load_configuration(None, {}))


def test_each_process_is_told_of_its_own_nodes_only():
    own_classes = {'barometer': 'my_nodes:HoseBarometer', 'imu_1': 'mine:Imu'}
    assert node_overrides.arguments(own_classes, ['barometer']) == ['--node', OWN]
    assert node_overrides.arguments(own_classes, ['imu']) == []


# Bad input.

@pytest.mark.parametrize('words, sentence', [
    (['--node', 'barometer'], "node 'barometer': must be NAME=MODULE:CLASS"),
    (['--node', 'barometer=my_nodes'], "node 'barometer=my_nodes': must be NAME=MODULE:CLASS"),
    (['--node', 'baro=my_nodes:HoseBarometer'],
     "node baro = 'my_nodes:HoseBarometer': there is no such node; did you mean barometer;"
     ' there are dynamics, imu, magnetometer, barometer, gps, pilot, hil_bridge'),
    (['--node', 'airspeed=my_nodes:HoseBarometer'],
     "node airspeed = 'my_nodes:HoseBarometer': there is no such node; there are dynamics"),
    (['--node', 'manager=my_nodes:HoseBarometer'],
     "node manager = 'my_nodes:HoseBarometer': manager is no block of the step and stays as it is"),
    (['--node', 'barometer=no_such_module:Mine'],
     "node barometer = 'no_such_module:Mine': no_such_module cannot be imported from"),
    (['--node', 'barometer=broken:Mine'], 'ZeroDivisionError: division by zero'),
    (['--node', 'barometer=my_nodes:Mine'],
     "node barometer = 'my_nodes:Mine': there is no Mine in "),
    (['--node', 'barometer=my_nodes:TIME_CONSTANT_S'],
     'must be a subclass of px4_sim_ros.step.block.Block'),
    (['--node', 'dynamics=pathlib:Path'],
     "node dynamics = 'pathlib:Path': must be a subclass of px4_sim_ros.step.block.Block"),
    # Whoever flies asks it about its link.
    (['--node', 'hil_bridge=px4_sim_ros.step.block:Block'],
     'must be a subclass of px4_sim_ros.link.hil.block.HilBlock'),
    (['--node', OWN, '--node', 'barometer=my_nodes:Mine'],
     "'my_nodes:HoseBarometer' is in the place of barometer already"),
    (['--mode', 'core', '--node', 'barometer=my_nodes:Mine'],
     "node barometer = 'my_nodes:Mine': there is no Mine in "),
])
def test_bad_input_is_one_sentence_and_nothing_starts(
        words, sentence, folder, instance, monkeypatch, capsys):
    (folder / 'broken.py').write_text('1 / 0\n')
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, 'path', list(sys.path))
    monkeypatch.delitem(sys.modules, 'my_nodes', raising=False)
    before = family(os.getpid())
    assert command_line.main(['fly', '--instance', str(instance), *words]) == 2
    said = capsys.readouterr()
    assert said.out == ''
    line, = said.err.splitlines()
    assert line.startswith('fly: node ')
    assert sentence in line
    assert family(os.getpid()) == before
    assert port_is_free(instance)


FAULTY = '''
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.model_blocks import SensorBlock

class Unwilling(Block):
    def __init__(self, configuration):
        raise ParameterError(f'{configuration.name}: it has no hose')

class Silent(SensorBlock):
    def step(self, time_us, inputs):
        if time_us == 20_000:
            self.log(True, 'the hose leaks')
        return super().step(time_us, inputs) if time_us < 1_000_000 else None
'''


@pytest.mark.process
@pytest.mark.parametrize(('mode', 'name', 'sentence'), [
    ('core', 'Unwilling', 'barometer: it has no hose'),
    ('composed', 'Silent', 'barometer: step has returned no outputs'),
    pytest.param('composed', 'Unwilling', 'barometer: it has no hose', marks=pytest.mark.long),
    ('core', 'Silent', 'barometer: step has returned no outputs')])
def test_a_block_that_fails_ends_the_run_with_its_sentence(
        mode, name, sentence, folder, instance):
    """What it has warned of before is said, once."""
    (folder / 'faulty.py').write_text(FAULTY)
    result = subprocess.run(
        command('fly', '--mode', mode, '--node', f'barometer=faulty:{name}', '--instance',
                instance), capture_output=True, text=True, cwd=folder, timeout=PATIENCE_S,
        check=False)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert result.stderr.count('the hose leaks') == (name == 'Silent'), result.stderr
    assert 'Traceback' not in result.stderr
    assert port_is_free(instance)


@pytest.mark.process
def test_a_process_refuses_what_it_does_not_run(folder):
    result = subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros.ros.world', 'imu', '--node', OWN],
        capture_output=True, text=True, cwd=folder, timeout=PATIENCE_S, check=False)
    assert (result.returncode, result.stdout) == (2, '')
    assert result.stderr == ("world: node barometer = 'my_nodes:HoseBarometer': there is no such"
                             ' node; there are imu\n')


# Under ros2 launch.

@pytest.mark.process
@needs_workspace
@pytest.mark.parametrize('mode', ['composed', 'separate'])
def test_the_node_is_launched(mode, folder, instance):
    with running([ROS2, 'launch', 'px4_sim_ros', 'iris.launch.py', f'instance:={instance}',
                  f'mode:={mode}', f'nodes:={OWN}', 'speed_factor:=max', 'mission:=hop.yaml',
                  'record:=bag'], cwd=folder, stdin=subprocess.DEVNULL) as process:
        wait_for_line(process, 'disarmed')
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)
    assert BagReader(folder / 'bag').run.versions['node barometer'] == 'my_nodes:HoseBarometer'
