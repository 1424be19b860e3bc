# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The path flown, with as few points as show it."""
from __future__ import annotations

import math

from px4_sim_ros.model.frames import Vector

_FIRST_SPACING_M = 0.05


class FlownPath:
    """Points that are a spacing apart; it doubles when there are too many of them."""

    def __init__(self, most_points: int = 1500) -> None:
        self._most_points = most_points
        self.clear()

    def clear(self) -> None:
        """Remove all points."""
        self.points: list[Vector] = []
        self._spacing_m = _FIRST_SPACING_M

    def add(self, position_enu_m: Vector) -> bool:
        """Add a position unless it is too near; return whether it was added."""
        if self.points and math.dist(self.points[-1], position_enu_m) < self._spacing_m:
            return False
        self.points.append(position_enu_m)
        if len(self.points) > self._most_points:
            self._spacing_m *= 2.0
            thinned = FlownPath(self._most_points)
            thinned._spacing_m = self._spacing_m
            for point in self.points[:-1]:
                thinned.add(point)
            self.points = [*thinned.points, position_enu_m]
        return True
