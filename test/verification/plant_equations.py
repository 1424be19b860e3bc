# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The equations of motion of the whole plant in flight, written a second time.

The second writing uses NumPy vectors, SciPy's rotations and other forms of the same laws: wind,
air and gravity that change with height, inflow, ground effect, two unequal packs, one of them near
its end, and an Earth that turns a thousand times too fast.
"""
from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.vehicle.sections import Pack
from px4_sim_ros.model.world import Environment

UP = np.array([0.0, 0.0, 1.0])
REFERENCES = (800.0, 500.0, 680.0, 600.0)
WIND = (4.0, -3.0, 0.5)
HOME_ALTITUDE_M = 488.0
EARTH_RATE = (0.0, 0.04, 0.06)
PACKS = (
    Pack(3, 5.0, 12.6, 10.8, 0.020, 0.010, 2000.0),
    Pack(3, 3.0, 12.4, 10.5, 0.035, 0.020, 1200.0))
START = np.array([
    1.0, -2.0, 3.0,                     # position, ENU
    3.0, 2.0, -4.0,                     # velocity, ENU
    0.96, 0.0, 0.28, 0.0,               # attitude: nose down by 33 deg
    0.4, -0.3, 0.6,                     # body rate, FLU
    500.0, 600.0, 550.0, 650.0,         # rotor speeds
    0.8, 0.02, 0.04, 0.01])             # charge and polarisation of each pack
DURATION_US = 192_000
LOOSE = {name: 1e9 for name in (
    'position_tolerance_m', 'velocity_tolerance_m_s', 'attitude_tolerance',
    'rate_tolerance_rad_s', 'rotor_speed_tolerance_rad_s', 'battery_tolerance')}


def environment():
    """Return gravity and air that change with height."""
    return Environment(
        Gravity.wgs84(47.4, 535.0), Atmosphere(), HOME_ALTITUDE_M, EARTH_RATE)


def rotation(attitude):
    """Return the matrix from body to world."""
    w, x, y, z = attitude
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def air_density(height):
    """Return that of the standard atmosphere, by the ideal gas law."""
    temperature = 288.15 - 0.0065 * (HOME_ALTITUDE_M + height)
    pressure = 101325.0 * (temperature / 288.15) ** (9.80665 / (287.05287 * 0.0065))
    return pressure / (287.05287 * temperature)


def flow_through_disc(speed, along, across, slope, v_hover, area):
    """Return v + v_i: momentum and blade element in axial flow, then one step across."""
    # 2 rho A u (u - v) = T_h - slope (u - v_h), all over 2 rho A.
    share = slope / (2.0 * 1.225 * area)
    axial = max(np.roots([1.0, share - along, -v_hover * (v_hover + share)]).real)
    root = np.hypot(across, axial)
    return (v_hover * (v_hover + share) + along * root) / (root + share)


def rotor_thrust_and_power(vehicle, speed, hub, density, clearance):
    """Return the thrust, the torque of the air, and the electrical power of a rotor."""
    model, motor = vehicle.rotor_model, vehicle.motor_model
    radius = model.propeller_diameter_m / 2.0
    area = np.pi * radius ** 2
    hover = model.thrust_coefficient_n_s2 * speed ** 2
    v_hover = np.sqrt(hover / (2.0 * 1.225 * area))
    v_zero = model.zero_thrust_advance_ratio / np.pi * speed * radius
    slope = hover / (v_zero - v_hover)
    across = np.hypot(hub[0], hub[1])
    flow = flow_through_disc(speed, hub[2], across, slope, v_hover, area)
    free = max(0.0, hover - slope * (flow - v_hover)) * density / 1.225
    profile = (motor.shaft_torque_coefficient_m * speed - v_hover) * hover * density / 1.225
    shaft = (free * flow + profile) / speed
    current = max(0.0, shaft) * motor.motor_kv_rad_s_v
    current += motor.no_load_current_a
    voltage = speed / motor.motor_kv_rad_s_v + motor.winding_resistance_ohm * current
    image = (radius / (4.0 * max(clearance, radius / 2.0))) ** 2
    thrust = free / (1.0 - image / (1.0 + (across / v_hover) ** 2))
    return thrust, shaft, voltage * current / motor.esc_efficiency


def rotor_wrench(vehicle, speeds, velocity, rate, density, height, to_world):
    """Return force and torque of all rotors, in FLU (Furrer et al. 2016, section 2), and power."""
    model = vehicle.rotor_model
    force, torque, power = np.zeros(3), np.zeros(3), vehicle.motor_model.avionics_power_w
    for rotor, speed in zip(vehicle.rotors, speeds):
        arm = np.array(rotor.position_m)
        spin = {'ccw': 1.0, 'cw': -1.0}[rotor.turns]
        hub = velocity + np.cross(rate, arm)
        edgewise = (hub - (hub @ UP) * UP) * density / 1.225
        thrust, shaft, electrical = rotor_thrust_and_power(
            vehicle, speed, hub, density, height + (to_world @ arm)[2])
        rotor_force = thrust * UP - model.drag_coefficient_n_s2_m * speed * edgewise
        force += rotor_force
        torque += np.cross(arm, rotor_force)
        torque -= spin * shaft * UP * (
            model.moment_coefficient_m / vehicle.motor_model.shaft_torque_coefficient_m)
        torque -= spin * model.rolling_moment_coefficient_n_s2 * speed * edgewise
        torque -= np.cross(rate, spin * model.inertia_kg_m2 * speed * UP)
        power += electrical
    return force, torque, power


def pack_rates(states, power):
    """Return the bus voltage and the rates of charge and polarisation, by Kirchhoff's laws."""
    sources = np.array([
        p.empty_voltage_v + (p.full_voltage_v - p.empty_voltage_v) * soc - v1
        - max(0.0, 1.0 - soc / 0.05) * 0.09 * p.empty_voltage_v
        for p, (soc, v1) in zip(PACKS, states)])
    conductances = np.array([1.0 / p.series_resistance_ohm for p in PACKS])
    # V sum((E - V) / R0) = P
    voltage = max(np.roots([-conductances.sum(), conductances @ sources, -power]).real)
    currents = (sources - voltage) * conductances
    rates = [
        (-i / (3600.0 * p.capacity_ah),
         (i - v1 / p.polarisation_resistance_ohm) / p.polarisation_capacitance_f)
        for p, i, (_, v1) in zip(PACKS, currents, states)]
    return voltage, np.ravel(rates)


