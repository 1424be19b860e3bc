# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The battery alone against closed forms, and what it does to the flight."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.model.body.battery import Battery, clamp_charges
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.sections import BatteryModel, Pack
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.resources import config_directory, read_yaml

PACK = Pack(3, 5.0, 12.6, 10.8, 0.020, 0.010, 2000.0)
WEAK = Pack(3, 3.0, 12.4, 10.5, 0.035, 0.020, 1200.0)
FULL = [1.0, 0.0]


def battery_of(*packs):
    """Return packs on one bus."""
    return Battery(BatteryModel(12.0, packs))


def test_more_power_than_there_is():
    """E^2 / (4 R0) is the most: the bus stays at half the open-circuit voltage."""
    battery, most = battery_of(PACK), 12.6 ** 2 / 0.080
    # Near the limit the voltage goes as a square root: dV = sqrt(R0 dP).
    assert battery.voltage_v(FULL, most - 1e-6) == pytest.approx(6.3, abs=2e-4)
    for power in (most, 1.01 * most, 100.0 * most):
        voltage = battery.voltage_v(FULL, power)
        assert voltage == pytest.approx(6.3, abs=1e-6)
        assert battery.currents_a(FULL, voltage)[0] * voltage == pytest.approx(most, rel=1e-9)


def test_an_empty_pack_is_cut_off():
    """It neither gives nor takes; another on the bus carries all of the load."""
    battery = battery_of(PACK)
    assert battery.voltage_v([0.0, 0.0], 100.0) == 0.0
    assert battery.rates([0.0, 0.0], 10.0)[0] == 0.0
    pair, state = battery_of(PACK, PACK), [0.0, 0.0, 0.5, 0.0]
    voltage = pair.voltage_v(state, 100.0)
    assert voltage == battery.voltage_v([0.5, 0.0], 100.0)
    assert pair.currents_a(state, voltage)[0] == 0.0
    assert pair.rates(state, voltage)[0] == 0.0


@pytest.mark.parametrize(('charge', 'voltage'), [
    (1.0, 12.6), (0.5, 11.7), (0.05, 10.89), (0.025, 10.8 + 0.045 - 0.486), (1e-9, 0.91 * 10.8)])
def test_open_circuit_voltage_has_a_knee(charge, voltage):
    """Straight from full to 5 %, and from there to 3.28 V a cell."""
    assert battery_of(PACK).voltage_v([charge, 0.0], 0.0) == pytest.approx(voltage, rel=1e-8)


def test_a_full_pack_takes_no_more():
    """But it delivers."""
    battery = battery_of(PACK)
    assert battery.rates(FULL, 13.0)[0] == 0.0
    assert battery.rates(FULL, 12.0)[0] < 0.0
    state = np.array([7.0, 7.0, -1e-7, -0.1, 1.0 + 1e-7, 0.1])
    clamp_charges(state, 2)
    assert state.tolist() == [7.0, 7.0, 0.0, -0.1, 1.0, 0.1]


# In the vehicle.

def hovering(build_dynamics, vehicle, **more):
    """Return a vehicle in the air with all rotors at hover speed, and that speed."""
    dynamics = build_dynamics(vehicle, **more)
    speed = vehicle.hover_speed_rad_s(9.80665)
    dynamics.state[13:17] = [speed] * 4
    return dynamics, speed


def test_none_without_a_battery(on_mains, build_dynamics):
    """The bus is always at nominal voltage."""
    dynamics = build_dynamics(on_mains)
    assert dynamics.battery() is None
    assert len(dynamics.state) == 17


def test_status_at_the_start(iris, build_dynamics):
    """Only the avionics draw; the charge is as the parameter says."""
    status = build_dynamics(iris, initial_charge=0.4).battery()
    assert (status.time_us, status.capacity_ah) == (0, 5.0)
    assert status.charge_ah == pytest.approx(2.0)
    assert status.voltage_v * status.current_a == pytest.approx(5.0, rel=1e-12)
    assert status.voltage_v == pytest.approx(10.8 + 0.4 * 1.8 - 0.020 * status.current_a)


def test_bus_power_is_that_of_motors_and_avionics(iris, build_dynamics):
    """At rest in the air with four different speeds, each motor by its own equations."""
    dynamics = build_dynamics(iris, gravity_m_s2=0.0)
    speeds = np.array([600.0, 700.0, 800.0, 900.0])
    dynamics.state[13:17] = speeds.tolist()
    dynamics.truth()
    status, motor = dynamics.battery(), iris.motor_model
    torque = 0.0164 * 5.84e-6 * speeds ** 2
    current = torque * motor.motor_kv_rad_s_v + motor.no_load_current_a
    voltage = speeds / motor.motor_kv_rad_s_v + motor.winding_resistance_ohm * current
    assert status.voltage_v * status.current_a == pytest.approx(
        np.sum(voltage * current) / motor.esc_efficiency + motor.avionics_power_w, rel=1e-12)


