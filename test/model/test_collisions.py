# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two vehicles that collide: momentum, energy and speeds by the laws of impact."""
import dataclasses
import itertools
import math

import numpy as np
import pytest
from verification.plants import build, dragless_iris, reference_air

from px4_sim_ros.model.collisions import Hull, contact, pushes
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.block import BlockConfiguration
from px4_sim_ros.step.dynamics_block import DynamicsBlock
from px4_sim_ros.step.graph import COLLISION

STEP_S = 0.004
RADII = 0.5, 0.3
ROUND = 0.02, 0.02, 0.02       # kg m^2
STILL = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


def inertia(hull):
    return np.diag([1.0 / its for its in hull.inverse_inertia[:3]])


def ball(place, velocity, mass, radius, stiffness):
    """Return a smooth sphere that does not turn."""
    return Hull(place, velocity, *STILL, mass, (50.0,) * 3 + (0.0,) * 3, radius, stiffness, 0.0)


class Pair:
    """Vehicles in free space, each with its own motion, as a fleet steps them."""

    def __init__(self, *begins, masses=(1.5, 2.5), restitution=1.0, integrator='rk4', mu=0.0,
                 inertia=None, rates=((0.0, 0.0, 0.0),) * 2, stiffness=None, substeps=1):
        self.restitution, self.all = restitution, []
        for i, (mass, (place, velocity)) in enumerate(zip(masses, begins)):
            vehicle = dragless_iris()
            body, contact_model = vehicle.body, vehicle.contact_model
            vehicle = dataclasses.replace(
                vehicle, body=dataclasses.replace(
                    body, mass_kg=mass, inertia_kg_m2=inertia or body.inertia_kg_m2),
                contact_model=dataclasses.replace(
                    contact_model, friction_coefficient=mu,
                    stiffness_n_m=stiffness or contact_model.stiffness_n_m))
            its = build(vehicle, reference_air(vehicle, 0.0), integrator=integrator,
                        substeps=substeps)
            its.state[:3], its.state[3:6], its.state[10:13] = place, velocity, rates[i % 2]
            self.all.append(its)

    @property
    def hulls(self):
        return [its.hull(radius) for its, radius in zip(self.all, itertools.cycle(RADII))]

    def step(self):
        found = pushes(self.hulls, self.restitution, STEP_S)
        for i, its in enumerate(self.all):
            push = found.get(i, ())
            its.spin(push[3:])
            its.step((0.0,) * 4, push_enu=push[:3] or None)

    def momentum(self):
        return sum(h.mass_kg * np.array(h.velocity_enu) for h in self.hulls)

    def angular_momentum(self):
        return sum(h.mass_kg * np.cross(h.position_enu, h.velocity_enu) + spin
                   for h, spin in zip(self.hulls, self.spins()))

    def spins(self):
        """Return the angular momentum of each about its centre of mass, ENU."""
        return [np.array(to_world(matrix(h.attitude), tuple(inertia(h) @ h.rate_flu)))
                for h in self.hulls]

    def energies_j(self):
        """Return kinetic energy, and with what springs hold."""
        hulls = self.hulls
        kinetic = sum(0.5 * h.mass_kg * np.dot(h.velocity_enu, h.velocity_enu)
                      + 0.5 * np.array(h.rate_flu) @ inertia(h) @ h.rate_flu for h in hulls)
        stored = sum(
            0.5 / (1.0 / one.stiffness_n_m + 1.0 / other.stiffness_n_m) * max(
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
    one = ball((0.0, 0.0, 0.0), velocity, 1.5, 0.4, 1900.0)
    other = ball((0.7 + gap, 0.0, 0.0), (0.0, 0.0, 0.0), 1e9, 0.3, 1700.0)
    k, force = 1900.0 * 1700.0 / 3600.0, np.array(contact(one, other, 1.0, STEP_S)[0])
    way = np.array(velocity) * STEP_S + force * STEP_S ** 2 / 2.0 * (1.0 / 1.5 + 1e-9)
    end = math.dist(way, other.position_enu) - 0.7
    assert force[0] < 0.0
    assert float(force @ way) == pytest.approx(
        0.5 * k * (min(gap, 0.0) ** 2 - min(end, 0.0) ** 2), rel=1e-9, abs=1e-12)


def test_apart_and_away_there_is_none():
    far, near = ball((9.0, 0.0, 0.0), (0.0,) * 3, 1.0, 0.4, 1900.0), ball(
        (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1.0, 0.4, 1900.0)
    assert pushes([near, far], 0.3, STEP_S) == {} == pushes([near], 0.3, STEP_S)
    slow = near._replace(position_enu=(0.801, 0.0, 0.0), velocity_enu=(0.8, 0.0, 0.0))
    assert pushes([near, slow], 0.3, STEP_S) == {}
    same = pushes([near, near], 0.3, STEP_S)
    assert same[0] == (0.0, 0.0, -same[1][2], 0.0, 0.0, 0.0) and same[0][2] > 0.0


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


SPINNING = (3.0, -5.0, 8.0), (-6.0, 2.0, 4.0)


def test_what_acts_on_two_keeps_both_momenta_to_rounding():
    """F1 = -F2, and what both torques add to the spins the force takes from the orbits."""
    random = np.random.default_rng(44)
    met = 0
    for _ in range(300):
        place, one_way, other_way, *rates = random.uniform(-1.0, 1.0, (5, 3))
        hulls = [ball((0.0, 0.0, 0.0), tuple(4.0 * one_way), 1.5, 0.5, 1900.0),
                 ball(tuple(0.6 * place), tuple(4.0 * other_way), 2.5, 0.3, 1700.0)]
        hulls = [its._replace(friction_coefficient=random.uniform(0.1, 1.0),
                              rate_flu=tuple(9.0 * rate)) for its, rate in zip(hulls, rates)]
        force, torques = map(np.array, contact(*hulls, 0.3, STEP_S))
        found = pushes(hulls, 0.3, STEP_S)
        met += bool(found)
        middle = np.array(hulls[0].position_enu) - hulls[1].position_enu + 0.5 * STEP_S * (
            np.array(hulls[0].velocity_enu) - hulls[1].velocity_enu)
        size = np.linalg.norm(force)
        assert np.cross(middle, force) + torques.sum(axis=0) == pytest.approx(
            np.zeros(3), abs=1e-15 * size + 1e-15)
        if found:
            assert np.add(found[0][:3], found[1][:3]) == pytest.approx(np.zeros(3), abs=0.0)
    assert met > 100


@pytest.mark.parametrize('mu', [0.2, 0.7, 5.0])
@pytest.mark.parametrize('inertia', [ROUND, None])
def test_with_friction_both_momenta_are_kept_and_energy_only_lost(mu, inertia):
    """In the motion as well, whose substeps are small, and of bodies that are not round."""
    for rates in ((0.0, 0.0, 0.0),) * 2, SPINNING:
        pair = Pair(*ASIDE, mu=mu, inertia=inertia, rates=rates, substeps=40)
        momentum, turning, energies = pair.momentum(), pair.angular_momentum(), []
        for _ in range(200):
            energies.append(pair.energies_j()[1])
            pair.step()
            assert pair.momentum() == pytest.approx(momentum, abs=1e-11)
            assert pair.angular_momentum() == pytest.approx(turning, abs=1e-11)
        assert np.diff(energies).max() < 1e-12 * energies[0]
        assert energies[-1] < energies[0] - 0.1


def test_a_glancing_hit_spins_both_as_the_formula_says():
    """Sliding throughout: J_t = mu J_n; else it ends, J_t = u / (1/m1 + R1^2/I + 1/m2 + R2^2/I)."""
    (m1, m2), (r1, r2) = (1.5, 2.5), RADII
    i, fast, slow = ROUND[0], 2.0, 1.0     # kg m^2, m/s
    begins = ((0.0, 0.0, 0.0), (slow, fast, 0.0)), ((0.8 + 1e-4, 0.0, 0.0), (0.0, 0.0, 0.0))
    normal = 2.0 * slow / (1.0 / m1 + 1.0 / m2)
    ends = fast / (1.0 / m1 + r1 * r1 / i + 1.0 / m2 + r2 * r2 / i)
    for mu, tangential in (0.02, 0.02 * normal), (3.0, ends):
        pair = Pair(*begins, mu=mu, inertia=ROUND, stiffness=4e6)
        for _ in range(20):
            pair.step()
        one, other = pair.hulls
        for hull, radius in (one, r1), (other, r2):
            assert hull.rate_flu == pytest.approx((0.0, 0.0, -radius * tangential / i), rel=0.02)


def test_a_recording_of_version_9_has_forces_alone_and_pushes_by_them():
    """A block of the motion takes them, and those with a torque; once that is over it is gone."""
    its = load_configuration(None, {'': {'collisions': True}})
    block = DynamicsBlock(BlockConfiguration(
        'dynamics', its.graph, its.world, its.vehicle, its.nodes['dynamics']))
    rates, velocities = [], []
    for push in (30.0, 0.0, 600.0), (0.0, 0.0, 0.0, 0.0, 0.0, 2.0), ():
        block.step(block.dynamics.time_us + 4000, {COLLISION: push})
        x = block.dynamics.state
        rates.append(x[12])
        velocities.append(x[3])
    inertia_z = 1.0 / block.dynamics.hull(0.4).inverse_inertia[2]
    assert velocities[0] > 0.5 * STEP_S * 30.0 / 1.5 and abs(rates[0]) < 1e-3
    assert rates[1] - rates[0] == pytest.approx(STEP_S * 2.0 / inertia_z, rel=0.02)
    assert rates[2] == pytest.approx(rates[1], rel=0.02)


def test_a_crowd_gains_no_energy_by_friction():
    random = np.random.default_rng(7)
    for _ in range(10):
        begins = [(random.uniform(-1.0, 1.0, 3), random.uniform(-4.0, 4.0, 3)) for _ in range(6)]
        group = Pair(*begins, masses=random.uniform(0.5, 4.0, 6), restitution=0.9, mu=2.0,
                     rates=SPINNING)
        momentum, energies = group.momentum(), []
        for _ in range(100):
            energies.append(group.energies_j()[1])
            group.step()
        assert np.diff(energies).max() < 1e-6 * energies[0]
        assert group.momentum() == pytest.approx(momentum, abs=1e-9)
