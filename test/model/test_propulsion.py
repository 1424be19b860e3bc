# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One propeller and its motor: thrust in a flow, near the ground, and what they draw."""
from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from px4_sim_ros.model.body.rotors import (
    GROUND_EFFECT_HEIGHT,
    OUT_OF_GROUND_EFFECT,
    RotorSet,
)
from px4_sim_ros.model.errors import DivergedError, ParameterError
from px4_sim_ros.model.vehicle.sections import MotorModel, Rotor

STILL = (0.0, 0.0, 0.0)
DENSITY = 1.225                         # the reference density of the Iris
SPEED = 807.0
RADIUS = 0.127
AREA = math.pi * RADIUS ** 2
AVIONICS_W = 5.0


@pytest.fixture(scope='module')
def model(iris):
    """Return the rotors' model without drag."""
    return dataclasses.replace(
        iris.rotor_model, drag_coefficient_n_s2_m=0.0, rolling_moment_coefficient_n_s2=0.0)


@pytest.fixture(scope='module')
def run_alone(model):
    """Return a function from a flow to the thrust of a rotor at the centre of mass, its power."""
    def alone(
        airspeed=STILL, speed=SPEED, density=DENSITY, above_ground=OUT_OF_GROUND_EFFECT,
        motor=None,
    ):
        rotors = RotorSet(model, [Rotor((0.0, 0.0, 0.0), 'ccw')], motor)
        wrench = rotors.wrench([speed], airspeed, STILL, density, above_ground)
        return wrench[2], wrench[6]
    return alone


@pytest.fixture(scope='module')
def thrust(run_alone):
    """Return a function from a flow to the thrust."""
    return lambda *arguments, **more: run_alone(*arguments, **more)[0]


@pytest.fixture(scope='module')
def hover_thrust(model):
    """Return k w^2."""
    return model.thrust_coefficient_n_s2 * SPEED ** 2


@pytest.fixture(scope='module')
def downwash(hover_thrust):
    """Return the induced velocity in hover: T = 2 rho A v^2."""
    return math.sqrt(hover_thrust / (2.0 * DENSITY * AREA))


def test_thrust_is_gone_at_the_advance_ratio_of_zero_thrust(thrust, hover_thrust):
    """J = V / (n D) = 0.67: 21.9 m/s; there is none beyond, at any flow or speed."""
    limit = 0.67 * SPEED / (2.0 * math.pi) * 0.254
    assert thrust((0.0, 0.0, limit)) == pytest.approx(0.0, abs=1e-12)
    assert 0.0 < thrust((0.0, 0.0, 0.99 * limit)) < 0.02 * hover_thrust
    for speed, along, across in itertools.product(
            (0.0, 0.01, 1.0, 300.0, 1100.0), (-40.0, 0.0, 25.0, 80.0), (0.0, 5.0, 30.0)):
        assert thrust((across, 0.0, along), speed=speed) >= 0.0
    assert thrust((0.0, 0.0, 1.01 * limit)) == 0.0


def test_blades_stall_in_a_fast_descent(thrust, hover_thrust):
    """A windmill gives no more than twice the thrust of hover."""
    assert thrust((0.0, 0.0, -15.0)) < 1.9 * hover_thrust
    for descent in (-20.0, -50.0, -1000.0):
        assert thrust((0.0, 0.0, descent)) == pytest.approx(2.0 * hover_thrust, rel=1e-12)


# Near the ground.

def test_ground_effect_is_bounded_below_half_a_radius(thrust):
    """4/3 in hover, also with the hub in the ground."""
    for height in (0.5 * RADIUS, 0.01, 0.0, -0.2):
        assert thrust(above_ground=(height, 0.0, 0.0, 1.0)) == pytest.approx(
            4.0 / 3.0 * thrust(), rel=1e-12)


def test_ground_effect_ends_without_a_jump(thrust, model):
    """Where it is left out it is below 1e-6; above there is none at all."""
    limit = RotorSet(model, [Rotor((0.0, 0.0, 0.0), 'ccw')]).table[0, GROUND_EFFECT_HEIGHT]
    below, above = (thrust(above_ground=(limit + d, 0.0, 0.0, 1.0)) for d in (-1e-9, 1e-9))
    assert above == thrust()
    assert 1.0 < below / above < 1.0 + 1e-6