def test_speed_reached_scales_with_the_bus(iris, build_dynamics):
    """The equilibrium is reference V / V_nominal, also at the limit of the speed."""
    for charge, reference in ((1.0, 700.0), (0.2, 700.0), (0.2, 1500.0)):
        dynamics = build_dynamics(iris, gravity_m_s2=0.0, initial_charge=charge)
        for _ in range(250):
            dynamics.state[3:6] = dynamics.state[10:13] = [0.0] * 3
            truth = dynamics.step((reference,) * 4)
        share = dynamics.battery().voltage_v / 12.0
        expected = min(reference, 1100.0) * share
        assert truth.rotor_speeds_rad_s == pytest.approx((expected,) * 4, rel=1e-4)
        assert share == pytest.approx({1.0: 1.02, 0.2: 0.88}[charge], abs=0.05)


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'rk23', 'rk45'])
def test_the_last_charge_runs_out_in_flight(iris, build_dynamics, integrator):
    """It is never below 0; then the pack is cut off, and the rotors run out."""
    dynamics, speed = hovering(build_dynamics, iris, integrator=integrator, initial_charge=2e-6)
    for _ in range(25):
        dynamics.step((speed,) * 4)
        assert 0.0 <= dynamics.battery().charge_ah <= 1e-5
    assert dynamics.battery().charge_ah == 0.0
    assert dynamics.battery()[1:3] == (0.0, 0.0)
    before = dynamics.truth().rotor_speeds_rad_s[0]
    after = dynamics.step((speed,) * 4).rotor_speeds_rad_s[0]
    down_s = iris.rotor_model.time_constant_down_s
    assert after == pytest.approx(before * math.exp(-0.004 / down_s), rel=2e-2)


# The vehicle file.

@pytest.fixture
def content():
    """Return the content of the Iris's file, to be spoilt."""
    return read_yaml(config_directory() / 'vehicles' / 'iris.yaml', 'vehicle file')


def refusal(content):
    """Return the error sentence of a vehicle file that must be refused."""
    with pytest.raises(ParameterError) as error:
        Vehicle.from_mapping('f', content)
    return str(error.value)


def test_optional_sections(content):
    """Without battery, motors are not needed; with one they are."""
    del content['motor_model']
    assert refusal(content) == 'f: missing section motor_model, what the battery feeds'
    del content['battery']
    vehicle = Vehicle.from_mapping('f', content)
    assert (vehicle.battery, vehicle.motor_model, vehicle.sensors) == (None, None, {})


def test_px4_parameters(content):
    """Names and numbers, as they are given."""
    content['px4_parameters'] = {'MPC_THR_HOVER': 0.7, 'COM_ARM_WO_GPS': 1}
    assert Vehicle.from_mapping('f', content).px4_parameters == content['px4_parameters']
    # YAML takes a number without a dot for a text.
    content['px4_parameters'] = {'CA_ROTOR0_KM': '5e-2'}
    assert Vehicle.from_mapping('f', content).px4_parameters == {'CA_ROTOR0_KM': 0.05}
    content['px4_parameters'] = {'MPC_THR_HOVER': 'high'}
    assert refusal(content) == "f: px4_parameters.MPC_THR_HOVER = 'high': must be a number"
    content['px4_parameters'] = [1]
    assert refusal(content) == 'f: px4_parameters = [1]: must be a mapping of names to numbers'


@pytest.mark.parametrize(('change', 'sentence'), [
    ({'packs': []}, 'f: battery: packs = []: must be a list with at least one entry'),
    ({'packs': 5}, 'f: battery: packs = 5: must be a list with at least one entry'),
    ({'nominal_voltage_v': 0.0}, 'f: battery.nominal_voltage_v = 0.0: must be greater than 0 V'),
    ({'nominal_volts': 1.0},
     'f: battery.nominal_volts: unknown parameter; did you mean nominal_voltage_v?'),
])
def test_wrong_battery(content, change, sentence):
    """Section, name, value, and what is allowed."""
    content['battery'] |= change
    assert refusal(content) == sentence


def test_wrong_pack(content):
    """It is named by its place."""
    pack = content['battery']['packs'][0]
    content['battery']['packs'] = [pack, pack | {'series_resistance_ohm': 0.0}]
    assert refusal(content) == (
        'f: battery: packs[1].series_resistance_ohm = 0.0: must be greater than 0 ohm')
    content['battery']['packs'] = [pack | {'empty_voltage_v': 13.0}]
    assert refusal(content) == (
        'f: battery: packs[0].empty_voltage_v = 13.0: must be at most full_voltage_v = 12.6')
    content['battery'] = 'big'
    assert refusal(content) == "f: battery = 'big': must be a mapping"


def test_several_packs_of_the_vehicle(iris, build_dynamics):
    """Each has its own state; the status is about all of them."""
    model = dataclasses.replace(iris.battery, packs=(PACK, WEAK))
    dynamics = build_dynamics(dataclasses.replace(iris, battery=model), initial_charge=0.9)
    assert dynamics.state[17:].tolist() == [0.9, 0.0, 0.9, 0.0]
    dynamics.step((700.0,) * 4)
    status = dynamics.battery()
    assert status.capacity_ah == 8.0
    assert status.charge_ah == pytest.approx(
        5.0 * dynamics.state[17] + 3.0 * dynamics.state[19], rel=1e-14)
    assert dynamics.state[18] != dynamics.state[20]
