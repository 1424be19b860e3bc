# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cascaded control: position, velocity, attitude, body rate; then rotor thrusts.

World vectors are ENU, body vectors FLU.
"""
from __future__ import annotations

import dataclasses
import math

import numpy as np

from px4_sim_ros.autopilot.estimator import Estimator
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import (
    conjugate,
    cross,
    difference,
    dot,
    matrix,
    multiply,
    normalised,
    scaled,
    total,
)
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


class Allocation:
    """Rotor commands from a collective thrust and a torque, by the vehicle's geometry."""

    def __init__(self, vehicle: Vehicle) -> None:
        model = vehicle.rotor_model
        self._model = model
        effectiveness = np.array([
            (1.0, r.position_m[1], -r.position_m[0], -r.spin * model.moment_coefficient_m)
            for r in vehicle.rotors]).T
        self._mix = [tuple(row) for row in np.linalg.pinv(effectiveness).tolist()]
        self._max_thrust_n = model.thrust_coefficient_n_s2 * model.max_speed_rad_s ** 2

    def commands(self, thrust_n: float, torque_flu: Vector) -> list[float]:
        """Return a command 0..1 for each rotor."""
        model = self._model
        tx, ty, tz = torque_flu
        commands = []
        for f, x, y, z in self._mix:
            thrust = min(max(f * thrust_n + x * tx + y * ty + z * tz, 0.0), self._max_thrust_n)
            speed = math.sqrt(thrust / model.thrust_coefficient_n_s2)
            command = (speed - model.command_offset_rad_s) / model.command_gain_rad_s
            commands.append(min(max(command, 0.0), 1.0))
        return commands


class Controller:
    """Turns a position or velocity to reach into rotor commands."""

    def __init__(
        self, parameters: ControllerParameters, vehicle: Vehicle, gravity_m_s2: float,
    ) -> None:
        self._parameters = parameters
        self._body = vehicle.body
        self._gravity = gravity_m_s2
        self._allocation = Allocation(vehicle)
        self._integral: Vector = (0.0, 0.0, 0.0)
        self.thrust_fraction = 0.0       # of the weight, as last commanded

    @property
    def max_descent_speed_m_s(self) -> float:
        """Its limit."""
        return self._parameters.max_descent_speed_m_s

    def reset(self) -> None:
        """Set the integral to zero, before a take-off."""
        self._integral = (0.0, 0.0, 0.0)

    def velocity_to(self, target: Vector, position: Vector) -> Vector:
        """Return the velocity that leads to a position, within the limits."""
        p = self._parameters
        x, y, z = scaled(p.position_gain_hz, difference(target, position))
        scale = min(1.0, p.max_horizontal_speed_m_s / max(math.hypot(x, y), 1e-9))
        return x * scale, y * scale, min(max(z, -p.max_descent_speed_m_s), p.max_climb_speed_m_s)

    def commands(
        self, estimate: Estimator, velocity: Vector, yaw: float, dt: float, is_level: bool = False,
    ) -> list[float]:
        """Return rotor commands that bring the vehicle to a velocity at a heading.

        :param is_level: whether only the vertical velocity counts
        """
        ax, ay, az = self._acceleration(estimate, velocity, dt)
        if is_level:
            ax = ay = 0.0
        mass = self._body.mass_kg
        force = mass * ax, mass * ay, mass * (az + self._gravity)
        _, _, zx, _, _, zy, _, _, zz = matrix(estimate.attitude)
        thrust = max(0.0, force[0] * zx + force[1] * zy + force[2] * zz)
        self.thrust_fraction = thrust / (mass * self._gravity)
        return self._allocation.commands(
            thrust, self._torque(estimate, _attitude_along(force, yaw)))

    def _acceleration(self, estimate: Estimator, velocity: Vector, dt: float) -> Vector:
        p = self._parameters
        error = difference(velocity, estimate.velocity)
        # What limits the way to a velocity does not limit what holds it: in wind, in thin air and
        # at a low voltage the integral is more than either limit.
        x, y, z = scaled(p.velocity_gain_hz, error)
        scale = min(1.0, p.max_horizontal_acceleration_m_s2 / max(math.hypot(x, y), 1e-9))
        limit, most = p.max_vertical_acceleration_m_s2, _MAX_INTEGRAL_M_S2
        ix, iy, iz = self._integral = _within(most, total(
            self._integral, scaled(p.velocity_integral_gain_hz2 * dt, error)))
        return x * scale + ix, y * scale + iy, max(min(max(z, -limit), limit) + iz, -most)

    def _torque(self, estimate: Estimator, attitude: Quaternion) -> Vector:
        p = self._parameters
        w, x, y, z = multiply(conjugate(estimate.attitude), attitude)
        gain = math.copysign(2.0 * p.attitude_gain_hz, w)
        rate = estimate.rate
        ex, ey, ez = difference(_within(p.max_rate_rad_s, scaled(gain, (x, y, z))), rate)
        ix, iy, iz = self._body.inertia_kg_m2
        cx, cy, cz = cross(rate, (ix * rate[0], iy * rate[1], iz * rate[2]))
        return (ix * p.rate_gain_hz * ex + cx, iy * p.rate_gain_hz * ey + cy,
                iz * p.yaw_rate_gain_hz * ez + cz)


def _within(limit: float, v: Vector) -> Vector:
    x, y, z = v
    return (min(max(x, -limit), limit), min(max(y, -limit), limit), min(max(z, -limit), limit))


def _attitude_along(force: Vector, yaw: float) -> Quaternion:
    """Return the attitude whose z axis points along `force`, turned to a heading."""
    norm = math.sqrt(dot(force, force)) or 1.0
    x, y, z = force[0] / norm, force[1] / norm, force[2] / norm
    # The shortest turn from world z to the force, after the heading.
    tilt = normalised((1.0 + z, -y, x, 0.0)) if z > -0.999 else (0.0, 1.0, 0.0, 0.0)
    heading = (math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw))
    return multiply(tilt, heading)
