# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The path of a flight in few points, to lay many of them over each other."""
from __future__ import annotations

import typing

from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S

_FIRST_US = 100_000
_MOST = 200


class FlownPath(typing.NamedTuple):
    """Places at equal times, from the start."""

    run: int
    every_s: float
    points: list[list[float]]      # east, north and up of the start, m, to the centimetre


class PathTaker:
    """Takes a path while it is flown: when it has many points, every second one is enough."""

    def __init__(self) -> None:
        self._every_us, self._next_us = _FIRST_US, 0
        self._points: list[list[float]] = []

    def add(self, situation: Situation) -> None:
        """Take in the situation of a step."""
        if situation.time_us < self._next_us:
            return
        self._points.append([round(place - start, 2) for place, start in zip(
            situation.truth.position_enu, situation.start_enu)])
        if len(self._points) == _MOST:
            self._points = self._points[::2]
            self._every_us *= 2
        self._next_us = len(self._points) * self._every_us

    def path(self, run: int) -> FlownPath:
        """Return the path."""
        return FlownPath(run, self._every_us / US_PER_S, self._points)
