# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parts of the autopilot's law, each with records of its own, as tests call them."""
from __future__ import annotations

import functools

from px4_sim_ros.autopilot import controller
from px4_sim_ros.autopilot.answer import BAROMETER, GNSS, IMU, MAGNETOMETER, answer_of
from px4_sim_ros.autopilot.estimator import Estimator
from px4_sim_ros.autopilot.memory import constants_of, new_memory


class FedEstimator(Estimator):
    """An estimator that is given samples of the sensors, one at a time."""

    def __init__(self, vehicle, gains) -> None:
        self.records = new_memory(), constants_of(vehicle, gains)
        self._answer = answer_of(*self.records)
        super().__init__(self.records[0][0], functools.partial(self._answer, GNSS))

    def imu(self, time_us, force, rate):
        """Give it specific force (m/s^2) and rate (rad/s) of a time, which holds for the others."""
        self._m.time_us = time_us
        self._m.specific_force_m_s2[:], self._m.gyro_rad_s[:] = force, rate
        self._answer(IMU)

    def magnetometer(self, field_flu_t):
        """Give it the magnetic field."""
        self._m.field_t[:] = field_flu_t
        self._answer(MAGNETOMETER)

    def barometer(self, pressure_pa):
        """Give it the static pressure."""
        self._m.pressure_pa = pressure_pa
        self._answer(BAROMETER)


class SteeredController:
    """A controller that is given the estimate."""

    def __init__(self, vehicle, gains) -> None:
        self.records = new_memory(), constants_of(vehicle, gains)
        self._m, self._c = (record[0] for record in self.records)

    @property
    def thrust_fraction(self):
        """Of the weight, as last commanded."""
        return self._m.thrust_fraction

    def reset(self):
        """Set the integral to zero, as arming does."""
        self._m.integral_m_s2[:] = 0.0

    def velocity_to(self, target, position):
        """Return the velocity that leads to a position."""
        return controller.velocity_to(self._c, tuple(target), tuple(position))

    def allocated(self, thrust_n, torque_flu):
        """Return a command for each rotor."""
        controller.allocate(self._m, self._c, thrust_n, tuple(torque_flu))
        return self._commands()

    def commands(self, estimate, velocity, yaw, dt):
        """Return rotor commands that bring the vehicle to a velocity at a heading."""
        m = self._m
        m.attitude[:], m.velocity_m_s[:] = estimate.attitude, estimate.velocity
        m.rate_rad_s[:] = estimate.rate
        controller.command(m, self._c, velocity, yaw, dt, False)
        return self._commands()

    def _commands(self):
        return self._m.controls[:self._c.rotors].tolist()
