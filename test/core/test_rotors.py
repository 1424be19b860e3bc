"""Rotors: signs of every torque, lag, and what the air does to them."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.core.rotors import RotorSet

STILL = (0.0, 0.0, 0.0)
HOVER = 807.0
FRONT_RIGHT, BACK_LEFT, FRONT_LEFT, BACK_RIGHT = range(4)


def alone(index, speed=HOVER):
    """Return rotor speeds with just one rotor turning."""
    return tuple(speed if i == index else 0.0 for i in range(4))


@pytest.fixture(scope='module')
def rotors(iris):
    """Return the rotors of the Iris."""
    return RotorSet(iris.rotor_model, iris.rotors)


@pytest.mark.parametrize(('index', 'roll', 'pitch', 'yaw'), [
    (FRONT_RIGHT, -1, -1, -1),          # right side up: left roll; nose up; ccw: body cw
    (BACK_LEFT, 1, 1, -1),
    (FRONT_LEFT, 1, -1, 1),
    (BACK_RIGHT, -1, 1, 1),
])
def test_signs_of_each_rotor(rotors, index, roll, pitch, yaw):
    """FLU: roll > 0 is left side up, pitch > 0 nose down, yaw > 0 to the left."""
    torque = rotors.wrench(alone(index), STILL, STILL)[3:]
    assert np.sign(torque).tolist() == [roll, pitch, yaw]


@pytest.mark.parametrize('index', range(4))
def test_torque_of_each_rotor_is_arm_times_thrust(rotors, iris, index):
    """T = k w^2 e_z, torque = r x T - spin c_m T e_z, to the last bit."""
    rotor, model = iris.rotors[index], iris.rotor_model
    x, y, _ = rotor.position_m
    thrust = model.thrust_coefficient_n_s2 * HOVER * HOVER
    spin = 1.0 if rotor.turns == 'ccw' else -1.0
    assert rotors.wrench(alone(index), STILL, STILL) == (
        0.0, 0.0, thrust, y * thrust, -x * thrust, -spin * model.moment_coefficient_m * thrust)


def test_reaction_torque_accelerates_the_body_against_the_rotor(iris, build_dynamics):
    """Both ccw rotors faster than the cw ones: the body yaws clockwise."""
    dynamics = build_dynamics(iris)
    dynamics.state[13:] = [900.0, 900.0, 700.0, 700.0]
    assert dynamics.truth().angular_acceleration_flu[2] < 0.0


def test_swapping_left_and_right_turns_roll_and_yaw_round(rotors, iris):
    """The mirrored vehicle (y -> -y, ccw <-> cw) has the mirrored torques, exactly."""
    mirrored = RotorSet(iris.rotor_model, [
        dataclasses.replace(
            r, position_m=(r.position_m[0], -r.position_m[1], r.position_m[2]),
            turns='cw' if r.turns == 'ccw' else 'ccw') for r in iris.rotors])
    speeds = (900.0, 700.0, 800.0, 600.0)
    fx, fy, fz, tx, ty, tz = rotors.wrench(speeds, (1.0, 2.0, 3.0), (0.3, 0.2, 0.1))
    assert mirrored.wrench(speeds, (1.0, -2.0, 3.0), (-0.3, 0.2, -0.1)) == (
        fx, -fy, fz, -tx, ty, -tz)


def test_gyroscopic_torque(iris):
    """The torque that the shafts' inertia J adds is -w x H, H = J sum(spin speed) e_z."""
    inertia, rate, speeds = 2.0e-3, (0.7, -1.1, 0.4), (900.0, 500.0, 300.0, 600.0)

    def torque(shaft_inertia):
        model = dataclasses.replace(iris.rotor_model, inertia_kg_m2=shaft_inertia)
        return np.array(RotorSet(model, iris.rotors).wrench(speeds, (1.0, 2.0, 3.0), rate)[3:])

    momentum = np.array([0.0, 0.0, inertia * (900.0 + 500.0 - 300.0 - 600.0)])
    assert torque(inertia) - torque(0.0) == pytest.approx(-np.cross(rate, momentum), abs=1e-12)


@pytest.mark.parametrize(('climb', 'share'), [
    (12.5, 0.5), (20.0, 0.2), (25.0, 0.0), (40.0, 0.0), (0.0, 1.0), (-5.0, 1.0), (-40.0, 1.0)])