def test_ground_effect_counts_from_each_hub(iris, model):
    """Rolled by 30 degrees, the rotors on the low side gain more: it is turned back level."""
    rotors = RotorSet(model, iris.rotors)
    roll = math.radians(30.0)
    up = (0.0, math.sin(roll), math.cos(roll))              # left side up
    forces = rotors.wrench((SPEED,) * 4, STILL, STILL, DENSITY, (0.3, *up))
    free = rotors.wrench((SPEED,) * 4, STILL, STILL, DENSITY, OUT_OF_GROUND_EFFECT)
    factors = {
        r.position_m: 1.0 / (1.0 - (RADIUS / (4.0 * (0.3 + np.dot(up, r.position_m)))) ** 2)
        for r in iris.rotors}
    single = free[2] / 4.0
    assert forces[2] == pytest.approx(single * sum(factors.values()), rel=1e-12)
    assert forces[3] - free[3] == pytest.approx(
        single * sum(y * (f - 1.0) for (_, y, _), f in factors.items()), rel=1e-9)
    assert forces[3] < free[3]


# What the shaft takes and the motor draws.

@pytest.fixture(scope='module')
def lossless():
    """Return a motor whose bus power is the shaft power."""
    return MotorModel(0.0164, 104.7, 0.0, 0.0, 1.0, 0.0)


def test_hover_torque(run_alone, lossless, hover_thrust):
    """Q = shaft_torque_coefficient T, at any speed and density."""
    for speed, density in itertools.product((100.0, 807.0), (1.225, 0.9)):
        power = run_alone(speed=speed, density=density, motor=lossless)[1]
        thrust = 5.84e-6 * speed ** 2 * density / 1.225
        assert power == pytest.approx(0.0164 * thrust * speed, rel=1e-12)


def test_an_ideal_propeller_takes_the_power_of_its_downwash(
    run_alone, model, hover_thrust, downwash, lossless,
):
    """Without profile drag P = T v in hover, T (v_climb + v_i) in climb."""
    ideal = dataclasses.replace(lossless, shaft_torque_coefficient_m=model.hover_inflow_m)
    assert run_alone(motor=ideal)[1] == pytest.approx(hover_thrust * downwash, rel=1e-12)
    thrust, power = run_alone((0.0, 0.0, 4.0), motor=ideal)
    induced = -2.0 + math.sqrt(4.0 + thrust / (2.0 * DENSITY * AREA))
    assert power == pytest.approx(thrust * (4.0 + induced), rel=1e-9)


def test_profile_power_is_what_remains_in_steep_climb(run_alone, lossless, model):
    """Without thrust the shaft still turns the blades: c w^3."""
    thrust, power = run_alone((0.0, 0.0, 40.0), motor=lossless)
    assert thrust == 0.0
    assert power == pytest.approx(
        5.84e-6 * (0.0164 - model.hover_inflow_m) * SPEED ** 3, rel=1e-12)


def test_motor_and_speed_controller(run_alone, hover_thrust):
    """I = Q Kv + I0, V = w / Kv + R I, bus power V I / efficiency, and the avionics."""
    motor = MotorModel(0.0164, 104.7, 0.09, 0.5, 0.95, AVIONICS_W)
    current = 0.0164 * hover_thrust * 104.7 + 0.5
    voltage = SPEED / 104.7 + 0.09 * current
    assert run_alone(motor=motor)[1] == pytest.approx(
        voltage * current / 0.95 + AVIONICS_W, rel=1e-12)


def test_standing_motors_draw_nothing(run_alone):
    """Only the avionics do."""
    motor = MotorModel(0.0164, 104.7, 0.09, 0.5, 0.95, AVIONICS_W)
    assert run_alone(speed=0.0, motor=motor)[1] == AVIONICS_W


