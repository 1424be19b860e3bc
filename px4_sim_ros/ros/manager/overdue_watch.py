# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks the nodes for their status when a step is overdue, and finds the one that blocks it."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.manager import sequences
from px4_sim_ros.ros.manager.clock_driver import ClockDriver
from px4_sim_ros.ros.manager.lifecycle_client import SequenceRunner
from px4_sim_ros.step.graph import Graph
from px4_sim_ros.step.graph_vehicles import GraphVehicle


class Overdue(typing.NamedTuple):
    """Why a step is overdue."""

    blocker: str               # the node that blocks it
    sentence: str
    holds: bool = False        # it blocks knowingly, as the bridge does without an autopilot
    publisher: str = ''        # who can publish a message again that was lost


def find_overdue(
    graph: Graph, statuses: typing.Mapping[str, NodeStatus | None], topic: str, time_us: int,
    last_us: int, step_us: int,
) -> Overdue:
    """Follow the topics that nodes wait for, from one topic to the node that blocks the step.

    :param statuses: by node; None for a node that does not answer
    :param topic: what the manager waits for, at `time_us`, its last at `last_us` (-1: none)
    """
    waiter, seen, now_us = 'manager', set(), time_us
    while True:
        node = graph.topics[topic].publisher
        if node == 'manager' and time_us == now_us:
            return _lost(waiter, topic, time_us, node)
        if node == 'manager':
            return _begun_anew(waiter, time_us)
        sentence = _not_published(node, topic, time_us, last_us)
        status = statuses.get(node)
        relay = _relay(topic, statuses.get(waiter), status)
        if status is None:
            return Overdue(node, f'{sentence}; it does not answer')
        if status.holds:
            return Overdue(node, f'{sentence}: {status.holds}', holds=True)
        for guest, spec in graph.nodes.items():        # which acts before it
            beside = statuses.get(guest) if spec.beside == node else None
            if beside is not None and beside.holds:
                # A node of the user's that it waits for may have lost the time.
                return Overdue(guest, f'{sentence}: {beside.holds}', publisher='manager')
        if (0 < status.waits_for_us < time_us and not status.problem
                and not graph.nodes[node].model):      # sensors continue where they are
            return _begun_anew(node, status.waits_for_us)
        if status.waits_for_us > time_us:
            if relay:
                return Overdue(
                    relay, f'{relay} has not published {topic} for t = {seconds_text(time_us)} for'
                    f' {waiter}; it stands between {node}, which has, and {waiter}')
            return _lost(waiter, topic, time_us, node)
        if not status.waits_for or node in seen:
            return Overdue(node, f'{sentence}: {status.problem}' if status.problem else sentence)
        seen.add(node)
        waiter, time_us = node, status.waits_for_us
        topic, last_us = next(iter(status.waits_for.items()))
        if topic in graph.nodes[node].previous:
            time_us -= step_us


def _relay(topic: str, waiter: NodeStatus | None, publisher: NodeStatus | None) -> str:
    """Return the node that a remapping puts between two others, or ''."""
    if waiter is None or publisher is None or (
            waiter.remapped.get(topic) == publisher.remapped.get(topic)):
        return ''
    names = waiter.sources.get(topic)
    return ', '.join(names) if names else 'a node that is gone'


def find_silent(statuses: typing.Mapping[str, NodeStatus | None]) -> Overdue | None:
    """Return the first node that does not answer; None when all do."""
    for node, status in statuses.items():
        if status is None:
            return Overdue(node, f'{node} does not answer')
    return None


def find_lost_recorder(status: NodeStatus | None, complete_us: int) -> Overdue | None:
    """Return the cause that stops the recorder; None when it is only slow."""
    if status is None:
        return Overdue('recorder', 'recorder does not answer')
    if status.problem:
        return Overdue('recorder', f'recorder does not record: {status.problem}')
    if not status.holds and status.waits_for and status.waits_for_us <= complete_us:
        topic = next(iter(status.waits_for))
        return Overdue('recorder', f'recorder has not got {topic} for'
                    f' t = {seconds_text(status.waits_for_us)}, which was lost')
    return None


def _begun_anew(node: str, time_us: int) -> Overdue:
    return Overdue(node, f'{node} still waits for t = {seconds_text(time_us)}, which is past: it'
                ' has begun anew; reset the run')


