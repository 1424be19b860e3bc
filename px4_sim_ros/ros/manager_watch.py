"""Notices that the manager, who watches all others, has gone silent itself."""
from __future__ import annotations

import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.wall_timer import create_wall_timer

# The manager tells its status twice a second of wall time, also when time is paused.
_SILENT_S = 1.5
_LOOK_S = 0.25


class ManagerWatch:
    """Says once when the manager falls silent, and when it is back."""

    def __init__(self, node: Node, last_step_us: typing.Callable[[], int]) -> None:
        """Begin; nothing is missed before the manager has been heard a first time."""
        self._node = node
        self._last_step_us = last_step_us
        self._heard_s: float | None = None
        self._missed = False
        self._subscription = node.create_subscription(
            DiagnosticStatus, 'sim/status', self._on_status, qos.LATCHED)
        self._timer = create_wall_timer(node, _LOOK_S, self._look)

    def _on_status(self, status: DiagnosticStatus) -> None:
        self._heard_s = time.monotonic()
        if self._missed:
            self._missed = False
            self._node.get_logger().info('manager is back')

    def _look(self) -> None:
        if self._heard_s is None or self._missed:
            return
        if time.monotonic() - self._heard_s > _SILENT_S:
            self._missed = True
            self._node.get_logger().error(
                f'manager has been silent for {_SILENT_S:g} s; its last /clock was'
                f' t = {seconds_text(self._last_step_us())}')
