# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Barometer: static pressure at the vehicle's height, its drift, and what the wind adds."""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.noise import GaussMarkov, NoiseRows
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


def sampled_pressure_pa(
    pressure_pa: float, time_s: float, wander_pa: float, noise_pa: float, drift_pa_s: float,
    warm_up_pa: float, warm_up_time_s: float,
) -> float:
    """Return a sample of a pressure, with the errors of its time."""
    drift = drift_pa_s * time_s + wander_pa + warm_up_pa * math.exp(-time_s / warm_up_time_s)
    return pressure_pa + drift + noise_pa


def dynamic_pressure_pa(
    density_kg_m3: float, velocity_enu: Vector, wind_enu: Vector,
) -> float:
    """Return rho v^2 / 2 of the horizontal velocity relative to the air."""
    east, north = velocity_enu[0] - wind_enu[0], velocity_enu[1] - wind_enu[1]
    return 0.5 * density_kg_m3 * (east * east + north * north)


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
        self.noise = NoiseRows(2, self._fill)
        """The wander and the white noise of the samples to come, Pa."""

    def _fill(self, rows: np.ndarray) -> None:
        rows[:, 0] = self._wander.take(len(rows))
        rows[:, 1] = self._parameters.noise_pa * self._stream.take(len(rows))

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> PressureMeasurement:
        """Return the sample at the truth's time."""
        p = self._parameters
        altitude_m = self._home_altitude_m + truth.position_enu[2]
        pressure = self._atmosphere.pressure_pa(altitude_m)
        if p.wind_pressure_coefficient:
            pressure -= p.wind_pressure_coefficient * dynamic_pressure_pa(
                self._atmosphere.density_kg_m3(altitude_m),
                to_world(matrix(truth.attitude), truth.velocity_flu), inputs.wind_enu)
        wander_pa, noise_pa = self.noise.next()
        return PressureMeasurement(
            truth.time_us, sampled_pressure_pa(
                pressure, truth.time_us / US_PER_S, wander_pa, noise_pa, p.drift_pa_s,
                p.warm_up_pa, p.warm_up_time_s), self.variance)

    is_plain = True
    """No sample is rounded."""

    @property
    def variance(self) -> float:
        """Of the noise of a sample, Pa^2."""
        return self._parameters.noise_pa * self._parameters.noise_pa

    def constants(self) -> dict[str, float]:
        """Return the constants of a sample, for `sensing`."""
        p = self._parameters
        return {
            'drift_pa_s': p.drift_pa_s, 'warm_up_pa': p.warm_up_pa,
            'warm_up_time_s': p.warm_up_time_s,
            'wind_pressure_coefficient': p.wind_pressure_coefficient,
            'home_altitude_m': self._home_altitude_m,
            'sea_level_pressure_pa': self._atmosphere.sea_level_pressure_pa,
            'sea_level_temperature_k': self._atmosphere.sea_level_temperature_k}

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self.noise.skip(samples)
