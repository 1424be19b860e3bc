"""Magnetometer: the Earth's field at home, seen in body axes."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.core.dynamics import Truth
from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.magnetic_field import field_enu_t
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.random_streams import NormalStream
from px4_sim_ros.core.rotation import matrix, to_body
from px4_sim_ros.core.sensors.noise import VectorNoise
from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.core.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class MagnetometerParameters(Parameters):
    """Noise of the magnetometer, in tesla (1 T = 10 000 gauss)."""

    noise_density: float = parameter('white noise', 'T/sqrt(Hz)', minimum=0)
    random_walk: float = parameter('drive of the bias', 'T/s/sqrt(Hz)', minimum=0)
    bias_correlation_time_s: float = parameter('bias time constant', 's', above=0)
    turn_on_bias: float = parameter('1-sigma bias at the start', 'T', minimum=0)


class MagneticFieldMeasurement(typing.NamedTuple):
    """One sample in tesla, body FLU, and the variance of its white noise."""

    time_us: int
    field_flu_t: Vector
    variance: float


class Magnetometer:
    """The sensor. The field is uniform: over 1 km it changes by less than 0.1 %."""

    def __init__(
        self, name: str, parameters: MagnetometerParameters, world: WorldParameters,
    ) -> None:
        p = parameters
        self._field_enu = field_enu_t(world.local_frame().origin, world.magnetic_field_year)
        self._noise = VectorNoise(
            p.noise_density, p.random_walk, p.bias_correlation_time_s, p.turn_on_bias,
            world.period_us(name) / US_PER_S, NormalStream(world.seed, name))

    def measure(self, truth: Truth) -> MagneticFieldMeasurement:
        """Return the sample at the truth's time."""
        field = to_body(matrix(truth.attitude), self._field_enu)
        return MagneticFieldMeasurement(
            truth.time_us, self._noise.add_to(field), self._noise.variance)
