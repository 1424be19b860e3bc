"""Watches over the steps: names the node that owes a message when one is overdue."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.ros import sequences
from px4_sim_ros.ros.lifecycle_client import SequenceRunner
from px4_sim_ros.ros.node_status import NodeStatus
from px4_sim_ros.ros.overdue import Debt, find_debt, find_lost_recorder, find_silent
from px4_sim_ros.step.clock import Stepper
from px4_sim_ros.step.graph import Graph

# Longer than the wait for the answers, which has its own bound.
_CALL_TIMEOUT_S = 5.0


class Supervision:
    """Asks all nodes around when a step is overdue, and now and then while time is paused."""

    def __init__(
        self, graph: Graph, nodes: sequences.Nodes, stepper: Stepper, topic: str,
        on_debt: typing.Callable[[Debt], None], on_settled: typing.Callable[[Debt], None],
        repeat: typing.Callable[[str], None],
    ) -> None:
        """Begin.

        :param topic: what ends a step
        :param on_debt: called once for each debt that is found
        :param on_settled: called when it exists no longer
        :param repeat: lets a node publish again what it has published in its last step
        """
        self._graph, self._nodes, self._stepper, self._topic = graph, nodes, stepper, topic
        self._on_debt, self._on_settled, self._repeat = on_debt, on_settled, repeat
        self._inquiry: SequenceRunner | None = None
        self._asked_s = 0.0
        self._asked_us = 0             # the step that was under way then
        self._suspected: Debt | None = None      # by the last round
        self.debt: Debt | None = None

    def begin_again(self) -> None:
        """Forget what was found."""
        self._inquiry = self._suspected = self.debt = None

    def watch(self, timeout_s: float) -> None:
        """Ask if it is time to, or go on with a question; call it some ten times a second.

        :param timeout_s: wall time after which a step is overdue
        """
        now_s = time.monotonic()
        since_s = self._asked_s
        if self._stepper.under_way or self._stepper.held:
            since_s = max(since_s, self._stepper.begun_s)
        if self._inquiry is None and now_s - since_s > timeout_s:
            self._asked_s, self._asked_us = now_s, self._stepper.time_us
            self._inquiry = SequenceRunner(
                sequences.ask_all(self._nodes, self._conclude), _CALL_TIMEOUT_S)
        if self._inquiry is not None and self._inquiry.tick():
            self._inquiry = None

    def settle(self) -> None:
        """Take note that the step is complete."""
        debt, self.debt, self._suspected = self.debt, None, None
        if debt is not None:
            self._on_settled(debt)

    def _conclude(self, statuses: dict[str, NodeStatus | None]) -> None:
        stepper = self._stepper
        if stepper.time_us != self._asked_us:
            return       # time has gone on meanwhile
        if stepper.under_way:
            debt = find_debt(
                self._graph, statuses, self._topic, stepper.time_us, stepper.complete_us,
                stepper.step_us)
        elif stepper.held:
            debt = find_silent(statuses) or find_lost_recorder(
                statuses['recorder'], stepper.complete_us)
        else:
            debt = find_silent(statuses)
        # Nodes do not answer at one moment, so a single round may be wrong about who is at fault.
        if debt != self._suspected:
            self._suspected = debt
            self._asked_s = 0.0
        elif debt is None:
            self.settle()
        elif debt != self.debt:
            self.debt = debt
            self._on_debt(debt)
        if debt is not None and debt == self.debt and debt.repeater:
            self._repeat(debt.repeater)
