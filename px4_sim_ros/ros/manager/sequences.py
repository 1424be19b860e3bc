# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is done with all managed nodes together; nodes are in the order of a step.

Consumers are brought up before producers, so that no first message is lost, and taken down
after them.
"""
from __future__ import annotations

import time
import typing

from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.manager.lifecycle_client import (
    GoneError,
    ManagedNode,
    Sequence,
    TransitionError,
)

Nodes = typing.Sequence[ManagedNode]

# An answer takes a few milliseconds, or never comes. At the end a busy node gets more time:
# without an answer it would be left behind.
_ANSWER_TIMEOUT_S, _LAST_ANSWER_TIMEOUT_S = 0.5, 1.0


def appear(nodes: Nodes, deadline_s: float) -> Sequence[None]:
    """Wait until all nodes are there."""
    for node in nodes:
        yield from node.wait_until_there(deadline_s)


def rewind(nodes: Nodes) -> Sequence[None]:
    """Bring all nodes to rest, whatever they were in, and let them forget the run."""
    for node in nodes:
        yield from node.stop()
    for node in nodes:
        yield from node.forget()


def start(
    nodes: Nodes, deadline_s: float,
    find_unmatched: typing.Callable[[dict[str, NodeStatus]], str],
) -> Sequence[None]:
    """Configure those that are not, activate all, and wait until all endpoints are matched."""
    for node in reversed(nodes):
        yield from node.configure()
    for node in reversed(nodes):
        yield from node.start()
    while True:
        statuses: dict[str, NodeStatus] = {}
        for node in nodes:
            statuses[node.name] = yield from node.wait_until_able(deadline_s)
        missing = find_unmatched(statuses)
        if not missing:
            return
        if time.monotonic() > deadline_s:
            raise TransitionError(missing)
        yield None


def end(nodes: Nodes, on_error: typing.Callable[[TransitionError], None]) -> Sequence[None]:
    """Stop all nodes, then end them; continue after a failure, and leave out those that hang."""
    statuses: dict[str, NodeStatus | None] = {}
    yield from ask_all(nodes, statuses.update, _LAST_ANSWER_TIMEOUT_S)
    silent = [node for node in nodes if statuses[node.name] is None]
    # One that is just ending by itself is soon known to be gone.
    yield from wait_until(lambda: not any(node.is_there for node in silent), _ANSWER_TIMEOUT_S)
    for node in silent:
        if node.is_there:
            on_error(TransitionError(f'{node.name} does not answer'))
    for part in (ManagedNode.stop, ManagedNode.end):
        for node in nodes:
            if statuses[node.name] is None:
                continue
            try:
                yield from part(node)
            except GoneError:
                continue       # it has ended by itself
            except TransitionError as error:
                on_error(error)


def ask_all(
    nodes: Nodes, report: typing.Callable[[dict[str, NodeStatus | None]], None],
    timeout_s: float = _ANSWER_TIMEOUT_S,
) -> Sequence[None]:
    """Report the status of all nodes; None for one that does not answer."""
    calls = {node.name: node.call_status() for node in nodes}
    yield from wait_until(
        lambda: all(node.has_ended or (call := calls[node.name]) is None or call.done()
                    for node in nodes), timeout_s)
    report({node.name: node.status_of(calls[node.name]) for node in nodes})


def wait_until(condition: typing.Callable[[], bool], timeout_s: float) -> Sequence[None]:
    """Wait until a condition holds, or for so long."""
    deadline_s = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline_s:
        yield None
