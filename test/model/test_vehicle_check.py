# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures of a vehicle against closed forms found another way, and what is called implausible."""
from __future__ import annotations

import dataclasses
import math

import pytest
from scipy.integrate import solve_ivp

from px4_sim_ros.check.body import contact_rates_rad_s
from px4_sim_ros.check.figures import as_json, figures, implausible
from px4_sim_ros.model.world import Environment

STEP_S = 0.004
G = 9.80665


@pytest.fixture(scope='session')
def environment(world):
    """Return gravity and air at the default home."""
    return Environment.of(world)


@pytest.fixture(scope='session')
def density(environment):
    """Return the air density at home / that of the vehicles' coefficients."""
    return environment.density_kg_m3(0.0) / 1.225


@pytest.fixture(scope='session')
def figures_of(environment):
    """Return a function from a vehicle to its figures."""
    return lambda vehicle: figures(vehicle, environment, STEP_S)


@pytest.fixture(scope='session')
def mains(iris):
    """Return an Iris without a battery: every figure is at nominal voltage."""
    return dataclasses.replace(iris, battery=None)


def repacked(vehicle, **values):
    """Return a vehicle whose packs have other values."""
    packs = tuple(dataclasses.replace(pack, **values) for pack in vehicle.battery.packs)
    return dataclasses.replace(
        vehicle, battery=dataclasses.replace(vehicle.battery, packs=packs))


def motor_power_w(vehicle, speed, thrust):
    """Return the power of all motors and the rest, from the equations of a DC motor."""
    motor = vehicle.motor_model
    current = (
        thrust * motor.shaft_torque_coefficient_m * motor.motor_kv_rad_s_v
        + motor.no_load_current_a)
    voltage = speed / motor.motor_kv_rad_s_v + current * motor.winding_resistance_ohm
    return (len(vehicle.rotors) * current * voltage / motor.esc_efficiency
            + motor.avionics_power_w)


def test_hover(mains, density, figures_of):
    found = figures_of(mains)
    sea_level = math.sqrt(1.55 * G / (4 * 5.84e-6))
    assert found.hover_speed_sea_level_rad_s == pytest.approx(sea_level, rel=1e-6)
    assert found.hover_speed_rad_s == pytest.approx(sea_level / math.sqrt(density), rel=1e-9)
    assert found.hover_command_sea_level == pytest.approx((sea_level - 100) / 1000, rel=1e-6)
    assert found.hover_command_low_charge == found.hover_command
    assert found.thrust_to_weight == pytest.approx(
        (1100 / found.hover_speed_rad_s) ** 2, rel=1e-9)
    assert found.disc_loading_n_m2 == pytest.approx(1.55 * G / (math.pi * 0.254 ** 2))


def test_figure_of_merit_is_that_of_the_wind_tunnel(iris, alter, figures_of):
    """As from the propeller's coefficients: FM = sqrt(2 / pi) C_T^1.5 / C_P."""
    thrust, power, diameter = 0.1185, 0.0480, 0.254
    real = alter(
        iris,
        rotor_model={'thrust_coefficient_n_s2': thrust * 1.225 * diameter ** 4 / math.tau ** 2},
        motor_model={'shaft_torque_coefficient_m': power * diameter / (math.tau * thrust)})
    assert figures_of(real).figure_of_merit == pytest.approx(
        math.sqrt(2 / math.pi) * thrust ** 1.5 / power, rel=1e-9)


def test_angular_accelerations(mains, density, figures_of):
    """Two rotors as fast as they can; the other two carry the rest, for roll the inner one."""
    found, (ixx, iyy, izz) = figures_of(mains), mains.body.inertia_kg_m2
    hover, highest, least = (
        density * 5.84e-6 * speed ** 2 for speed in (found.hover_speed_rad_s, 1100, 100))
    rest, change = 4 * hover - 2 * highest - least, highest - hover
    assert found.roll_acceleration_rad_s2 == pytest.approx(
        (highest * (0.22 + 0.20) - least * 0.22 - rest * 0.20) / ixx, rel=1e-6)
    assert found.pitch_acceleration_rad_s2 == pytest.approx(
        change * 4 * 0.13 / iyy, rel=1e-6)
    assert found.yaw_acceleration_rad_s2 == pytest.approx(
        change * 4 * 0.06 / izz, rel=1e-6)


def test_hover_power_and_current(iris, density, figures_of):
    found = figures_of(iris)
    power = motor_power_w(iris, found.hover_speed_rad_s, 1.55 * G / 4)
    assert found.hover_power_w == pytest.approx(power, rel=1e-9)
    # V (E - V) / R0 = P
    voltage = 6.3 + math.sqrt(6.3 ** 2 - 0.020 * power)
    assert found.hover_current_a == pytest.approx(power / voltage, rel=1e-9)
    assert found.hover_command == pytest.approx(
        (found.hover_speed_rad_s * 12.0 / voltage - 100) / 1000, rel=1e-9)


