# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Airspeed sensor: the differential pressure of a pitot tube, along body x unless it is turned."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import dot, matrix, to_body, to_world
from px4_sim_ros.model.sensors.mounting import height_m, mounting_rotation, velocity_flu
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class AirspeedParameters(Parameters):
    """Errors of the pressure sensor, and where the tube is."""

    position_m: tuple[float, float, float] = parameter(
        'place of the tube relative to the centre of mass, FLU', 'm', minimum=-100, maximum=100)
    noise_pa: float = parameter('standard deviation of a sample', 'Pa', minimum=0)
    offset_pa: float = parameter('constant error', 'Pa')
    mounting_deg: tuple[float, float, float] = parameter(
        'roll, pitch and yaw of the tube, which is along its x axis, in the body', 'deg',
        minimum=-180, maximum=180)


class DifferentialPressureMeasurement(typing.NamedTuple):
    """One sample: total minus static pressure, and the variance of its noise."""

    time_us: int
    differential_pressure_pa: float
    variance: float


class Airspeed:
    """The sensor.

    The pressure is rho v |v| / 2 with the velocity v relative to the air along the tube: the
    air does not compress, which at 50 m/s is true within 0.6 %. Backwards it is negative. PX4
    turns pressure into airspeed by the same law (`calc_IAS`).
    """

    def __init__(self, name: str, parameters: AirspeedParameters, world: WorldParameters) -> None:
        self._parameters = parameters
        self._home_altitude_m = world.home_altitude_m
        self._atmosphere = world.atmosphere()
        self._stream = NormalStream(world.seed, name)
        self._tube = to_world(matrix(mounting_rotation(parameters.mounting_deg)), (1.0, 0.0, 0.0))

    def measure(
        self, truth: Truth, inputs: SensorInputs = STILL,
    ) -> DifferentialPressureMeasurement:
        """Return the sample at the truth's time."""
        p = self._parameters
        rotation = matrix(truth.attitude)
        density = self._atmosphere.density_kg_m3(
            self._home_altitude_m + height_m(truth, rotation, p.position_m))
        speed = (dot(self._tube, velocity_flu(truth, p.position_m))
                 - dot(self._tube, to_body(rotation, inputs.wind_enu)))
        pressure = 0.5 * density * speed * abs(speed)
        return DifferentialPressureMeasurement(
            truth.time_us, pressure + p.offset_pa + p.noise_pa * self._stream.next(),
            p.noise_pa * p.noise_pa)

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._stream.skip(samples)
