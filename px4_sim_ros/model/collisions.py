# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that collide: what two spheres do to each other.

Each vehicle is a sphere around its centre of mass that holds its rotors and feet, with the spring
of its feet; those of two are in series. Both sides have the same number from the same state,
that at the begin of a step, in which the force is constant: momentum is conserved. It is a discrete
gradient (Gonzalez 1996, Time integration and discrete Hamiltonian systems): with r from one to the
other before the step and r' after it by this force, R the sum of the radii, k the spring and n
along r + r'

    U(r) = k max(R - |r|, 0)^2 / 2,   N = -|r + r'| (U(r') - U(r)) / (|r'|^2 - |r|^2)

Its work is what the spring gives, also in the steps in which they meet and part. (Of three at once
energy is conserved but for some millionths.) On the way out the spring has the share e^2, for which
they part with the share e of the speed, the restitution; of the step in which they turn it has all.

Friction is Coulomb's, against the sliding u where they touch, with K what a force for a second
changes of the speed there: at most what ends the sliding in this step, so its work
T F (u + T K F / 2) is never above zero.

    F = -min(mu N, |u| / (T u K u / |u|^2)) u / |u|,   at n |r + r'| / 2, shared as the radii

So the torques on both, F x (r + v T / 2) in these shares, take what the orbits lose of angular
momentum.
"""
from __future__ import annotations

import collections
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import (
    cross,
    difference,
    dot,
    matrix,
    scaled,
    to_body,
    to_world,
    total,
)

_HALVINGS = 60
_ROUNDS = 4            # friction moves the normal by a ten-thousandth, and that friction as little

Push = tuple[float, ...]
"""A force (N) on the centre of mass and a torque (N m), ENU: six numbers."""


class Hull(typing.NamedTuple):
    """A vehicle as the others meet it."""

    position_enu: Vector       # of its centre of mass, m
    velocity_enu: Vector
    attitude: Quaternion
    rate_flu: Vector
    mass_kg: float
    inverse_inertia: tuple[float, ...]     # 1/(kg m^2), in FLU: x, y, z, xy, xz, yz
    radius_m: float
    stiffness_n_m: float
    friction_coefficient: float

    def turning_enu(self, arm: Vector) -> Vector:
        """Return the velocity at a place from its centre of mass, as it turns."""
        return cross(to_world(matrix(self.attitude), self.rate_flu), arm)

    def mobility(self, arm: Vector, direction: Vector) -> float:
        """Return the change of speed there by an impulse at such a place, 1/kg."""
        x, y, z = to_body(matrix(self.attitude), cross(arm, direction))
        xx, yy, zz, xy, xz, yz = self.inverse_inertia
        return 1.0 / self.mass_kg + (xx * x * x + yy * y * y + zz * z * z
                                     + 2.0 * (xy * x * y + xz * x * z + yz * y * z))


def pushes(
    hulls: typing.Sequence[Hull], restitution: float, step_s: float,
) -> dict[int, Push]:
    """Return force and torque in the next step on each that collides."""
    found: dict[int, Push] = {}
    near = list(_near(hulls, step_s))
    partners = collections.Counter(i for pair in near for i in pair)
    for pair in near:
        (i, j), crowd = pair, (partners[pair[0]], partners[pair[1]])
        force, torques = contact(hulls[i], hulls[j], restitution, step_s, crowd)
        if any(force):
            for its, way, torque in (i, force, torques[0]), (j, scaled(-1.0, force), torques[1]):
                found[its] = tuple(map(sum, zip(found.get(its, (0.0,) * 6), (*way, *torque))))
    return found


def _half_mean(one: float, other: float) -> float:
    """Return half the harmonic mean: of springs in series, and the reduced mass."""
    return one * other / (one + other)


def _near(hulls: typing.Sequence[Hull], step_s: float) -> typing.Iterator[tuple[int, int]]:
    """Yield the pairs that may overlap in the next step."""
    if len(hulls) < 2:
        return
    places, velocities, radii = (
        np.array([hull[k] for hull in hulls]) for k in (0, 1, 6))
    one, other = np.triu_indices(len(hulls), 1)
    away = np.linalg.norm(places[one] - places[other], axis=1)
    closer = step_s * np.linalg.norm(velocities[one] - velocities[other], axis=1)
    near = away < radii[one] + radii[other] + closer
    yield from zip(one[near].tolist(), other[near].tolist())


def contact(
    one: Hull, other: Hull, restitution: float, step_s: float, crowd: tuple[int, int] = (1, 1),
) -> tuple[Vector, tuple[Vector, Vector]]:
    """Return the force on the first of two in the next step, and the torques on both, ENU.

    :param crowd: how many each may touch at once: all of them together end its sliding
    """
    apart = difference(one.position_enu, other.position_enu)
    velocity = difference(one.velocity_enu, other.velocity_enu)
    middle = total(apart, scaled(0.5 * step_s, velocity))
    per_n = step_s * step_s / (2.0 * _half_mean(one.mass_kg, other.mass_kg))
    share = one.radius_m / (one.radius_m + other.radius_m)
    grip = math.sqrt(one.friction_coefficient * other.friction_coefficient)
    friction = force = 0.0, 0.0, 0.0
    for _ in range(_ROUNDS if grip else 1):
        between = total(middle, scaled(0.5 * per_n, friction))
        half = math.hypot(*between)
        normal = scaled(1.0 / half, between) if half > 0.0 else (0.0, 0.0, 1.0)    # any
        force_n = _normal_n(one, other, restitution, math.hypot(*apart), half,
                            step_s * dot(velocity, normal), per_n)
        if force_n == 0.0:
            return (0.0, 0.0, 0.0), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        arm_m = half + 0.5 * per_n * force_n
        arms = scaled(-share * arm_m, normal), scaled((1.0 - share) * arm_m, normal)
        there = total(velocity, difference(one.turning_enu(arms[0]), other.turning_enu(arms[1])))
        sliding = difference(there, scaled(dot(there, normal), normal))
        speed = math.hypot(*sliding)
        if speed > 0.0:
            against = scaled(-1.0 / speed, sliding)
            friction = scaled(min(grip * force_n, speed / (step_s * sum(
                n * its.mobility(arm, against)
                for n, its, arm in zip(crowd, (one, other), arms)))), against)
        force = total(scaled(force_n, normal), friction)
    torque = cross(force, middle)
    return force, (scaled(share, torque), scaled(1.0 - share, torque))


def _normal_n(
    one: Hull, other: Hull, restitution: float, before: float, half: float, parting: float,
    per_n: float,
) -> float:
    """Return the force along the normal.

    :param before: how far they are apart at the begin of the step, m
    :param half: and on average, without this force
    :param parting: by how much they part along the normal without it, m
    :param per_n: and by how much more for each newton of it
    """
    reach = one.radius_m + other.radius_m
    k = _half_mean(one.stiffness_n_m, other.stiffness_n_m) * (
        restitution * restitution if parting > 0.0 else 1.0)

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
        return 0.0
    least, most = 0.0, k * reach
    for _ in range(_HALVINGS):
        force = 0.5 * (least + most)
        least, most = (force, most) if needed(force) > force else (least, force)
    return 0.5 * (least + most)
