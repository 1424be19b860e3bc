# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cascaded control: position, velocity, attitude, body rate; then rotor thrusts.

The law is functions of the records `m` and `c`, see `memory`.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.autopilot.vectors import (
    conjugate,
    cross,
    difference,
    dot,
    hypot,
    matrix,
    multiply,
    normalised,
    put,
    quaternion,
    scaled,
    total,
    vector,
)
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.vehicle.vehicle import Vehicle

_MAX_INTEGRAL_M_S2 = 8.0
"""Less than gravity, so that the thrust never points down."""


@dataclasses.dataclass(frozen=True)
class ControllerParameters(Parameters):
    """Gains, as bandwidths, and limits."""

    position_gain_hz: float = parameter('velocity per position error', '1/s', minimum=0)
    velocity_gain_hz: float = parameter('acceleration per velocity error', '1/s', minimum=0)
    velocity_integral_gain_hz2: float = parameter('integral of the same', '1/s^2', minimum=0)
    attitude_gain_hz: float = parameter('rate per attitude error', '1/s', minimum=0)
    rate_gain_hz: float = parameter('angular acceleration per rate error', '1/s', minimum=0)
    yaw_rate_gain_hz: float = parameter('the same about body z', '1/s', minimum=0)
    max_horizontal_speed_m_s: float = parameter('limit', 'm/s', above=0)
    max_climb_speed_m_s: float = parameter('limit', 'm/s', above=0)
    max_descent_speed_m_s: float = parameter('limit', 'm/s', above=0)
    max_horizontal_acceleration_m_s2: float = parameter('limit', 'm/s^2', above=0)
    max_vertical_acceleration_m_s2: float = parameter('limit', 'm/s^2', above=0, maximum=9)
    max_rate_rad_s: float = parameter('limit', 'rad/s', above=0)


def allocation(vehicle: Vehicle) -> list[list[float]]:
    """Return for each rotor what it takes of a collective thrust and a torque, by the geometry."""
    effectiveness = np.array([
        (1.0, r.position_m[1], -r.position_m[0],
         -r.spin * vehicle.rotor_model.moment_coefficient_m) for r in vehicle.rotors]).T
    mix: list[list[float]] = np.linalg.pinv(effectiveness).tolist()
    return mix


@compiled
def allocate(m: typing.Any, c: typing.Any, thrust_n: float, torque_flu: Vector) -> None:
    """Set a control 0..1 for each rotor."""
    tx, ty, tz = torque_flu
    for i in range(c.rotors):
        f, x, y, z = quaternion(c.mix[i])
        thrust = min(max(f * thrust_n + x * tx + y * ty + z * tz, 0.0), c.max_thrust_n)
        speed = math.sqrt(thrust / c.thrust_coefficient_n_s2)
        command = (speed - c.command_offset_rad_s) / c.command_gain_rad_s
        m.controls[i] = min(max(command, 0.0), 1.0)


@compiled
def velocity_to(c: typing.Any, target: Vector, position: Vector) -> Vector:
    """Return the velocity that leads to a position, within the limits."""
    p = c.controller
    x, y, z = scaled(p.position_gain_hz, difference(target, position))
    scale = min(1.0, p.max_horizontal_speed_m_s / max(hypot(x, y), 1e-9))
    return x * scale, y * scale, min(max(z, -p.max_descent_speed_m_s), p.max_climb_speed_m_s)


@compiled
def command(
    m: typing.Any, c: typing.Any, velocity: Vector, yaw: float, dt: float, is_level: bool,
) -> None:
    """Set the rotors' controls that bring the vehicle to a velocity at a heading.

    :param is_level: whether only the vertical velocity counts
    """
    ax, ay, az = _acceleration(m, c, velocity, dt)
    if is_level:
        ax = ay = 0.0
    mass = c.mass_kg
    force = mass * ax, mass * ay, mass * (az + c.gravity_m_s2)
    _, _, zx, _, _, zy, _, _, zz = matrix(quaternion(m.attitude))
    thrust = max(0.0, force[0] * zx + force[1] * zy + force[2] * zz)
    m.thrust_fraction = thrust / (mass * c.gravity_m_s2)
    allocate(m, c, thrust, _torque(m, c, _attitude_along(force, yaw)))


@compiled
def _acceleration(m: typing.Any, c: typing.Any, velocity: Vector, dt: float) -> Vector:
    p = c.controller
    error = difference(velocity, vector(m.velocity_m_s))
    # What limits the way to a velocity does not limit what holds it: in wind, in thin air and
    # at a low voltage the integral is more than either limit.
    x, y, z = scaled(p.velocity_gain_hz, error)
    scale = min(1.0, p.max_horizontal_acceleration_m_s2 / max(hypot(x, y), 1e-9))
    limit, most = p.max_vertical_acceleration_m_s2, _MAX_INTEGRAL_M_S2
    ix, iy, iz = _within(most, total(
        vector(m.integral_m_s2), scaled(p.velocity_integral_gain_hz2 * dt, error)))
    put(m.integral_m_s2, (ix, iy, iz))
    return x * scale + ix, y * scale + iy, max(min(max(z, -limit), limit) + iz, -most)


@compiled
def turn(m: typing.Any, c: typing.Any, has_attitude: bool) -> None:
    """Set the controls for the wanted thrust and attitude, or rates."""
    thrust = m.wanted_thrust * c.rotors * c.max_thrust_n
    m.thrust_fraction = thrust / (c.mass_kg * c.gravity_m_s2)
    if has_attitude:
        torque = _torque(m, c, quaternion(m.wanted_attitude))
    else:
        torque = _torque_to(m, c, vector(m.wanted_rate_rad_s))
    allocate(m, c, thrust, torque)


@compiled
def _torque(m: typing.Any, c: typing.Any, attitude: Quaternion) -> Vector:
    w, x, y, z = multiply(conjugate(quaternion(m.attitude)), attitude)
    gain = math.copysign(2.0 * c.controller.attitude_gain_hz, w)
    return _torque_to(m, c, scaled(gain, (x, y, z)))


@compiled
def _torque_to(m: typing.Any, c: typing.Any, wanted: Vector) -> Vector:
    """Return the torque that leads to a rate, within its limit."""
    p = c.controller
    rate = vector(m.rate_rad_s)
    ex, ey, ez = difference(_within(p.max_rate_rad_s, wanted), rate)
    ix, iy, iz = vector(c.inertia_kg_m2)
    cx, cy, cz = cross(rate, (ix * rate[0], iy * rate[1], iz * rate[2]))
    return (ix * p.rate_gain_hz * ex + cx, iy * p.rate_gain_hz * ey + cy,
            iz * p.yaw_rate_gain_hz * ez + cz)


@compiled
def _within(limit: float, v: Vector) -> Vector:
    x, y, z = v
    return (min(max(x, -limit), limit), min(max(y, -limit), limit), min(max(z, -limit), limit))


@compiled
def _attitude_along(force: Vector, yaw: float) -> Quaternion:
    """Return the attitude whose z axis points along `force`, turned to a heading."""
    norm = math.sqrt(dot(force, force)) or 1.0
    x, y, z = force[0] / norm, force[1] / norm, force[2] / norm
    # The shortest turn from world z to the force, after the heading.
    tilt = normalised((1.0 + z, -y, x, 0.0)) if z > -0.999 else (0.0, 1.0, 0.0, 0.0)
    heading = (math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw))
    return multiply(tilt, heading)
