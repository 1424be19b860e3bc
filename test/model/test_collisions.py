# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two vehicles that collide: momentum, energy and speeds by the laws of impact."""
import dataclasses
import itertools
import math

import numpy as np
import pytest
from verification.plants import build, dragless_iris, reference_air

from px4_sim_ros.model.collisions import Hull, force_n, forces_n

STEP_S = 0.004


class Pair:
    """Vehicles in free space, each with its own motion, as a fleet steps them."""

    def __init__(self, *begins, masses=(1.5, 2.5), restitution=1.0, integrator='rk4'):
        self.restitution, self.all = restitution, []
        for mass, (place, velocity) in zip(masses, begins):
            vehicle = dragless_iris()
            vehicle = dataclasses.replace(
                vehicle, body=dataclasses.replace(vehicle.body, mass_kg=mass))
            its = build(vehicle, reference_air(vehicle, 0.0), integrator=integrator)
            its.state[:3], its.state[3:6] = place, velocity
            self.all.append(its)

    @property
    def hulls(self):
        return [its.hull(0.4) for its in self.all]

    def step(self):
        forces = forces_n(self.hulls, self.restitution, STEP_S)
        for i, its in enumerate(self.all):
            its.step((0.0,) * 4, push_enu=forces.get(i))

    def momentum(self):
        return sum(h.mass_kg * np.array(h.velocity_enu) for h in self.hulls)

    def angular_momentum(self):
        return sum(h.mass_kg * np.cross(h.position_enu, h.velocity_enu) for h in self.hulls)

    def energies_j(self):
        """Return kinetic energy, and with what springs hold."""
        hulls = self.hulls
        kinetic = sum(0.5 * h.mass_kg * np.dot(h.velocity_enu, h.velocity_enu) for h in hulls)
        stored = sum(
            0.5 * one[4] * other[4] / (one[4] + other[4]) * max(
                0.0, one.radius_m + other.radius_m - math.dist(one[0], other[0])) ** 2
            for one, other in itertools.combinations(hulls, 2))
        return kinetic, kinetic + stored


HEAD_ON = ((0.0, 0.0, 0.0), (3.0, 0.0, 0.0)), ((1.5, 0.0, 0.0), (-1.0, 0.0, 0.0))
ASIDE = ((0.0, 0.0, 0.0), (3.0, 0.5, 0.2)), ((1.5, 0.45, -0.2), (-2.0, 0.0, 0.0))


@pytest.mark.parametrize('integrator', ['rk4', 'rk45'])
def test_head_on_they_part_as_elastic_balls_do(integrator):
    """v1 = ((m1 - m2) u1 + 2 m2 u2) / (m1 + m2), and the other way round."""
    pair = Pair(*HEAD_ON, integrator=integrator)
    for _ in range(200):
        pair.step()
    (m1, m2), (u1, u2) = (1.5, 2.5), (3.0, -1.0)
    assert [h.velocity_enu[0] for h in pair.hulls] == pytest.approx([
        ((m1 - m2) * u1 + 2.0 * m2 * u2) / (m1 + m2),
        ((m2 - m1) * u2 + 2.0 * m1 * u1) / (m1 + m2)], abs=1e-9)


@pytest.mark.parametrize('restitution', [1.0, 0.6, 0.3, 0.0])
@pytest.mark.parametrize('begins', [HEAD_ON, ASIDE])
def test_momentum_is_kept_and_no_energy_gained(begins, restitution):
    pair = Pair(*begins, restitution=restitution)
    momentum, turning, energies = pair.momentum(), pair.angular_momentum(), [pair.energies_j()]
    for _ in range(300):
        pair.step()
        assert pair.momentum() == pytest.approx(momentum, abs=1e-9)
        assert pair.angular_momentum() == pytest.approx(turning, abs=1e-9)
        energies.append(pair.energies_j())
    whole = np.array([its[1] for its in energies])
    assert np.diff(whole).max() < 1e-12 * whole[0]
    # In the frame of both: the share e^2 is left, and of the step in which they turn all.
    if begins is HEAD_ON:
        reduced, k = 1.5 * 2.5 / 4.0, 0.5 * pair.hulls[0].stiffness_n_m
        before, lost = 0.5 * reduced * 16.0, energies[0][0] - energies[-1][0]
        full = (1.0 - restitution ** 2) * before
        assert (1.0 - k / reduced * STEP_S ** 2) * full - 1e-9 < lost < full + 1e-9
    else:
        assert (energies[-1][0] < 0.99 * energies[0][0]) == (restitution < 1.0)
    if restitution == 1.0:
        assert energies[-1][0] == pytest.approx(energies[0][0], rel=1e-9)


