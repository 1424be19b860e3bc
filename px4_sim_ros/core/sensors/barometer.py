"""Barometer: static pressure of the standard atmosphere at the vehicle's height."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.core import atmosphere
from px4_sim_ros.core.dynamics import Truth
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.random_streams import NormalStream
from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.core.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class BarometerParameters(Parameters):
    """Noise and drift of the barometer."""

    noise_pa: float = parameter('standard deviation of a sample', 'Pa', minimum=0)
    drift_pa_s: float = parameter('steady drift', 'Pa/s')


class PressureMeasurement(typing.NamedTuple):
    """One sample of static pressure and the variance of its noise."""

    time_us: int
    pressure_pa: float
    variance: float


class Barometer:
    """The sensor."""

    def __init__(self, name: str, parameters: BarometerParameters, world: WorldParameters) -> None:
        self._parameters = parameters
        self._home_altitude_m = world.home_altitude_m
        self._stream = NormalStream(world.seed, name)

    def measure(self, truth: Truth) -> PressureMeasurement:
        """Return the sample at the truth's time."""
        p = self._parameters
        pressure = atmosphere.pressure_pa(self._home_altitude_m + truth.position_enu[2])
        drift = p.drift_pa_s * (truth.time_us / US_PER_S)
        return PressureMeasurement(
            truth.time_us, pressure + drift + p.noise_pa * self._stream.next(),
            p.noise_pa * p.noise_pa)
