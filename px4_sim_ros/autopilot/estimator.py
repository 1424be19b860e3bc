# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Attitude, velocity and position from IMU, magnetometer, barometer and GNSS alone.

A strapdown integration corrected with fixed gains. Tilt is observed through velocity:
with a small attitude error e (a rotation in the world) the velocity error grows as e x g,
so each velocity difference corrects the tilt that would have caused it.
"""
from __future__ import annotations

import dataclasses
import math

from px4_sim_ros.model.environment.atmosphere import STANDARD
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame, load_proj
from px4_sim_ros.model.environment.magnetic_field import field_enu_t
from px4_sim_ros.model.frames import Quaternion, Vector, vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import (
    difference,
    from_rotation_vector,
    matrix,
    multiply,
    normalised,
    scaled,
    to_body,
    to_world,
    wrap_rad,
)


@dataclasses.dataclass(frozen=True)
class EstimatorParameters(Parameters):
    """Gains, as rates at which an error is taken out."""

    alignment_time_s: float = parameter('time at rest that the start averages over', 's', above=0)
    tilt_gain_rad_m: float = parameter('tilt rate per velocity error', 'rad/m', minimum=0)
    velocity_gain_hz: float = parameter('velocity from GNSS velocity', '1/s', minimum=0)
    position_gain_hz: float = parameter('position from GNSS position', '1/s', minimum=0)
    position_to_velocity_gain_hz2: float = parameter(
        'velocity from GNSS position', '1/s^2', minimum=0)
    height_gain_hz: float = parameter('height from the barometer', '1/s', minimum=0)
    height_to_velocity_gain_hz2: float = parameter(
        'climb rate from the barometer', '1/s^2', minimum=0)
    heading_gain_hz: float = parameter('heading from the magnetometer', '1/s', minimum=0)
    gyro_bias_gain_hz: float = parameter('gyro bias from attitude corrections', '1/s', minimum=0)


class _Mean:
    """Running mean of vectors."""

    def __init__(self) -> None:
        self.count = 0
        self.value: tuple[float, ...] = ()

    def add(self, sample: tuple[float, ...]) -> None:
        self.count += 1
        previous = self.value or (0.0,) * len(sample)
        self.value = tuple(m + (s - m) / self.count for m, s in zip(previous, sample))


class Estimator:
    """The estimate in ENU from the first GNSS fixes, body FLU."""

    def __init__(
        self, parameters: EstimatorParameters, gravity_m_s2: float, magnetic_field_year: float,
    ) -> None:
        load_proj()
        self._parameters = parameters
        self._gravity = gravity_m_s2
        self._year = magnetic_field_year
        self._force, self._field, self._height, self._fix = _Mean(), _Mean(), _Mean(), _Mean()
        self._first_fix: LocalFrame | None = None      # around the first
        self._time_us = 0                        # of the last IMU sample
        self._started_us: int | None = None      # of the first
        self._magnetic_heading = 0.0
        self._rotation = matrix((1.0, 0.0, 0.0, 0.0))
        self.frame: LocalFrame | None = None     # None until aligned
        self.attitude: Quaternion = (1.0, 0.0, 0.0, 0.0)
        self.velocity: Vector = (0.0, 0.0, 0.0)
        self.position: Vector = (0.0, 0.0, 0.0)
        self.rate: Vector = (0.0, 0.0, 0.0)
        self._gyro_bias: Vector = (0.0, 0.0, 0.0)

    @property
    def aligned(self) -> bool:
        """Whether the estimate is valid."""
        return self.frame is not None

    def imu(self, time_us: int, force: Vector, rate: Vector) -> None:
        """Integrate one IMU sample (m/s^2 and rad/s, FLU)."""
        if self._started_us is None:
            self._time_us = self._started_us = time_us
        dt = (time_us - self._time_us) * 1e-6
        self._time_us = time_us
        wx, wy, wz = self.rate = difference(rate, self._gyro_bias)
        if not self.aligned:
            self._align(force, (time_us - self._started_us) * 1e-6)
            return
        half_turn = from_rotation_vector((0.5 * dt * wx, 0.5 * dt * wy, 0.5 * dt * wz))
        middle = multiply(self.attitude, half_turn)
        ax, ay, az = to_world(matrix(middle), force)
        az -= self._gravity
        self._set_attitude(multiply(middle, half_turn))
        (px, py, pz), (vx, vy, vz) = self.position, self.velocity
        self.position = (
            px + dt * (vx + 0.5 * dt * ax), py + dt * (vy + 0.5 * dt * ay),
            pz + dt * (vz + 0.5 * dt * az))
        self.velocity = vx + dt * ax, vy + dt * ay, vz + dt * az

    def magnetometer(self, field_flu_t: Vector, dt: float) -> None:
        """Correct the heading with a field sample; `dt` is the time since the last one."""
        if not self.aligned:
            self._field.add(field_flu_t)
            return
        x, y, _ = to_world(self._rotation, field_flu_t)
        error = wrap_rad(self._magnetic_heading - math.atan2(y, x))
        self._turn((0.0, 0.0, self._parameters.heading_gain_hz * dt * error))

    def barometer(self, pressure_pa: float, dt: float) -> None:
        """Correct the height with a pressure sample; `dt` is the time since the last one."""
        height = STANDARD.pressure_altitude_m(pressure_pa)
        if not self.aligned:
            self._height.add((height,))
            return
        p = self._parameters
        error = height - self._height.value[0] - self.position[2]
        (px, py, pz), (vx, vy, vz) = self.position, self.velocity
        self.position = px, py, pz + p.height_gain_hz * dt * error
        self.velocity = vx, vy, vz + p.height_to_velocity_gain_hz2 * dt * error

    def gnss(self, fix: GeodeticPosition, velocity: Vector, dt: float) -> None:
        """Correct position, velocity and tilt with a fix; `dt` is the time since the last one.

        :param velocity: east, north and up at the place of the fix
        """
        if self.frame is None:
            # On a map, for longitudes have no mean near a pole or the date line.
            self._first_fix = self._first_fix or LocalFrame(fix)
            self._fix.add(self._first_fix.to_local(fix))
            return
        p = self._parameters
        ex, ey, _ = difference(self.frame.to_local(fix), self.position)
        dx, dy, dz = difference(self.frame.turned_from_place(fix, velocity), self.velocity)
        (px, py, pz), (vx, vy, vz) = self.position, self.velocity
        gain, coupling = p.velocity_gain_hz * dt, p.position_to_velocity_gain_hz2 * dt
        self.position = (
            px + p.position_gain_hz * dt * ex, py + p.position_gain_hz * dt * ey, pz)
        self.velocity = (
            vx + gain * dx + coupling * ex, vy + gain * dy + coupling * ey, vz + gain * dz)
        tilt = p.tilt_gain_rad_m * dt
        self._turn((-tilt * dy, tilt * dx, 0.0))

    def _turn(self, correction: Vector) -> None:
        """Turn the attitude by a small rotation in the world; learn the gyro bias from it."""
        self._set_attitude(multiply(from_rotation_vector(correction), self.attitude))
        self._gyro_bias = difference(self._gyro_bias, scaled(
            self._parameters.gyro_bias_gain_hz, to_body(self._rotation, correction)))

    def _set_attitude(self, attitude: Quaternion) -> None:
        self.attitude = normalised(attitude)
        self._rotation = matrix(self.attitude)

    def _align(self, force: Vector, waited_s: float) -> None:
        """Average at rest, then start level with gravity and along the magnetic field."""
        self._force.add(force)
        if waited_s < self._parameters.alignment_time_s or self._first_fix is None or not (
                self._field.count and self._height.count):
            return
        origin = self._first_fix.to_geodetic(vector(self._fix.value))
        east, north, _ = field_enu_t(origin, self._year)
        self._magnetic_heading = math.atan2(north, east)
        fx, fy, fz = self._force.value
        roll, pitch = math.atan2(fy, fz), math.atan2(-fx, math.hypot(fy, fz))
        level = multiply(
            from_rotation_vector((0.0, pitch, 0.0)), from_rotation_vector((roll, 0.0, 0.0)))
        mx, my, mz = self._field.value
        x, y, _ = to_world(matrix(level), (mx, my, mz))
        yaw = wrap_rad(self._magnetic_heading - math.atan2(y, x))
        self._set_attitude(multiply(from_rotation_vector((0.0, 0.0, yaw)), level))
        self.frame = LocalFrame(origin)
