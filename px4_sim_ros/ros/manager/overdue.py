# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finds the node that blocks a step."""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.framework.node_status import NodeStatus
from px4_sim_ros.step.graph import Graph


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
        if (0 < status.waits_for_us < time_us and not status.problem
                and not graph.nodes[node].model):      # sensors go on where they are
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
    """Return who stands between two nodes because of a remapping, '' if nobody does."""
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
    """Return what keeps the recorder from going on; None when it is only slow.

    :param status: the recorder's
    :param complete_us: up to which time all was published
    """
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
