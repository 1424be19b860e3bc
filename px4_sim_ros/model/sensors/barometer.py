# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Barometer: static pressure at the vehicle's height, its drift, and what the wind adds."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.noise import GaussMarkov
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class BarometerParameters(Parameters):
    """Errors of the barometer."""

    noise_pa: float = parameter('standard deviation of a sample', 'Pa', minimum=0)
    drift_pa_s: float = parameter('steady drift', 'Pa/s')
    wander_pa: float = parameter('1-sigma of a slowly changing error', 'Pa', minimum=0)
    wander_correlation_time_s: float = parameter('how slowly that changes', 's', above=0)
    warm_up_pa: float = parameter('error at the start, which fades', 'Pa')
    warm_up_time_s: float = parameter('time constant of the fading', 's', above=0)
    wind_pressure_coefficient: float = parameter(
        'the port reads less than the static pressure by this part of the dynamic pressure of'
        ' the horizontal airspeed')


class PressureMeasurement(typing.NamedTuple):
    """One sample of static pressure and the variance of its noise."""

    time_us: int
    pressure_pa: float
    variance: float


class Barometer:
    """The sensor."""

    def __init__(self, name: str, parameters: BarometerParameters, world: WorldParameters) -> None:
        p = parameters
        self._parameters = p
        self._home_altitude_m = world.home_altitude_m
        self._atmosphere = world.atmosphere()
        self._stream = NormalStream(world.seed, name)
        self._wander = GaussMarkov(
            p.wander_pa, p.wander_correlation_time_s, world.period_us(name) / US_PER_S,
            NormalStream(world.seed, f'{name}/wander'))

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> PressureMeasurement:
        """Return the sample at the truth's time."""
        p = self._parameters
        altitude_m = self._home_altitude_m + truth.position_enu[2]
        pressure = self._atmosphere.pressure_pa(altitude_m)
        if p.wind_pressure_coefficient:
            pressure -= p.wind_pressure_coefficient * self._dynamic_pressure_pa(
                altitude_m, truth, inputs)
        time_s = truth.time_us / US_PER_S
        drift = (
            p.drift_pa_s * time_s + self._wander.next()
            + p.warm_up_pa * math.exp(-time_s / p.warm_up_time_s))
        return PressureMeasurement(
            truth.time_us, pressure + drift + p.noise_pa * self._stream.next(),
            p.noise_pa * p.noise_pa)

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._stream.skip(samples)
        self._wander.skip(samples)

    def _dynamic_pressure_pa(
        self, altitude_m: float, truth: Truth, inputs: SensorInputs,
    ) -> float:
        """Return rho v^2 / 2 of the horizontal velocity relative to the air."""
        east, north, _ = to_world(matrix(truth.attitude), truth.velocity_flu)
        wind_east, wind_north, _ = inputs.wind_enu
        east, north = east - wind_east, north - wind_north
        density = self._atmosphere.density_kg_m3(altitude_m)
        return 0.5 * density * (east * east + north * north)
