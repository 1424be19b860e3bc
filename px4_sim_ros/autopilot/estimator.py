# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Attitude, velocity and position from IMU, magnetometer, barometer and GNSS alone.

A strapdown integration corrected with fixed gains. Tilt is observed through velocity:
with a small attitude error e (a rotation in the world) the velocity error grows as e x g,
so each velocity difference corrects the tilt that would have caused it.

The law is functions of the records `m` and `c`, see `memory`. The estimate is in ENU from the mean
of the first GNSS fixes.
"""
from __future__ import annotations

import dataclasses
import functools
import math
import struct
import typing

import numpy as np

from px4_sim_ros.autopilot.vectors import (
    difference,
    from_rotation_vector,
    hypot,
    matrix,
    multiply,
    normalised,
    put,
    quaternion,
    scaled,
    to_body,
    to_world,
    vector,
    wrap_rad,
)
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model import frames
from px4_sim_ros.model.environment import atmosphere
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame, load_proj
from px4_sim_ros.model.environment.magnetic_field import field_enu_t
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.parameters import Parameters, parameter

# The year of the magnetic declination that this autopilot knows, as firmware does.
_MAGNETIC_FIELD_YEAR = 2026.0

_SEA_LEVEL_PA = atmosphere.STANDARD.sea_level_pressure_pa
_SEA_LEVEL_K = atmosphere.STANDARD.sea_level_temperature_k
_pressure_altitude_m = compiled(atmosphere.pressure_altitude_m)


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


@compiled
def since_s(last_us: int, time_us: int) -> float:
    """Return the seconds since the last sample of a kind; 0 for the first."""
    return (time_us - last_us) * 1e-6 if last_us >= 0 else 0.0


@compiled
def imu(m: typing.Any, c: typing.Any) -> None:
    """Integrate an IMU sample."""
    time_us = m.time_us
    if m.imu_us < 0:
        m.started_us = time_us
    dt = since_s(m.imu_us, time_us)
    m.imu_us = time_us
    put(m.rate_rad_s, difference(vector(m.gyro_rad_s), vector(m.gyro_bias_rad_s)))
    if not m.aligned:
        _align(m, c)
        return
    wx, wy, wz = vector(m.rate_rad_s)
    half_turn = from_rotation_vector((0.5 * dt * wx, 0.5 * dt * wy, 0.5 * dt * wz))
    middle = multiply(quaternion(m.attitude), half_turn)
    ax, ay, az = to_world(matrix(middle), vector(m.specific_force_m_s2))
    az -= c.gravity_m_s2
    put(m.attitude, normalised(multiply(middle, half_turn)))
    (px, py, pz), (vx, vy, vz) = vector(m.position_m), vector(m.velocity_m_s)
    put(m.position_m, (
        px + dt * (vx + 0.5 * dt * ax), py + dt * (vy + 0.5 * dt * ay),
        pz + dt * (vz + 0.5 * dt * az)))
    put(m.velocity_m_s, (vx + dt * ax, vy + dt * ay, vz + dt * az))


@compiled
def magnetometer(m: typing.Any, c: typing.Any) -> None:
    """Correct the heading with a sample of the magnetic field."""
    dt = since_s(m.magnetometer_us, m.time_us)
    m.magnetometer_us = m.time_us
    if not m.aligned:
        m.field_samples += 1
        _average(m.mean_field_t, m.field_samples, vector(m.field_t))
        return
    x, y, _ = to_world(matrix(quaternion(m.attitude)), vector(m.field_t))
    error = wrap_rad(m.magnetic_heading_rad - math.atan2(y, x))
    _turn(m, c, (0.0, 0.0, c.estimator.heading_gain_hz * dt * error))


@compiled
def barometer(m: typing.Any, c: typing.Any) -> None:
    """Correct the height with a sample of the pressure."""
    dt = since_s(m.barometer_us, m.time_us)
    m.barometer_us = m.time_us
    height = _pressure_altitude_m(m.pressure_pa, _SEA_LEVEL_PA, _SEA_LEVEL_K)
    if not m.aligned:
        m.height_samples += 1
        m.mean_height_m += (height - m.mean_height_m) / m.height_samples
        return
    error = height - m.mean_height_m - m.position_m[2]
    m.position_m[2] += c.estimator.height_gain_hz * dt * error
    m.velocity_m_s[2] += c.estimator.height_to_velocity_gain_hz2 * dt * error


@compiled
def gnss(m: typing.Any, c: typing.Any) -> None:
    """Correct position, velocity and tilt with a fix, which comes after the sample of its step."""
    time_us = max(m.answered_us, 0)
    dt = since_s(m.gnss_us, time_us)
    m.gnss_us = time_us
    if not m.aligned:
        m.fix_samples += 1
        _average(m.mean_fix_m, m.fix_samples, vector(m.fix_m))
        return
    p = c.estimator
    ex, ey, _ = difference(vector(m.fix_m), vector(m.position_m))
    dx, dy, dz = difference(vector(m.fix_velocity_m_s), vector(m.velocity_m_s))
    gain, coupling = p.velocity_gain_hz * dt, p.position_to_velocity_gain_hz2 * dt
    m.position_m[0] += p.position_gain_hz * dt * ex
    m.position_m[1] += p.position_gain_hz * dt * ey
    vx, vy, vz = vector(m.velocity_m_s)
    put(m.velocity_m_s, (
        vx + gain * dx + coupling * ex, vy + gain * dy + coupling * ey, vz + gain * dz))
    tilt = p.tilt_gain_rad_m * dt
    _turn(m, c, (-tilt * dy, tilt * dx, 0.0))


@compiled
def _turn(m: typing.Any, c: typing.Any, correction: Vector) -> None:
    """Turn the attitude by a small rotation in the world (rad); learn the gyro bias from it."""
    attitude = normalised(multiply(from_rotation_vector(correction), quaternion(m.attitude)))
    put(m.attitude, attitude)
    put(m.gyro_bias_rad_s, difference(vector(m.gyro_bias_rad_s), scaled(
        c.estimator.gyro_bias_gain_hz, to_body(matrix(attitude), correction))))


@compiled
def _align(m: typing.Any, c: typing.Any) -> None:
    """Average at rest, then start level with gravity and along the magnetic field."""
    m.force_samples += 1
    _average(m.mean_force_m_s2, m.force_samples, vector(m.specific_force_m_s2))
    waited_s = (m.imu_us - m.started_us) * 1e-6
    if waited_s < c.estimator.alignment_time_s or not (
            m.fix_samples and m.field_samples and m.height_samples):
        return
    fx, fy, fz = vector(m.mean_force_m_s2)
    roll, pitch = math.atan2(fy, fz), math.atan2(-fx, hypot(fy, fz))
    level = multiply(
        from_rotation_vector((0.0, pitch, 0.0)), from_rotation_vector((roll, 0.0, 0.0)))
    x, y, _ = to_world(matrix(level), vector(m.mean_field_t))
    yaw = wrap_rad(m.magnetic_heading_rad - math.atan2(y, x))
    put(m.attitude, normalised(multiply(from_rotation_vector((0.0, 0.0, yaw)), level)))
    m.aligned = True


@compiled
def _average(mean: np.ndarray, samples: int, new: Vector) -> None:
    """Let a sample be the last of as many that a running mean is of."""
    for i in range(len(new)):
        mean[i] += (new[i] - mean[i]) / samples


class Estimate(typing.NamedTuple):
    """Where the vehicle is, in the frame of the estimate."""

    attitude: Quaternion               # from body to world
    rate: Vector                       # rad/s, body
    velocity: Vector                   # m/s
    position: Vector                   # m


class Estimator:
    """What the estimator knows, and its fixes: where on the Earth the estimate is."""

    def __init__(self, m: typing.Any, correct: typing.Callable[[], object]) -> None:
        """Begin with a record.

        :param correct: does `gnss` with it
        """
        load_proj()
        self._m, self._correct = m, correct
        # In one call: each field of a record takes as long by itself.
        self._read = functools.partial(
            struct.Struct('13d').unpack_from, m.data, m.dtype.fields['attitude'][1])
        self._aligned = functools.partial(
            struct.Struct('?').unpack_from, m.data, m.dtype.fields['aligned'][1])
        self._fix_m, self._fix_velocity_m_s = m.fix_m, m.fix_velocity_m_s
        self._first_fix: LocalFrame | None = None      # around the first
        self._frame: LocalFrame | None = None          # around the mean of all until aligned

    @property
    def aligned(self) -> bool:
        """Whether the estimate is valid."""
        return bool(self._aligned()[0])

    @property
    def frame(self) -> LocalFrame | None:
        """The frame of the estimate; None until aligned."""
        return self._frame if self.aligned else None

    def now(self) -> Estimate:
        """Return the estimate."""
        n = self._read()
        return Estimate(n[:4], n[4:7], n[7:10], n[10:])

    def gnss(self, fix: GeodeticPosition, velocity: Vector) -> None:
        """Correct position, velocity and tilt with a fix.

        :param velocity: east, north and up at the place of the fix
        """
        if (frame := self.frame) is not None:
            self._fix_m[:] = frame.to_local(fix)
            self._fix_velocity_m_s[:] = frame.turned_from_place(fix, velocity)
            self._correct()
            return
        m = self._m
        # On a map, for longitudes have no mean near a pole or the date line.
        self._first_fix = self._first_fix or LocalFrame(fix)
        self._fix_m[:] = self._first_fix.to_local(fix)
        self._correct()
        origin = self._first_fix.to_geodetic(frames.vector(m.mean_fix_m.tolist()))
        self._frame = LocalFrame(origin)
        east, north, _ = field_enu_t(origin, _MAGNETIC_FIELD_YEAR)
        m.magnetic_heading_rad = math.atan2(north, east)
