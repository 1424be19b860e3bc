# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PX4's own ROS 2 topics in flights of a real PX4, with an ordinary node that flies it."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
from commands import command, interrupt, run, running, wait_for_line, write_hop
from px4_flight import NEEDS_FIFO
from workspace import ROS2, needs_workspace

from px4_sim_ros.link.ports import check_port_is_free
from px4_sim_ros.process import domain_claim
from px4_sim_ros.px4.sitl import AGENT_PORT, Px4
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.analysis.export import read_table
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.spec.ros_environment import ros_environment

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
INSTANCE, OTHER_INSTANCE = 6, 7
AWAITED = 'offboard_control_mode,trajectory_setpoint'
ANSWERING = ','.join(f'{name}:vehicle_odometry' for name in (
    'offboard_control_mode', 'vehicle_attitude_setpoint_v1'))
STEP_US = 4000
# Without the compilation of px4_msgs, whose time is not that of a test.
pytestmark = pytest.mark.timeout(400, func_only=True)
# Commands PX4 by its service: take off, arm, and land 20 s after the start.
CALLER = '''
import rclpy
from px4_msgs.msg import OffboardControlMode, VehicleCommand as Command
from px4_msgs.srv import VehicleCommand
from rclpy.node import Node
from rclpy.parameter import Parameter

WANTED = [(3.0, Command.VEHICLE_CMD_DO_SET_MODE, 1.0, 4.0, 2.0),
          (3.0, Command.VEHICLE_CMD_COMPONENT_ARM_DISARM, 1.0, 0.0, 0.0),
          (20.0, Command.VEHICLE_CMD_NAV_LAND, 0.0, 0.0, 0.0)]


class Caller(Node):
    def __init__(self):
        super().__init__('caller', parameter_overrides=[
            Parameter('use_sim_time', Parameter.Type.BOOL, True)])
        self.system = self.declare_parameter('system', 1).value
        self.client = self.create_client(VehicleCommand, 'fmu/vehicle_command')
        self.modes = self.create_publisher(
            OffboardControlMode, 'fmu/in/offboard_control_mode', 10)
        self.asked, self.wanted = None, list(WANTED)
        self.create_timer(0.1, self.tick)

    def tick(self):
        time_us = self.get_clock().now().nanoseconds // 1000
        if self.asked is not None and self.asked.done():
            ack, self.asked = self.asked.result().reply, None
            print(f'{time_us}: {ack.command} of {ack.timestamp} is {ack.result}', flush=True)
            if ack.result == ack.VEHICLE_CMD_RESULT_ACCEPTED:
                self.wanted.pop(0)
        if self.wanted and self.asked is None and time_us >= self.wanted[0][0] * 1e6 and (
                time_us % 500_000 == 0):
            _, command, *values = self.wanted[0]
            self.asked = self.client.call_async(VehicleCommand.Request(request=Command(
                timestamp=time_us, command=command, target_system=self.system, target_component=1,
                source_system=1, source_component=1, from_external=True,
                **{f'param{1 + i}': value for i, value in enumerate(values)})))
        self.modes.publish(OffboardControlMode(timestamp=time_us, position=True))


rclpy.init()
rclpy.spin(Caller())
'''
LISTENER = f"""
import contextlib
import rclpy
from px4_msgs.msg import VehicleOdometry
from rclpy.executors import ExternalShutdownException
from rclpy.qos import qos_profile_sensor_data
rclpy.init()
node = rclpy.create_node('listener')
node.create_subscription(
    VehicleOdometry, '/px4_{INSTANCE}/fmu/out/vehicle_odometry',
    lambda message: print(message.timestamp, flush=True), qos_profile_sensor_data)
print('listens', flush=True)
with contextlib.suppress(ExternalShutdownException):       # as it is ended
    rclpy.spin(node)
"""
# PX4's own example, which takes PX4's system for 1.
PX4_EXAMPLE = pathlib.Path(os.environ.get('PX4_ROS_COM') or '/none', 'src', 'examples',
                           'offboard_py', 'offboard_control.py')
