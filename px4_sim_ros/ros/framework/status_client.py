# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The client of `sim/status`: whoever wants to know the state of a run subscribes here."""
from __future__ import annotations

import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.polling import taken
from px4_sim_ros.step.side_topics import RUN_STATUS


class StatusClient:
    """Subscribes to the run status and keeps the last one."""

    def __init__(
        self, node: Node, on_status: typing.Callable[[RunStatus], None] = lambda status: None,
        *, of_fleet: bool = False,
    ) -> None:
        """Subscribe; the last status is latched.

        :param on_status: called with each status
        :param of_fleet: the node is of one vehicle of several, whose manager has no namespace
        """
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
        """Whether somebody publishes the status."""
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
