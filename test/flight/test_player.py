# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bag that is played: what viewers get, when, and under whose control."""
import collections
import functools
import itertools
import pathlib
import re
import sys
import time

import pytest
from bags import trimmed
from commands import OTHER_CLOCK, command, family, interrupt, run, running, wait_for_line
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from graph_processes import Observer
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from scripted_flight import ScriptedWorld
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger

from px4_sim_ros.cli.command_line import main
from px4_sim_ros.messages.autopilot import ESTIMATE, set_point_message, status_message
from px4_sim_ros.messages.codec import Encoder
from px4_sim_ros.messages.diagnostics import values_of
from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.process.new_folder import make_folder
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.recording.bag.schema import decode
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.ros.tools import bag_player as player_module
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import side_topics

pytestmark = pytest.mark.process

STEP_US = 4000
END_US = 2 * US_PER_S
START_S = 0.4
PATIENCE_S = 30.0
HERE = 0.0, 0.0, 0.1
# Nothing is lost here while the test does something else, nor what came before it listened.
_VOLATILE, _LATCHED = (
    QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST,
               depth=10_000, durability=durability)
    for durability in (DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL))


# A bag, and who looks at what is played.

def diagnostics_of(name):
    return DiagnosticArray(status=[DiagnosticStatus(
        name=name, hardware_id='px4_sim_ros', values=[KeyValue(key='steps', value='7')])])


def beside(time_us):
    """Return what is recorded beside the step at a time."""
    if time_us == 0:
        return {'hil/state': String(data='WAITING')}
    if time_us == US_PER_S // 5:
        return {'hil/state': String(data='LOCKED'), '/rosout': Log(name='pilot', msg='armed'),
                'autopilot/status': status_message(
                    AutopilotStatus(time_us, 'Hold', armed=True, landed=True, failsafe=False))}
    if time_us == US_PER_S:
        return {'sensors/absence': Header(frame_id='gps'),
                'sim/status': DiagnosticStatus(message='recorded'),
                '/diagnostics': diagnostics_of('/recorded/imu'),
                'autopilot/odometry': deserialize_message(Encoder(ESTIMATE)(time_us, Estimate(
                    time_us, HERE, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))),
                    Odometry),
                'autopilot/set_point': set_point_message(SetPoint(time_us, HERE))}
    if time_us == US_PER_S + STEP_US:
        return {'/diagnostics': diagnostics_of('/recorded/manager')}
    return {}


def write_bag(folder):
    """Record some steps on the ground, with messages of all topics."""
    configuration = load_configuration(None, {
        '': {'recorder': True, 'wind': 'constant', 'instances.range_finder': 1},
        'recorder': {'folder': str(folder), 'flush_us': 200_000, 'compression': 'none'}})
    recorded = RunDescription.of(
        configuration, mode='core', autopilot='none', namespace='recorded')
    publications = Publications(configuration.graph, configuration.world)
    outputs = []
    world = ScriptedWorld(configuration, outputs.extend)
    writer = BagWriter(make_folder(folder), recorded, configuration.nodes['recorder'])

    def write(name, time_us, message):
        type_name = schema.topic_type(configuration.graph, name)
        writer.write(name, time_us, trimmed(serialize_message(message), type_name))

    for time_us in range(0, END_US + STEP_US, STEP_US):
        if time_us:
            outputs.clear()
            world.step((0.0,) * 4)
            for name, data in itertools.chain.from_iterable(map(publications.of, outputs)):
                writer.write(name, time_us, data)
        for name, message in beside(time_us).items():
            write(name, time_us, message)
    writer.close()


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    folder = tmp_path_factory.mktemp('bags') / 'whole'
    write_bag(folder)
    return BagReader(folder)


@pytest.fixture(scope='module')
def recorded(bag):
    """Return the messages of a bag in their order, by topic."""
    messages = collections.defaultdict(list)
    for message in bag.messages():
        messages[message.topic].append(message.data)
    assert set(messages) == {*bag.run.graph.topics, *side_topics.RECORDED}
    return messages


