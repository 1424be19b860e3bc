# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes say about themselves on `/diagnostics`, once a second of wall time."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.timer import Timer

from px4_sim_ros.messages.diagnostics import diagnostic_status
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.session import create_wall_timer
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step import side_topics

PERIOD_S = 1.0


class Status(typing.NamedTuple):
    """What a node says about itself at a simulated time."""

    time_us: int
    level: int
    sentence: str
    values: dict[str, object]


def status_message(node: Node, status: Status) -> DiagnosticStatus:
    return diagnostic_status(
        node.get_fully_qualified_name(), status.level, status.sentence, status.values, PACKAGE)


class Diagnostics:
    """Publishes the status of one node."""

    def __init__(self, node: Node, status: typing.Callable[[], Status]) -> None:
        self._node = node
        self._status = status
        self._publisher = node.create_publisher(
            DiagnosticArray, side_topics.DIAGNOSTICS.name, qos.DIAGNOSTICS)
        self._timer: Timer | None = create_wall_timer(node, PERIOD_S, self.publish)

    def stop(self) -> None:
        """Publish a last time."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None
            self.publish()

    def publish(self) -> None:
        status = self._status()
        message = DiagnosticArray(status=[status_message(self._node, status)])
        set_stamp(message.header.stamp, status.time_us)
        self._publisher.publish(message)
