# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes of the graph in the process of a test."""
from rclpy.lifecycle import TransitionCallbackReturn

from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.step import graph


def make_nodes(*names):
    """Return a host, and the nodes of these names with it, as they are in one process."""
    host = BlockHost()
    nodes = [graph.load(graph.spec_of(name).node)(name, host) for name in names]
    host.add([node for node in nodes if isinstance(node, BlockNode)],
             next((node.driver for node in nodes if node.get_name() == 'manager'), None))
    return host, nodes


def activate(*nodes):
    for node in nodes:
        assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
        assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS
