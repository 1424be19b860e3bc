# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What actions make of motors, mass, battery and air, against what a formula says."""
import dataclasses
import math

import numpy as np
import pytest
from verification import plants

from px4_sim_ros.model.body.alterations import UNALTERED
from px4_sim_ros.model.faults.action import ActionContext, Fault, FaultChain
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.model.faults.motion import BodyInputs
from px4_sim_ros.model.sensors.airspeed import DifferentialPressureMeasurement

SINCE_US, STEP_US = 12_000_000, 4000
BEFORE = (400.0, 410.0, 420.0, 430.0)


class Faulty:
    """What a block is given while one action is in force from SINCE_US on."""

    def __init__(self, world, block, kind, **values):
        self.chain = FaultChain(block, world, plants.iris())
        self.faults = (Fault('event', SINCE_US, read_action('test', kind, values, {})),)

    def inputs(self, references, steps=1):
        self.chain.of(SINCE_US - STEP_US, BodyInputs(BEFORE), ())
        for k in range(steps):
            found = self.chain.of(SINCE_US + k * STEP_US, BodyInputs(references), self.faults)
        return found

    def wind(self, age_s, wind_enu=(1.0, 2.0, 3.0)):
        found = self.chain.of(SINCE_US + round(age_s * 1e6), wind_enu, self.faults)
        return np.array(found) - wind_enu


@pytest.fixture
def motion(world):
    return lambda kind, **values: Faulty(world, 'dynamics', kind, **values)


@pytest.fixture
def air(world):
    return lambda kind, **values: Faulty(world, 'wind', kind, **values)


def advanced(dynamics, references, seconds, step_us=STEP_US):
    for _ in range(round(seconds * 1e6 / step_us)):
        truth = dynamics.step(references)
    return truth


def test_a_share_of_the_thrust_is_that_share_of_the_force(motion, on_mains, build_dynamics):
    """At rest in calm air thrust grows with the square of the speed, which all have reached."""
    asked = (500.0,) * 4
    forces = {}
    for share in 1.0, 0.25:
        references = list(asked)
        for motor in range(1, 5):
            references = motion('motor_thrust', motor=motor, share=share).inputs(
                references).references_rad_s
        assert references == pytest.approx([math.sqrt(share) * 500.0] * 4)
        dynamics = build_dynamics(on_mains, gravity_m_s2=0.0)
        advanced(dynamics, references, 2.0)
        state = dynamics.state.copy()
        state[:13] = [0.0] * 6 + [1.0] + [0.0] * 6           # at rest, the rotors at speed
        dynamics.state = state
        forces[share] = dynamics.truth().acceleration_flu[2]
    assert forces[0.25] == pytest.approx(0.25 * forces[1.0], rel=1e-3)


def test_a_motor_without_power_runs_down_with_its_time_constant(motion, on_mains, build_dynamics):
    dynamics = build_dynamics(on_mains)
    before = advanced(dynamics, BEFORE, 2.0).rotor_speeds_rad_s
    references = motion('motor_off', motor=2).inputs(BEFORE).references_rad_s
    after = advanced(dynamics, references, 0.1).rotor_speeds_rad_s
    decay = math.exp(-0.1 / on_mains.rotor_model.time_constant_down_s)
    assert after[1] == pytest.approx(before[1] * decay, rel=1e-4)
    assert [after[i] for i in (0, 2, 3)] == pytest.approx([before[i] for i in (0, 2, 3)], rel=1e-6)


def test_a_motor_that_is_stuck_goes_on_as_before(motion):
    found = motion('motor_stuck', motor=3).inputs((1.0, 2.0, 3.0, 4.0))
    assert found.references_rad_s == (1.0, 2.0, BEFORE[2], 4.0)


def test_a_slow_motor_follows_exponentially(motion):
    found = motion('motor_slow', motor=1, time_constant_s=0.2).inputs((600.0, 0, 0, 0), steps=50)
    expected = 600.0 + (BEFORE[0] - 600.0) * math.exp(-50 * 0.004 / 0.2)
    assert found.references_rad_s[0] == pytest.approx(expected)


