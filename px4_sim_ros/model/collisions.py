# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that collide: what two spheres do to each other.

Each vehicle is a smooth sphere around its centre of mass that holds its rotors and feet, with the
spring of its feet; those of two are in series. Both sides have the same number from the same state,
that at the begin of a step, in which the force is constant: momentum is conserved. It is a discrete
gradient (Gonzalez 1996, Time integration and discrete Hamiltonian systems): with r from one to the
other before the step and r' after it by this force, v = r'(t), m the reduced mass, R the sum of
the radii and k the spring

    U(r) = k max(R - |r|, 0)^2 / 2,   F = -(r + r') (U(r') - U(r)) / (|r'|^2 - |r|^2)

So it is along r + v T / 2, and the angular momentum of both is conserved; its work is what the
spring gives, also in the steps in which they meet and part, so energy is. (Of three at once energy
is, but for some millionths.) On the way out the spring
has the share e^2, for which they part with the share e of the speed, the restitution; of the step
in which they turn it has all.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import difference, dot, scaled, total

_HALVINGS = 60


class Hull(typing.NamedTuple):
    """A vehicle as the others meet it."""

    position_enu: Vector       # of its centre of mass, m
    velocity_enu: Vector
    mass_kg: float
    radius_m: float
    stiffness_n_m: float


def forces_n(
    hulls: typing.Sequence[Hull], restitution: float, step_s: float,
) -> dict[int, Vector]:
    """Return the force in the next step on each that collides, ENU."""
    found: dict[int, Vector] = {}
    for i, j in _near(hulls, step_s):
        force = force_n(hulls[i], hulls[j], restitution, step_s)
        if any(force):
            found[i] = total(found.get(i, (0.0, 0.0, 0.0)), force)
            found[j] = difference(found.get(j, (0.0, 0.0, 0.0)), force)
    return found


def _half_mean(one: float, other: float) -> float:
    """Return half the harmonic mean: of springs in series, and the reduced mass."""
    return one * other / (one + other)


def _near(hulls: typing.Sequence[Hull], step_s: float) -> typing.Iterator[tuple[int, int]]:
    """Yield the pairs that may overlap in the next step."""
    if len(hulls) < 2:
        return
    places, velocities, radii = (np.array([hull[k] for hull in hulls]) for k in (0, 1, 3))
    one, other = np.triu_indices(len(hulls), 1)
    away = np.linalg.norm(places[one] - places[other], axis=1)
    closer = step_s * np.linalg.norm(velocities[one] - velocities[other], axis=1)
    near = away < radii[one] + radii[other] + closer
    yield from zip(one[near].tolist(), other[near].tolist())


def force_n(one: Hull, other: Hull, restitution: float, step_s: float) -> Vector:
    """Return the force on the first of two in the next step, ENU."""
    away = difference(one.position_enu, other.position_enu)
    way = scaled(step_s, difference(one.velocity_enu, other.velocity_enu))
    middle = total(away, scaled(0.5, way))
    half = math.hypot(*middle)
    normal = scaled(1.0 / half, middle) if half > 0.0 else (0.0, 0.0, 1.0)    # any
    parting = dot(way, normal)
    reach, before = one.radius_m + other.radius_m, math.hypot(*away)
    k = _half_mean(one.stiffness_n_m, other.stiffness_n_m) * (
        restitution * restitution if parting > 0.0 else 1.0)
    per_n = step_s * step_s / (2.0 * _half_mean(one.mass_kg, other.mass_kg))

    def needed(force: float) -> float:
        """Return the force for which the spring has what this one takes."""
        mean = half + 0.5 * per_n * force
        after = math.sqrt(max(0.0, before * before + 2.0 * mean * (parting + per_n * force)))
        d0, d1 = reach - before, reach - after
        if min(d0, d1) >= 0.0:
            slope = 0.5 * (d0 + d1)
        elif max(d0, d1) <= 0.0:
            return 0.0
        else:
            slope = 0.5 * max(d0, d1) ** 2 / abs(d1 - d0)
        return k * slope * (2.0 * mean / (before + after) if before + after > 0.0 else 1.0)

    if needed(0.0) == 0.0:
        return 0.0, 0.0, 0.0
    least, most = 0.0, k * reach
    for _ in range(_HALVINGS):
        force = 0.5 * (least + most)
        least, most = (force, most) if needed(force) > force else (least, force)
    return scaled(0.5 * (least + most), normal)