def equations_of_motion(vehicle):
    """Return the derivative of the state as a function of time and state."""
    body, model = vehicle.body, vehicle.rotor_model
    inertia = np.diag(body.inertia_kg_m2)
    gravity = environment().gravity

    def derivative(_, x):
        height, velocity, attitude, rate, speeds = x[2], x[3:6], x[6:10], x[10:13], x[13:17]
        to_world = rotation(attitude)
        density = air_density(height)
        airspeed = to_world.T @ (velocity - WIND)
        force, torque, power = rotor_wrench(
            vehicle, speeds, airspeed, rate, density, height, to_world)
        drag = body.linear_drag_n_s_m + body.quadratic_drag_n_s2_m2 * np.linalg.norm(airspeed)
        force -= drag * density / 1.225 * airspeed
        voltage, packs = pack_rates(x[17:].reshape(-1, 2), power)
        reached = np.array(REFERENCES) * voltage / vehicle.battery.nominal_voltage_v
        lag = np.where(reached > speeds, model.time_constant_up_s, model.time_constant_down_s)
        spun = (reached - speeds) / lag
        senses = [{'ccw': 1.0, 'cw': -1.0}[rotor.turns] for rotor in vehicle.rotors]
        torque -= model.inertia_kg_m2 * (senses @ spun) * UP
        w, vector = attitude[0], attitude[1:]
        return np.concatenate([
            velocity,
            to_world @ force / body.mass_kg - gravity.at(height) * UP
            - 2.0 * np.cross(EARTH_RATE, velocity),
            [-0.5 * vector @ rate], 0.5 * (w * rate + np.cross(vector, rate)),
            np.linalg.solve(inertia, torque - np.cross(rate, inertia @ rate)),
            spun,
            packs])

    return derivative
