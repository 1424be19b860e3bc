# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rotors: signs of every force and torque, and their lag."""
from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid

from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.spec.files import load_vehicle

STILL = (0.0, 0.0, 0.0)
DENSITY = 1.225                         # the reference density of the Iris
HOVER = 807.0
FRONT_RIGHT, BACK_LEFT, FRONT_LEFT, BACK_RIGHT = range(4)


def alone(index, speed=HOVER):
    """Return rotor speeds with just one rotor turning."""
    return tuple(speed if i == index else 0.0 for i in range(4))


def wrench_of(rotors, speeds, airspeed=STILL, rate=STILL, density=DENSITY):
    """Return force and torque far from the ground."""
    return rotors.wrench(speeds, airspeed, rate, density, OUT_OF_GROUND_EFFECT)[:6]


@pytest.fixture(scope='module')
def rotors(iris):
    """Return the rotors of the Iris."""
    return RotorSet(iris.rotor_model, iris.rotors)


@pytest.fixture(scope='module')
def wrench(rotors):
    """Return a function from speeds and flow to force and torque of the Iris's rotors."""
    return functools.partial(wrench_of, rotors)


def test_thrust_loss_follows_the_hub_and_damps_roll(dragless):
    """Rolling at p, a hub at y climbs at p y: its thrust is that of a rotor climbing so."""
    rotors = RotorSet(dragless.rotor_model, dragless.rotors)

    def thrust(climb):
        return wrench_of(rotors, alone(FRONT_LEFT), (0.0, 0.0, climb))[2]

    for roll_rate in (2.0, -2.0):
        moment = sum(y * thrust(roll_rate * y) for y in (0.22, 0.20, -0.22, -0.20))
        assert moment * roll_rate < 0.0
        # Hubs 23 mm above the axis also move across: 0.046 m/s, without drag no matter here.
        _, _, _, roll, _, _ = wrench_of(rotors, (HOVER,) * 4, STILL, (roll_rate, 0.0, 0.0))
        assert roll == pytest.approx(moment, rel=1e-3)


def test_rotor_drag_is_against_the_edgewise_airspeed(wrench, iris):
    """F = -c speed v_edgewise for each rotor, and it acts at the hubs: r x F."""
    coefficient = iris.rotor_model.drag_coefficient_n_s2_m
    fx, fy, _, tx, ty, _ = wrench((HOVER,) * 4, (3.0, -2.0, -1.0))
    each = coefficient * HOVER
    assert (fx, fy) == pytest.approx((-4 * each * 3.0, 4 * each * 2.0), rel=1e-12)
    assert tx == pytest.approx(-0.023 * fy, abs=1e-12)
    assert ty == pytest.approx(0.023 * fx, abs=1e-12)


def test_rolling_moment_of_one_rotor_is_against_the_spin(iris, alter):
    """-spin mu speed v_edgewise: a ccw rotor moving ahead rolls to its left."""
    def roll(index, coefficient):
        vehicle = alter(iris, rotor_model={
            'drag_coefficient_n_s2_m': 0.0, 'rolling_moment_coefficient_n_s2': coefficient})
        rotors = RotorSet(vehicle.rotor_model, vehicle.rotors)
        return wrench_of(rotors, alone(index), (4.0, 0.0, 0.0))[3]

    for index, sign in ((FRONT_RIGHT, -1.0), (FRONT_LEFT, 1.0)):
        assert roll(index, 1e-5) - roll(index, 0.0) == pytest.approx(
            sign * 1e-5 * HOVER * 4.0, rel=1e-9)


def test_all_that_the_air_does_grows_with_its_density(iris, alter):
    """Thrust, drag, rolling moment and reaction torque; not the gyroscopic moment."""
    vehicle = alter(iris, rotor_model={'inertia_kg_m2': 0.0})
    rotors = RotorSet(vehicle.rotor_model, vehicle.rotors)
    flow = (900.0, 700.0, 800.0, 600.0), (3.0, -2.0, 1.0), (0.3, 0.2, 0.1)
    thin = np.array(wrench_of(rotors, *flow, 0.5 * DENSITY))
    assert thin == pytest.approx(0.5 * np.array(wrench_of(rotors, *flow)), rel=1e-13)


