# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded flight of several vehicles: where each was, and how near they came."""
from __future__ import annotations

import dataclasses
import typing

import numpy as np

from px4_sim_ros.model.encounters import Encounters
from px4_sim_ros.model.timebase import US_PER_S, untimed
from px4_sim_ros.recording.analysis.recorded_fingerprint import RecordedFingerprint, of_diagnostics
from px4_sim_ros.recording.analysis.series import FIELDS
from px4_sim_ros.recording.bag.message_definitions import decode
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
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
    positions_m: dict[str, np.ndarray]     # (n, 3) each, ENU from home
    nearest_m: dict[str, np.ndarray]       # (n,) each: to the nearest other vehicle
    encounters: Encounters
    said: list[Said]
    fingerprints: dict[str, RecordedFingerprint]


def read_fleet(bag: BagReader) -> FleetFlight:
    """Read the bag of several vehicles, once.

    :param bag: of any of them
    :raises BagError: a file cannot be read
    """
    assert bag.fleet is not None, 'one vehicle alone has a report of its own'
    members = bag.fleet.members
    truths = {run.full_name(_TRUTH): name for name, run in members.items()}
    first = next(iter(members.values()))
    read, kind = FIELDS[_TRUTH]['position_m'], first.graph.topics[_TRUTH].type
    times_us: list[int] = []
    positions: dict[str, list[typing.Any]] = {name: [] for name in members}
    said, diagnostics = [], []
    for topic, time_us, data in bag.messages_of_all():
        if topic in truths:
            positions[truths[topic]].append(read(decode(data, kind)))
            if truths[topic] == first.namespace:
                times_us.append(time_us)
        elif topic == side_topics.LOG.name:
            message = decode(data, side_topics.LOG.type)
            said.append(Said(time_us / US_PER_S, message.name, untimed(message.msg)))
        elif topic == side_topics.DIAGNOSTICS.name:
            diagnostics.append(decode(data, side_topics.DIAGNOSTICS.type))
    count = min(map(len, positions.values()))
    path = {name: np.array(its[:count], float).reshape(-1, 3) for name, its in positions.items()}
    encounters, nearest_m = _distances(bag, times_us[:count], path)
    return FleetFlight(
        members, np.array(times_us[:count]) / US_PER_S, path, nearest_m, encounters, said,
        {name: of_diagnostics(run, diagnostics) for name, run in members.items()})


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
        nearest[row] = apart.min(axis=1)
    return encounters, dict(zip(path, nearest.T))
