# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The client of `sim/status`, for the state of a run."""
from __future__ import annotations

import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from px4_sim_ros.messages import event_messages
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.lifecycle_node import StrictLifecycleNode
from px4_sim_ros.ros.framework.polling import taken
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.presence import Change
from px4_sim_ros.step.side_topics import RUN_STATUS

_TOPIC = f'/{side_topics.VEHICLES.name}'


class ChangeTeller:
    """Publishes each change, also among the lines of the log: recordings have these."""

    def __init__(self, node: StrictLifecycleNode) -> None:
        self._publisher = node.create_publisher(DiagnosticStatus, _TOPIC, qos.LATCHED_LOG)
        self._node = node

    def tell(self, change: Change, run: int) -> None:
        self._publisher.publish(event_messages.change_message(change, run))
        self._node.publish_line(change.time_us, change.text, f'{change.vehicle}.world')


def hear(node: Node, on_change: typing.Callable[[Change, int], None]) -> Subscription:
    """Let a node hear of each change, and of the run that it is in."""
    return node.create_subscription(
        DiagnosticStatus, _TOPIC, lambda message: on_change(*event_messages.read_change(message)),
        qos.LATCHED_LOG)


class StatusClient:
    """Subscribes to the run status and keeps the last one."""

    def __init__(
        self, node: Node, on_status: typing.Callable[[RunStatus], None] = lambda status: None,
        *, of_fleet: bool = False,
    ) -> None:
        self.last: RunStatus | None = None
        self.count = 0                 # how many have come
        self.received_s = 0.0          # wall time of the last
        self.on_status = on_status
        self._subscription = node.create_subscription(
            DiagnosticStatus, f'/{RUN_STATUS.name}' if of_fleet else RUN_STATUS.name,
            self._on_message, qos.LATCHED)

    @property
    def run(self) -> int | None:
        """How many times time has begun at 0; None before a status has come."""
        return None if self.last is None else self.last.run

    @property
    def is_connected(self) -> bool:
        return self._subscription.get_publisher_count() > 0

    def poll(self) -> None:
        """Take what has come, if no executor spins the node."""
        for data in taken(self._subscription):
            self._on_message(deserialize_message(data, DiagnosticStatus))

    def _on_message(self, message: DiagnosticStatus) -> None:
        self.last = RunStatus.of(message)
        self.count += 1
        self.received_s = time.monotonic()
        self.on_status(self.last)
