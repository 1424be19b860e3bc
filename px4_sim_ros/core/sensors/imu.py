"""Inertial measurement unit at the centre of mass: specific force and angular rate."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.core.dynamics import Truth
from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.random_streams import NormalStream
from px4_sim_ros.core.rotation import matrix, to_body
from px4_sim_ros.core.sensors.noise import VectorNoise
from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.core.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class ImuParameters(Parameters):
    """Noise of gyro and accelerometer."""

    gyro_noise_density: float = parameter('white noise', 'rad/s/sqrt(Hz)', minimum=0)
    gyro_random_walk: float = parameter('drive of the bias', 'rad/s^2/sqrt(Hz)', minimum=0)
    gyro_bias_correlation_time_s: float = parameter('bias time constant', 's', above=0)
    gyro_turn_on_bias: float = parameter('1-sigma bias at the start', 'rad/s', minimum=0)
    accel_noise_density: float = parameter('white noise', 'm/s^2/sqrt(Hz)', minimum=0)
    accel_random_walk: float = parameter('drive of the bias', 'm/s^3/sqrt(Hz)', minimum=0)
    accel_bias_correlation_time_s: float = parameter('bias time constant', 's', above=0)
    accel_turn_on_bias: float = parameter('1-sigma bias at the start', 'm/s^2', minimum=0)


class ImuMeasurement(typing.NamedTuple):
    """One sample, body FLU; variances are those of the white noise on each axis."""

    time_us: int
    specific_force_flu: Vector
    rate_flu: Vector
    specific_force_variance: float
    rate_variance: float


def specific_force_flu(truth: Truth, gravity_m_s2: float) -> Vector:
    """Return what an ideal accelerometer at the centre of mass reads: a - g, in FLU."""
    gx, gy, gz = to_body(matrix(truth.attitude), (0.0, 0.0, gravity_m_s2))
    ax, ay, az = truth.acceleration_flu
    return ax + gx, ay + gy, az + gz


class Imu:
    """The sensor: samples the motion at an instant."""

    def __init__(self, name: str, parameters: ImuParameters, world: WorldParameters) -> None:
        p = parameters
        period_s = world.period_us(name) / US_PER_S
        self._gravity = world.gravity_m_s2
        self._accel = VectorNoise(
            p.accel_noise_density, p.accel_random_walk, p.accel_bias_correlation_time_s,
            p.accel_turn_on_bias, period_s, NormalStream(world.seed, f'{name}/accel'))
        self._gyro = VectorNoise(
            p.gyro_noise_density, p.gyro_random_walk, p.gyro_bias_correlation_time_s,
            p.gyro_turn_on_bias, period_s, NormalStream(world.seed, f'{name}/gyro'))

    def measure(self, truth: Truth) -> ImuMeasurement:
        """Return the sample at the truth's time."""
        return ImuMeasurement(
            truth.time_us,
            self._accel.add_to(specific_force_flu(truth, self._gravity)),
            self._gyro.add_to(truth.rate_flu),
            self._accel.variance,
            self._gyro.variance,
        )
