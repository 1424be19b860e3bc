# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the manager knows of the recorder: how far it is, and whether it still records.

The world may be ahead of a recorder that subscribes by a window of steps. It is less than the
depth of the topics of the step, so nothing can be lost, however slow the disk is.
"""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from px4_sim_ros.messages.diagnostics import OK, level_of, values_of
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.step import side_topics

WINDOW_STEPS = 80


class RecorderWatch:
    """Subscribes to `recording/status`."""

    def __init__(
        self, node: Node, step_us: int, on_progress: typing.Callable[[], None],
        on_failure: typing.Callable[[str], None],
    ) -> None:
        self._window_us = WINDOW_STEPS * step_us       # 0: there is none
        self._on_progress, self._on_failure = on_progress, on_failure
        self.ends_run = False          # whether a failure of the recorder is one of the run
        self.records = False
        self.recorded_us = 0           # up to which time the recorder has got all
        self.flushed_us = 0            # and up to which all is on the disk
        self._folder = self._folder_before = ''      # that is recorded into, and of the run before
        self._subscription = node.create_subscription(
            DiagnosticStatus, side_topics.RECORDING_STATUS.name, self._on_status, qos.LATCHED)

    def reset(self) -> None:
        """Expect a recording from time 0 on."""
        self.records = True
        self.recorded_us = self.flushed_us = 0
        self._folder_before = self._folder

    @property
    def limit_us(self) -> int | None:
        """The last time to which the world may go; None is without a bound."""
        if not self.records or not self._window_us:
            return None
        return self.recorded_us + self._window_us

    def give_up(self) -> None:
        """Wait for the recorder no longer."""
        self.records = False
        self._on_progress()

    def _on_status(self, status: DiagnosticStatus) -> None:
        values = values_of(status)
        self._folder = values['folder']
        # The recorder's last status of the run before is no progress of this one.
        if not self.records or self._folder == self._folder_before:
            return
        self.ends_run = values['on_failure'] == 'fail'
        self._window_us = int(values['window_us'])
        self.flushed_us = int(values['flushed_us'])
        if level_of(status) != OK:
            self.give_up()
            self._on_failure(status.message)
            return
        self.recorded_us = int(values['recorded_us'])
        self._on_progress()