def test_the_air_never_drives_the_bus(run_alone, iris):
    """In a descent that would turn the propeller, the motor takes its no-load current."""
    motor = dataclasses.replace(iris.motor_model, winding_resistance_ohm=0.0)
    power = run_alone((15.0, 0.0, -30.0), motor=motor)[1]
    assert power == pytest.approx(
        motor.no_load_current_a * SPEED / motor.motor_kv_rad_s_v / motor.esc_efficiency
        + motor.avionics_power_w, rel=1e-12)


def test_ground_effect_costs_no_power(run_alone, iris):
    """Cheeseman and Bennett compare thrusts at the same power."""
    near = run_alone(above_ground=(0.1, 0.0, 0.0, 1.0), motor=iris.motor_model)
    free = run_alone(motor=iris.motor_model)
    assert near[1] == free[1]
    assert near[0] > free[0]


# The vehicle file.

def test_the_iris_motor_reaches_its_highest_speed_at_nominal_voltage(iris):
    """At 1100 rad/s, the motor needs at most the 12 V that the bus has."""
    motor, rotor = iris.motor_model, iris.rotor_model
    torque = motor.shaft_torque_coefficient_m * rotor.thrust_coefficient_n_s2 * 1100.0 ** 2
    current = torque * motor.motor_kv_rad_s_v + motor.no_load_current_a
    voltage = 1100.0 / motor.motor_kv_rad_s_v + motor.winding_resistance_ohm * current
    assert 11.0 < voltage < iris.battery.nominal_voltage_v


def test_a_propeller_that_could_not_hover_is_refused(iris):
    """It would have no thrust in its own downwash; or need less power than an ideal one."""
    with pytest.raises(ParameterError) as error:
        dataclasses.replace(iris.rotor_model, zero_thrust_advance_ratio=0.1).check('f: rotor_model')
    assert str(error.value) == (
        'f: rotor_model.zero_thrust_advance_ratio = 0.1: must be greater than 0.17, the advance'
        ' ratio of its own downwash in hover')
    with pytest.raises(ParameterError) as error:
        dataclasses.replace(iris.motor_model, shaft_torque_coefficient_m=0.005).check(
            'f: motor_model', iris.rotor_model)
    assert str(error.value) == (
        'f: motor_model.shaft_torque_coefficient_m = 0.005: must be at least 0.00686 m, that of'
        ' an ideal propeller')


def test_hover_command(iris, world):
    """In thin air or at a low bus voltage a higher command hovers."""
    g = world.gravity_m_s2
    assert iris.hover_command(g) == pytest.approx(0.707, abs=5e-4)
    for density in (1.0, 1.225, 1.1):
        speed = math.sqrt(iris.body.mass_kg * g / (4 * 5.84e-6)) * math.sqrt(1.225 / density)
        assert iris.hover_speed_rad_s(g, density) == pytest.approx(speed, rel=1e-15)
    speed = iris.hover_speed_rad_s(g, 1.1)
    assert iris.hover_command(g, 1.1, 11.0) == pytest.approx(
        (speed * 12.0 / 11.0 - 100.0) / 1000.0, rel=1e-13)


def test_a_motion_that_leaves_all_bounds_is_named(iris, alter, build_dynamics):
    """A lag much shorter than the step."""
    wild = alter(iris, rotor_model={'time_constant_up_s': 1e-5})
    dynamics = build_dynamics(wild)
    with pytest.raises(DivergedError, match=r'of iris has left all bounds at t = 0\.\d'):
        for _ in range(1000):
            dynamics.step((800.0,) * 4)


@pytest.mark.parametrize(('first', 'values'), [
    (3, (2e6, -2e6)), (10, (-2e6, 2e6)), (0, (math.nan,)), (6, (math.inf,))])
def test_numbers_out_of_bounds_do_not_hide_behind_others(iris, build_dynamics, first, values):
    """Of velocity, rate, position or attitude, also when their sum is small."""
    dynamics = build_dynamics(iris)
    dynamics.state[first:first + len(values)] = values
    with pytest.raises(DivergedError):
        dynamics.truth()