def test_late_replies_are_those_of_a_while_ago(motion):
    """Until then those of before; a ramp is late by rate times delay."""
    late = motion('replies_late', delay_s=0.02)
    late.chain.of(SINCE_US - STEP_US, BodyInputs(BEFORE), ())
    found = [late.chain.of(SINCE_US + k * STEP_US, BodyInputs((500.0 + k,) * 4), late.faults)
             .references_rad_s for k in range(20)]
    assert found[:5] == [BEFORE] * 5                # five steps of 4 ms
    assert found[5:] == [(500.0 + k,) * 4 for k in range(15)]


def test_lost_replies_leave_what_came_last(motion):
    """All of them, or a share of the steps: a binomial number of 4000, within 4 sigma."""
    lost = motion('replies_lost').inputs((500.0,) * 4, steps=5)
    assert lost.references_rad_s == BEFORE
    some = motion('replies_lost', share=0.3)
    some.chain.of(SINCE_US - STEP_US, BodyInputs(BEFORE), ())
    last, missing = BEFORE, 0
    for k in range(4000):
        asked = (500.0 + k,) * 4
        found = some.chain.of(
            SINCE_US + k * STEP_US, BodyInputs(asked), some.faults).references_rad_s
        assert found in (asked, last)
        missing += found != asked
        last = found
    assert abs(missing - 1200) < 4 * math.sqrt(4000 * 0.3 * 0.7)


def test_a_push_is_force_over_mass(motion, dragless, build_dynamics):
    dynamics = build_dynamics(dragless, gravity_m_s2=0.0)
    dynamics.force_enu = motion('push', force_n=[3.0, -1.0, 2.0]).inputs(BEFORE).force_enu
    truth = advanced(dynamics, (0.0,) * 4, 1.0)
    half_a_t_squared = 0.5 * np.array([3.0, -1.0, 2.0]) / dragless.body.mass_kg
    assert np.array(truth.position_enu) == pytest.approx(half_a_t_squared, rel=1e-9)


def test_a_payload_changes_what_a_force_does_and_can_be_dropped(
        motion, dragless, build_dynamics):
    mass = dragless.body.mass_kg
    dynamics = build_dynamics(dragless, gravity_m_s2=0.0)
    dynamics.force_enu = (mass, 0.0, 0.0)
    for added in 0.5, -0.5, 0.0:
        dynamics.alter(motion('payload', mass_kg=added).inputs(BEFORE).altered)
        assert dynamics.truth().acceleration_flu[1] == pytest.approx(0.0)
        assert dynamics.step((0.0,) * 4).acceleration_flu[0] == pytest.approx(
            mass / (mass + added))


def test_a_torque_is_what_turns_by_the_moments_of_inertia(motion, dragless, build_dynamics):
    """From rest about one axis: the rate is torque / inertia times the time."""
    for axis in range(3):
        torque = [0.0] * 3
        torque[axis] = 0.02
        dynamics = build_dynamics(dragless, gravity_m_s2=0.0)
        worn(motion, dynamics, 'torque', torque_n_m=torque)
        rate = advanced(dynamics, (0.0,) * 4, 0.5).rate_flu
        expected = np.zeros(3)
        expected[axis] = 0.5 * 0.02 / dragless.body.inertia_kg_m2[axis]
        assert np.array(rate) == pytest.approx(expected, rel=1e-9)


