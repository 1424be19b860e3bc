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

from px4_sim_ros.ros.framework.endpoints import (
    NodeStatus,
    find_unmatched,
    other_publishers,
    participant_of,
)
from px4_sim_ros.ros.manager import sequences
from px4_sim_ros.ros.manager.clock_driver import ClockDriver
from px4_sim_ros.ros.manager.lifecycle_client import ManagedNode, Sequence, TransitionError
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph import ABSENCE, CLOCK
from px4_sim_ros.step.graph_vehicles import GraphVehicle, managed

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.encounter_watch import EncounterWatch
    from px4_sim_ros.ros.manager.manager import ManagerNode

# A step that is held for an autopilot never ends; the others take a few milliseconds.
_LAST_STEP_TIMEOUT_S = 0.5
_LAST_RECORD_TIMEOUT_S = 1.0

_Value = typing.TypeVar('_Value')


class NotAloneError(TransitionError):
    """There is another graph, with nodes of the same names."""


class BringUp:
    """The managed nodes of a graph, and what is done with all of them."""

    def __init__(
        self, manager: ManagerNode, members: typing.Sequence[GraphVehicle], driver: ClockDriver,
        encounters: EncounterWatch | None,
    ) -> None:
        self._manager, self._driver, self._encounters = manager, driver, encounters
        self.members = list(members)
        self.nodes = [ManagedNode(manager, name) for name in managed(members)]
        self._lost: list[ManagedNode] = []   # a recorder that is waited for no longer
        self._participant = ''

    def begin(self, deadline_s: float) -> Sequence[None]:
        """Wait until all nodes are there, and bring them to rest.

        :raises TransitionError: one does not appear
        :raises NotAloneError: another node publishes /clock
        """
        self._driver.open(self.members)
        if self._encounters is not None:
            self._encounters.open(self.members)
        self._participant = participant_of(self._manager)
        yield from sequences.appear(self.nodes, deadline_s)
        yield from self._wait_until_alone(deadline_s)
        yield from self.rewind()

    def start(self, deadline_s: float) -> Sequence[None]:
        """Configure and activate all nodes, and wait until they are matched.

        :raises TransitionError: one refuses, or it takes too long
        :raises NotAloneError: another node publishes /clock
        """
        yield from sequences.start(self.nodes, deadline_s, self._find_unmatched)
        yield from self._wait_until_alone(deadline_s)

    def rewind(self) -> Sequence[None]:
        """Bring all nodes to rest and let them forget the run.

        :raises TransitionError: one refuses
        """
        yield from sequences.rewind(self.nodes)
        self._driver.rewind()
        if self._encounters is not None:
            self._encounters.reset()

    def end(self, on_error: typing.Callable[[TransitionError], None]) -> Sequence[None]:
        """Stop all nodes, producers before consumers, then end them; continue after a failure."""
        if self._encounters is not None:
            self._encounters.end()
        yield from sequences.end(self.nodes, on_error)
        yield from sequences.end(self._lost, lambda error: None)

    def finish_step(self, is_recorded: typing.Callable[[], bool]) -> Sequence[None]:
        """Let the step that is under way come to its end, if it does, and be recorded."""
        clock = self._driver.clock
        clock.pause()
        yield from sequences.wait_until(lambda: not clock.under_way, _LAST_STEP_TIMEOUT_S)
        yield from sequences.wait_until(is_recorded, _LAST_RECORD_TIMEOUT_S)

    def drop_recorder(self) -> None:
        """Continue without the recorder; if it still lives it is ended with the graph."""
        self._lost = [node for node in self.nodes if node.name == 'recorder']
        self.nodes[:] = [node for node in self.nodes if node.name != 'recorder']
        self.members[:] = [member._replace(
            graph=graph.of_world(member.world, recorder=0))
            for member in self.members]

    def note_end(self, name: str) -> None:
        """Record that a node has ended: it answers no more."""
        for node in (*self.nodes, *self._lost):
            if node.name == name:
                node.has_ended = True

    def was_dropped(self, name: str) -> bool:
        """Return whether the graph continues without a node."""
        return any(node.name == name for node in self._lost)

    def others(self) -> tuple[str, bool]:
        """Return a sentence about another publisher of /clock, or ''.

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
        """Return a sentence about what is not matched yet, '' when all is."""
        for member in self.members:
            its = member.own(statuses)
            _check_world(member, its)
            manager = NodeStatus(
                participant=self._participant,
                by_value=[name for name in member.graph.nodes['manager'].inputs
                          if name not in self._driver.subscribes(member.vehicle)],
                **self._driver.connections(member.vehicle))
            if 'recorder' in its:
                its['recorder'] = _part_of(member, its['recorder'])
            missing = find_unmatched(member.graph, its | {'manager': manager})
            if not missing and self._encounters is not None:
                missing = self._encounters.unmatched(
                    member.vehicle, its['dynamics'], self._participant)
            if missing:
                return f'{member.vehicle}: {missing}' if member.vehicle else missing
        return ''


def _part_of(member: GraphVehicle, status: NodeStatus) -> NodeStatus:
    """Return the recorder's status of the topics of one vehicle."""
    names = {member.full(name): name for name in (*member.graph.topics, ABSENCE)}

    def own(values: dict[str, _Value]) -> dict[str, _Value]:
        return {names[full]: value for full, value in values.items() if full in names}

    return dataclasses.replace(
        status, by_value=[names[full] for full in status.by_value if full in names],
        matched=own(status.matched), remapped=own(status.remapped))


def _check_world(member: GraphVehicle, statuses: typing.Mapping[str, NodeStatus]) -> None:
    """Check that the nodes of a vehicle have the same parameters of world and vehicle."""
    for name, status in statuses.items():
        if member.full(name) == name and member.vehicle:
            continue       # of the recorder they are those of the first vehicle
        for key, value in dataclasses.asdict(member.world).items():
            if status.world[key] != value:
                raise TransitionError(
                    f'{member.full(name)}.{key} = {status.world[key]!r}: all nodes share this'
                    f' parameter and manager has {value!r}')
