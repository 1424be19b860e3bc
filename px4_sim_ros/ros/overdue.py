"""Who owes the message that a step waits for."""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.node_status import NodeStatus
from px4_sim_ros.step.graph import Graph


class Debt(typing.NamedTuple):
    """A node that owes a message."""

    node: str
    sentence: str
    holds: bool = False        # it keeps it back knowingly
    repeater: str = ''         # who can publish a message again that was lost


def find_debt(
    graph: Graph, statuses: typing.Mapping[str, NodeStatus | None], topic: str, time_us: int,
    last_us: int, step_us: int,
) -> Debt:
    """Follow who waits for whom, from a topic to the node that could go on and does not.

    :param statuses: by node; None for a node that does not answer
    :param topic: what the manager waits for, at `time_us`, its last at `last_us` (-1: none)
    """
    waiter, seen, now_us = 'manager', set(), time_us
    while True:
        node = graph.topics[topic].publisher
        if node == 'manager' and time_us == now_us:
            return _lost(waiter, topic, time_us, node)
        if node == 'manager':
            return Debt(waiter, f'{waiter} still waits for t = {seconds_text(time_us)}, which is'
                        ' past: it has begun anew; reset the run')
        sentence = _owes(node, topic, time_us, last_us)
        status = statuses.get(node)
        if status is None:
            return Debt(node, f'{sentence}; it does not answer')
        if status.holds:
            return Debt(node, f'{sentence}: {status.holds}', holds=True)
        if status.waits_for_us > time_us:
            return _lost(waiter, topic, time_us, node)
        if not status.waits_for or node in seen:
            return Debt(node, f'{sentence}: {status.problem}' if status.problem else sentence)
        seen.add(node)
        waiter, time_us = node, status.waits_for_us
        topic, last_us = next(iter(status.waits_for.items()))
        if topic in graph.nodes[node].previous:
            time_us -= step_us


def find_silent(statuses: typing.Mapping[str, NodeStatus | None]) -> Debt | None:
    """Return the first node that does not answer; None when all do."""
    for node, status in statuses.items():
        if status is None:
            return Debt(node, f'{node} does not answer')
    return None


def find_lost_recorder(status: NodeStatus | None, complete_us: int) -> Debt | None:
    """Return what keeps the recorder from going on; None when it is only slow.

    :param status: the recorder's
    :param complete_us: up to which time all was published
    """
    if status is None:
        return Debt('recorder', 'recorder does not answer')
    if status.problem:
        return Debt('recorder', f'recorder does not record: {status.problem}')
    if not status.holds and status.waits_for and status.waits_for_us <= complete_us:
        topic = next(iter(status.waits_for))
        return Debt('recorder', f'recorder has not got {topic} for'
                    f' t = {seconds_text(status.waits_for_us)}, which was lost')
    return None


def _lost(waiter: str, topic: str, time_us: int, publisher: str) -> Debt:
    return Debt(waiter, f'{waiter} has not got {topic} for t = {seconds_text(time_us)}, which'
                f' {publisher} has published: it was lost and is repeated', repeater=publisher)


def _owes(node: str, topic: str, time_us: int, last_us: int) -> str:
    last = f'its last was {seconds_text(last_us)}' if last_us > 0 else 'it has published none yet'
    return f'{node} has not published {topic} for t = {seconds_text(time_us)}; {last}'