class Viewer(Observer):
    """Listens to all topics of a bag in a namespace, and asks for pauses and the like."""

    def __init__(self, bag, namespace):
        super().__init__()
        self._namespace = namespace
        self.heard = collections.defaultdict(list)      # serialised, by topic
        self.times_s = []                               # wall times of /clock
        self.told = None                               # the last status
        for name in [*bag.run.graph.topics, *side_topics.RECORDED]:
            type_name = schema.topic_type(bag.run.graph, name)
            is_latched = name in side_topics.RECORDED and side_topics.RECORDED[name].latched
            self._subscriptions.append(self.node.create_subscription(
                message_class(type_name), self.full_name(name),
                functools.partial(self._hear, name), _LATCHED if is_latched else _VOLATILE,
                raw=True))

    def full_name(self, topic):
        return topic if topic.startswith('/') else f'/{self._namespace}/{topic}'

    def _hear(self, topic, data):
        self.heard[topic].append(data)
        if topic == 'sim/status':
            self.told = data
        elif topic == '/clock':
            self.times_s.append(time.monotonic())

    def forget(self):
        self.heard.clear()
        self.times_s.clear()

    @property
    def clock_us(self):
        return [serialised_stamp_us(data) for data in self.heard['/clock']]

    @property
    def values(self):
        """The values of the last status."""
        return {} if self.told is None else values_of(decode(
            self.told, side_topics.RECORDED['sim/status'].type))

    def wait_for(self, condition):
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, self.values
            self.spin()

    def wait_state(self, state):
        self.wait_for(lambda: self.values.get('state') == state)

    def watch(self, duration_s):
        """Listen for a while."""
        deadline_s = time.monotonic() + duration_s
        while time.monotonic() < deadline_s:
            self.spin()

    def _call(self, kind, name, request):
        client = self.client(kind, self.full_name(name))
        self.wait_for(client.service_is_ready)
        call = client.call_async(request)
        self.wait_for(call.done)
        return call.result()

    def ask(self, verb):
        return self._call(Trigger, f'sim/{verb}', Trigger.Request())

    def set(self, name, value):
        return self._call(SetParameters, 'manager/set_parameters', SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()])).results[0]

    def wait_end(self, process, end_us, counts):
        """Listen until a process has ended and all that it has sent is read.

        :param end_us: the last time on /clock
        :param counts: how many messages there are, by topic
        """
        self.wait_for(
            lambda: process.poll() is not None and self.clock_us[-1:] == [end_us]
            and self.values.get('sim_time_s') == seconds_text(end_us).split()[0]
            and all(len(self.heard[topic]) >= count for topic, count in counts.items()))
        self.watch(0.1)         # there is nothing more
        return process.returncode


@pytest.fixture
def viewer(bag):
    viewer = Viewer(bag, 'viewed')
    yield viewer
    viewer.close()


@pytest.fixture(scope='module')
def played(bag):
    """Play in a loop, from a start on, in the namespace of the run; begin paused."""
    viewer = Viewer(bag, 'recorded')
    words = command('replay', bag.folder, '--play', '--paused', '--loop', '--start', START_S)
    with running(words) as process:
        viewer.process = process
        viewer.wait_state('PAUSED')
        yield viewer
    viewer.close()


@pytest.fixture
def paused(played):
    """Return the viewer of that player, which stands at its start."""
    assert played.ask('pause').success
    run_before = int(played.values['run'])
    assert played.ask('reset').success
    played.wait_for(lambda: int(played.values['run']) > run_before)
    played.wait_state('PAUSED')
    assert played.set('speed_factor', 1.0).successful
    played.forget()
    return played


def steps(first, last):
    return list(range(first * STEP_US, (last + 1) * STEP_US, STEP_US))


# What is published.

def test_all_arrives_as_it_was_recorded(bag, recorded, viewer):
    """In another namespace, as fast as possible, for one who listened before."""
    as_recorded = [*bag.run.graph.topics, 'hil/state', '/rosout', 'sensors/absence']
    words = 'replay', bag.folder, '--play', '--rate', 'max', '--namespace', 'viewed'
    with running(command(*words)) as process:
        assert viewer.wait_end(process, END_US, {
            topic: len(recorded[topic]) for topic in as_recorded}) == 0
        assert process.stdout.read() == (
            f'playing {bag.folder} from t = 0.000000 s\nplayed up to t = 2.000000 s\n')
    for topic in as_recorded:
        type_name = schema.topic_type(bag.run.graph, topic)
        # On its way a message is filled up to whole words.
        heard = [trimmed(data, type_name) for data in viewer.heard[topic]]
        assert heard == recorded[topic], topic
    # The player speaks for the manager.
    assert recorded['sim/status'][0] not in viewer.heard['sim/status']
    assert viewer.values['sim_time_s'] == '2.000000'
    names = {decode(data, 'diagnostic_msgs/msg/DiagnosticArray').status[0].name
             for data in viewer.heard['/diagnostics']}
    assert names == {'/recorded/imu', '/viewed/manager'}