def test_how_deep_and_how_long():
    """As a spring between two: v sqrt(m / k), and half its period."""
    pair, depths = Pair(*HEAD_ON), []
    for _ in range(300):
        pair.step()
        one, other = pair.hulls
        depths.append(0.8 - math.dist(one[0], other[0]))
    reduced, k = 1.5 * 2.5 / 4.0, 0.5 * pair.hulls[0].stiffness_n_m
    assert max(depths) == pytest.approx(4.0 * math.sqrt(reduced / k), rel=5e-3)
    assert sum(d > 0.0 for d in depths) * STEP_S == pytest.approx(
        math.pi * math.sqrt(reduced / k), abs=1.5 * STEP_S)


@pytest.mark.parametrize(('gap', 'velocity'), [
    (-0.1, (2.0, 0.0, 0.0)), (-0.1, (-2.0, 1.0, 0.0)), (-0.05, (0.0, 0.0, 0.0)),
    (0.004, (3.0, -2.0, 1.0)), (-0.002, (-4.0, 0.0, 2.0)), (0.0, (1.0, 0.0, 0.0))])
def test_the_work_of_a_step_is_what_the_spring_takes_up(gap, velocity):
    """Within, on the way in and on the way out."""
    one = Hull((0.0, 0.0, 0.0), velocity, 1.5, 0.4, 1900.0)
    other = Hull((0.7 + gap, 0.0, 0.0), (0.0, 0.0, 0.0), 1e9, 0.3, 1700.0)
    k, force = 1900.0 * 1700.0 / 3600.0, np.array(force_n(one, other, 1.0, STEP_S))
    way = np.array(velocity) * STEP_S + force * STEP_S ** 2 / 2.0 * (1.0 / 1.5 + 1e-9)
    end = math.dist(way, other.position_enu) - 0.7
    assert force[0] < 0.0
    assert float(force @ way) == pytest.approx(
        0.5 * k * (min(gap, 0.0) ** 2 - min(end, 0.0) ** 2), rel=1e-9, abs=1e-12)


def test_apart_and_away_there_is_none():
    far, near = Hull((9.0, 0.0, 0.0), (0.0,) * 3, 1.0, 0.4, 1900.0), Hull(
        (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1.0, 0.4, 1900.0)
    assert forces_n([near, far], 0.3, STEP_S) == {} == forces_n([near], 0.3, STEP_S)
    slow = near._replace(position_enu=(0.801, 0.0, 0.0), velocity_enu=(0.8, 0.0, 0.0))
    assert forces_n([near, slow], 0.3, STEP_S) == {}
    same = forces_n([near, near], 0.3, STEP_S)
    assert same[0] == (0.0, 0.0, -same[1][2]) and same[0][2] > 0.0


def test_several_at_once_keep_momentum_and_gain_next_to_no_energy():
    """Five that fly at each other: of pairs the energy is exact, of three at once not."""
    random = np.random.default_rng(44)
    for _ in range(10):
        begins = [(random.uniform(-1.0, 1.0, 3), random.uniform(-4.0, 4.0, 3)) for _ in range(5)]
        group = Pair(*begins, masses=random.uniform(0.5, 4.0, 5), restitution=0.9)
        momentum, (_, energy) = group.momentum(), group.energies_j()
        for _ in range(100):
            group.step()
            assert group.energies_j()[1] < energy * (1.0 + 1e-4)
        assert group.momentum() == pytest.approx(momentum, abs=1e-9)
