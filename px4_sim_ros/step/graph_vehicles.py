# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The vehicles of a graph of nodes, and by which names its nodes are known."""
from __future__ import annotations

import typing

from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import Graph, qualified
from px4_sim_ros.step.presence import ALWAYS, Presence, PresenceSchedule

WORLD_NODES = 'manager', 'recorder'
"""The nodes that there are once, however many vehicles there are; they have no namespace then."""


class GraphVehicle(typing.NamedTuple):
    """A vehicle of a graph."""

    vehicle: str               # its namespace, '' for one alone
    graph: Graph
    world: WorldParameters
    presence: Presence = ALWAYS

    @property
    def nodes(self) -> tuple[str, ...]:
        """The managed nodes of the vehicle, in the order of a step; of one alone all."""
        return tuple(name for name in self.graph.managed
                     if not (self.vehicle and name in WORLD_NODES))

    def full(self, name: str) -> str:
        """Return the name that one of its nodes has among those of all vehicles."""
        return name if name in WORLD_NODES else qualified(self.vehicle, name)

    def own(self, by_name: typing.Mapping[str, _Value]) -> dict[str, _Value]:
        """Return the values of its nodes, by their own names, from those of all."""
        return {name: by_name[self.full(name)] for name in self.graph.managed
                if self.full(name) in by_name}


def presences_of(members: typing.Iterable[GraphVehicle]) -> PresenceSchedule:
    """Return who is in the world when, as it is planned."""
    return PresenceSchedule({member.vehicle: member.presence for member in members})


def own_name(vehicle: str, full_name: str) -> str:
    """Return the name of a node among those of its vehicle, '' if it is of another one."""
    if not vehicle:
        return full_name
    before, _, name = full_name.rpartition('/')
    return name if before == vehicle else ''


_Value = typing.TypeVar('_Value')


def process_groups(members: typing.Sequence[GraphVehicle], mode: str) -> list[list[str]]:
    """Return which nodes share a process in the modes `composed` and `separate`.

    Of a fleet each vehicle stands for all of its nodes, and is a process in `separate`.
    """
    first = members[0]
    if not first.vehicle:
        return first.graph.process_groups(mode)
    names = ['manager', *(member.vehicle for member in members),
             *(name for name in ('recorder',) if name in managed(members))]
    return [names] if mode == 'composed' else [[name] for name in names]


def managed(members: typing.Sequence[GraphVehicle]) -> list[str]:
    """Return all managed nodes: those of a vehicle in the order of a step, the recorder last."""
    names = [member.full(name) for member in members for name in member.nodes]
    has_recorder = any('recorder' in member.graph.nodes for member in members)
    return [*(name for name in names if name != 'recorder'), *['recorder'] * has_recorder]
