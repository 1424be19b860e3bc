# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Notices that the manager, who watches all others, has gone silent itself."""
from __future__ import annotations

import time
import typing

from rclpy.node import Node

from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.ros.framework.wall_timer import create_wall_timer

# The manager publishes its status twice a second of wall time, also when time is paused.
_SILENT_S = 1.5
_LOOK_S = 0.25
# A look that comes later did not listen meanwhile: the machine stood, or this process.
_LISTENED_S = 2.0 * _LOOK_S


class Silence:
    """How long somebody who listens has heard nothing."""

    def __init__(self, now_s: float) -> None:
        self._looked_s, self._lasts_s = now_s, 0.0

    def end(self, now_s: float) -> None:
        """Take in that something was heard."""
        self._looked_s, self._lasts_s = now_s, 0.0

    def is_long(self, now_s: float) -> bool:
        """Return whether it has lasted too long by now; to be asked often."""
        self._lasts_s += min(now_s - self._looked_s, _LISTENED_S)
        self._looked_s = now_s
        return self._lasts_s > _SILENT_S


class ManagerWatch:
    """Reports once when the manager falls silent, and when it is back."""

    def __init__(
        self, node: Node, last_step_us: typing.Callable[[], int], *, of_fleet: bool = False,
    ) -> None:
        """Begin; nothing is missed before the first status of the manager.

        :param of_fleet: the node is of one vehicle of several
        """
        self._node = node
        self._last_step_us = last_step_us
        self._missed = False
        self._silence = Silence(time.monotonic())
        self._client = StatusClient(node, self._on_status, of_fleet=of_fleet)
        self._timer = create_wall_timer(node, _LOOK_S, self._look)

    def _on_status(self, status: RunStatus) -> None:
        self._silence.end(time.monotonic())
        if self._missed:
            self._missed = False
            self._node.get_logger().info('manager is back')

    def _look(self) -> None:
        if self._silence.is_long(time.monotonic()) and self._client.count and not self._missed:
            self._missed = True
            self._node.get_logger().error(
                f'manager has been silent for {_SILENT_S:g} s; its last /clock was'
                f' t = {seconds_text(self._last_step_us())}')
