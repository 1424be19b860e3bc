# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Standing, falling, tipping and sliding on flat ground."""
from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat
from verification import plants
from verification.ground import mechanical_energy, tilt_deg
from verification.plants import REST, STILL_TRUTH, rested

from px4_sim_ros.model.body.rotors import RotorSet
from px4_sim_ros.model.environment.ground import LEVEL, Ground
from px4_sim_ros.model.sensors.optical_flow import OpticalFlow, OpticalFlowParameters
from px4_sim_ros.model.sensors.range_finder import RangeFinder, RangeFinderParameters
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_vehicle


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
@pytest.mark.parametrize('integrator', [
    'euler', pytest.param('rk23', marks=pytest.mark.long), 'rk45'])
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


# Ground that rises: standing, sliding, lifting off, and what range finder and camera see.

SLOPE_DEG, UPHILL_DEG = 12.0, 30.0
SLOPE, UPHILL = math.radians(SLOPE_DEG), math.radians(UPHILL_DEG)
LEVEL_BODY = np.eye(3)
NORMAL = np.array([
    -math.sin(SLOPE) * math.sin(UPHILL), -math.sin(SLOPE) * math.cos(UPHILL), math.cos(SLOPE)])


@pytest.fixture
def on_slope(dragless, build_dynamics, world):
    """Return a function that lets the Iris stand on ground that slopes, without air."""
    def build(slope_deg, uphill_deg=UPHILL_DEG, vehicle=dragless):
        level = plants.uniform(world.gravity_m_s2, 1.225)
        return build_dynamics(vehicle, environment=dataclasses.replace(
            level, ground=Ground.sloping(slope_deg, uphill_deg)), ground=True)
    return build


def up_of(truth):
    """Return the body's z axis, ENU."""
    w, x, y, z = truth.attitude
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


@pytest.mark.parametrize('name', ['iris', 'x500', 'tailsitter'])
def test_stands_still_across_the_slope_from_the_first_step_on(on_slope, name):
    """As its springs let it; those along the slope hold the weight's part along it."""
    vehicle = dataclasses.replace(load_vehicle(name), battery=None)
    dynamics = on_slope(SLOPE_DEG, vehicle=vehicle)
    start = np.array(dynamics.truth().position_enu)
    for _ in range(250):
        truth = dynamics.step(vehicle.rest)
        assert np.linalg.norm(truth.velocity_flu) < 1e-5
        assert np.linalg.norm(truth.rate_flu) < 1e-4
    for _ in range(2250):
        later = dynamics.step(vehicle.rest)
    assert later.position_enu == pytest.approx(tuple(start), abs=1e-6)
    assert start - (NORMAL @ start) * NORMAL == pytest.approx(np.zeros(3), abs=1e-9)
    assert up_of(later) == pytest.approx(NORMAL, abs=0.02)
    # What an accelerometer would show: gravity in body axes.
    assert np.array(later.acceleration_flu) == pytest.approx(np.zeros(3), abs=1e-5)


def test_level_ground_is_a_slope_of_nothing(on_slope, dragless, build_dynamics):
    level = rested(build_dynamics(dragless, ground=True), 0.2)
    assert rested(on_slope(0.0), 0.2) == level
    assert Ground.sloping(0.0, 50.0) == LEVEL


def test_lifts_off_across_the_slope_and_is_free(on_slope, on_mains, world):
    """Its thrust points along the normal: it drifts downhill by T/m sin s."""
    dynamics = on_slope(SLOPE_DEG, vehicle=plants.without_drag(on_mains))
    speed = 1.2 * on_mains.hover_speed_rad_s(world.gravity_m_s2)
    dynamics.state[13:17] = speed
    dynamics.state[2] += 5.0                      # out of reach of the ground
    truth = dynamics.step((speed,) * 4)
    across, along = np.array(truth.acceleration_flu), up_of(truth)
    assert along == pytest.approx(NORMAL, abs=2e-3)      # its feet below have sunk further
    assert across[:2] == pytest.approx(
        _gravity_in_body(dynamics, world)[:2], abs=1e-6)


def _gravity_in_body(dynamics, world):
    w, x, y, z = dynamics.state[6:10]
    down = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    return -world.gravity_m_s2 * down


@pytest.fixture
def hill(world):
    return dataclasses.replace(world, ground_slope_deg=SLOPE_DEG, ground_uphill_deg=UPHILL_DEG)


def truth_at(position_enu, rotation=LEVEL_BODY, velocity_flu=(0.0, 0.0, 0.0)):
    return STILL_TRUTH._replace(
        position_enu=tuple(position_enu), attitude=tuple(mat2quat(rotation)),
        velocity_flu=velocity_flu)


def parameters_of(kind, node, **values):
    return load_configuration(None, {'': {f'instances.{node}': 1}, node: values}).of_node(
        node, kind)


def test_a_range_finder_sees_the_plane_along_its_beam(hill):
    """The ray p + t d meets n . x = 0 at t = -(n . p) / (n . d)."""
    parameters = parameters_of(
        RangeFinderParameters, 'range_finder', noise_m=0.0, field_of_view_deg=0.0,
        position_m=[0.0, 0.0, 0.0], max_range_m=100.0, min_range_m=0.01)
    finder = RangeFinder('range_finder', parameters, hill)
    place = np.array([3.0, -4.0, 12.0])
    for rotation in np.eye(3), axangle2mat([1.0, 0.5, 0.2], 0.3):
        beam = rotation @ [0.0, 0.0, -1.0]
        expected = -(NORMAL @ place) / (NORMAL @ beam)
        found = finder.measure(truth_at(place, rotation)).range_m
        assert found == pytest.approx(expected, rel=1e-6)       # of 32 bits


def test_optical_flow_is_that_of_the_plane(hill):
    """Along the optical axis of a level camera the ground is as far as the beam is long."""
    parameters = parameters_of(
        OpticalFlowParameters, 'optical_flow', noise_rad_s=0.0, position_m=[0.0, 0.0, 0.0],
        max_distance_m=100.0)
    camera = OpticalFlow('optical_flow', parameters, hill)
    place = np.array([0.0, 0.0, 10.0]) + 20.0 * np.array([math.sin(UPHILL), math.cos(UPHILL), 0.0])
    distance = 10.0 - 20.0 * math.tan(SLOPE)
    flow = camera.measure(truth_at(place, velocity_flu=(1.0, 0.5, 0.0)))
    assert flow.rate_flu == pytest.approx((0.5 / distance, -1.0 / distance, 0.0), rel=1e-9)


def test_start_is_on_the_ground_wherever_it_is(build_dynamics, dragless, world):
    """The feet of a vehicle that starts uphill of home are at height 0 across the plane."""
    environment = dataclasses.replace(
        plants.uniform(world.gravity_m_s2, 1.225), ground=Ground.sloping(SLOPE_DEG, UPHILL_DEG))
    home = build_dynamics(dragless, environment=environment, ground=True)
    there = build_dynamics(dragless, environment=environment, ground=True, start_east_m=10.0,
                           start_north_m=-5.0, start_heading_deg=200.0)
    for dynamics in home, there:
        rested(dynamics, 0.5)
    heights = [NORMAL @ np.array(d.truth().position_enu) for d in (home, there)]
    assert heights[1] == pytest.approx(heights[0], abs=1e-6)
