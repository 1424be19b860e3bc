# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a vehicle and the air around it differ from how they were made."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.vehicle.sections import Body

Inertia = tuple[float, float, float, float, float, float]
"""A tensor of inertia by its elements: x, y, z, xy, xz, yz, as in I = [[x, xy, xz], ...]."""


class Alterations(typing.NamedTuple):
    """Loads, wear and air; without any nothing is changed."""

    mass_kg: float = 0.0                           # added
    moment_kg_m: Vector = (0.0, 0.0, 0.0)          # of that: mass times place, from where the
                                                   # centre of mass was made
    inertia_kg_m2: Inertia = (0.0,) * 6            # added about there: x, y, z, xy, xz, yz
    torque_flu: Vector = (0.0, 0.0, 0.0)           # N m, added to all others
    density_share: float = 1.0                     # of the air's density
    cells_share: float = 1.0                       # of the battery's cells in series
    resistance_factor: float = 1.0                 # of R0
    capacity_share: float = 1.0


UNALTERED = Alterations()


def inertia_of_point(mass_kg: float, place_m: Vector) -> Inertia:
    """Return the inertia of a mass at a place about the origin, m (r.r E - r r^T), in kg m^2."""
    x, y, z = place_m
    return (mass_kg * (y * y + z * z), mass_kg * (z * z + x * x), mass_kg * (x * x + y * y),
            -mass_kg * x * y, -mass_kg * x * z, -mass_kg * y * z)


def loaded(body: Body, altered: Alterations) -> tuple[Body, Vector]:
    """Return a body with its loads, and its centre of mass from where it was made, m, FLU.

    The inertia is about the new centre of mass, by Steiner's theorem.
    """
    mass_kg = body.mass_kg + altered.mass_kg
    x, y, z = altered.moment_kg_m
    center = x / mass_kg, y / mass_kg, z / mass_kg
    made = *body.inertia_kg_m2, *body.inertia_products_kg_m2
    xx, yy, zz, xy, xz, yz = map(sum, zip(
        made, altered.inertia_kg_m2, inertia_of_point(-mass_kg, center)))
    return dataclasses.replace(
        body, mass_kg=mass_kg, inertia_kg_m2=(xx, yy, zz),
        inertia_products_kg_m2=(xy, xz, yz)), center
