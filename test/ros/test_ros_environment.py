# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whose settings of discovery hold for the processes of a graph, and who hears of these."""
import importlib.metadata
import os
import pathlib
import socket
import subprocess
import sys
import time
import types

import psutil
import pytest
import rclpy
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock

from benchmarks.kinds import EVERY_TOPIC
from px4_sim_ros.process.children import Child, own_module
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.spec.ros_environment import ros_environment

RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
# As `setup.bash` of an installed ROS 2 leaves it.
SOURCED = {RANGE: 'SUBNET'}
# Two that are done as soon as one has found the other.
_PAIR = """
import rclpy, time
contexts = [rclpy.Context() for _ in range(2)]
for context in contexts:
    rclpy.init(args=[], context=context)
nodes = [rclpy.create_node(f'node_{i}', context=c) for i, c in enumerate(contexts)]
while len(nodes[0].get_node_names()) < 2:
    time.sleep(0.01)
"""


@pytest.fixture
def environment(monkeypatch):
    """Return a function: what the processes of a graph get where nothing but these is set."""
    kept = {name: value for name, value in os.environ.items() if name == 'ROS_DOMAIN_ID'
            or not name.startswith(('ROS_', 'FASTRTPS_', 'FASTDDS_'))}

    def with_settings(settings):
        monkeypatch.setattr(os, 'environ', kept | settings)
        return ros_environment()
    return with_settings


@pytest.mark.parametrize('version, variable, file', [
    ('7.1.6', 'FASTRTPS_DEFAULT_PROFILES_FILE', 'fastdds.xml'),
    ('9.1.2', 'FASTDDS_DEFAULT_PROFILES_FILE', 'fastdds3.xml')])
@pytest.mark.parametrize('settings', [{}, {'ROS_DOMAIN_ID': '7'}, SOURCED])
def test_who_has_chosen_nothing_gets_our_profile(
        settings, version, variable, file, environment, monkeypatch):
    monkeypatch.setattr(importlib.metadata, 'distributions', lambda name: [
        types.SimpleNamespace(version=version)][:name == 'ros-rclpy'])
    found = environment(settings)
    assert found[variable] == str(config_directory() / file)
    assert len({name for name in found if name.endswith('_PROFILES_FILE')}) == 1


def test_both_profiles_say_the_same():
    """Fast DDS 3 has other names for two of the settings."""
    jazzy, since = ((config_directory() / name).read_text()
                    for name in ('fastdds.xml', 'fastdds3.xml'))
    for before, after in (('nackSupressionDuration', 'nack_supression_duration'),
                          ('heartbeatPeriod', 'heartbeat_period')):
        assert before in jazzy
        jazzy = jazzy.replace(before, after)
    assert since == jazzy


@pytest.mark.parametrize('name, value', [
    (RANGE, 'SYSTEM_DEFAULT'), (RANGE, 'LOCALHOST'), ('ROS_STATIC_PEERS', '192.168.0.7'),
    ('ROS_DISCOVERY_SERVER', '192.168.0.7:11811'), ('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')])
def test_a_choice_holds(name, value, environment):
    chosen = SOURCED | {name: value}
    found = environment(chosen)
    assert 'PROFILES_FILE' not in str(found) and found.items() >= chosen.items()


def test_it_is_the_same_for_the_children_of_a_child(environment):
    once = environment(SOURCED)
    assert environment(once) == once


@pytest.fixture
def heard():
    """Return a function: how much nodes have told the network since it was called last."""
    group, port = '239.255.0.1', 7400 + 250 * int(os.environ['ROS_DOMAIN_ID'])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ear.bind((group, port))
        for addresses in psutil.net_if_addrs().values():
            for address in (a.address for a in addresses if a.family == socket.AF_INET):
                ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                               socket.inet_aton(group) + socket.inet_aton(address))
        ear.setblocking(False)

        def datagrams():
            found = 0
            while True:
                try:
                    ear.recv(65536)
                except BlockingIOError:
                    return found
                found += 1
        yield datagrams


@pytest.mark.process
def test_no_other_machine_hears_of_a_graph(environment, heard):
    """They find each other by unicast alone. As ROS 2 comes, all of the network is told."""
    def find_each_other(settings):
        subprocess.run([sys.executable, '-c', _PAIR], env=settings, check=True, timeout=60)
        return heard()

    ours = environment(SOURCED)
    if not find_each_other(os.environ):
        pytest.skip('there is no network to tell')
    assert find_each_other(ours) == 0


# What the settings of Fast DDS are there for.

_MESSAGES = 2000


def wakes_of_timers():
    """Return how often the threads of this process that do what Fast DDS does later have slept."""
    wakes = 0
    for task in pathlib.Path('/proc/self/task').iterdir():
        if (task / 'comm').read_text().startswith('dds.ev'):
            status = dict(line.split(':', 1) for line in (task / 'status').read_text().splitlines())
            wakes += int(status['voluntary_ctxt_switches'])
    return wakes


@pytest.mark.process
def test_a_message_wakes_no_further_thread_of_its_publisher(tmp_path):
    """A thread that is woken for each message takes from the step what the step is there for."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    subscriber = Child('the subscriber', own_module('benchmarks.subscriber', EVERY_TOPIC),
                       log=tmp_path / 'subscriber.txt')
    try:
        node = rclpy.create_node('publisher', context=context)
        publisher = node.create_publisher(Clock, '/clock', qos.LOOP)
        while not publisher.get_subscription_count():
            assert subscriber.exit_code is None
            time.sleep(0.01)
        before = wakes_of_timers()
        for _ in range(_MESSAGES):
            publisher.publish(Clock())
        wakes = wakes_of_timers() - before
        assert publisher.wait_for_all_acked(Duration(seconds=10))
    finally:
        subscriber.stop(10.0)
        rclpy.shutdown(context=context)
    assert wakes < _MESSAGES / 4