def test_low_charge(iris, figures_of):
    """After long hovering R1 is in series with R0."""
    found = figures_of(iris)
    source = 10.8 + 0.2 * 1.8
    voltage = 0.5 * (source + math.sqrt(source ** 2 - 4 * 0.030 * found.hover_power_w))
    assert found.hover_command_low_charge == pytest.approx(
        (found.hover_speed_rad_s * 12.0 / voltage - 100) / 1000, rel=1e-6)


def test_full_control_sags(iris, density, figures_of):
    """Speed follows the voltage, and the voltage the load at that speed."""
    found = figures_of(iris)
    speed = found.hover_speed_rad_s * math.sqrt(found.thrust_to_weight)
    voltage = 12.0 * speed / 1100
    power = motor_power_w(iris, speed, density * 5.84e-6 * speed ** 2)
    assert (12.6 - voltage) / 0.020 == pytest.approx(power / voltage, rel=1e-6)


def test_endurance_of_a_flat_battery(iris, figures_of):
    """With one voltage at any charge and no R1 the current is constant: t = Q / I."""
    flat = repacked(iris, full_voltage_v=12.0, empty_voltage_v=12.0,
                    polarisation_resistance_ohm=1e-9, end_voltage_share=1.0)
    found = figures_of(flat)
    assert found.endurance_s == pytest.approx(5.0 * 3600 / found.hover_current_a, rel=2e-4)
    assert found.endurance_low_charge_s == pytest.approx(0.8 * found.endurance_s, rel=3e-4)


def test_endurance_of_the_iris(iris, figures_of):
    """From full to empty at the power of hover: the pack's equations, integrated by SciPy."""
    found = figures_of(iris)
    power = motor_power_w(iris, found.hover_speed_rad_s, 1.55 * G / 4.0)

    def discharge(_, x):
        source = 10.8 + 1.8 * x[0] - x[1] - max(0.0, 1.0 - x[0] / 0.05) * 0.09 * 10.8
        current = (source - math.sqrt(source ** 2 - 4.0 * 0.020 * power)) / 0.040
        return [-current / 18000.0, current / 2000.0 - x[1] / 20.0]

    def empty(_, x):
        return x[0]

    empty.terminal = True
    solution = solve_ivp(discharge, (0.0, 3600.0), (1.0, 0.0), events=empty, rtol=1e-9)
    assert found.endurance_s == pytest.approx(solution.t[-1], rel=1e-3)
    assert 12.0 < found.endurance_s / 60.0 < 16.0


def test_endurance_is_that_of_the_energy(iris, figures_of):
    """Without losses in the pack the energy in it, E Q less the knee's, is spent at hover power."""
    lossless = repacked(iris, series_resistance_ohm=1e-6, polarisation_resistance_ohm=1e-6,
                        polarisation_capacitance_f=1e7)
    found = figures_of(lossless)
    assert found.endurance_s == pytest.approx(
        (11.7 - 0.5 * 0.05 * 0.09 * 10.8) * 5.0 * 3600 / found.hover_power_w, rel=1e-3)


def test_two_packs_last_twice_as_long(iris, figures_of):
    pack, = repacked(iris, series_resistance_ohm=1e-6, polarisation_resistance_ohm=1e-6,
                     polarisation_capacitance_f=1e7).battery.packs
    one, two = (
        figures_of(dataclasses.replace(
            iris, battery=dataclasses.replace(iris.battery, packs=(pack,) * count)))
        for count in (1, 2))
    assert two.endurance_s == pytest.approx(2 * one.endurance_s, rel=1e-3)
    assert two.hover_c_rate == pytest.approx(0.5 * one.hover_c_rate, rel=1e-3)


def test_climb(mains, alter, density, figures_of):
    """Without drag the thrust is the weight: T = s w (v0 - u) and T = 2 rho A (u - v) u."""
    found = figures_of(alter(mains, body={'quadratic_drag_n_s2_m2': 0.0}))
    model, thrust = mains.rotor_model, 1.55 * G / 4
    v0 = 0.67 * 0.254 * 1100 / math.tau
    area, rho = math.pi * 0.127 ** 2, 1.225 * density
    hover = math.sqrt(5.84e-6 / (2 * 1.225 * area))
    slope = density * model.thrust_coefficient_n_s2 / (0.67 * 0.254 / math.tau - hover)
    u = v0 - thrust / (slope * 1100)
    assert found.climb_speed_m_s == pytest.approx(u - thrust / (2 * rho * area * u), rel=1e-6)