def _lost(waiter: str, topic: str, time_us: int, publisher: str) -> Overdue:
    return Overdue(waiter, f'{waiter} has not got {topic} for t = {seconds_text(time_us)}, which'
                f' {publisher} has published: it was lost and is repeated', publisher=publisher)


def _not_published(node: str, topic: str, time_us: int, last_us: int) -> str:
    last = f'its last was {seconds_text(last_us)}' if last_us > 0 else 'it has published none yet'
    return f'{node} has not published {topic} for t = {seconds_text(time_us)}; {last}'


# Longer than the wait for the answers, which has its own bound.
_CALL_TIMEOUT_S = 5.0


class OverdueWatch:
    """Asks all nodes when a step is overdue, and now and then while time is paused."""

    def __init__(
        self, members: typing.Sequence[GraphVehicle], nodes: sequences.Nodes, driver: ClockDriver,
        on_overdue: typing.Callable[[Overdue], None],
        on_cleared: typing.Callable[[Overdue], None],
        republish: typing.Callable[[str], None],
    ) -> None:
        """Begin.

        :param driver: of the clock, which knows whose part of a step is not complete
        :param on_overdue: called once for each blocker that is found
        :param on_cleared: called when it blocks no longer
        :param republish: lets a node publish again what it has published in its last step
        """
        self._members, self._nodes, self._driver = members, nodes, driver
        self._clock = driver.clock
        self._on_overdue, self._on_cleared = on_overdue, on_cleared
        self._republish = republish
        self._inquiry: SequenceRunner | None = None
        self._asked_s = 0.0
        self._asked_us = 0             # the step that was under way then
        self._suspected: Overdue | None = None      # by the last round
        self.overdue: Overdue | None = None

    def reset(self) -> None:
        """Forget what was found."""
        self._inquiry = self._suspected = self.overdue = None

    def watch(self, timeout_s: float) -> None:
        """Ask if it is time to, or continue a question; call it some ten times a second.

        :param timeout_s: wall time after which a step is overdue
        """
        now_s = time.monotonic()
        since_s = self._asked_s
        if self._clock.under_way or self._clock.at_limit:
            since_s = max(since_s, self._clock.begun_s)
        if self._inquiry is None and now_s - since_s > timeout_s:
            self._asked_s, self._asked_us = now_s, self._clock.time_us
            self._inquiry = SequenceRunner(
                sequences.ask_all(self._nodes, self._conclude), _CALL_TIMEOUT_S)
        if self._inquiry is not None and self._inquiry.tick():
            self._inquiry = None

    def clear(self) -> None:
        """Record that nothing blocks."""
        overdue, self.overdue, self._suspected = self.overdue, None, None
        if overdue is not None:
            self._on_cleared(overdue)

    def _conclude(self, statuses: dict[str, NodeStatus | None]) -> None:
        if self._clock.time_us != self._asked_us:
            return       # time has gone on meanwhile
        overdue = self._find(statuses)
        # Nodes do not answer at one moment, so a single round may be wrong about who is at fault.
        if overdue != self._suspected:
            self._suspected = overdue
            self._asked_s = 0.0
        elif overdue is None:
            self.clear()
        elif overdue != self.overdue:
            self.overdue = overdue
            self._on_overdue(overdue)
        if overdue is not None and overdue == self.overdue and overdue.publisher:
            self._republish(overdue.publisher)

    def _find(self, statuses: dict[str, NodeStatus | None]) -> Overdue | None:
        clock = self._clock
        if clock.under_way:
            return self._find_blocker(statuses)
        silent = find_silent(statuses)
        if silent is None and clock.at_limit:
            return find_lost_recorder(statuses['recorder'], clock.complete_us)
        return silent

    def _find_blocker(self, statuses: dict[str, NodeStatus | None]) -> Overdue | None:
        """Return the cause that blocks the step: of one vehicle, a missing autopilot last."""
        clock, awaited, held = self._clock, self._driver.awaited, None
        for member in self._members:
            # None is awaited where a block has left the steps of its process.
            if awaited and member.vehicle not in awaited:
                continue
            found = find_overdue(
                member.graph, member.own(statuses), self._driver.awaits(member.vehicle),
                clock.time_us, clock.complete_us, clock.step_us)
            if member.vehicle:
                found = found._replace(
                    blocker=member.full(found.blocker),
                    sentence=f'{member.vehicle}: {found.sentence}',
                    publisher=found.publisher and member.full(found.publisher))
            if not found.holds:
                return found
            held = held or found
        return held
