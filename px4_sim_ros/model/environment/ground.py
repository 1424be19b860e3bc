# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ground: a plane through home, level or sloping.

Whatever touches or sees it works in axes of its own, in which it is at height 0: those of the
world, turned about a horizontal axis across the slope.
"""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import conjugate, matrix, multiply, to_body, to_world
from px4_sim_ros.model.truth import Truth


class Ground(typing.NamedTuple):
    """How the ground lies: the rotation from its axes into those of the world."""

    attitude: Quaternion = (1.0, 0.0, 0.0, 0.0)

    @classmethod
    def sloping(cls, slope_deg: float, uphill_deg: float) -> Ground:
        """Return ground that rises.

        :param slope_deg: its angle with the horizontal
        :param uphill_deg: where it rises to, clockwise from north
        """
        half, uphill = 0.5 * math.radians(slope_deg), math.radians(uphill_deg)
        return cls((math.cos(half), math.sin(half) * math.cos(uphill),
                    -math.sin(half) * math.sin(uphill), 0.0)) if slope_deg else cls()

    @property
    def is_level(self) -> bool:
        """Whether its axes are those of the world."""
        return self.attitude == (1.0, 0.0, 0.0, 0.0)

    @property
    def matrix(self) -> tuple[float, ...]:
        """The rotation, nine numbers, row by row."""
        return matrix(self.attitude)

    def place_above(self, east_m: float, north_m: float, height_m: float) -> Vector:
        """Return the place that is so high above the ground at a point, across it; ENU."""
        turn = self.matrix
        normal_x, normal_y, normal_z = to_world(turn, (0.0, 0.0, 1.0))
        up = -(normal_x * east_m + normal_y * north_m) / normal_z
        return (east_m + height_m * normal_x, north_m + height_m * normal_y,
                up + height_m * normal_z)

    def seen(self, truth: Truth) -> Truth:
        """Return a motion whose place and attitude are in axes of the ground."""
        if self.is_level:
            return truth
        return truth._replace(
            position_enu=to_body(self.matrix, truth.position_enu),
            attitude=multiply(conjugate(self.attitude), truth.attitude))


LEVEL = Ground()