def test_drag(mains, alter, density, figures_of):
    assert figures_of(mains).fall_speed_m_s == pytest.approx(
        math.sqrt(1.55 * G / (0.018 * density)), rel=1e-9)
    linear = alter(mains, body={'quadratic_drag_n_s2_m2': 0.0, 'linear_drag_n_s_m': 0.5})
    found = figures_of(linear)
    assert found.fall_speed_m_s == pytest.approx(1.55 * G / (0.5 * density), rel=1e-9)
    rotors = 4 * 1.75e-4 * found.hover_speed_rad_s
    assert found.tilted_speed_m_s == pytest.approx(
        1.55 * G * math.tan(math.radians(30)) / (density * (0.5 + rotors)), rel=1e-9)


def test_drag_by_direction(mains, alter, density, figures_of):
    """It falls along z, and at any tilt only drag along x is against its way."""
    found = figures_of(alter(mains, body={'drag_ratios': (2.0, 3.0, 4.0)}))
    assert found.fall_speed_m_s == pytest.approx(
        math.sqrt(1.55 * G / (4.0 * 0.018 * density)), rel=1e-9)
    assert found.tilted_speed_m_s == pytest.approx(figures_of(
        alter(mains, body={'quadratic_drag_n_s2_m2': 2.0 * 0.018})).tilted_speed_m_s, rel=1e-9)
    assert found.climb_speed_m_s == pytest.approx(figures_of(
        alter(mains, body={'quadratic_drag_n_s2_m2': 4.0 * 0.018})).climb_speed_m_s, rel=1e-9)


def test_contact_modes(iris):
    """Four feet at (+-a, +-a, -h): heave, twist, and sway with tilt in two planes."""
    mass, (*tilts, twist), k, a, h = 1.55, iris.body.inertia_kg_m2, 4 * 1900.0, 0.17, 0.055
    squares = [k / mass, k * 2 * a * a / twist]
    for tilt in tilts:
        # In a plane: m x'' = -k (x - h t), I t'' = k h x - k (a^2 + h^2) t.
        trace = k / mass + k * (a * a + h * h) / tilt
        determinant = k * k * a * a / (mass * tilt)
        root = math.sqrt(trace * trace / 4 - determinant)
        squares += [trace / 2 + root, trace / 2 - root]
    assert contact_rates_rad_s(iris) == pytest.approx(
        sorted(math.sqrt(square) for square in squares), rel=1e-9)


def test_contact_figures(iris, figures_of):
    found = figures_of(iris)
    heave = math.sqrt(4 * 1900 / 1.55)
    assert found.contact_sinking_m == pytest.approx(1.55 * G / (4 * 1900))
    assert found.contact_heave_hz == pytest.approx(heave / math.tau)
    assert found.contact_heave_damping == pytest.approx(4 * 38 / (2 * math.sqrt(4 * 1900 * 1.55)))
    assert found.contact_step == pytest.approx(STEP_S * math.tau * found.contact_fastest_hz)


def test_contact_step_of_an_overdamped_mode(iris, alter, figures_of):
    """The faster root of s^2 + 2 z w s + w^2."""
    found = figures_of(alter(iris, contact_model={'damping_n_s_m': 100.0}))
    rate, ratio = math.tau * found.contact_fastest_hz, found.contact_fastest_damping
    assert ratio > 1
    rate *= found.contact_step / (STEP_S * rate)
    assert rate ** 2 - 2 * ratio * math.tau * found.contact_fastest_hz * rate + (
        math.tau * found.contact_fastest_hz) ** 2 == pytest.approx(0.0, abs=1e-6 * rate ** 2)


def test_a_contact_step_that_is_too_long_is_one_that_blows_up(iris, alter, build_dynamics):
    """Euler at 4 ms bears the Iris's feet, and not ten times their damping."""
    def height_after_a_second(damping):
        dynamics = build_dynamics(
            alter(iris, contact_model={'damping_n_s_m': damping}), integrator='euler', ground=True)
        dynamics.state[2] += 1e-4
        heights = [dynamics.step((0.0,) * 4).position_enu[2] for _ in range(250)]
        return max(heights[-50:]) - min(heights[-50:])
    assert height_after_a_second(38.0) < 1e-6
    assert height_after_a_second(380.0) > 1e-5


def sentence_about(name, vehicle, figures_of):
    """Return the one sentence that begins with a figure's name."""
    line, = [s for s in implausible(figures_of(vehicle)) if s.startswith(f'{name} = ')]
    return line


