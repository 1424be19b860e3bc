# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who joins the world of several vehicles and leaves it: told by the manager, heard by others."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.subscription import Subscription

from px4_sim_ros.messages import vehicle_changes
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.lifecycle_node import SoundLifecycleNode
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.attendance import Change

_TOPIC = f'/{side_topics.VEHICLES.name}'


class ChangeTeller:
    """Publishes each change, also among the lines of the log: recordings have these."""

    def __init__(self, node: SoundLifecycleNode) -> None:
        self._publisher = node.create_publisher(DiagnosticStatus, _TOPIC, qos.LATCHED_LOG)
        self._node = node

    def tell(self, change: Change, run: int) -> None:
        """Publish a change.

        :param run: how many times time has begun at 0
        """
        self._publisher.publish(vehicle_changes.change_message(change, run))
        self._node.publish_line(change.time_us, change.text, f'{change.vehicle}.world')


def hear(node: Node, on_change: typing.Callable[[Change, int], None]) -> Subscription:
    """Let a node hear of each change, and of the run that it is in."""
    return node.create_subscription(
        DiagnosticStatus, _TOPIC, lambda message: on_change(*vehicle_changes.read(message)),
        qos.LATCHED_LOG)
