# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Inertial measurement unit: specific force and angular rate where, and as, it is mounted."""
from __future__ import annotations

import dataclasses
import functools
import math
import typing

from px4_sim_ros.jit.fast_namedtuple import fast_namedtuple
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import (
    conjugate,
    cross,
    difference,
    dot,
    from_rotation_vector,
    matrix,
    multiply,
    rotation_vector,
    scaled,
    to_body,
    to_world,
    total,
)
from px4_sim_ros.model.sensors.mounting import mounting_rotation, velocity_flu
from px4_sim_ros.model.sensors.noise import (
    ACCELERATION,
    RATE,
    Converter,
    NoiseRows,
    RotorVibration,
    VectorNoise,
    within,
)
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters

# What an IMU reads on average over a period, from the motion at both of its ends.
#
# Drivers read an IMU several times as fast as they publish, and give the mean of these samples.
# Here it is the mean of infinitely many, whatever the steps of the motion are: the change of
# attitude and velocity over the period, turned back into what the axes of the body have felt
# meanwhile.
#
# Attitude: a turn by phi is the integral of the rate w and a coning term, T^2 / 12 w0 x w1 for a
# rate that changes linearly. Velocity: seen from the middle of the period its change is the
# integral of the specific force f, across the rate less by sin(x) / x with x = |phi| / 2, and a
# sculling term, T^2 / 12 (w0 x f1 + f0 x w1) (Savage 1998, Strapdown inertial navigation
# integration algorithm design, parts 1 and 2). Both terms are taken off: the mean of samples does
# not have them, and PX4 adds that of coning as it integrates.


class _End(typing.NamedTuple):
    """An end of a period: the motion of the place of the IMU, and what it feels there."""

    time_us: int
    attitude: Quaternion
    rate_flu: Vector
    position_enu: Vector           # of the body
    velocity_enu: Vector           # of the IMU
    gravity_m_s2: float
    specific_force_flu: Vector


class ImuMeans:
    """The means since the sample before."""

    def __init__(
        self, period_us: int, gravity: Gravity, earth_rate_enu: Vector, position_m: Vector,
    ) -> None:
        """Take where the IMU is on the body, FLU."""
        self._period_us, self._gravity = period_us, gravity
        self._earth_rate_enu, self._position_m = earth_rate_enu, position_m
        self._last: _End | None = None

    def of(
        self, truth: Truth, rotation: tuple[float, ...], force: Vector, rate: Vector,
    ) -> tuple[Vector, Vector]:
        """Return the mean specific force (m/s^2) and rate (rad/s), FLU.

        :param rotation: of the truth's attitude
        :param force: at the time of the truth, which the first sample has, and one after a gap
        :param rate: the same
        """
        end = _End(
            truth.time_us, truth.attitude, truth.rate_flu, truth.position_enu,
            to_world(rotation, velocity_flu(truth, self._position_m)),
            self._gravity.at(truth.position_enu[2]), force)
        begin, self._last = self._last, end
        if begin is None or begin.time_us != end.time_us - self._period_us:
            return force, rate
        return self._between(begin, end)

    def _between(self, a: _End, b: _End) -> tuple[Vector, Vector]:
        period_s = self._period_us / US_PER_S
        turn = rotation_vector(multiply(conjugate(a.attitude), b.attitude))
        middle = matrix(multiply(a.attitude, from_rotation_vector(scaled(0.5, turn))))
        moved, sped_up = (scaled(1.0 / period_s, difference(after, before)) for before, after in (
            (a.position_enu, b.position_enu), (a.velocity_enu, b.velocity_enu)))
        # a + 2 W x v - g
        x, y, z = total(sped_up, scaled(2.0, cross(self._earth_rate_enu, moved)))
        felt = to_body(middle, (x, y, z + 0.5 * (a.gravity_m_s2 + b.gravity_m_s2)))
        share = -period_s / 12.0
        sculling = total(cross(a.rate_flu, b.specific_force_flu),
                         cross(a.specific_force_flu, b.rate_flu))
        return (
            total(_unturned(felt, turn), scaled(share, sculling)),
            total(total(scaled(1.0 / period_s, turn), to_body(middle, self._earth_rate_enu)),
                  scaled(share, cross(a.rate_flu, b.rate_flu))))


def _unturned(mean: Vector, turn: Vector) -> Vector:
    """Return the vector in turning axes whose mean in those of the middle of the turn is given."""
    squared = dot(turn, turn)
    if squared < 1e-18:
        return mean
    half = 0.5 * math.sqrt(squared)
    longer = half / math.sin(half)
    along = (1.0 - longer) * dot(turn, mean) / squared
    return total(scaled(longer, mean), scaled(along, turn))


