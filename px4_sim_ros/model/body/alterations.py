# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a vehicle and the air around it differ from how they were made."""
from __future__ import annotations

import typing

from px4_sim_ros.model.frames import Vector


class Alterations(typing.NamedTuple):
    """Loads, wear and air; without any nothing is changed."""

    mass_kg: float = 0.0                           # added, at the centre of mass
    inertia_kg_m2: Vector = (0.0, 0.0, 0.0)        # added, about body x, y and z
    torque_flu: Vector = (0.0, 0.0, 0.0)           # N m, added to all others
    density_share: float = 1.0                     # of the air's density
    voltage_share: float = 1.0                     # of the battery without load
    resistance_factor: float = 1.0
    capacity_share: float = 1.0


UNALTERED = Alterations()