ALONE = '--instance', '0'
BY_EXAMPLE = """
mission: none
events:
  - {name: ready, at_s: 9, note: {text: start the node}}
  - {name: high, when: {height_m: {above: 4.5}}, note: {text: high}}
  - {name: down, when: {age_s: {event: high, above: 1}, height_m: {below: 0.1}}, note: {text: down}}
expect:
  - eventually: {height_m: {above: 4.5}}
    within_s: 25
  - eventually: {height_m: {below: 0.1}}
    after: {height_m: {above: 4.5}}
end: {at_s: 120, when: {age_s: {event: down, above: 2}}}
"""
CALLED = """
mission: none
expect:
  - eventually: {height_m: {above: 2.0}}
    within_s: 18
  - eventually: {height_m: {below: 0.3}}
    after: {time_s: {above: 20}}
    within_s: 15
end: {at_s: 35}
"""


@pytest.fixture(scope='module')
def messages(tmp_path_factory):
    """Return a folder with px4_msgs of the PX4 that flies."""
    from px4_sim_ros.ros.tools.build_px4_msgs import build
    folder = tmp_path_factory.mktemp('messages')
    build(Px4.find(os.environ['PX4_DIR']).messages, folder, (
        'OffboardControlMode', 'TrajectorySetpoint', 'VehicleAttitudeSetpoint', 'VehicleCommand',
        'VehicleCommandAck', 'VehicleLocalPosition', 'VehicleOdometry', 'VehicleStatus'))
    return folder


def ended(node):
    """End a node; return what it has printed. DDS may hang while a process leaves it."""
    node.terminate()
    try:
        return node.communicate(timeout=10.0)[0]
    except subprocess.TimeoutExpired:
        node.kill()
        return node.communicate()[0]


def of_instance(instance):
    """Return arguments of a node that flies this PX4."""
    return '-r', f'__ns:=/px4_{instance}', '-p', f'system:={1 + instance}'


@contextlib.contextmanager
def offboard(messages, environment, *program, arguments=()):
    """Run a node with px4_msgs; without arguments it flies the first PX4."""
    node = subprocess.Popen(
        [sys.executable, *program, '--ros-args', *(arguments or of_instance(INSTANCE))],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment | {'PYTHONPATH': os.pathsep.join(
            [str(messages), os.environ.get('PYTHONPATH', '')])})
    try:
        yield node
    finally:
        node.kill()
        node.wait()