_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class ImuParameters(Parameters):
    """Errors of gyro and accelerometer, and where they sit."""

    gyro_noise_density: float = parameter('white noise', 'rad/s/sqrt(Hz)', minimum=0)
    gyro_random_walk: float = parameter('drive of the bias', 'rad/s^2/sqrt(Hz)', minimum=0)
    gyro_bias_correlation_time_s: float = parameter('bias time constant', 's', above=0)
    gyro_turn_on_bias: float = parameter('1-sigma bias at the start', 'rad/s', minimum=0)
    gyro_scale_error: float = parameter(
        '1-sigma relative error of each axis, drawn once', minimum=0)
    gyro_misalignment: float = parameter(
        '1-sigma tilt of each axis towards each of the others, drawn once', 'rad', minimum=0)
    gyro_range: float = parameter('largest magnitude on each axis', 'rad/s', above=0)
    gyro_resolution: float = parameter(
        'values are rounded to the nearest multiple; 0: they are not', 'rad/s', minimum=0)
    accel_noise_density: float = parameter('white noise', 'm/s^2/sqrt(Hz)', minimum=0)
    accel_random_walk: float = parameter('drive of the bias', 'm/s^3/sqrt(Hz)', minimum=0)
    accel_bias_correlation_time_s: float = parameter('bias time constant', 's', above=0)
    accel_turn_on_bias: float = parameter('1-sigma bias at the start', 'm/s^2', minimum=0)
    accel_scale_error: float = parameter(
        '1-sigma relative error of each axis, drawn once', minimum=0)
    accel_misalignment: float = parameter(
        '1-sigma tilt of each axis towards each of the others, drawn once', 'rad', minimum=0)
    accel_range: float = parameter('largest magnitude on each axis', 'm/s^2', above=0)
    accel_resolution: float = parameter(
        'values are rounded to the nearest multiple; 0: they are not', 'm/s^2', minimum=0)
    accel_vibration: tuple[float, float, float] = parameter(
        'what each rotor shakes each axis with at 1, 2 and 3 times its speed, when that is'
        ' vibration_speed_rad_s; it grows with the square', 'm/s^2', minimum=0)
    gyro_vibration: tuple[float, float, float] = parameter(
        'the same of the gyro; it grows with the speed', 'rad/s', minimum=0)
    vibration_speed_rad_s: float = parameter(
        'speed of the rotors for which the two are given', 'rad/s', above=0)
    sampling: str = parameter(
        'what a sample is: the motion at its time, or the mean since the one before, as drivers'
        ' give it that read their IMU several times as fast', choices=('instant', 'mean'))
    position_m: tuple[float, float, float] = parameter(
        'place relative to the centre of mass, FLU', 'm', minimum=-100, maximum=100)
    mounting_deg: tuple[float, float, float] = parameter(
        'roll, pitch and yaw of the sensor in the body, FLU; PX4 has SENS_BOARD_ROT for it, which'
        ' has the opposite pitch and yaw and turns the magnetometers, too', 'deg',
        minimum=-180, maximum=180)


class ImuMeasurement(typing.NamedTuple):
    """One sample in the sensor's axes, FLU; variances are those of the white noise on each axis."""

    time_us: int
    specific_force_flu: Vector
    rate_flu: Vector
    specific_force_variance: float
    rate_variance: float


_measurement_of = fast_namedtuple(ImuMeasurement)


def ideal_sample(
    rotation: tuple[float, ...], velocity_flu: Vector, acceleration_flu: Vector, rate_flu: Vector,
    gravity_m_s2: float, earth_rate_flu: Vector,
) -> tuple[Vector, Vector]:
    """Return the sample of an ideal IMU at the centre of mass: specific force and rate, FLU.

    The force is a + 2 W x v - g, with the acceleration a over an Earth that turns by W. It is
    compiled as well, for `body.felt`.

    :param rotation: of the attitude, body to world, from `rotation.matrix`
    """
    ex, ey, ez = earth_rate_flu
    vx, vy, vz = velocity_flu
    ax, ay, az = acceleration_flu
    wx, wy, wz = rate_flu
    # The last row of the rotation is the world's z axis in body axes.
    return (
        ax + rotation[6] * gravity_m_s2 + 2.0 * (ey * vz - ez * vy),
        ay + rotation[7] * gravity_m_s2 + 2.0 * (ez * vx - ex * vz),
        az + rotation[8] * gravity_m_s2 + 2.0 * (ex * vy - ey * vx),
    ), (wx + ex, wy + ey, wz + ez)


def lever_arm_acceleration(truth: Truth, position_m: Vector) -> Vector:
    """Return the acceleration of a place less that of the centre of mass, in FLU.

    It is alpha x r + w x (w x r).
    """
    tx, ty, tz = cross(truth.angular_acceleration_flu, position_m)
    cx, cy, cz = cross(truth.rate_flu, cross(truth.rate_flu, position_m))
    return tx + cx, ty + cy, tz + cz