def test_thrust_is_lost_in_climb_but_not_in_descent(rotors, climb, share):
    """T is multiplied by clamp(1 - v_axial / 25 m/s, 0, 1)."""
    full = rotors.wrench((HOVER,) * 4, STILL, STILL)[2]
    assert rotors.wrench((HOVER,) * 4, (0.0, 0.0, climb), STILL)[2] == pytest.approx(
        share * full, rel=1e-12, abs=1e-12)


def test_thrust_loss_follows_the_hub_and_damps_roll(dragless):
    """Rolling at p, a hub at y > 0 climbs at p y and loses p y / 25 m/s of its thrust."""
    rotors = RotorSet(dragless.rotor_model, dragless.rotors)
    thrust = rotors.wrench(alone(FRONT_LEFT), STILL, STILL)[2]
    moment = 0.22 * (0.22 * 2.0 / 25.0) * thrust + 0.20 * (0.20 * 2.0 / 25.0) * thrust
    for roll_rate, torque in ((2.0, -moment), (-2.0, moment)):
        wrench = rotors.wrench((HOVER,) * 4, STILL, (roll_rate, 0.0, 0.0))
        assert wrench[3] == pytest.approx(torque, rel=1e-9)


def test_rotor_drag_is_against_the_edgewise_airspeed(rotors, iris):
    """F = -c speed v_edgewise for each rotor, nothing along the shaft in descent."""
    coefficient = iris.rotor_model.drag_coefficient_n_s2_m
    still = rotors.wrench((HOVER,) * 4, STILL, STILL)
    fx, fy, fz, tx, ty, _ = rotors.wrench((HOVER,) * 4, (3.0, -2.0, -1.0), STILL)
    each = coefficient * HOVER
    assert (fx, fy) == pytest.approx((-4 * each * 3.0, 4 * each * 2.0), rel=1e-12)
    assert fz == still[2]
    # It acts at the hubs, 23 mm above the centre of mass: r x F.
    assert tx == pytest.approx(-0.023 * fy, abs=1e-12)
    assert ty == pytest.approx(0.023 * fx, abs=1e-12)


def test_rolling_moment_of_one_rotor_is_against_the_spin(iris, alter):
    """-spin mu speed v_edgewise: a ccw rotor moving ahead rolls to its left."""
    vehicle = alter(iris, rotor_model={
        'drag_coefficient_n_s2_m': 0.0, 'rolling_moment_coefficient_n_s2': 1e-5})
    rotors = RotorSet(vehicle.rotor_model, vehicle.rotors)
    for index, sign in ((FRONT_RIGHT, -1.0), (FRONT_LEFT, 1.0)):
        moving = rotors.wrench(alone(index), (4.0, 0.0, 0.0), STILL)
        still = rotors.wrench(alone(index), STILL, STILL)
        assert moving[3] - still[3] == pytest.approx(sign * 1e-5 * HOVER * 4.0, rel=1e-9)


@pytest.mark.parametrize(('start', 'reference', 'constant'), [
    (100.0, 900.0, 'time_constant_up_s'), (900.0, 100.0, 'time_constant_down_s')])
def test_motor_step_reaches_63_percent_at_its_time_constant(
    iris, build_dynamics, start, reference, constant,
):
    """w(tau) = w_ref + (w_0 - w_ref) / e, with tau of 12.5 ms up and 25 ms down."""
    tau_us = round(getattr(iris.rotor_model, constant) * 1e6)
    assert tau_us == {'time_constant_up_s': 12_500, 'time_constant_down_s': 25_000}[constant]
    dynamics = build_dynamics(iris, step_us=tau_us, substeps=50)
    dynamics.state[13:] = [start] * 4
    truth = dynamics.step((reference,) * 4)
    for speed in truth.rotor_speeds_rad_s:
        share = (speed - start) / (reference - start)
        assert share == pytest.approx(1.0 - math.exp(-1.0), abs=1e-6)


@pytest.mark.parametrize(('controls', 'armed', 'expected'), [
    ((0.0, 0.5, 0.707, 1.0), True, (100.0, 600.0, 807.0, 1100.0)),
    ((1.2,) * 4, True, (1100.0,) * 4),
    ((0.5,) * 16, True, (600.0,) * 4),  # PX4 sends sixteen controls
    ((0.5,) * 4, False, (0.0,) * 4),
])
def test_command_to_speed(iris, controls, armed, expected):
    """1000 u + 100 rad/s when armed, at most 1100; 0 when disarmed."""
    assert iris.rotor_speed_references_rad_s(controls, armed) == pytest.approx(expected)