@pytest.fixture
def fly(messages, tmp_path, monkeypatch):
    """Return a function that flies with the node of the example; it returns the summary."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(domain_claim.choose())
        environment = os.environ | ros_environment()

        def flown(
            *words, record=False, once_armed=(), example='px4_offboard', stops=False,
            examples=EXAMPLES,
        ):
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            with offboard(messages, environment, examples / f'{example}.py') as node:
                with running(command(
                        'fly', '--autopilot', 'px4', '--px4-schedule', 'repeatable', '--instance',
                        INSTANCE, '--scenario', examples / f'{example}.yaml', '--mission',
                        'none', '--summary', folder / 'summary.json',
                        *(['--record', folder / 'bag'] if record else []), *words)) as flight:
                    if once_armed:
                        wait_for_line(node, 'armed')
                    for word in once_armed:
                        assert run(word).returncode == 0, word
                    if stops:
                        wait_for_line(node, 'armed')
                        node.send_signal(signal.SIGSTOP)
                        wait_for_line(flight, 'which is awaited; its last is of t = ')
                        node.send_signal(signal.SIGCONT)
                    said, _ = flight.communicate(timeout=300)
                flown.said = ended(node)
            assert flight.returncode == 0, said
            return json.loads((folder / 'summary.json').read_text())
        yield flown


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_the_flight_of_an_ordinary_node_repeats_in_each_mode_and_at_each_speed(fly):
    flights = [fly('--px4-topics', AWAITED, '--mode', mode, *words) for mode, *words in (
        ('core',), ('composed',), ('separate',), ('composed', '--speed-factor', '3'))]
    assert not any(reasons := [its['not_repeatable_because'] for its in flights]), reasons
    assert len({its['fingerprint'] for its in flights}) == 1
    assert 5.0 < flights[0]['max_altitude_m'] < 6.0
    assert all(verdict['holds'] for its in flights for verdict in its['expectations'])


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_a_controller_that_answers_px4_repeats(fly):
    flights = [fly('--mode', mode, '--px4-topics', ANSWERING, example='px4_attitude')
               for mode in ('core', 'composed')]
    assert not any(reasons := [its['not_repeatable_because'] for its in flights]), reasons
    assert len({its['fingerprint'] for its in flights}) == 1
    assert all(verdict['holds'] for its in flights for verdict in its['expectations'])


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_the_service_of_px4_flies_and_repeats(fly, tmp_path):
    (tmp_path / 'caller.py').write_text(CALLER)
    (tmp_path / 'caller.yaml').write_text(CALLED)
    flights, said = [], set()
    for mode in 'core', 'composed', 'separate':
        flights.append(fly('--px4-topics', 'offboard_control_mode', '--mode', mode,
                           example='caller', examples=tmp_path))
        said.add(fly.said)
    assert not any(reasons := [its['not_repeatable_because'] for its in flights]), reasons
    assert len({its['fingerprint'] for its in flights}) == 1
    assert all(verdict['holds'] for its in flights for verdict in its['expectations'])
    answers, = said
    assert [line.split()[1] for line in answers.splitlines() if line.endswith('is 0')] == [
        '176', '400', '21']


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_a_pause_a_reset_and_a_node_that_is_late_change_nothing(fly):
    words = '--px4-topics', AWAITED, '--mode', 'composed', '--speed-factor', '5'
    through = fly(*words, once_armed=('pause', 'resume', 'reset'))
    assert through['repeatable'], through['not_repeatable_because']
    late = fly('--px4-topics', AWAITED, '--mode', 'core', stops=True)
    assert late['repeatable'], late['not_repeatable_because']
    assert through['fingerprint'] == late['fingerprint']


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
def test_each_message_of_px4_has_the_time_of_a_step_and_joins_with_the_truth(fly, mode, messages):
    bag = BagReader(fly('--px4-topics', AWAITED, '--mode', mode, record=True)['recording'])
    before = f'px4_{INSTANCE}/fmu'
    stamps = {}
    for message in bag.messages():
        if message.topic.startswith(before):
            stamp_us = int.from_bytes(message.data[4:12], 'little')
            stamps.setdefault(message.topic, []).append((stamp_us, message.time_us))
    assert len(stamps) > 15
    assert not [topic for topic, its in stamps.items() for stamp_us, time_us in its
                if stamp_us % STEP_US or stamp_us > time_us]
    ticks = [stamp_us for stamp_us, _ in stamps[f'{before}/in/trajectory_setpoint']]
    assert ticks[-10:] == list(range(ticks[-10], ticks[-10] + 1_000_000, 100_000))
    odometry = read_table(bag, f'/{before}/out/vehicle_odometry')
    truth = read_table(bag, 'ground_truth/odom')
    times = np.rint(truth['time_s'] * 1e6).astype(int)
    found = np.searchsorted(times, odometry['timestamp'].astype(int))
    assert (times[found] == odometry['timestamp'].astype(int)).all(), 'none is lost'
    if mode == 'core':
        shown = bag.folder.with_suffix('.rrd')
        assert run('view', bag.folder, '--viewer', shown).returncode == 0
        assert f'{before}/out/vehicle_odometry/position'.encode() in shown.read_bytes()
    if mode == 'composed':
        with offboard(messages, os.environ | ros_environment(), '-c', LISTENER) as listener:
            wait_for_line(listener, 'listens')
            assert run('replay', '--mode', mode, bag.folder).returncode == 0
            heard = [int(line) for line in ended(listener).splitlines()]
        assert len(heard) > 50 and sorted(set(heard)) == heard, 'published again, in order'
        assert set(heard) <= set(odometry['timestamp'].astype(int))
    high = odometry['time_s'] > 20.0
    assert np.abs(-odometry['position.z'] - truth['position_m.z'][found])[high].max() < 1.0


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
@pytest.mark.long
@pytest.mark.parametrize('example, topics', [
    ('px4_offboard', AWAITED), ('px4_attitude', ANSWERING)])
def test_at_real_time_and_slower_it_is_the_same_flight(example, topics, fly):
    flights = [fly('--px4-topics', topics, '--mode', 'composed', '--speed-factor', speed,
                   example=example) for speed in ('0.5', '1', '5', 'max')]
    assert not any(reasons := [its['not_repeatable_because'] for its in flights]), reasons
    assert len({its['fingerprint'] for its in flights}) == 1


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
@pytest.mark.parametrize('speed', ['5', pytest.param('1', marks=pytest.mark.long)])
def test_free_set_points_fly_and_break_the_repetition(fly, speed):
    found = fly('--px4-topics', '--mode', 'composed', '--speed-factor', speed)
    assert all(verdict['holds'] for verdict in found['expectations'])
    assert not found['repeatable']
    assert f'a ROS 2 node has sent /px4_{INSTANCE}/fmu/in/' in found['not_repeatable_because']
    assert found['not_repeatable_because'].endswith(', which is not awaited')


@pytest.mark.process
@pytest.mark.px4
@pytest.mark.skipif(not PX4_EXAMPLE.exists(), reason='PX4_ROS_COM is no checkout of px4_ros_com')
@pytest.mark.parametrize('speed, words, arguments, line', [
    pytest.param('1', (), (), 'start the node', id='free', marks=pytest.mark.long),
    pytest.param('max', ('offboard_control_mode', '--set', 'px4_topics.awaited_from_us=9000000'),
                 ('-p', 'use_sim_time:=true'), 'no node publishes', id='awaited')])
def test_the_example_of_px4_flies_as_it_is(
    speed, words, arguments, line, messages, tmp_path,
):
    """It arms one second after its start, and lands when it takes itself to be above 5 m."""
    scenario = tmp_path / 'example.yaml'
    scenario.write_text(BY_EXAMPLE)
    versions = [word for name in ('status', 'local_position') for word in (
        '-r', f'/fmu/out/vehicle_{name}:=/fmu/out/vehicle_{name}_v1')]
    with domain_claim.choose(), running(command(
            'fly', '--autopilot', 'px4', '--px4-schedule', 'one-core', *ALONE, '--scenario',
            scenario, '--mode', 'composed', '--speed-factor', speed, '--px4-topics',
            *words)) as flight:
        wait_for_line(flight, line)
        with offboard(messages, os.environ | ros_environment(), PX4_EXAMPLE,
                      arguments=(*arguments, *versions)) as node:
            said, _ = flight.communicate(timeout=300)
            printed = ended(node)
    assert flight.returncode == 0, said + printed
    assert 'Switching to land mode' in printed


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_two_px4s_have_their_own_topics_and_repeat(tmp_path):
    found = []
    for i in range(2):
        summary = tmp_path / f'{i}.json'
        result = run('fly', '--vehicles', '2', '--instance', INSTANCE, '--mode', 'core',
                     '--autopilot', 'px4', '--px4-schedule', 'repeatable', '--px4-topics',
                     '--mission', write_hop(tmp_path, 3.0), '--summary', summary,
                     '--record', tmp_path / f'bag{i}')
        assert result.returncode == 0, result.stdout + result.stderr
        found.append(json.loads(summary.read_text()))
    assert not any(its['not_repeatable_because'] for its in found), found
    assert len({its['fingerprint'] for its in found}) == 1
    for bag in vehicles_of(tmp_path / 'bag0'):
        assert len(read_table(bag, 'fmu/out/vehicle_odometry')['timestamp']) > 500


@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_two_nodes_fly_two_px4s_in_one_lockstep_and_repeat(messages, tmp_path):
    fleet, found = tmp_path / 'pair.yaml', []
    scenario = str(EXAMPLES / 'px4_offboard.yaml')
    fleet.write_text(json.dumps({'vehicles': [
        {'namespace': f'px4_{instance}', 'scenario': scenario, 'start': {'east_m': east_m}}
        for instance, east_m in ((INSTANCE, 0.0), (OTHER_INSTANCE, 20.0))]}))
    with domain_claim.choose():
        environment = os.environ | ros_environment()
        for mode in 'core', 'composed':
            summary = tmp_path / f'{mode}.json'
            with contextlib.ExitStack() as nodes:
                for instance in INSTANCE, OTHER_INSTANCE:
                    nodes.enter_context(offboard(
                        messages, environment, EXAMPLES / 'px4_offboard.py',
                        arguments=of_instance(instance)))
                result = run('fly', '--fleet', fleet, '--mode', mode, '--autopilot', 'px4',
                             '--px4-schedule', 'repeatable', '--px4-topics', AWAITED, '--summary',
                             summary)
            assert result.returncode == 0, result.stdout + result.stderr
            found.append(json.loads(summary.read_text()))
    assert not any(its['not_repeatable_because'] for its in found), found
    assert len({its['fingerprint'] for its in found}) == 1


@needs_workspace
@pytest.mark.process
@pytest.mark.px4
@NEEDS_FIFO
def test_the_flight_under_launch_is_that_of_fly(fly, messages, tmp_path):
    scenario = EXAMPLES / 'px4_offboard.yaml'
    found = {fly('--px4-topics', AWAITED, '--mode', 'core')['fingerprint']}
    for mode in 'composed', 'separate':
        bag = tmp_path / f'{mode}_bag'
        with offboard(messages, os.environ, EXAMPLES / 'px4_offboard.py'), running(
                [ROS2, 'launch', 'px4_sim_ros', 'iris.launch.py', f'mode:={mode}', 'autopilot:=px4',
                 'px4_schedule:=repeatable', f'instance:={INSTANCE}', f'px4_topics:={AWAITED}',
                 f'scenario:={scenario}', 'speed_factor:=max', f'record:={bag}'],
                stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(
                    signal.SIGINT, signal.default_int_handler)) as process:
            said = wait_for_line(process, 'the scenario is over')
            assert sum(': holds' in line for line in said) == 2, said
            assert interrupt(process) < 6.0
        flown = recorded_fingerprint.read(BagReader(bag))
        assert not flown.unrepeatable, flown
        found.add(flown.fingerprint)
        assert any(m.topic == f'px4_{INSTANCE}/fmu/in/trajectory_setpoint'
                   for m in BagReader(bag).messages())
    assert len(found) == 1


# Says how it was started, and ends when it is asked to.
AGENT = """#!/bin/sh
echo "$0" "$@" "$ROS_DOMAIN_ID" > "$STARTED"
exec sleep 1000
"""


@pytest.mark.process
@pytest.mark.px4
def test_an_agent_of_the_user_is_started_beside_px4_and_ends_with_it(tmp_path):
    """With eProsima's on the PATH it is that one, and connects PX4 with ROS 2."""
    program, started = tmp_path / 'MicroXRCEAgent', tmp_path / 'started'
    real = shutil.which(program.name)
    program.write_text(AGENT.replace('exec sleep 1000', f'exec {real} "$@"') if real else AGENT)
    program.chmod(0o755)
    summary = tmp_path / 'summary.json'
    result = run('fly', '--autopilot', 'px4', '--instance', INSTANCE, '--mode', 'core', '--agent',
                 '--mission', write_hop(tmp_path, 2.0), '--summary', summary,
                 env=os.environ | {'PATH': f"{tmp_path}:{os.environ['PATH']}",
                                   'STARTED': str(started), 'ROS_HOME': str(tmp_path)})
    assert result.returncode == 0, result.stdout + result.stderr
    port = AGENT_PORT + INSTANCE
    assert started.read_text().split() == [
        str(program), 'udp4', '-p', str(port), *filter(None, [os.environ.get('ROS_DOMAIN_ID')])]
    console, = tmp_path.rglob('px4.log')
    assert (console.parent / 'agent.log').is_file()
    assert f'port:{port}' in console.read_text(errors='replace')
    check_port_is_free('UDP', '127.0.0.1', port)
    assert not json.loads(summary.read_text())['repeatable']
    if real:
        assert 'successfully created rt/' in console.read_text(errors='replace')
    refused = run('fly', '--autopilot', 'px4', '--agent', '--px4-schedule', 'repeatable')
    assert refused.stderr == (
        'fly: px4_schedule = repeatable: an agent works by the wall clock; fly without it, or with'
        ' px4_schedule one-core\n')


@pytest.mark.process
def test_what_cannot_be_is_one_sentence(instance):
    port = AGENT_PORT + instance
    refused = run('fly', '--px4-topics', '--mode', 'core')
    assert (refused.returncode, refused.stderr) == (2, (
        'fly: px4_topics = True: the embedded autopilot has no topics of its own; fly with the'
        ' autopilot px4\n'))
    assert run('fly', '--agent').stderr == (
        'fly: agent = True: it is for a PX4 that is started here; fly with the autopilot px4\n')
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as agent:
        agent.bind(('127.0.0.1', port))
        taken = run('fly', '--autopilot', 'none', '--instance', instance, '--mode', 'core',
                    '--px4-topics', timeout_s=60)
    assert taken.returncode == 2
    assert taken.stderr.startswith(f'fly: UDP port {port} is taken by ')
    assert taken.stderr.endswith('; stop it or choose another instance\n')
