"""What the manager knows of the recorder: how far it is, and whether it goes on.

The world may be ahead of what is recorded by a window of steps. It is less than the depth of
the topics of the step, so nothing can be lost, however slow the disk is.
"""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from px4_sim_ros.nodes import qos
from px4_sim_ros.nodes.diagnostics import OK, values_of

TOPIC = 'recording/status'
WINDOW_STEPS = 80


class RecorderWatch:
    """Listens to `recording/status`."""

    def __init__(
        self, node: Node, step_us: int, on_progress: typing.Callable[[], None],
        on_failure: typing.Callable[[str], None],
    ) -> None:
        """Begin.

        :param on_progress: called when more was recorded
        :param on_failure: called once with the recorder's sentence when it gives up
        """
        self._window_us = WINDOW_STEPS * step_us
        self._on_progress, self._on_failure = on_progress, on_failure
        self.ends_run = False          # whether a failure of the recorder is one of the run
        self.begin_again()
        self._subscription = node.create_subscription(
            DiagnosticStatus, TOPIC, self._on_status, qos.LATCHED)

    def begin_again(self) -> None:
        """Expect a recording from time 0 on."""
        self.records = True
        self.recorded_us = 0
        self._run: str | None = None

    @property
    def limit_us(self) -> int | None:
        """The last time to which the world may go; None is without a bound."""
        return self.recorded_us + self._window_us if self.records else None

    def give_up(self) -> None:
        """Wait for the recorder no longer."""
        self.records = False
        self._on_progress()

    def _on_status(self, status: DiagnosticStatus) -> None:
        values = values_of(status)
        self.ends_run = values['on_failure'] == 'fail'
        if not self.records:
            return
        if status.level != OK:
            self.give_up()
            self._on_failure(status.message)
            return
        # What the recorder has said last in the run before is no progress of this one.
        self.recorded_us = max(self.recorded_us, int(values['recorded_us']))
        self._on_progress()
