# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Records every message of a run, byte by byte, in each mode."""
import functools
import gc
import random
import struct
import threading
import time

import rclpy
from managed_nodes import make_nodes
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from stand_in_autopilot import ARMED_FROM_US, connect, scripted_controls

from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.process.children import Child, own_module
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.framework.graph_node import GraphNode
from px4_sim_ros.ros.framework.session import make_executor, message_class
from px4_sim_ros.spec.configuration import load_configuration, write_configuration
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.step import graph
from px4_sim_ros.step.runner import ALL_NODES

INSTANCE = 80
STEP_US = 4000
# With all that is optional.
WHOLE = {
    '': {'wind': 'dryden'} | {f'instances.{kind}': 1 for kind in (
        'airspeed', 'range_finder', 'optical_flow', 'visual_odometry')},
    'magnetometer': {'field_per_current': [1e-7, 2e-7, -3e-7]},
    'barometer': {'wind_pressure_coefficient': 0.2}}
# The scripted autopilot waits for the recording: a step that went on without its answer would fly
# another flight.
OVERRIDES = WHOLE | {'manager': {'speed_factor': 0.0},
                     'hil_bridge': {'instance': INSTANCE, 'reply_timeout_s': 60.0}}

# What dynamics, sensors and bridge publish in the step: /clock carries nothing but time.
# There is no scenario in it.
RECORDED = [name for name, topic in graph.TOPICS.items()
            if name != '/clock' and topic.publisher != 'scenario' and not topic.wanted_by]


# How far the autopilot lets the graph run ahead of a recorder outside: any topic's messages of
# this time fit into its history, so that none can be lost however slow the recorder is.
AHEAD_US = qos.LOOP.depth // 2 * STEP_US
LONGEST_PERIOD_US = 100_000


class Recording(dict):
    """Serialised messages by (topic, time)."""

    def __init__(self, *args):
        super().__init__(*args)
        self._grown = threading.Condition()
        self._last_us = {}
        self._is_over = False

    def add(self, topic, data):
        time_us = serialised_stamp_us(data)
        with self._grown:
            self[topic, time_us] = bytes(data)
            self._last_us[topic] = time_us
            self._grown.notify_all()

    def wait_until(self, time_us, timeout_s):
        """Wait until every topic is recorded up to a time, as far as its period allows.

        :return: whether it is, or nothing more is needed
        """
        def is_there():
            return len(self._last_us) == len(RECORDED) and all(
                last_us > time_us - LONGEST_PERIOD_US for last_us in self._last_us.values())

        with self._grown:
            return self._grown.wait_for(lambda: self._is_over or is_there(), timeout_s)

    def end(self):
        """Let nobody wait any more."""
        with self._grown:
            self._is_over = True
            self._grown.notify_all()

    def between(self, first_us, last_us):
        """Return what is stamped within two times, both included."""
        return {k: v for k, v in self.items() if first_us <= k[1] <= last_us}


def same_message(topic, one, other):
    """Return whether two serialised messages hold the same bits in every field.

    The bytes between fields, which CDR leaves undefined, do not count.
    """
    if one == other:
        return True
    cls = message_class(graph.TOPICS[topic].type)
    return _bits(deserialize_message(one, cls)) == _bits(deserialize_message(other, cls))


def assert_same_messages(mine, its):
    """See that two recordings have the same messages, and each of them the same bits."""
    assert sorted(mine) == sorted(its)
    for topic, time_us in sorted(its, key=lambda key: (key[1], key[0])):
        assert same_message(topic, mine[topic, time_us], its[topic, time_us]), (
            f'{topic} at {time_us} us differs')


def _bits(value):
    if hasattr(value, 'get_fields_and_field_types'):
        return [_bits(getattr(value, f)) for f in value.get_fields_and_field_types()]
    if isinstance(value, float):
        return struct.pack('<d', value)
    if isinstance(value, (str, int)):
        return value
    return [_bits(v) for v in value]


class RecordingPort:
    """Records what blocks put out, in the place of the recorder of mode `core`."""

    def __init__(self, configuration, recording):
        self._publications = Publications(configuration.graph, configuration.world)
        self._recording = recording

    heard = ALL_NODES

    def send(self, outputs):
        for output in outputs:
            for topic, data in self._publications.of(output):
                if topic in RECORDED:
                    self._recording.add(topic, data)

    def add_side(self, topic, text, vehicle=''):
        """Nothing: only the step is recorded."""

    def add_event(self, time_us, text, who='pilot', vehicle=''):
        """Nothing, either."""

    def add_status(self, status, blocks, vehicle=''):
        """Nothing, either."""

    def close(self):
        """Nothing is open."""


