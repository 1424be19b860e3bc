# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The host of the blocks of a process: what it publishes, and what it hands over."""
import types

import pytest
from commands import write_hop
from managed_nodes import activate

from px4_sim_ros import Flight
from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph import ABSENCE, CLOCK, COMMAND
from px4_sim_ros.step.lane import Lane, Output
from px4_sim_ros.step.slot import BlockSlot

CONFIGURATION = load_configuration(None, {})
GRAPH = CONFIGURATION.graph
SHOWN = CLOCK, 'ground_truth/pose', 'imu/data_raw', 'gps/fix', 'battery_state', COMMAND
TIME_US = 4000
DISPLAY_US = CONFIGURATION.world.periods_us['display']
IMU = ImuMeasurement(TIME_US, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 0.01, 0.002)
TRUTH = Truth(
    TIME_US, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0),
    (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), (800.0,) * 4, (0.0,) * 4)


class Publisher:
    """Notes what it publishes; its handle is itself."""

    def __init__(self):
        self.count, self.sent = 0, []

    @property
    def handle(self):
        return self

    def get_subscription_count(self):
        return self.count

    def publish_raw(self, data):
        self.sent.append(data)


class Node:
    """A node with the publishers of a block, and topics that are called otherwise."""

    def __init__(self, name, remapped=None):
        self.get_name, self.vehicle = lambda: name, ''
        self.step_publishers = {topic.name: Publisher() for topic in GRAPH.outputs(name)}
        if name in GRAPH.sensors:
            self.step_publishers[ABSENCE] = Publisher()
        self.resolve_topic_name = lambda topic: f'/{(remapped or {}).get(topic, topic)}'


class Process:
    """A host with some nodes."""

    def __init__(self, *nodes, has_clock=False):
        self.host, self.nodes = BlockHost(), {node.get_name(): node for node in nodes}
        self.publishers = {CLOCK: Publisher()}
        for node in nodes:
            self.publishers |= node.step_publishers
        driver = types.SimpleNamespace(
            clock=types.SimpleNamespace(busy_s=0.0),
            publishers={CLOCK: self.publishers[CLOCK]}, commands={})
        self.host.add(nodes, driver if has_clock else None)
        self.host.configure(GRAPH, CONFIGURATION.world)

    def subscribe(self, *topics):
        for topic in topics:
            self.publishers[topic].count = 1
        self.host.refresh()

    def sent(self):
        """Return how many messages were published on each topic, if there are any."""
        return {name: len(p.sent) for name, p in self.publishers.items() if p.sent}


@pytest.fixture
def process():
    return Process(Node('imu'), Node('dynamics'), has_clock=True)


OUTPUTS = [Output(TIME_US, 'manager', {CLOCK: TIME_US}),
           Output(TIME_US, 'dynamics', {'ground_truth/odom': TRUTH}),
           Output(TIME_US, 'imu', {'imu/data_raw': IMU})]


def test_the_blocks_are_in_the_order_of_the_table(process):
    assert list(process.host.nodes) == ['dynamics', 'imu']


def test_nothing_is_published_for_nobody(process):
    process.host.refresh()
    process.host.send(OUTPUTS)
    assert process.sent() == {}


def test_what_somebody_subscribes_to_is_published(process):
    process.subscribe('imu/data_raw', CLOCK)
    process.host.send(OUTPUTS)
    assert process.sent() == {CLOCK: 1, 'imu/data_raw': 1}
    data, = process.publishers['imu/data_raw'].sent
    assert data == codecs.encoder(GRAPH.topics['imu/data_raw'])(TIME_US, IMU)
    assert serialised_stamp_us(process.publishers[CLOCK].sent[0]) == TIME_US


def test_nothing_is_published_for_whoever_has_left(process):
    process.subscribe('imu/data_raw')
    process.publishers['imu/data_raw'].count = 0
    process.host.refresh()
    process.host.send(OUTPUTS)
    assert process.sent() == {}