@pytest.mark.parametrize(('section', 'values', 'name'), [
    ('body', {'mass_kg': 2.6}, 'thrust_to_weight'),
    ('body', {'mass_kg': 2.6}, 'hover_command'),
    ('body', {'mass_kg': 0.2}, 'hover_command'),
    ('body', {'inertia_kg_m2': (0.029, 0.029, 0.0585)}, 'inertia_triangle'),
    ('body', {'inertia_kg_m2': (2.9, 2.9, 5.5)}, 'roll_gyration'),
    ('body', {'quadratic_drag_n_s2_m2': 0.0}, 'fall_speed_m_s'),
    ('rotor_model', {'propeller_diameter_m': 0.05}, 'disc_loading_n_m2'),
    ('rotor_model', {'drag_coefficient_n_s2_m': 8e-3}, 'tilted_speed_m_s'),
    ('rotor_model', {'time_constant_up_s': 0.5}, 'time_constant_up_s'),
    ('rotor_model', {'time_constant_up_s': 0.0015}, 'rotor_step'),
    ('rotor_model', {'max_speed_rad_s': 820.0}, 'climb_speed_m_s'),
    ('rotor_model', {'moment_coefficient_m': 1e-4}, 'yaw_acceleration_rad_s2'),
    ('motor_model', {'shaft_torque_coefficient_m': 0.0069}, 'figure_of_merit'),
    ('motor_model', {'motor_kv_rad_s_v': 70.0}, 'motor_voltage_share'),
    ('contact_model', {'damping_n_s_m': 400.0}, 'contact_step'),
    ('contact_model', {'damping_n_s_m': 1.0}, 'contact_heave_damping'),
    ('contact_model', {'stiffness_n_m': 20.0}, 'contact_sinking_m'),
])
def test_what_is_implausible_is_named(iris, alter, figures_of, section, values, name):
    sentence = sentence_about(name, alter(iris, **{section: values}), figures_of)
    assert ': expected at ' in sentence
    assert sentence.count('. ') == 0


def test_a_sentence_has_name_value_unit_and_what_is_expected(iris, alter, figures_of):
    assert sentence_about(
        'contact_sinking_m', alter(iris, contact_model={'stiffness_n_m': 76.0}), figures_of
    ) == ('contact_sinking_m = 0.05 m: expected at least 1e-05 and at most 0.02 m; it is how deep'
          ' it stands in the ground')


@pytest.mark.parametrize(('values', 'name'), [
    ({'capacity_ah': 0.5}, 'endurance_low_charge_s'),
    ({'capacity_ah': 0.5}, 'hover_c_rate'),
    ({'empty_voltage_v': 8.0}, 'hover_command_low_charge'),
])
def test_a_weak_battery(iris, figures_of, values, name):
    assert sentence_about(name, repacked(iris, **values), figures_of)


def test_rotors_that_are_wrong(iris, figures_of):
    def changed(i, **values):
        rotors = list(iris.rotors)
        rotors[i] = dataclasses.replace(rotors[i], **values)
        return dataclasses.replace(iris, rotors=tuple(rotors))
    assert sentence_about('spin_imbalance', changed(0, turns='cw'), figures_of)
    assert sentence_about('thrust_offset', changed(0, position_m=(0.2, -0.22, 0.0)), figures_of)
    assert sentence_about(
        'rotor_clearance_m', changed(0, position_m=(0.13, -0.22, -0.1)), figures_of)


def test_feet_that_do_not_hold_it(iris, figures_of):
    front = dataclasses.replace(iris, contact_points_m=(
        (0.17, 0.17, -0.055), (0.17, -0.17, -0.055), (0.05, 0.0, -0.055)))
    assert figures_of(front).foot_margin_m == pytest.approx(-0.05)
    assert sentence_about('foot_margin_m', front, figures_of)


def test_feet_above_the_centre_of_mass(iris, figures_of):
    """They are below the rotors all the same."""
    assert figures_of(iris).standing_height_m == pytest.approx(0.055)
    hung = dataclasses.replace(
        iris, contact_points_m=tuple((x, y, 0.02) for x, y, _ in iris.contact_points_m))
    assert figures_of(hung).rotor_clearance_m > 0.0
    assert sentence_about('standing_height_m', hung, figures_of)


def test_a_vehicle_without_motor_model(iris, figures_of):
    found = figures_of(dataclasses.replace(iris, battery=None, motor_model=None))
    assert found.hover_power_w is None
    assert found.endurance_s is None
    assert implausible(found) == []


def test_a_battery_that_cannot_hover_is_no_endless_loop(iris, alter, figures_of):
    weak = repacked(alter(iris, body={'mass_kg': 6.0}), series_resistance_ohm=1.0)
    names = [sentence.split()[0] for sentence in implausible(figures_of(weak))]
    assert {'hover_command', 'thrust_to_weight', 'endurance_s', 'climb_speed_m_s'} <= set(names)


def test_infinity_is_no_json(iris, alter, figures_of):
    found = figures_of(alter(iris, body={'quadratic_drag_n_s2_m2': 0.0}))
    assert math.isinf(found.fall_speed_m_s)
    assert as_json(found)['fall_speed_m_s'] is None