def test_a_damaged_bag_is_played_as_far_as_it_goes(bag, tmp_path):
    """Also: where it starts, and how fast time goes."""
    rate = 0.5     # slow: time that the first step is late, on a busy machine, is made up for
    folder = tmp_path / 'damaged'
    folder.mkdir()
    for path in bag.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    file, = folder.glob('*.mcap')
    with open(file, 'r+b') as stream:
        stream.truncate(file.stat().st_size * 3 // 4)
    damaged = BagReader(folder)
    times_us = [m.time_us for m in damaged.messages() if m.topic == '/clock']
    viewer = Viewer(bag, 'recorded')
    try:
        with running(command(
                'replay', folder, '--play', '--start', START_S, '--rate', rate)) as process:
            assert viewer.wait_end(process, times_us[-1], {
                '/clock': sum(t >= START_S * 1e6 for t in times_us)}) == 0
            printed = process.stdout.read()
    finally:
        viewer.close()
    assert sorted(printed.splitlines()) == sorted([
        f'playing {folder} from t = {seconds_text(int(START_S * 1e6))}',
        damaged.damage, f'played up to t = {seconds_text(times_us[-1])}'])
    assert viewer.clock_us == [t for t in times_us if t >= START_S * 1e6]
    assert len(viewer.clock_us) > 200
    took_s = float(viewer.values['wall_time_s'])       # the player's: a listener may be late
    assert took_s > 0.95 * (times_us[-1] * 1e-6 - START_S) / rate


# Run control.

def test_at_the_start_the_last_latched_messages_are_there(played):
    played.wait_for(lambda: played.heard['hil/state'] and played.heard['/rosout'])
    assert decode(played.heard['hil/state'][-1], 'std_msgs/msg/String').data == 'LOCKED'
    assert decode(played.heard['/rosout'][-1], 'rcl_interfaces/msg/Log').msg == 'armed'
    assert played.clock_us == []


def test_so_many_steps_are_played(paused):
    assert paused.set('step_count', 10).successful
    for count in 10, 20:
        assert paused.ask('step').message == '10 steps more'
        paused.wait_for(lambda: int(paused.values['steps']) == 99 + count)     # noqa: B023
        assert paused.values['state'] == 'PAUSED'
        paused.watch(0.2)
        assert paused.clock_us == steps(100, 99 + count)


def test_pause_and_resume(paused):
    assert paused.ask('resume').message == 'time runs at t = 0.396000 s'
    paused.wait_for(lambda: len(paused.clock_us) > 20)
    assert paused.ask('step').message == 'time is not paused'
    assert paused.ask('pause').success
    paused.wait_state('PAUSED')
    heard, before_s = len(paused.clock_us), time.monotonic()
    paused.watch(0.3)
    assert len(paused.clock_us) == heard
    # What stood still is not caught up with.
    assert paused.ask('resume').success
    paused.wait_for(lambda: len(paused.clock_us) > heard + 50)
    assert paused.times_s[heard + 50] - before_s > 0.3 + 0.9 * 50 * STEP_US * 1e-6
    assert paused.clock_us == steps(100, 100 + len(paused.clock_us) - 1)


def test_the_speed_is_changed_while_time_runs(paused):
    assert paused.set('speed_factor', 0.5).successful
    started_s = time.monotonic()            # what is heard may be late, but never early
    assert paused.ask('resume').success
    paused.wait_for(lambda: len(paused.clock_us) > 60)
    assert paused.times_s[60] - started_s > 0.9 * 60 * STEP_US * 1e-6 / 0.5
    assert paused.set('speed_factor', 0.0).successful
    paused.wait_for(lambda: paused.values['speed_factor'] == '0')
    heard, paced_s = len(paused.clock_us), float(paused.values['paced_s'])
    paused.wait_for(lambda: len(paused.clock_us) > heard + 400)
    told = paused.told
    paused.wait_for(lambda: paused.told is not told)
    # However slow this machine is, nobody holds the time back; with 0.5 that would be for 3.2 s.
    assert float(paused.values['paced_s']) < paced_s + 0.1


def test_a_loop_begins_again_at_the_start(paused):
    run_before = int(paused.values['run'])
    assert paused.set('speed_factor', 0.0).successful
    assert paused.ask('resume').success
    paused.wait_for(lambda: len(paused.clock_us) > 900)
    assert paused.clock_us[:900] == (steps(100, 500) * 3)[:900]
    paused.wait_for(lambda: int(paused.values['run']) > run_before + 1)


@pytest.mark.parametrize('name, value, sentence', [
    ('speed_factor', 2000.0,
     'manager.speed_factor = 2000.0: must be at least 0 and at most 1000'),
    ('seed', 5, 'manager.seed: cannot be set while a recording is played')])
def test_a_parameter_that_cannot_be_is_refused(name, value, sentence, played):
    result = played.set(name, value)
    assert (result.successful, result.reason) == (False, sentence)


def test_beside_another_graph_nothing_is_played(bag, played):
    with pytest.raises(ParameterError, match='a graph runs in this domain already') as error:
        player_module.play(
            bag, rate=1.0, start_s=0.0, paused=False, loop=False, namespace=None)
    assert f'(process {played.process.pid})' in str(error.value)


def test_beside_another_clock_nothing_is_played(bag, domains, monkeypatch):
    """Such as that of another simulator."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domains()))
    words = command('replay', bag.folder, '--play')
    with running([sys.executable, '-c', OTHER_CLOCK]) as simulator:
        wait_for_line(simulator, 'publishes')
        with running(words) as process:
            assert process.wait(20) == 2
            assert process.stdout.read().splitlines()[-1].endswith(
                '/clock is published by /simulator already; play with a ROS_DOMAIN_ID of its own')


def test_the_commands_work(bag, paused, capsys):
    for words in ['status'], ['step', '5'], ['speed', 'max'], ['status']:
        assert main([*words, '--namespace', 'recorded']) == 0
    run_now = paused.values['run']
    lines = [f'PAUSED at t = {time} s, run {run_now}, real-time factor' for time in (
        '0.396000', '0.416000', '0.416000', '0.416000')]
    printed = capsys.readouterr().out.splitlines()
    assert [line[:len(lines[0])] for line in printed] == lines
    assert printed[0].endswith(f' 0.000: plays {bag.folder}')
    paused.wait_for(lambda: paused.values['speed_factor'] == '0')      # it comes by another way


def test_ctrl_c_ends_it_while_a_step_lasts(paused):
    """It is the last test of this player."""
    process = paused.process
    maps = pathlib.Path(f'/proc/{process.pid}/maps').read_text()
    assert not re.findall(r'/dev/shm/fastrtps_[0-9a-f]{16}\S*', maps)
    assert family(process.pid) == []
    assert paused.set('speed_factor', 0.01).successful
    assert paused.ask('resume').success
    paused.wait_for(lambda: len(paused.clock_us) > 1)
    assert interrupt(process) < 3.0        # of which Python needs most for its own end
    assert process.returncode == 130
    assert 'Traceback' not in process.stdout.read()


# What cannot be played.

@pytest.mark.parametrize('start_s', [-1.0, float('nan'), float('inf')])
def test_a_start_that_cannot_be_is_refused(start_s, bag):
    with pytest.raises(ParameterError, match=r'start = .*: must be a number, at least 0 s'):
        player_module.play(
            bag, rate=1.0, start_s=start_s, paused=False, loop=False, namespace=None)


def test_a_start_beyond_the_end_is_refused_before_it_plays(bag):
    result = run('replay', bag.folder, '--play', '--loop', '--rate', 'max', '--start', '5')
    assert (result.returncode, result.stdout) == (2, '')
    assert result.stderr == f'replay: start = 5: bag {bag.folder} ends before that\n'
