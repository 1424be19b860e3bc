"""Sees a graph begin again at time 0."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.messages.diagnostics import values_of
from px4_sim_ros.ros import qos


class RunWatch:
    """Counts how often the time of a graph has begun at 0."""

    def __init__(self, node: typing.Any) -> None:
        self.run: int | None = None        # None until the manager has been heard
        self._subscription = node.create_subscription(
            DiagnosticStatus, 'sim/status', self._on_status, qos.LATCHED)

    def _on_status(self, status: DiagnosticStatus) -> None:
        self.run = int(values_of(status)['run'])
