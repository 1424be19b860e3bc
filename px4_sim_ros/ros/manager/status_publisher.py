# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Publishes the run status: latched on `sim/status`, and among all nodes' on `/diagnostics`."""
from __future__ import annotations

import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.diagnostics import Diagnostics, Status, status_message
from px4_sim_ros.step.side_topics import RUN_STATUS

# Clients take a manager that publishes more rarely for dead.
_PERIOD_S = 0.5


class StatusPublisher:
    """Publishes at each change, and twice a second of wall time."""

    def __init__(self, node: Node, status: typing.Callable[[], RunStatus]) -> None:
        """Begin; the publishers live as long as the node."""
        self._node, self._status = node, status
        self._published_s = 0.0
        self._state = ''
        self._published: object = None       # what makes a change
        self._publisher = node.create_publisher(DiagnosticStatus, RUN_STATUS.name, qos.LATCHED)
        self._diagnostics = Diagnostics(node, lambda: self._diagnostic(self._status()))

    def publish(self) -> None:
        """Publish now on `sim/status`."""
        self._publish(self._status())

    def publish_if_due(self) -> bool:
        """Publish if the state has changed or it is time to; return whether."""
        status = self._status()
        if (_state_of(status) == self._published
                and time.monotonic() - self._published_s <= _PERIOD_S):
            return False
        self._publish(status)
        return True

    def stop(self) -> None:
        """Publish a last time on `/diagnostics`."""
        self._diagnostics.stop()

    def _publish(self, status: RunStatus) -> None:
        if status.state == RunState.STOPPING != self._state:
            # A recorder, which ends before this node, has the last counters of the run.
            self._diagnostics.publish()
        self._state = status.state
        self._published, self._published_s = _state_of(status), time.monotonic()
        self._publisher.publish(status_message(self._node, self._diagnostic(status)))

    @staticmethod
    def _diagnostic(status: RunStatus) -> Status:
        return Status(status.sim_time_us or 0, status.level, status.sentence,
                      dict(status.values()))


def _state_of(status: RunStatus) -> object:
    """Return what does not change while time just goes on, or just stands still."""
    return status.state, status.run, status.state == RunState.PAUSED and status.steps
