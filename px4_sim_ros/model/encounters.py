# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How near vehicles come to each other, and when they nearly meet or collide.

A vehicle is a sphere around its centre of mass that holds its rotors and feet. What comes of a
collision is not here: see `collisions`.
"""
from __future__ import annotations

import itertools
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.vehicle import Vehicle

_APART, _NEAR, _TOUCHING = range(3)
NOWHERE = math.nan, math.nan, math.nan
"""The place of a vehicle that is not in the world."""


class Encounter(typing.NamedTuple):
    """Two vehicles that come near each other."""

    time_us: int
    is_collision: bool
    one: str               # namespaces
    other: str
    distance_m: float      # between their centres of mass

    @property
    def time_s(self) -> float:
        """The simulated time in seconds."""
        return self.time_us / US_PER_S

    @property
    def text(self) -> str:
        """What has happened, for the user."""
        what = 'collide' if self.is_collision else 'nearly meet'
        return f'{self.one} and {self.other} {what}, {self.distance_m:.2f} m apart'


class Nearest(typing.NamedTuple):
    """The least distance of two vehicles, and when it was."""

    one: str
    other: str
    distance_m: float      # between their centres of mass
    time_us: int


def reach_m(vehicle: Vehicle) -> float:
    """Return the radius of the sphere around a vehicle's centre of mass that holds it."""
    rotors = [math.hypot(*rotor.position_m)
              + 0.5 * vehicle.model_of(rotor).propeller_diameter_m for rotor in vehicle.rotors]
    parts = [*vehicle.ground_points_m, *(surface.position_m for surface in vehicle.surfaces)]
    return max([*rotors, *(math.hypot(*point) for point in parts)], default=0.0)


class Encounters:
    """Looks at the distances of all vehicles, step by step."""

    def __init__(self, reaches_m: typing.Mapping[str, float], near_miss_m: float) -> None:
        """Begin with vehicles that are far apart.

        :param reaches_m: the radius of each vehicle, by namespace
        :param near_miss_m: two whose spheres are nearer than this have nearly met
        """
        self._names = list(reaches_m)
        reaches = np.array(list(reaches_m.values()), float)
        self._pairs = list(itertools.combinations(range(len(self._names)), 2))
        self._one, self._other = np.array(self._pairs, int).reshape(-1, 2).T
        self._touch_m = reaches[self._one] + reaches[self._other]
        self._near_m = self._touch_m + near_miss_m
        self.reset()

    def reset(self) -> None:
        """Begin again with vehicles that are far apart."""
        self._least_m = np.full(len(self._pairs), np.inf)
        self._least_us = np.zeros(len(self._pairs), int)
        self._state = np.full(len(self._pairs), _APART)
        self.near_misses = self.collisions = 0

    def step(
        self, time_us: int, positions_enu: typing.Sequence[Vector | None],
    ) -> list[Encounter]:
        """Take in the positions at a time, m; return who has come near whom just then.

        :param positions_enu: None of a vehicle that is not in the world, and so far from all
        """
        return self.steps([time_us], np.array(
            [[NOWHERE if its is None else its for its in positions_enu]], float))

    def steps(
        self, times_us: typing.Sequence[int], positions_enu: np.ndarray,
    ) -> list[Encounter]:
        """Take in the positions at several times; return who has come near whom, and when.

        :param positions_enu: (times, vehicles, 3), m; NaN of one that is not in the world
        """
        distance = np.linalg.norm(
            positions_enu[:, self._one] - positions_enu[:, self._other], axis=2)
        there = np.where(np.isnan(distance), np.inf, distance)
        first, pairs = np.argmin(there, axis=0), np.arange(len(self._pairs))
        nearer = there[first, pairs] < self._least_m
        self._least_m[nearer] = there[first, pairs][nearer]
        self._least_us[nearer] = np.array(times_us)[first[nearer]]
        state = (distance < self._near_m).astype(int) + (distance < self._touch_m)
        before = np.vstack([self._state, state[:-1]])
        self._state = state[-1]
        found = [
            self._encounter(times_us[i], int(pair), float(distance[i, pair]), state[i, pair])
            for i, pair in np.argwhere(state > before)]
        self.collisions += sum(e.is_collision for e in found)
        self.near_misses += sum(not e.is_collision for e in found)
        return found

    def _encounter(
        self, time_us: int, pair: int, distance_m: float, state: int,
    ) -> Encounter:
        one, other = self._pairs[pair]
        return Encounter(time_us, bool(state == _TOUCHING), self._names[one],
                         self._names[other], distance_m)

    def nearest(self) -> list[Nearest]:
        """Return the least distance of each pair so far, the least of all first."""
        return sorted(
            (Nearest(self._names[i], self._names[j], float(distance), int(time_us))
             for (i, j), distance, time_us in zip(self._pairs, self._least_m, self._least_us)
             if np.isfinite(distance)), key=lambda pair: pair.distance_m)
