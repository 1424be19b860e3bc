# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that are made in the process of a test, and destroyed afterwards."""
import gc

import pytest
import rclpy
from managed_nodes import make_nodes
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.spec.parameter_files import write_parameters


@pytest.fixture
def remappings():
    """Return how topics of nodes are called otherwise, as ROS arguments; a test may say so."""
    return []


@pytest.fixture
def vehicle():
    """Return parameters about the vehicle, as ROS arguments; a test may say so."""
    return []


@pytest.fixture
def make_process(tmp_path, remappings, vehicle, instance):
    """Return a maker of a host and its nodes; they are destroyed afterwards."""
    write_parameters(tmp_path / 'run.yaml', {
        'hil_bridge': {'instance': instance}, 'manager': {'startup_timeout_s': 20.0}})
    rclpy.init(args=['--ros-args', '--params-file', str(tmp_path / 'run.yaml'),
                     *(part for remapping in remappings for part in ('-r', remapping)),
                     *(part for given in vehicle for part in ('-p', given))],
               signal_handler_options=SignalHandlerOptions.NO)
    nodes = []

    def make(*names):
        host, made = make_nodes(*names)
        nodes.extend(made)
        return host, made

    yield make
    for node in nodes:
        if node.get_name() != 'manager' and not node.finished:
            node.trigger_shutdown()
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()
    # What is still referred to would go on to answer for its name.
    nodes.clear()
    gc.collect()


@pytest.fixture
def make_node(make_process):
    """Return a maker of nodes, each as in a process of its own."""
    def make(name):
        _, (node,) = make_process(name)
        return node

    return make
