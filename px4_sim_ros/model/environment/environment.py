# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What surrounds the vehicle by height: gravity and the density of the air."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.environment.ground import LEVEL, Ground
from px4_sim_ros.model.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class Environment:
    """Gravity and air at home; heights are in metres above home."""

    gravity: Gravity
    atmosphere: Atmosphere
    home_altitude_m: float
    ground: Ground = LEVEL

    @classmethod
    def of(cls, world: WorldParameters) -> Environment:
        """Return what the parameters of the world describe."""
        return cls(
            world.gravity(), world.atmosphere(), world.home_altitude_m, world.ground())

    def gravity_m_s2(self, height_m: float) -> float:
        """Return the acceleration of gravity, downwards."""
        return self.gravity.at(height_m)

    def density_kg_m3(self, height_m: float) -> float:
        """Return the density of the air."""
        return self.atmosphere.density_kg_m3(self.home_altitude_m + height_m)
