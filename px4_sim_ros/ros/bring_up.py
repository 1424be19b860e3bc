# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Brings the graph up, back to time 0, and down.

Consumers are brought up before producers and all is verified; what has failed is taken down
again, by the manager.
"""
from __future__ import annotations

import dataclasses
import time
import typing

from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.ros import sequences
from px4_sim_ros.ros.clock_driver import ClockDriver
from px4_sim_ros.ros.endpoints import find_unmatched, other_publishers, participant_of
from px4_sim_ros.ros.lifecycle_client import ManagedNode, Sequence, TransitionError
from px4_sim_ros.ros.node_status import NodeStatus
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph import CLOCK, COMMAND

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager import ManagerNode

# A step that is held for an autopilot never ends; the others take a few milliseconds.
_LAST_STEP_TIMEOUT_S = 0.5
_LAST_RECORD_TIMEOUT_S = 1.0


class NotAloneError(TransitionError):
    """There is another graph, with nodes of the same names."""


class BringUp:
    """The managed nodes of a graph, and what is done with all of them.

    Every method that returns a `Sequence` is part of one.
    """

    def __init__(self, manager: ManagerNode, world: WorldParameters, driver: ClockDriver) -> None:
        self._manager, self._world, self._driver = manager, world, driver
        self.graph = graph.of_instances(world.node_counts)
        self.nodes = [ManagedNode(manager, name) for name in self.graph.managed]
        self._lost: list[ManagedNode] = []   # a recorder that is waited for no longer
        self._participant = ''

    def begin(self, deadline_s: float) -> Sequence[None]:
        """Wait until all nodes are there, and bring them to rest.

        :raises TransitionError: one does not appear
        :raises NotAloneError: somebody else publishes /clock
        """
        self._driver.open(self.graph, self._world)
        self._participant = participant_of(self._manager)
        yield from sequences.appear(self.nodes, deadline_s)
        yield from self._wait_until_alone(deadline_s)
        yield from self.rewind()

    def start(self, deadline_s: float) -> Sequence[None]:
        """Configure and activate all nodes, and wait until they are matched.

        :raises TransitionError: one refuses, or it takes too long
        :raises NotAloneError: somebody else publishes /clock
        """
        yield from sequences.start(self.nodes, deadline_s, self._find_unmatched)
        yield from self._wait_until_alone(deadline_s)

    def rewind(self) -> Sequence[None]:
        """Bring all nodes to rest and let them forget the run.

        :raises TransitionError: one refuses
        """
        yield from sequences.rewind(self.nodes)
        self._driver.rewind()

    def end(self, on_error: typing.Callable[[TransitionError], None]) -> Sequence[None]:
        """Stop all nodes, producers before consumers, then end them; go on after a failure."""
        yield from sequences.end(self.nodes, on_error)
        yield from sequences.end(self._lost, lambda error: None)

    def finish_step(self, is_recorded: typing.Callable[[], bool]) -> Sequence[None]:
        """Let the step that is under way come to its end, if it does, and be recorded."""
        clock = self._driver.clock
        clock.pause()
        yield from sequences.wait_until(lambda: not clock.under_way, _LAST_STEP_TIMEOUT_S)
        yield from sequences.wait_until(is_recorded, _LAST_RECORD_TIMEOUT_S)

    def drop_recorder(self) -> None:
        """Go on without the recorder; if it still lives it is ended with the graph."""
        self._lost = [node for node in self.nodes if node.name == 'recorder']
        self.nodes[:] = [node for node in self.nodes if node.name != 'recorder']
        self.graph = graph.of_instances(self._world.node_counts | {'recorder': 0})

    def was_dropped(self, name: str) -> bool:
        """Return whether the graph goes on without a node."""
        return any(node.name == name for node in self._lost)

    def others(self) -> tuple[str, bool]:
        """Return a sentence about somebody else who publishes /clock, '' when there is nobody.

        And whether it may be over soon: a manager that was killed is known for a while.
        """
        others = other_publishers(self._manager, CLOCK, self._participant)
        sentence = (f'/clock is published by {others[0]} as well; give this graph a ROS_DOMAIN_ID'
                    ' of its own') if others else ''
        return sentence, self._manager.get_fully_qualified_name() in others

    def _wait_until_alone(self, deadline_s: float) -> Sequence[None]:
        while True:
            sentence, may_end = self.others()
            if not sentence:
                return
            if time.monotonic() > deadline_s or not may_end:
                raise NotAloneError(sentence)
            yield None

    def _find_unmatched(self, statuses: dict[str, NodeStatus]) -> str:
        """Return a sentence about what is not matched yet, '' when all is.

        :raises TransitionError: a node has other parameters of the world
        """
        for name, status in statuses.items():
            for key, value in dataclasses.asdict(self._world).items():
                if status.world[key] != value:
                    raise TransitionError(
                        f'{name}.{key} = {status.world[key]!r}: all nodes share this parameter and'
                        f' manager has {value!r}')
        driver = self._driver
        manager = NodeStatus(
            participant=self._participant,
            by_value=[COMMAND] if driver.command is None else [],
            **driver.connections())
        return find_unmatched(self.graph, statuses | {'manager': manager})
