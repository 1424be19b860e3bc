# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The controller: signs, limits, and rotor commands that do what is asked of them."""
from __future__ import annotations

import dataclasses
import math
import types

import numpy as np
import pytest
from law import SteeredController
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat

G = 9.80665
DT = 0.004
ZERO = (0.0, 0.0, 0.0)


def state(*, axis=(0.0, 0.0, 1.0), angle=0.0, velocity=ZERO, rate=ZERO):
    """Return an estimate: at rest, level and facing east unless said otherwise."""
    attitude = tuple(map(float, mat2quat(axangle2mat(axis, angle))))
    return types.SimpleNamespace(attitude=attitude, velocity=velocity, rate=rate)


def wrench(vehicle, commands):
    """Return thrust and torque (FLU) of rotors that have followed their commands."""
    model = vehicle.rotor_model
    references = model.command_gain_rad_s * np.array(commands) + model.command_offset_rad_s
    speeds = np.minimum(references, model.max_speed_rad_s)
    forces = np.zeros((len(commands), 3))
    forces[:, 2] = model.thrust_coefficient_n_s2 * speeds ** 2
    arms = np.array([rotor.position_m for rotor in vehicle.rotors])
    # The air turns the body against the sense of a rotor.
    senses = np.array([-1.0 if rotor.turns == 'ccw' else 1.0 for rotor in vehicle.rotors])
    torque = np.cross(arms, forces).sum(axis=0)
    torque[2] += model.moment_coefficient_m * (senses * forces[:, 2]).sum()
    return forces[:, 2].sum(), torque


@pytest.fixture
def asked(controller, iris):
    """Return a function: thrust over weight and torque that the controller asks for."""
    def function(estimate, velocity=ZERO, yaw=0.0):
        thrust, torque = wrench(iris, controller.commands(estimate, velocity, yaw, DT))
        return thrust / (iris.body.mass_kg * G), torque
    return function


# Allocation

def test_allocation_gives_what_is_asked(controller, iris):
    """Thrust and torque, by the geometry of the vehicle."""
    generator = np.random.default_rng(1)
    weight = iris.body.mass_kg * G
    for _ in range(200):
        thrust = weight * generator.uniform(0.7, 1.5)
        torque = generator.uniform(-1.0, 1.0, 3) * (0.4, 0.3, 0.08)
        commands = controller.allocated(thrust, torque)
        assert all(0.0 < u < 1.0 for u in commands), 'the example asks too much'
        given_thrust, given_torque = wrench(iris, commands)
        assert given_thrust == pytest.approx(thrust, rel=1e-9)
        assert given_torque == pytest.approx(torque, abs=1e-9)


def test_allocation_of_six_rotors(iris, gains):
    """Any number of rotors: the mix is computed from where they are."""
    rotors = tuple(
        dataclasses.replace(
            iris.rotors[0], turns=('ccw', 'cw')[i % 2],
            position_m=(0.3 * math.cos(i * math.pi / 3), 0.3 * math.sin(i * math.pi / 3), 0.02))
        for i in range(6))
    hexa = dataclasses.replace(iris, rotors=rotors)
    commands = SteeredController(hexa, gains).allocated(20.0, (0.2, -0.3, 0.05))
    thrust, torque = wrench(hexa, commands)
    assert thrust == pytest.approx(20.0)
    assert torque == pytest.approx((0.2, -0.3, 0.05))


def test_allocation_stays_within_what_rotors_can_do(controller):
    """Whatever is asked."""
    generator = np.random.default_rng(2)
    for _ in range(500):
        thrust, *torque = generator.normal(0.0, 10.0 ** generator.uniform(-2, 6), 4)
        assert all(0.0 <= u <= 1.0 for u in controller.allocated(thrust, torque))
    assert controller.allocated(0.0, ZERO) == [0.0] * 4
    assert controller.allocated(1e9, ZERO) == [1.0] * 4


# Signs

def test_hover(asked):
    """At rest where it should be: the weight, no torque."""
    thrust, torque = asked(state())
    assert thrust == pytest.approx(1.0)
    assert torque == pytest.approx(ZERO, abs=1e-9)


@pytest.mark.parametrize(('climb', 'more'), [(1.0, True), (-1.0, False)])
def test_climb_and_descent(asked, controller, climb, more):
    """More thrust than the weight, or less."""
    thrust, torque = asked(state(), (0.0, 0.0, climb))
    assert (thrust > 1.0) == more
    assert controller.thrust_fraction == pytest.approx(thrust)
    assert torque == pytest.approx(ZERO, abs=1e-9)


@pytest.mark.parametrize(('heading', 'velocity', 'axis', 'sign'), [
    # FLU: a positive roll lowers the right side, a positive pitch lowers the nose.
    (0.0, (1.0, 0.0, 0.0), 1, 1), (0.0, (-1.0, 0.0, 0.0), 1, -1),
    (0.0, (0.0, 1.0, 0.0), 0, -1), (0.0, (0.0, -1.0, 0.0), 0, 1),
    # Facing north, east is to the right.
    (math.pi / 2, (1.0, 0.0, 0.0), 0, 1), (math.pi / 2, (0.0, 1.0, 0.0), 1, 1),
    (math.pi, (1.0, 0.0, 0.0), 1, -1),
])
def test_it_leans_where_it_wants_to_go(asked, heading, velocity, axis, sign):
    """About one axis only."""
    _, torque = asked(state(angle=heading), velocity, heading)
    assert torque[axis] * sign > 0.1
    assert np.delete(torque, axis) == pytest.approx((0.0, 0.0), abs=1e-6)