def record_core(duration_us, overrides=OVERRIDES):
    """Run mode `core` and write what the nodes would have published."""
    configuration = load_configuration(None, overrides)
    recording, stop = Recording(), threading.Event()

    def observe(time_us, values):
        if time_us >= duration_us:
            stop.set()

    world = CoreWorld(
        [VehicleSetup(configuration)], observe, RecordingPort(configuration, recording))
    autopilot = connect(configuration.nodes['hil_bridge'].instance)
    try:
        world.run(stop)
    finally:
        world.close()
        autopilot.close()
    return recording


def record_processes(groups, duration_us, folder, overrides=OVERRIDES):
    """Start the graph as a user does, and record its topics from outside.

    :param groups: the nodes of each process
    :param duration_us: a time at which every topic is due
    """
    def controls(time_us):
        # Slowly at first: a publisher may know of the recorder only some steps later.
        matched = recording.wait_until(0, timeout_s=0.02)
        if time_us > ARMED_FROM_US:
            assert matched, 'not all topics are heard'
            assert recording.wait_until(time_us - AHEAD_US, 60.0), 'the recording has stopped'
        return scripted_controls(time_us)

    configuration = load_configuration(None, overrides)
    parameters = write_configuration(folder, {'': configuration})
    recording = Recording()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('recorder')
    executor = make_executor()
    executor.add_node(node)
    subscriptions = [
        node.create_subscription(
            message_class(graph.TOPICS[name].type), name,
            functools.partial(recording.add, name), qos.LOOP, raw=True)
        for name in RECORDED]
    children = [
        Child(' '.join(names), own_module(
            'px4_sim_ros.ros.world', *names, '--ros-args', '--params-file', str(parameters)),
            environment=ros_environment())
        for names in groups]
    autopilot = None
    deadline_s = time.monotonic() + 120.0
    try:
        # The first step is held until an autopilot connects: time to be matched with all.
        while not all(s.get_publisher_count() for s in subscriptions):
            executor.spin_once(timeout_sec=0.05)
            assert all(child.exit_code is None for child in children), 'a part has ended'
            assert time.monotonic() < deadline_s, 'the graph has not come up'
        autopilot = connect(configuration.nodes['hil_bridge'].instance, controls)
        # There is no order between topics: wait for the last message of each.
        while not all((topic, duration_us) in recording for topic in RECORDED):
            until_s = time.monotonic() + 0.1       # to look after each message takes longer
            while time.monotonic() < until_s:
                executor.spin_once(timeout_sec=0.1)
            assert all(child.exit_code is None for child in children), 'a part has ended'
            assert time.monotonic() < deadline_s, 'the graph has stopped'
    finally:
        recording.end()
        for child in children:
            child.stop()
        if autopilot:
            autopilot.close()
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()
    return recording


def record_shuffled(duration_us, folder, monkeypatch, seed, overrides=OVERRIDES):
    """Run all nodes in this process as if each had one of its own.

    So every value goes through a message, and the messages are delivered in a random order.
    """
    configuration = load_configuration(None, overrides)
    parameters = write_configuration(folder, {'': configuration})
    recording, pool, order = Recording(), [], random.Random(seed)
    deliver = BlockNode._on_message

    def hold_back(self, name, read, data):
        recording.add(name, data)
        pool.append((self, name, read, data))

    monkeypatch.setattr(BlockNode, '_on_message', hold_back)
    rclpy.init(args=['--ros-args', '--params-file', str(parameters)],
               signal_handler_options=SignalHandlerOptions.NO)
    executor = make_executor()
    hosts, nodes = [], []
    for name in reversed(configuration.graph.nodes):
        host, (node,) = make_nodes(name)
        hosts.append(host)
        nodes.append(node)
        executor.add_node(node)
    bridge, manager = nodes[0], nodes[-1]
    autopilot, deadline_s = None, time.monotonic() + 120.0
    try:
        while (graph.COMMAND, duration_us) not in recording:
            goes_on = [host.runner.run() for host in order.sample(hosts, len(hosts))]
            executor.spin_once(timeout_sec=0.0 if pool or any(goes_on) else 0.05)
            if not manager.sim_clock.steps:
                for host in hosts:
                    host.refresh()
            if bridge.active and autopilot is None:
                autopilot = connect(configuration.nodes['hil_bridge'].instance)
            # Now and then nothing is delivered, so that messages of several hops pile up.
            order.shuffle(pool)
            while pool and order.random() < 0.7:
                deliver(*pool.pop())
            assert time.monotonic() < deadline_s, 'the graph has stopped'
    finally:
        for node in nodes:
            if isinstance(node, GraphNode) and not node.finished:
                node.trigger_shutdown()
        if autopilot:
            autopilot.close()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown()
        # What is still referred to would go on to publish /clock, for the next graph to refuse.
        hosts.clear()
        nodes.clear()
        gc.collect()
    return recording
