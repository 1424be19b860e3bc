# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Visual odometry: pose and velocity as a camera's estimator reports them, slowly drifting."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.frames import Quaternion, Vector, vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import from_rotation_vector, multiply, normalised
from px4_sim_ros.model.sensors.noise import GaussMarkovVector
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class VisualOdometryParameters(Parameters):
    """Errors of the estimate."""

    position_noise_m: float = parameter('1-sigma position noise on each axis', 'm', minimum=0)
    attitude_noise_rad: float = parameter(
        '1-sigma attitude noise about each axis', 'rad', minimum=0, maximum=3.2)
    velocity_noise_m_s: float = parameter('1-sigma velocity noise on each axis', 'm/s', minimum=0)
    position_random_walk: float = parameter(
        'drive of the drift on each axis', 'm/s/sqrt(Hz)', minimum=0)
    drift_correlation_time_s: float = parameter('time constant of the drift', 's', above=0)


class VisualOdometryMeasurement(typing.NamedTuple):
    """Pose of the body in ENU from home and velocity in FLU; variances of the white noise."""

    time_us: int
    position_enu: Vector
    attitude: Quaternion
    velocity_flu: Vector
    position_variance: float
    attitude_variance: float
    velocity_variance: float


class VisualOdometry:
    """The sensor: it starts at the true pose, and the drift of its position is not reported."""

    def __init__(
        self, name: str, parameters: VisualOdometryParameters, world: WorldParameters,
    ) -> None:
        p = parameters
        self._parameters = p
        self._stream = NormalStream(world.seed, name)
        stream = NormalStream(world.seed, f'{name}/drift')
        stream.skip(3)              # it begins at 0
        self._drift = GaussMarkovVector(
            p.position_random_walk, p.drift_correlation_time_s, world.period_us(name) / US_PER_S,
            stream)

    def measure(
        self, truth: Truth, inputs: SensorInputs = STILL,
    ) -> VisualOdometryMeasurement:
        """Return the estimate at the truth's time."""
        p = self._parameters
        drift = self._drift.next()
        position_noise, turn = self._stream.next3(), self._stream.next3()
        velocity_noise = self._stream.next3()
        error = from_rotation_vector(vector(p.attitude_noise_rad * n for n in turn))
        return VisualOdometryMeasurement(
            truth.time_us,
            vector(x + d + p.position_noise_m * n
                   for x, d, n in zip(truth.position_enu, drift, position_noise)),
            normalised(multiply(truth.attitude, error)),
            vector(v + p.velocity_noise_m_s * n
                   for v, n in zip(truth.velocity_flu, velocity_noise)),
            p.position_noise_m * p.position_noise_m,
            p.attitude_noise_rad * p.attitude_noise_rad,
            p.velocity_noise_m_s * p.velocity_noise_m_s,
        )

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._stream.skip(9 * samples)
        self._drift.skip(samples)