class Imu:
    """The sensor."""

    def __init__(self, name: str, parameters: ImuParameters, world: WorldParameters) -> None:
        p = parameters
        period_s = world.period_us(name) / US_PER_S
        mounting = mounting_rotation(p.mounting_deg)
        self._gravity = world.gravity()
        self._earth_rate_enu = world.earth_rate_enu()
        self._position = p.position_m if any(p.position_m) else None
        self._means = ImuMeans(
            world.period_us(name), self._gravity, self._earth_rate_enu, p.position_m,
        ) if p.sampling == 'mean' else None
        self._accel = _Triad(
            _axes(p.accel_scale_error, p.accel_misalignment, mounting,
                  NormalStream(world.seed, f'{name}/accel/axes')),
            VectorNoise(
                p.accel_noise_density, p.accel_random_walk, p.accel_bias_correlation_time_s,
                p.accel_turn_on_bias, period_s, world.seed, f'{name}/accel'),
            Converter(p.accel_range, p.accel_resolution), _vibration(
                p.accel_vibration, p, ACCELERATION, period_s, world, f'{name}/accel'))
        self._gyro = _Triad(
            _axes(p.gyro_scale_error, p.gyro_misalignment, mounting,
                  NormalStream(world.seed, f'{name}/gyro/axes')),
            VectorNoise(
                p.gyro_noise_density, p.gyro_random_walk, p.gyro_bias_correlation_time_s,
                p.gyro_turn_on_bias, period_s, world.seed, f'{name}/gyro'),
            Converter(p.gyro_range, p.gyro_resolution), _vibration(
                p.gyro_vibration, p, RATE, period_s, world, f'{name}/gyro'))

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> ImuMeasurement:
        """Return the sample whose time is the truth's."""
        rotation = matrix(truth.attitude)
        force, rate = ideal_sample(
            rotation, truth.velocity_flu, truth.acceleration_flu, truth.rate_flu,
            self._gravity.at(truth.position_enu[2]), to_body(rotation, self._earth_rate_enu))
        if self._position is not None:
            x, y, z = lever_arm_acceleration(truth, self._position)
            force = force[0] + x, force[1] + y, force[2] + z
        if self._means is not None:
            force, rate = self._means.of(truth, rotation, force, rate)
        accel, gyro = self._accel, self._gyro
        return _measurement_of((
            truth.time_us, accel.sense(force, truth), gyro.sense(rate, truth),
            accel.variance, gyro.variance))

    @property
    def is_plain(self) -> bool:
        """Whether a sample is the motion of the centre of mass as it is now, with noise."""
        return self._position is None and self._means is None and all(
            triad.is_plain for triad in (self._accel, self._gyro))

    @property
    def noise(self) -> tuple[NoiseRows, NoiseRows]:
        """Of the accelerometer and the gyro: bias and white noise of the samples to come."""
        return self._accel.noise, self._gyro.noise

    def constants(self) -> dict[str, float]:
        """Return the ranges, for `sensing`."""
        return {'accel_limit': self._accel.limit, 'gyro_limit': self._gyro.limit}

    def sample(self, time_us: int, force: Vector, rate: Vector) -> ImuMeasurement:
        """Return the measurement of a plain IMU that `sensing` has computed."""
        return _measurement_of((time_us, force, rate, self._accel.variance, self._gyro.variance))

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._accel.skip(samples)
        self._gyro.skip(samples)


def _vibration(
    amplitudes: Vector, p: ImuParameters, power: int, period_s: float, world: WorldParameters,
    name: str,
) -> RotorVibration | None:
    return RotorVibration(
        amplitudes, p.vibration_speed_rad_s, power, period_s, world.seed,
        f'{name}/vibration') if any(amplitudes) else None


class _Triad:
    """Three axes of one kind: what they are turned to, what shakes them, noise and converter."""

    def __init__(
        self, axes: tuple[float, ...], noise: VectorNoise, converter: Converter,
        vibration: RotorVibration | None,
    ) -> None:
        self._axes = None if axes == _IDENTITY else axes
        self._add_noise, self.skip, self.noise = noise.add_to, noise.skip, noise.ahead
        self.limit = converter.limit
        self._convert = converter.read if converter.resolution else functools.partial(
            within, limit=converter.limit)
        self._vibration = vibration
        self.is_plain = self._axes is None and vibration is None and not converter.resolution
        self.variance = noise.variance

    def sense(self, body: Vector, truth: Truth) -> Vector:
        """Return the sample of a vector in body axes, shaken by the rotors of the truth."""
        if self._vibration is not None:
            body = self._vibration.add_to(body, truth)
        if self._axes is not None:
            body = to_world(self._axes, body)     # only the product of matrix and vector
        return self._convert(self._add_noise(body))


def _axes(
    scale_error: float, misalignment: float, mounting: Quaternion, stream: NormalStream,
) -> tuple[float, ...]:
    """Return the matrix, row by row, from body vectors to what imperfect axes sense.

    It is (1 + E) R^T: R turns sensor into body axes; E has relative scale errors in its
    diagonal and small tilts of the axes off it, to first order.
    """
    r = matrix(mounting)
    # Always nine numbers, so that one kind of error does not change the other.
    errors = [stream.next() * (misalignment if i % 4 else scale_error) for i in range(9)]
    skew = [error + unit for error, unit in zip(errors, _IDENTITY)]
    return tuple(
        sum(skew[3 * i + k] * r[3 * j + k] for k in range(3))
        for i in range(3) for j in range(3))