def test_a_payload_has_an_inertia(motion, dragless, build_dynamics):
    """Also of a body with products of inertia: w' = (I + dI)^-1 torque, from rest."""
    added = np.array([0.01, 0.02, -0.005])
    torque = np.array([0.02, -0.01, 0.03])
    skew = dataclasses.replace(dragless, body=dataclasses.replace(
        dragless.body, inertia_products_kg_m2=(0.004, -0.003, 0.002)))
    for vehicle in dragless, skew:
        dynamics = build_dynamics(vehicle, gravity_m_s2=0.0)
        loaded = motion('payload', mass_kg=0.3, inertia_kg_m2=list(added)).inputs(BEFORE).altered
        dynamics.alter(loaded._replace(torque_flu=tuple(torque)))
        tensor = np.array(vehicle.body.inertia_tensor) + np.diag(added)
        assert np.array(dynamics.truth().angular_acceleration_flu) == pytest.approx(
            np.linalg.solve(tensor, torque), rel=1e-9)


def test_a_payload_beside_the_centre_of_mass_moves_it(motion, dragless, build_dynamics):
    """Two of them, and a torque from rest: w' = I^-1 torque, with I by Steiner's theorem."""
    masses, places = (0.3, 0.2), np.array([[0.2, 0.0, -0.1], [-0.05, 0.15, 0.0]])
    torque, made = np.array([0.02, -0.01, 0.03]), dragless.body
    first = motion('payload', mass_kg=masses[0], position_m=list(places[0])).inputs(BEFORE)
    second = read_action('test', 'payload', {
        'mass_kg': masses[1], 'position_m': list(places[1])}, {})
    onset = ActionContext('event', SINCE_US, 'dynamics', None, dragless, None, None)
    altered = second.begin(onset)(SINCE_US, first).altered
    dynamics = build_dynamics(dragless, gravity_m_s2=0.0)
    dynamics.alter(altered._replace(torque_flu=tuple(torque)))
    truth = dynamics.truth()
    total = made.mass_kg + sum(masses)
    center = np.array(masses) @ places / total

    def about_center(mass, place):
        r = place - center
        return mass * (r @ r * np.eye(3) - np.outer(r, r))
    tensor = np.array(made.inertia_tensor) + about_center(made.mass_kg, np.zeros(3)) + sum(
        about_center(*load) for load in zip(masses, places))
    expected = np.linalg.solve(tensor, torque)
    assert np.array(truth.angular_acceleration_flu) == pytest.approx(expected, rel=1e-9)
    # The centre of mass stays at rest: what turns about it is the origin.
    assert np.array(truth.acceleration_flu) == pytest.approx(
        np.cross(expected, -center), rel=1e-9)


def test_a_payload_that_is_taken_on_and_dropped_leaves_place_and_velocity(
        motion, dragless, build_dynamics):
    """While the body turns, the origin goes around the new centre of mass, and on when it goes."""
    dynamics = build_dynamics(dragless, gravity_m_s2=0.0)
    state = dynamics.state.copy()
    state[:13] = [0.0] * 6 + [1.0] + [0.0] * 5 + [2.0]       # turns about z, level, at the origin
    dynamics.state = state
    load = motion('payload', mass_kg=dragless.body.mass_kg, position_m=[0.4, 0.0, 0.0])
    before = dynamics.truth()
    dynamics.alter(load.inputs(BEFORE).altered)
    after = dynamics.truth()
    assert after.position_enu == pytest.approx(before.position_enu, abs=1e-12)
    assert after.velocity_flu == pytest.approx(before.velocity_flu, abs=1e-12)
    # The centre of mass, 0.2 m ahead, moves with 2 * 0.2 m/s to the left.
    turned = advanced(dynamics, (0.0,) * 4, 1.0)
    angle = 2.0
    assert np.array(turned.position_enu) == pytest.approx(
        [0.2 - 0.2 * math.cos(angle), 0.4 - 0.2 * math.sin(angle), 0.0], abs=1e-9)
    dynamics.alter(UNALTERED)
    assert dynamics.truth().position_enu == pytest.approx(turned.position_enu, abs=1e-12)
    assert dynamics.truth().velocity_flu == pytest.approx(turned.velocity_flu, abs=1e-12)


