# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which vehicles are in the world at a time: from the beginning, later, or for a while.

A vehicle that joins at t = 12 s stands there at that time, as another one does at time 0, and its
first step ends a step later. One that leaves at t = 40 s has its last step end then.
"""
from __future__ import annotations

import typing


class Presence(typing.NamedTuple):
    """From when to when a vehicle is in the world."""

    joins_us: int | None = 0           # None: not yet, at a time not known
    leaves_us: int | None = None       # None: it stays to the end

    def has(self, time_us: int) -> bool:
        """Return whether the vehicle takes part in the step that ends at a time."""
        return (self.joins_us is not None and self.joins_us < time_us
                and (self.leaves_us is None or time_us <= self.leaves_us))


ALWAYS = Presence()


class Change(typing.NamedTuple):
    """A vehicle joins the world, or leaves it."""

    vehicle: str
    time_us: int           # up to which it was away, or is there
    joins: bool
    by_hand: str = ''      # the change by hand, '' if it was planned

    @property
    def text(self) -> str:
        """What happens, for the user."""
        return self.by_hand or ('it joins' if self.joins else 'it leaves')


class PresenceSchedule:
    """Who is in the world, by namespace; a vehicle that is not named is always there."""

    def __init__(self, planned: typing.Mapping[str, Presence] | None = None) -> None:
        self._planned = dict(planned or {})
        self.reset()

    def reset(self) -> None:
        """Go back to what was planned."""
        self._now = dict(self._planned)
        self._look()

    def _look(self) -> None:
        self.is_constant = all(its == ALWAYS for its in self._now.values())
        """Whether all are there from the beginning to the end."""

    def of(self, vehicle: str) -> Presence:
        """Return from when to when a vehicle is there, as far as is known."""
        return self._now.get(vehicle, ALWAYS)

    def has(self, vehicle: str, time_us: int) -> bool:
        """Return whether a vehicle takes part in the step that ends at a time."""
        return self.is_constant or self.of(vehicle).has(time_us)

    def same_until_us(self, time_us: int, until_us: int) -> int:
        """Return up to which time, at most `until_us`, the vehicles of a step stay the same."""
        changes_us = (its for one in self._now.values() for its in one if its is not None)
        return min([until_us, *(its for its in changes_us if its >= time_us)])

    def count(self, vehicles: typing.Collection[str], time_us: int) -> int:
        """Return how many of these vehicles take part in the step that ends at a time."""
        if self.is_constant:
            return len(vehicles)
        return sum(self.has(vehicle, time_us) for vehicle in vehicles)

    def begin_us(self, vehicle: str) -> int:
        """Return the time at which a vehicle stands where it begins; 0 if it is not known."""
        return self.of(vehicle).joins_us or 0

    def take(self, change: Change) -> None:
        """Record that a vehicle was added or removed by hand."""
        self._now[change.vehicle] = (
            Presence(change.time_us) if change.joins
            else self.of(change.vehicle)._replace(leaves_us=change.time_us))
        self._look()
