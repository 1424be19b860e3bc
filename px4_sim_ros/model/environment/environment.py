# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What surrounds the vehicle: gravity and air by height, and the rotation of the Earth."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.environment.ground import LEVEL, Ground
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class Environment:
    """Gravity, air and the Earth's rotation at home; heights are in metres above home."""

    gravity: Gravity
    atmosphere: Atmosphere
    home_altitude_m: float
    earth_rate_enu: Vector = (0.0, 0.0, 0.0)
    """In rad/s; its first component is 0."""
    ground: Ground = LEVEL

    @classmethod
    def of(cls, world: WorldParameters) -> Environment:
        """Return what the parameters of the world describe."""
        return cls(world.gravity(), world.atmosphere(), world.home_altitude_m,
                    world.earth_rate_enu(), world.ground())

    def gravity_m_s2(self, height_m: float) -> float:
        """Return the acceleration of gravity, downwards."""
        return self.gravity.at(height_m)

    def density_kg_m3(self, height_m: float) -> float:
        """Return the density of the air."""
        return self.atmosphere.density_kg_m3(self.home_altitude_m + height_m)