def test_thrust_has_an_arm_about_a_centre_of_mass_that_was_moved(motion, dragless, build_dynamics):
    """Four equal thrusts T through the origin turn the body about y by 4 T c / I_y."""
    dynamics = build_dynamics(dragless, gravity_m_s2=0.0)
    for load in None, [0.1, 0.0, 0.0]:
        if load is not None:
            dynamics.alter(motion('payload', mass_kg=0.2, position_m=load).inputs(BEFORE).altered)
        state = dynamics.state.copy()
        state[:13] = [0.0, 0.0, 1e4] + [0.0] * 3 + [1.0] + [0.0] * 6     # at rest, above all air
        state[13:17] = 450.0
        dynamics.state = state
        truth = dynamics.truth()
        if load is None:
            thrust = truth.acceleration_flu[2] * dragless.body.mass_kg
    mass = dragless.body.mass_kg
    center = 0.2 * 0.1 / (mass + 0.2)
    inertia_y = dragless.body.inertia_kg_m2[1] + mass * 0.2 / (mass + 0.2) * 0.1**2
    assert truth.angular_acceleration_flu[1] == pytest.approx(
        center * thrust / inertia_y, rel=1e-9)


def worn(motion, dynamics, kind, **values):
    dynamics.alter(motion(kind, **values).inputs(BEFORE).altered)


def test_shorted_cells_take_their_share_of_the_voltage(motion, iris, build_dynamics):
    """With no load but the avionics: V = (E + sqrt(E^2 - 4 P R)) / 2."""
    dynamics = build_dynamics(iris)
    dynamics.truth()
    before = dynamics.battery().voltage_v
    worn(motion, dynamics, 'battery_cells', shorted=1, of=4)
    dynamics.truth()
    pack, = iris.battery.packs
    power = iris.motor_model.avionics_power_w

    def loaded(voltage, resistance):
        return 0.5 * (voltage + math.sqrt(voltage ** 2 - 4.0 * power * resistance))
    full, r = pack.full_voltage_v, pack.series_resistance_ohm
    assert before == pytest.approx(loaded(full, r), rel=1e-6)
    assert dynamics.battery().voltage_v == pytest.approx(loaded(0.75 * full, 0.75 * r), rel=1e-6)


def test_shorted_cells_take_their_share_of_the_polarisation(motion, iris, build_dynamics):
    """Of n cells in series R1 is n times and C1 1 / n of one: V1' = I / C1 - V1 / (R1 C1)."""
    dynamics = build_dynamics(iris)
    for polarised_v in 0.06, 0.0:
        dynamics.state[-1] = polarised_v
        worn(motion, dynamics, 'battery_cells', shorted=1, of=3)
        assert dynamics.state[-1] == pytest.approx(2.0 / 3.0 * polarised_v)
        before = dynamics.state[-1]
        dynamics.truth()
        current_a = dynamics.battery().current_a
        dynamics.step((0.0,) * 4)
        r1, c1 = 0.010 * 2.0 / 3.0, 2000.0 * 1.5
        settled = r1 * current_a
        assert dynamics.state[-1] - before == pytest.approx(
            (settled - before) * -math.expm1(-0.004 / (r1 * c1)), rel=1e-3)
        worn(motion, dynamics, 'battery_resistance', factor=1.0)      # all cells are there again


def test_more_resistance_is_a_lower_voltage_under_load(motion, iris, build_dynamics):
    dynamics = build_dynamics(iris)
    worn(motion, dynamics, 'battery_resistance', factor=10.0)
    dynamics.truth()
    pack, = iris.battery.packs
    power, r = iris.motor_model.avionics_power_w, 10.0 * pack.series_resistance_ohm
    full = pack.full_voltage_v
    assert dynamics.battery().voltage_v == pytest.approx(
        0.5 * (full + math.sqrt(full ** 2 - 4.0 * power * r)), rel=1e-6)


