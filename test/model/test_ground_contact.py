# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Standing, falling, tipping and sliding on flat ground."""
from __future__ import annotations

import math
import random

import pytest
from scipy.integrate import solve_ivp
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat
from verification.ground import mechanical_energy, tilt_deg
from verification.plants import REST, rested

from px4_sim_ros.model.body.rotors import RotorSet


@pytest.fixture
def grounded(iris, build_dynamics):
    """Return the Iris standing on the ground."""
    return build_dynamics(iris, ground=True)


def thrown(dynamics, generator):
    """Give the vehicle a random height, tilt, velocity and turn."""
    dynamics.state[2] += generator.uniform(0.0, 3.0)
    dynamics.state[3:6] = [generator.uniform(-3.0, 3.0) for _ in range(3)]
    axis = [generator.uniform(-1.0, 1.0) for _ in range(3)]
    attitude = mat2quat(axangle2mat(axis, generator.uniform(0.0, 0.7)))
    dynamics.state[6:10] = attitude.tolist()
    dynamics.state[10:13] = [generator.uniform(-4.0, 4.0) for _ in range(3)]


@pytest.mark.parametrize('case', range(12))
def test_energy_never_grows_when_thrown(grounded, iris, world, case):
    """Springs, dampers and friction only take energy: each step, thrown at random.

    The tolerance of 1e-12 J is rounding: sums of about 20 J have a last bit of 4e-15 J.
    """
    thrown(grounded, random.Random(case))
    energy = mechanical_energy(grounded, iris, world.gravity_m_s2)
    for _ in range(3 * 250):
        grounded.step(REST)
        after = mechanical_energy(grounded, iris, world.gravity_m_s2)
        assert after <= energy + 1e-12
        energy = after


@pytest.fixture
def pushed(dragless, build_dynamics, world):
    """Return the Iris without air on the ground, and the largest push that friction holds."""
    dynamics = build_dynamics(dragless, ground=True)
    friction = dragless.contact_model.friction_coefficient
    return dynamics, friction * dragless.body.mass_kg * world.gravity_m_s2


@pytest.mark.parametrize('share', [0.3, 0.9])
def test_does_not_creep_under_a_push_below_friction(pushed, share):
    """The springs give by millimetres, then nothing moves for 20 s."""
    dynamics, limit = pushed
    dynamics.force_enu = (share * limit, 0.0, 0.0)
    after_1_s = rested(dynamics, 1.0).position_enu
    assert math.hypot(*after_1_s[:2]) < 5e-3
    assert rested(dynamics, 20.0).position_enu == pytest.approx(after_1_s, abs=1e-9)


@pytest.mark.parametrize('share', [1.2, 1.5])
def test_slides_under_a_push_above_friction(pushed, dragless, share):
    """Coulomb: the speed grows by (F - mu m g) / m."""
    dynamics, limit = pushed
    dynamics.force_enu = (share * limit, 0.0, 0.0)
    before = rested(dynamics, 1.0).velocity_flu[0]
    gain = rested(dynamics, 1.0).velocity_flu[0] - before
    assert gain == pytest.approx((share - 1.0) * limit / dragless.body.mass_kg, rel=1e-3)


def test_slides_to_a_stop_within_the_friction_distance(dragless, build_dynamics, world):
    """From 2 m/s: v^2 / (2 mu g), within 1 cm for the springs' give."""
    dynamics = build_dynamics(dragless, ground=True)
    dynamics.state[3] = 2.0
    distance = 2.0 ** 2 / (2 * dragless.contact_model.friction_coefficient * world.gravity_m_s2)
    truth = rested(dynamics, 3.0)
    assert truth.position_enu[0] == pytest.approx(distance, abs=0.01)
    assert truth.velocity_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_lifts_off_without_being_held(on_mains, build_dynamics, world):
    """The ground never pulls: it rises as z'' = T / m - g says, from 1.5 times the hover thrust.

    Ground effect and the loss of thrust in climb make the second writing an integral, too.
    """
    g, model = world.gravity_m_s2, on_mains.rotor_model
    dynamics = build_dynamics(on_mains, ground=True)
    speed = math.sqrt(1.5) * on_mains.hover_speed_rad_s(g)
    dynamics.state[13:] = [speed] * 4
    alone = RotorSet(model, on_mains.rotors)

    def rise(_, x):
        height, climb = x
        thrust = alone.wrench(
            (speed,) * 4, (0.0, 0.0, climb), (0.0,) * 3, 1.225, (height, 0.0, 0.0, 1.0))[2]
        return climb, thrust / on_mains.body.mass_kg - g

    for _ in range(25):
        truth = dynamics.step((speed,) * 4)
    expected = solve_ivp(rise, (0.0, 0.1), (0.055, 0.0), rtol=1e-9, atol=1e-9).y[0, -1]
    assert expected > 0.055 + 0.5 * 0.5 * g * 0.1 ** 2
    assert truth.position_enu[2] == pytest.approx(expected, abs=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize('integrator', ['euler', 'rk23', 'rk45'])
def test_every_integrator_stands_falls_and_tips(iris, build_dynamics, integrator):
    """At rest for 60 s; dropped from 1 m; let go at 20 deg: as the checks have it with rk4."""
    def grounded():
        return build_dynamics(iris, ground=True, integrator=integrator)

    dynamics = grounded()
    start = dynamics.truth().position_enu
    truth = rested(dynamics, 60.0)
    assert math.dist(truth.position_enu, start) < 1e-3
    assert tilt_deg(truth.attitude) < 0.1

    dynamics = grounded()
    dynamics.state[2] += 1.0
    truth = rested(dynamics, 4.0)
    assert truth.position_enu[2] == pytest.approx(start[2], abs=1e-4)
    assert truth.velocity_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-4)

    dynamics = grounded()
    matrix = axangle2mat((1, 1, 0), math.radians(20.0))
    dynamics.state[6:10] = mat2quat(matrix).tolist()
    dynamics.state[2] = -min((matrix @ p)[2] for p in iris.contact_points_m)
    assert tilt_deg(rested(dynamics, 3.0).attitude) < 0.1


def test_wind_does_not_push_it_along(grounded):
    """10 m/s press 1.8 N on it, and friction holds 10 N."""
    start = grounded.truth().position_enu
    for _ in range(250 * 10):
        truth = grounded.step(REST, (10.0, 0.0, 0.0))
    assert math.dist(truth.position_enu, start) < 2e-3
    assert truth.velocity_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
