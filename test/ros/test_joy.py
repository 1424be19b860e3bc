# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a gamepad publishes reaches the pilot."""
import contextlib
import time
from unittest import mock

import pytest
import rclpy
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy

from px4_sim_ros.model.faults.autopilot import Sticks

PATIENCE_S = 20.0


@pytest.fixture
def pilot(make_process):
    """Return the node, configured, and the list of the sticks that its block is given."""
    _, (node,) = make_process('pilot')
    node.set_parameters([Parameter('mission', value='hover'),
                         Parameter('joy_axes', value='0 1 3 2')])
    node.trigger_configure()
    node.block.take_sticks = (found := []).append
    return node, found


def test_a_joy_of_any_reliability_moves_the_sticks(pilot):
    node, found = pilot
    with contextlib.ExitStack() as stack:
        person = rclpy.create_node('person')
        stack.callback(person.destroy_node)
        # As joy_node does.
        publisher = person.create_publisher(Joy, 'joy', 10)
        end_s = time.monotonic() + PATIENCE_S
        while not found and time.monotonic() < end_s:
            publisher.publish(Joy(axes=[0.25, 0.5, 1.0, -1.0]))
            rclpy.spin_once(node, timeout_sec=0.1)
    assert found and set(found) == {Sticks(-0.25, 0.5, 1.0, 1.0)}


def test_one_with_too_few_axes_is_refused_once(pilot):
    node, found = pilot
    with mock.patch.object(type(node), 'get_logger') as logger:
        for _ in range(3):
            node._on_joy(Joy(axes=[0.25, 0.5]))
    (said,), = (call.args for call in logger().warning.call_args_list)
    assert not found and 'axes' in said