def test_subscribers_get_what_is_recorded(monkeypatch, tmp_path):
    """Also of steps that are sent as rows, in the order of the recording."""
    mission = str(write_hop(tmp_path, 2.0))
    flown = load_configuration(None, {'': {'mission': mission}})
    process = Process(*map(Node, GRAPH.blocks), has_clock=True)
    process.host.configure(flown.graph, flown.world)
    process.subscribe(*SHOWN)
    order, send, send_rows = [], CoreRecorder.send, CoreRecorder.send_rows
    for name in SHOWN:
        publisher = process.publishers[name]
        publisher.publish_raw = lambda data, name=name: order.append((name, data))
    process.host.refresh()
    counts = []

    def sent(recorder, outputs):
        process.host.send(outputs)
        send(recorder, outputs)

    def sent_as_rows(recorder, members, first_us, step_us, count, first_row):
        assert process.host.rows_possible(members, first_us, step_us, count) == count
        process.host.send_rows(members, first_us, step_us, count, first_row)
        send_rows(recorder, members, first_us, step_us, count, first_row)
        counts.append(count)

    monkeypatch.setattr(CoreRecorder, 'send', sent)
    monkeypatch.setattr(CoreRecorder, 'send_rows', sent_as_rows)
    steps = Flight(mission=mission, record=tmp_path / 'bag').fly().summary()['steps']
    found = {}
    for message in BagReader(tmp_path / 'bag').messages():
        if message.topic in SHOWN:
            found.setdefault(message.topic, []).append(message.data)
    # The recorder leaves out the last step, which is not complete.
    last_us = serialised_stamp_us(found[COMMAND][-1])
    mine = {name: [data for its, data in order if its == name
                   and serialised_stamp_us(data) <= last_us] for name in SHOWN}
    assert mine == found
    times_us = [serialised_stamp_us(data) for _, data in order]
    assert times_us == sorted(times_us)
    assert sum(counts) > 0.5 * steps


def test_whose_outputs_are_heard(process):
    """A recorder gets them all."""
    def heard():
        return {name for name in GRAPH.nodes if name in process.host.heard}

    assert heard() == set()
    process.subscribe('imu/data_raw')
    assert heard() == {'imu'}
    process.subscribe('ground_truth/pose', CLOCK)
    assert heard() == {'imu', 'dynamics', 'manager'}
    process.host.recording = types.SimpleNamespace()
    assert heard() == set(GRAPH.nodes)


def test_outputs_are_wanted_when_a_topic_with_a_subscriber_is_due(process):
    def wanted(name):
        step_us, display_us = CONFIGURATION.world.step_us, CONFIGURATION.world.periods_us['display']
        return [process.host.runner.wants(name, time_us) for time_us in (step_us, display_us)]

    process.subscribe('ground_truth/pose')
    assert wanted('dynamics') == [False, True] and wanted('imu') == [False, False]
    process.subscribe('ground_truth/odom')
    assert wanted('dynamics') == [True, True]


def test_what_goes_to_another_process_is_kept_to_be_repeated(process):
    """Also if its subscriber is not there for a moment."""
    imu = BlockSlot(GRAPH.nodes['imu'], GRAPH, CONFIGURATION.world, ['ground_truth/odom'])
    process.host.runner.place_lanes([Lane('', [imu])])
    process.subscribe(CLOCK)
    assert all(name in process.host.heard for name in GRAPH.nodes)


def test_a_value_goes_to_all_topics_that_carry_a_part_of_it(process):
    """Each at its own period."""
    topics = ['ground_truth/odom', 'ground_truth/accel', 'ground_truth/pose', 'joint_states']
    process.subscribe(*topics)
    process.host.send(OUTPUTS)
    assert process.sent() == dict.fromkeys(topics[:2], 1)
    process.host.send([Output(DISPLAY_US, 'dynamics', {'ground_truth/odom': TRUTH})])
    assert process.sent() == dict.fromkeys(topics[:2], 2) | dict.fromkeys(topics[2:], 1)


def test_a_sensor_that_is_stopped_says_so():
    """By a publisher of its own, for all share the topic."""
    imu, gps = Node('imu'), Node('gps')
    process = Process(imu, gps)
    process.host.send([Output(TIME_US, 'imu', None)])
    assert imu.step_publishers[ABSENCE].sent == []
    for node in imu, gps:
        node.step_publishers[ABSENCE].count = 1
    process.host.refresh()
    process.host.send([Output(TIME_US, 'imu', None)])
    assert [len(node.step_publishers[ABSENCE].sent) for node in (imu, gps)] == [1, 0]
    assert serialised_stamp_us(imu.step_publishers[ABSENCE].sent[0]) == TIME_US


def test_what_was_published_last_can_be_repeated(process):
    process.subscribe('imu/data_raw', CLOCK)
    process.host.send(OUTPUTS)
    for block in 'imu', 'imu', 'manager', 'dynamics', 'gps':
        process.host.repeat(block)
    assert process.sent() == {CLOCK: 2, 'imu/data_raw': 3}
    assert len(set(process.publishers['imu/data_raw'].sent)) == 1


def test_nothing_of_the_run_before_is_repeated(process):
    process.subscribe('imu/data_raw')
    process.host.send(OUTPUTS)
    process.host.arrange()
    process.host.repeat('imu')
    assert process.sent() == {'imu/data_raw': 1}


def hands_over(host, topic, subscriber):
    return host.hands_over(GRAPH.topics[topic], subscriber.resolve_topic_name(topic))


@pytest.mark.parametrize('has_clock', [False, True])
def test_what_is_handed_over(has_clock):
    imu, bridge = Node('imu'), Node('hil_bridge')
    host = Process(imu, bridge, has_clock=has_clock).host
    assert host.is_shared
    assert hands_over(host, 'imu/data_raw', bridge)
    assert not hands_over(host, 'mag', bridge)
    assert hands_over(host, CLOCK, bridge) is has_clock
    assert hands_over(host, COMMAND, imu)


@pytest.mark.parametrize('here, there, is_handed_over', [
    ({}, {'imu/data_raw': 'filtered'}, False), ({'imu/data_raw': 'unfiltered'}, {}, False),
    ({'imu/data_raw': 'other'}, {'imu/data_raw': 'other'}, True)])
def test_what_a_remapping_puts_somebody_between_is_not_handed_over(here, there, is_handed_over):
    imu, bridge = Node('imu', here), Node('hil_bridge', there)
    host = Process(imu, bridge).host
    assert hands_over(host, 'imu/data_raw', bridge) is is_handed_over


def test_one_block_shares_its_process_with_nobody():
    assert not Process(Node('imu')).host.is_shared
    assert not Process(Node('hil_bridge'), Node('pilot')).host.is_shared


# Which inputs of a node are handed over by value, and which come as messages.


def test_blocks_of_a_process_hand_values_over(make_process):
    """Only what comes from elsewhere has a subscription."""
    _, (dynamics, imu, gps, bridge) = make_process('dynamics', 'imu', 'gps', 'hil_bridge')
    activate(dynamics, imu, gps, bridge)
    assert set(dynamics._step_subscriptions) == {'/clock'}
    assert set(imu._step_subscriptions) == set(gps._step_subscriptions) == set()
    assert set(bridge._step_subscriptions) == {'mag', 'baro', graph.ABSENCE}
    status = bridge.lockstep_status()
    assert status.by_value == ['ground_truth/odom', 'ground_truth/accel', 'imu/data_raw',
                               'gps/fix', 'gps/vel', 'battery_state']
    assert status.waits_for == {
        'ground_truth/odom': -1, 'ground_truth/accel': -1, 'imu/data_raw': -1}


def test_beside_the_manager_the_clock_is_handed_over(make_process):
    _, (dynamics, manager) = make_process('dynamics', 'manager')
    activate(dynamics)
    assert set(dynamics._step_subscriptions) == {COMMAND}
    assert dynamics.lockstep_status().by_value == ['/clock']
    manager.finished = True


@pytest.mark.parametrize('remappings, by_message', [
    (['hil_bridge:imu/data_raw:=filtered'], {'imu/data_raw'}),
    (['imu:imu/data_raw:=unfiltered'], {'imu/data_raw'}),
    (['imu/data_raw:=elsewhere'], set()),        # by both
    # All parts of a value come the same way.
    (['hil_bridge:gps/vel:=filtered'], {'gps/fix', 'gps/vel'}),
    (['hil_bridge:gps/fix:=filtered'], {'gps/fix', 'gps/vel'})])
def test_a_topic_is_not_handed_over_past_a_node_between(remappings, by_message, make_process):
    nodes = make_process(*graph.of_instances({}).blocks)[1]
    activate(*nodes)
    for node in nodes[:-1]:
        assert set(node._step_subscriptions) <= {'/clock'}
    assert set(nodes[-1]._step_subscriptions) - {graph.ABSENCE} == by_message
    assert set(nodes[-1].lockstep_status().by_value) == {*nodes[-1].spec.inputs} - by_message