def test_half_the_capacity_is_empty_twice_as_fast(motion, iris, build_dynamics):
    used = {}
    for share in 1.0, 0.5:
        dynamics = build_dynamics(iris)
        worn(motion, dynamics, 'battery_capacity', share=share)
        advanced(dynamics, (500.0,) * 4, 2.0)
        used[share] = 1.0 - dynamics.battery().state_of_charge
    assert used[0.5] == pytest.approx(2.0 * used[1.0], rel=1e-3)


def test_what_a_worn_pack_loses_is_what_flows_out_of_it(motion, iris, build_dynamics):
    """5 % of 5 Ah are left of a full pack; from then on the charge falls by the integral of I."""
    dynamics = build_dynamics(iris)
    worn(motion, dynamics, 'battery_capacity', share=0.05)
    before = dynamics.battery()
    assert (before.charge_ah, before.capacity_ah, before.design_capacity_ah) == pytest.approx(
        (0.25, 0.25, 5.0))
    consumed, last_a = 0.0, before.current_a
    for _ in range(500):
        dynamics.step((800.0,) * 4)
        now_a = dynamics.battery().current_a
        consumed, last_a = consumed + 0.5 * (last_a + now_a) * 0.004 / 3600.0, now_a
    after = dynamics.battery()
    assert before.charge_ah - after.charge_ah == pytest.approx(consumed, rel=1e-3)
    assert after.state_of_charge == pytest.approx(after.charge_ah / 0.25)


# Air.

def test_more_wind_comes_from_where_it_should(air):
    """From the west it blows east; a ramp is half as strong at half time."""
    wind = air('wind', speed_m_s=4.0, from_deg=270.0, climb_m_s=1.0, over_s=2.0)
    assert wind.wind(1.0) == pytest.approx([2.0, 0.0, 0.5])
    assert wind.wind(5.0) == pytest.approx([4.0, 0.0, 1.0])


def test_a_gust_is_one_pulse(air):
    gust = air('gust', speed_m_s=6.0, from_deg=180.0, duration_s=3.0)
    for age_s, share in ((0.0, 0.0), (0.75, 0.5), (1.5, 1.0), (2.25, 0.5), (3.0, 0.0), (9.0, 0.0)):
        assert gust.wind(age_s) == pytest.approx([0.0, 6.0 * share, 0.0], abs=1e-12)


def test_turbulence_has_its_spread_and_its_time_constant(air):
    """Gauss-Markov: the correlation over a time constant is 1/e."""
    turbulence = air('turbulence', intensity_m_s=2.0, correlation_time_s=0.2)
    found = np.array([turbulence.wind(0.02 * k) for k in range(20_000)])
    assert found.std(axis=0) == pytest.approx(np.full(3, 2.0), rel=0.05)
    lagged = np.mean(found[10:] * found[:-10], axis=0) / found.var(axis=0)
    assert lagged == pytest.approx(np.full(3, math.exp(-1.0)), abs=0.06)


def test_thinner_air_carries_less_and_shows_less_airspeed(world, motion, on_mains, build_dynamics):
    """Drag and thrust at given speeds are proportional to the density, as is dynamic pressure."""
    forces = {}
    for share in 1.0, 0.8:
        dynamics = build_dynamics(on_mains, gravity_m_s2=0.0)
        worn(motion, dynamics, 'air_density', share=share)
        state = dynamics.state.copy()
        state[3:6], state[13:17] = (10.0, 0.0, 0.0), BEFORE
        dynamics.state = state
        forces[share] = np.array(dynamics.truth().acceleration_flu)
    assert forces[0.8] == pytest.approx(0.8 * forces[1.0], rel=1e-9)
    sensor = Faulty(world, 'airspeed_1', 'air_density', share=0.8)
    measured = DifferentialPressureMeasurement(SINCE_US, 120.0, 1.0)
    found = sensor.chain.of(SINCE_US, measured, sensor.faults)
    assert found == measured._replace(differential_pressure_pa=0.8 * 120.0)
    barometer = Faulty(world, 'barometer', 'air_density', share=0.8)
    assert barometer.chain.of(SINCE_US, measured, barometer.faults) is measured