@pytest.mark.parametrize(('axis', 'number'), [
    ((1.0, 0.0, 0.0), 0), ((0.0, 1.0, 0.0), 1), ((0.0, 0.0, 1.0), 2)])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_attitude_and_rate_errors_are_opposed(asked, axis, number, side):
    """By a torque about the same axis."""
    torques = [asked(state(axis=axis, angle=0.05 * side))[1],
               asked(state(rate=tuple(0.2 * side * a for a in axis)))[1]]
    for torque in torques:
        assert torque[number] * side < -1e-3
        assert np.delete(torque, number) == pytest.approx((0.0, 0.0), abs=1e-6)


@pytest.mark.parametrize(('yaw', 'sign'), [(0.3, 1), (-0.3, -1), (3.0, 1), (-3.0, -1)])
def test_it_turns_the_short_way(asked, yaw, sign):
    """Counter-clockwise is positive."""
    _, torque = asked(state(), ZERO, yaw)
    assert torque[2] * sign > 0.01


def test_thrust_is_not_lost_by_leaning(asked):
    """Leaning by 20 degrees without a velocity error: the part along the body is asked."""
    thrust, _ = asked(state(axis=(1.0, 0.0, 0.0), angle=math.radians(20.0)))
    assert thrust == pytest.approx(math.cos(math.radians(20.0)), rel=0.05)


def test_upside_down_asks_no_thrust(controller):
    """It turns over first."""
    controller.commands(state(axis=(1.0, 0.0, 0.0), angle=math.pi), ZERO, 0.0, DT)
    assert controller.thrust_fraction == 0.0


def test_gyroscopic_coupling_is_compensated(asked, iris):
    """A rate about two axes: the torque is rate control plus w x (I w)."""
    rate = (1.0, 0.0, 1.0)
    inertia = np.array(iris.body.inertia_kg_m2)
    coupling = np.cross(rate, inertia * rate)
    with_both = asked(state(rate=rate))[1]
    apart = asked(state(rate=(1.0, 0.0, 0.0)))[1] + asked(state(rate=(0.0, 0.0, 1.0)))[1]
    assert with_both - apart == pytest.approx(coupling, abs=1e-6)


# Limits

@pytest.mark.parametrize(('target', 'velocity'), [
    ((0.5, 0.0, 0.0), (0.5, 0.0, 0.0)), ((0.0, -0.5, 0.2), (0.0, -0.5, 0.2)),
    ((300.0, 400.0, 0.0), (1.8, 2.4, 0.0)), ((0.0, 0.0, 90.0), (0.0, 0.0, 2.0)),
    ((0.0, 0.0, -90.0), (0.0, 0.0, -1.5)), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
])
def test_velocity_to_a_place(gains, iris, target, velocity):
    """In its direction, within the limits on speed, climb and descent."""
    values = gains['controller'] | {
        'position_gain_hz': 1.0, 'max_horizontal_speed_m_s': 3.0, 'max_climb_speed_m_s': 2.0,
        'max_descent_speed_m_s': 1.5}
    controller = SteeredController(iris, gains | {'controller': values})
    here = (7.0, -3.0, 11.0)
    there = tuple(h + t for h, t in zip(here, target))
    assert controller.velocity_to(there, here) == pytest.approx(velocity, abs=1e-9)


@pytest.mark.parametrize('velocity', [
    (1e6, 0.0, 0.0), (0.0, -1e6, 0.0), (0.0, 0.0, 1e6), (0.0, 0.0, -1e6), (1e6, 1e6, -1e6)])
def test_any_wish_gives_commands_within_range(controller, velocity):
    """Also for a long time: the integral is at most 8 m/s^2, and the thrust never points down."""
    for _ in range(1000):
        commands = controller.commands(state(), velocity, 0.0, DT)
        assert all(0.0 <= u <= 1.0 for u in commands)
    controller.commands(state(), ZERO, 0.0, DT)
    held = math.copysign(8.0, velocity[2]) if velocity[2] else 0.0
    assert controller.thrust_fraction == pytest.approx(1.0 + held / G)


def test_a_velocity_is_approached_within_the_acceleration_limit(controller, gains):
    """Weight plus or minus the vertical limit, and what the integral gains in a step."""
    limit = gains['controller']['max_vertical_acceleration_m_s2']
    gained = gains['controller']['velocity_integral_gain_hz2'] * DT * 10.0
    for climb, sign in ((10.0, 1), (-10.0, -1)):
        controller.reset()
        controller.commands(state(), (0.0, 0.0, climb), 0.0, DT)
        assert controller.thrust_fraction == pytest.approx(1.0 + sign * (limit + gained) / G)


def test_integral_removes_what_is_left_and_can_be_reset(controller):
    """A small lasting error is answered more and more, until it is forgotten."""
    def thrust():
        controller.commands(state(), (0.0, 0.0, 0.2), 0.0, DT)
        return controller.thrust_fraction

    first = thrust()
    later = [thrust() for _ in range(250)]
    assert first < later[0] < later[-1]
    controller.reset()
    assert thrust() == pytest.approx(first)
