# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a flight of several vehicles: of each, and of the whole."""
from __future__ import annotations

import hashlib
import typing

from px4_sim_ros.flight.flight_record import FlightRecord
from px4_sim_ros.model.encounters import Nearest
from px4_sim_ros.model.timebase import US_PER_S

# Pairs of vehicles whose least distance the summary tells.
_MOST_PAIRS = 10


def whole_fingerprint(fingerprints: typing.Mapping[str, str]) -> str:
    """Return the fingerprint of a fleet from those of its vehicles, '' if one is not known."""
    if not all(fingerprints.values()):
        return ''
    text = ''.join(f'{name} {its}\n' for name, its in fingerprints.items())
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class FleetRecord:
    """The records of all vehicles of a flight."""

    def __init__(
        self, first: str, record: FlightRecord, heads: typing.Mapping[str, dict[str, typing.Any]],
        step_us: int,
    ) -> None:
        """Take those of a flight that is over.

        :param first: the namespace of the first vehicle
        :param record: of the first vehicle, with those of the others
        :param heads: what each vehicle is, by namespace
        """
        self._first, self._heads, self._step_us = record, heads, step_us
        self.records = {first: record, **record.others}

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the whole."""
        return whole_fingerprint({
            name: record.status.fingerprint for name, record in self._there().items()})

    def _there(self) -> dict[str, FlightRecord]:
        """Return the records of those that were ever in the world."""
        return {name: record for name, record in self.records.items() if record.stay.has_begun}

    @property
    def unrepeatable(self) -> str:
        """Return why another flight may have another fingerprint, '' if none may."""
        return next((f'{name}: {record.unrepeatable}' for name, record in self._there().items()
                     if record.unrepeatable), '')

    @property
    def has_succeeded(self) -> bool:
        """Whether each has landed, or with a scenario all holds that it expects."""
        return all(record.has_succeeded for record in self.records.values())

    def summary(self, head: dict[str, typing.Any], failure: str) -> dict[str, typing.Any]:
        """Return the summary of the flight; `head` comes first."""
        # One that has left knows no more of the world.
        status = max((its.status for its in self.records.values()), key=lambda s: s.sim_time_s)
        factor = status.real_time_factor()
        there_s = sum(its.stay.length_s(status.sim_time_s) for its in self.records.values())
        return head | {
            'recording_problem': self._first.recording_problem,
            'failure': failure,
            'missions_flown': sum(r.mission_flown for r in self.records.values()),
            'stopped': self._first.was_stopped,
            'sim_time_s': round(status.sim_time_s, 6),
            'wall_time_s': round(status.wall_time_s, 3),
            'real_time_factor': round(factor, 2),
            'vehicle_seconds_per_second': round(
                factor * there_s / (status.sim_time_s or 1.0), 2),
            'steps': round(status.sim_time_s * US_PER_S) // self._step_us,
            **self._of_encounters(),
            'fingerprint': self.fingerprint,
            'repeatable': not self.unrepeatable,
            'not_repeatable_because': self.unrepeatable,
            'fleet': [self._of_vehicle(name) for name in self.records],
        }

    def _of_encounters(self) -> dict[str, typing.Any]:
        met, nearest = self._first.met, self._first.nearest
        collisions = sum(encounter.is_collision for encounter in met)
        return {
            'least_distance_m': round(nearest[0].distance_m, 3) if nearest else None,
            'near_misses': len(met) - collisions,
            'collisions': collisions,
            'distances': [_of_pair(pair) for pair in nearest[:_MOST_PAIRS]],
            'events': [{'time_s': e.time_s, 'event': e.text} for e in met],
        }

    def _of_vehicle(self, name: str) -> dict[str, typing.Any]:
        record = self.records[name]
        return {'namespace': name, **self._heads[name], 'failure': record.failure,
                'mission_flown': record.mission_flown, 'new_begins': record.new_begins,
                'joined_s': _seconds(record.stay.joined_us),
                'left_s': _seconds(record.stay.left_us),
                **record.of_motion(), **record.of_scenario(), **record.of_link()}


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / US_PER_S


def _of_pair(pair: Nearest) -> dict[str, typing.Any]:
    return {'vehicles': [pair.one, pair.other], 'distance_m': round(pair.distance_m, 3),
            'time_s': pair.time_us / US_PER_S}