@pytest.mark.parametrize('speed', [0.0, 1e-300, 1e-9])
def test_standing_rotors_do_nothing(wrench, speed):
    """Also in wind, and without a division by zero."""
    for airspeed in (STILL, (0.0, 0.0, -10.0), (0.0, 0.0, 10.0), (8.0, 0.0, -3.0)):
        assert wrench((speed,) * 4, airspeed) == (0.0,) * 6


def test_a_speed_above_the_highest_is_not_reached(on_mains, build_dynamics):
    """1100 rad/s, however much is asked."""
    dynamics = build_dynamics(on_mains)
    for _ in range(250):
        truth = dynamics.step((2000.0, 1100.0, 1000.0, 0.0))
    assert truth.rotor_speeds_rad_s == pytest.approx((1100.0, 1100.0, 1000.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(('controls', 'armed', 'expected'), [
    ((0.0, 0.5, 0.707, 1.0), True, (100.0, 600.0, 807.0, 1100.0)),
    ((1.2,) * 4, True, (1100.0,) * 4),
    ((0.5,) * 16, True, (600.0,) * 4),  # PX4 sends sixteen controls
    ((0.5,) * 4, False, (0.0,) * 4),
])
def test_command_to_speed(iris, controls, armed, expected):
    """1000 u + 100 rad/s when armed, at most 1100; 0 when disarmed."""
    assert iris.rotor_speed_references_rad_s(controls, armed) == pytest.approx(expected)


@pytest.mark.parametrize('integrator', ['rk4', 'rk45'])
def test_angles_are_the_integral_of_the_speeds_within_half_a_turn(
        on_mains, build_dynamics, integrator):
    references = 300.0, 500.0, 700.0, 900.0
    dynamics = build_dynamics(on_mains, integrator=integrator)
    truths = [dynamics.truth(), *(dynamics.step(references) for _ in range(250))]
    assert truths[0].rotor_angles_rad == (0.0,) * 4
    turned = trapezoid([t.rotor_speeds_rad_s for t in truths], dx=0.004, axis=0)
    assert turned.min() > 250.0
    assert truths[-1].rotor_angles_rad == pytest.approx(
        [math.remainder(angle, math.tau) for angle in turned], abs=1e-9)
    assert all(abs(angle) <= math.pi for t in truths for angle in t.rotor_angles_rad)


def test_a_reference_beyond_what_an_actuator_can_is_limited(build_dynamics):
    """Of a rotor that turns one way, a servo with its travel, and motors of wheels."""
    plane = dataclasses.replace(load_vehicle('plane'), battery=None)
    rover = load_vehicle('rover_differential')
    one_way, *ends = (build_dynamics(plane) for _ in range(3))
    truth = None
    for _ in range(500):
        truth = one_way.step((-1e9, *plane.rest[1:]))
    assert truth.rotor_speeds_rad_s == (0.0,)
    for sign, dynamics in zip((1.0, -1.0), ends):
        for _ in range(500):
            truth = dynamics.step((0.0, *(sign * 1e9 for _ in plane.servos)))
        assert truth.servo_angles_rad == pytest.approx(
            [servo.center_rad + sign * servo.travel_rad for servo in plane.servos])
    driven = build_dynamics(rover)
    for _ in range(500):
        driven.step((1e9, -1e9))
    assert driven.reached == pytest.approx([1.0 * m * rover.motors[0].max_speed_rad_s
                                            for m in (1, -1)])


@pytest.mark.parametrize('wild', [math.nan, math.inf, -math.inf])
def test_a_reference_that_is_not_finite_is_refused(on_mains, build_dynamics, wild):
    dynamics = build_dynamics(on_mains)
    before = dynamics.state.copy()
    with pytest.raises(RunError) as refused:
        dynamics.step((500.0, wild, 500.0, 500.0))
    assert str(refused.value) == (
        f'actuators/command: value 2 of 4 is {wild}: each must be a finite number')
    assert (dynamics.state == before).all() and dynamics.time_us == 0


def test_a_control_beyond_its_range_is_limited():
    rover, plane = load_vehicle('rover_ackermann'), load_vehicle('plane')
    for controls, limited in ((5.0, 1.0), (-5.0, -1.0)):
        for vehicle in rover, plane:
            assert vehicle.references((controls,) * 16, armed=True) == vehicle.references(
                (limited,) * 16, armed=True)
