# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded flight of several vehicles: where each was, and how near they came."""
from __future__ import annotations

import dataclasses
import typing

import numpy as np

from px4_sim_ros.messages.diagnostics import is_of, node_name
from px4_sim_ros.messages.stamps import line_us
from px4_sim_ros.model.encounters import NOWHERE, Encounters
from px4_sim_ros.model.timebase import US_PER_S, untimed
from px4_sim_ros.recording.analysis.lockstep_terms import Counters, counters
from px4_sim_ros.recording.analysis.recorded_fingerprint import RecordedFingerprint, of_diagnostics
from px4_sim_ros.recording.analysis.series import FIELDS
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.recording.bag.schema import decode
from px4_sim_ros.step import side_topics

_TRUTH = 'ground_truth/odom'


class Said(typing.NamedTuple):
    """Something that was logged."""

    time_s: float
    who: str
    text: str


@dataclasses.dataclass(frozen=True)
class FleetFlight:
    """What the report of several vehicles is made of."""

    members: dict[str, RunDescription]     # by namespace, as all that follows
    time_s: np.ndarray                     # (n,), simulated
    positions_m: dict[str, np.ndarray]     # (n, 3) each, ENU from home; NaN: it is not there
    nearest_m: dict[str, np.ndarray]       # (n,) each: to the nearest other vehicle, NaN as above
    encounters: Encounters
    said: list[Said]
    fingerprints: dict[str, RecordedFingerprint]
    counters: dict[str, dict[str, Counters]]       # of each node that has published some
    sentences: dict[str, dict[str, str]]           # what each node has said of itself last

    def is_there(self, name: str) -> np.ndarray:
        """Return at which of the times a vehicle is in the world."""
        is_nowhere: np.ndarray = np.isnan(self.positions_m[name][:, 0])
        return ~is_nowhere


def read_fleet(bag: BagReader) -> FleetFlight:
    """Read the bag of several vehicles, once."""
    assert bag.fleet is not None, 'one vehicle alone has a report of its own'
    members = bag.fleet.members
    truths = {run.full_name(_TRUTH): name for name, run in members.items()}
    first = next(iter(members.values()))
    read, kind = FIELDS[_TRUTH]['position_m'], first.graph.topics[_TRUTH].type
    positions: dict[str, dict[int, typing.Any]] = {name: {} for name in members}    # by time
    said, diagnostics = [], []
    for topic, time_us, data in bag.messages_of_all():
        if topic in truths:
            positions[truths[topic]][time_us] = read(decode(data, kind))
        elif topic == side_topics.LOG.name:
            message = decode(data, side_topics.LOG.type)
            said.append(Said(
                line_us(message, time_us) / US_PER_S, message.name, untimed(message.msg)))
        elif topic == side_topics.DIAGNOSTICS.name:
            diagnostics.append(decode(data, side_topics.DIAGNOSTICS.type))
    said.sort(key=lambda one: one.time_s)
    times_us = sorted({time_us for its in positions.values() for time_us in its})
    path = {name: np.array([its.get(time_us, NOWHERE) for time_us in times_us],
                           float).reshape(-1, 3) for name, its in positions.items()}
    encounters, nearest_m = _distances(bag, times_us, path)
    return FleetFlight(
        members, np.array(times_us) / US_PER_S, path, nearest_m, encounters, said,
        {name: of_diagnostics(run, diagnostics) for name, run in members.items()},
        {name: counters(name, run.graph.nodes, diagnostics) for name, run in members.items()},
        {name: _sentences(name, diagnostics) for name in members})


def _sentences(namespace: str, diagnostics: list[typing.Any]) -> dict[str, str]:
    return {node_name(namespace, status.name): status.message
            for message in diagnostics for status in message.status
            if is_of(namespace, status.name)}


def _distances(
    bag: BagReader, times_us: list[int], path: dict[str, np.ndarray],
) -> tuple[Encounters, dict[str, np.ndarray]]:
    """Return who has come near whom, and how far the nearest was from each, step by step."""
    assert bag.fleet is not None
    encounters = bag.fleet.encounters()
    together = np.stack(list(path.values()), axis=1)        # (n, vehicles, 3)
    nearest = np.full(together.shape[:2], np.inf)
    own = np.arange(len(path))
    for row, (time_us, position) in enumerate(zip(times_us, together)):
        encounters.step(time_us, position)
        apart = np.linalg.norm(position[:, None] - position[None], axis=2)
        apart[own, own] = np.inf
        nearest[row] = np.where(np.isnan(apart), np.inf, apart).min(axis=1)
    nearest[np.isinf(nearest)] = np.nan
    return encounters, dict(zip(path, nearest.T))
