# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Magnetometer: the Earth's field, and that of the vehicle itself, in the sensor's axes."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.environment.magnetic_field import MagneticField
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import matrix, to_body, to_world
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.model.sensors.noise import Converter, NoiseRows, VectorNoise, numbered
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters


@dataclasses.dataclass(frozen=True)
class MagnetometerParameters(Parameters):
    """Errors of the magnetometer, in tesla (1 T = 10 000 gauss)."""

    noise_density: float = parameter('white noise', 'T/sqrt(Hz)', minimum=0)
    random_walk: float = parameter('drive of the bias', 'T/s/sqrt(Hz)', minimum=0)
    bias_correlation_time_s: float = parameter('bias time constant', 's', above=0)
    turn_on_bias: float = parameter('1-sigma bias at the start', 'T', minimum=0)
    hard_iron: tuple[float, float, float] = parameter(
        'field of what is magnetised in the vehicle, FLU', 'T')
    soft_iron: tuple[float, float, float, float, float, float] = parameter(
        'how iron bends the field: xx, yy, zz, xy, xz, yz of a symmetric matrix that is'
        ' multiplied with the field and added to it')
    field_per_current: tuple[float, float, float] = parameter(
        "field of the battery's current, FLU", 'T/A')
    mounting_deg: tuple[float, float, float] = parameter(
        'roll, pitch and yaw of the sensor in the body, FLU; PX4 takes it from SENS_BOARD_ROT,'
        ' as that of the IMU', 'deg', minimum=-180, maximum=180)
    range: float = parameter('largest magnitude on each axis', 'T', above=0)
    resolution: float = parameter(
        'values are rounded to the nearest multiple; 0: they are not', 'T', minimum=0)


class MagneticFieldMeasurement(typing.NamedTuple):
    """One sample in tesla, sensor FLU, and the variance of its white noise."""

    time_us: int
    field_flu_t: Vector
    variance: float


def field_in_vehicle(
    field_t: Vector, hard_iron_t: Vector, field_per_current_t_a: Vector, current_a: float,
) -> Vector:
    """Return a field with what the vehicle itself adds, T, both in the sensor's axes."""
    x, y, z = field_t
    hx, hy, hz = hard_iron_t
    cx, cy, cz = field_per_current_t_a
    return x + hx + current_a * cx, y + hy + current_a * cy, z + hz + current_a * cz


class Magnetometer:
    """The sensor."""

    def __init__(
        self, name: str, parameters: MagnetometerParameters, world: WorldParameters,
    ) -> None:
        p = parameters
        self._earth = MagneticField(world.local_frame(), world.magnetic_field_year)
        # Both irons and the current work in body axes; all is turned into the sensor's at once.
        mounting = matrix(mounting_rotation(p.mounting_deg))
        xx, yy, zz, xy, xz, yz = p.soft_iron
        columns = [to_body(mounting, column) for column in (
            (1.0 + xx, xy, xz), (xy, 1.0 + yy, yz), (xz, yz, 1.0 + zz))]
        self._axes = tuple(column[row] for row in range(3) for column in columns)
        self._hard_iron = to_body(mounting, p.hard_iron)
        self._field_per_current = to_body(mounting, p.field_per_current)
        self._noise = VectorNoise(
            p.noise_density, p.random_walk, p.bias_correlation_time_s, p.turn_on_bias,
            world.period_us(name) / US_PER_S, world.seed, name)
        self._converter = Converter(p.range, p.resolution)

    def measure(
        self, truth: Truth, inputs: SensorInputs = STILL,
    ) -> MagneticFieldMeasurement:
        """Return the sample at the truth's time."""
        earth = to_body(matrix(truth.attitude), self._earth.at(truth.position_enu))
        field = field_in_vehicle(
            to_world(self._axes, earth), self._hard_iron,      # only matrix times vector
            self._field_per_current, inputs.current_a)
        return MagneticFieldMeasurement(
            truth.time_us, self._converter.read(self._noise.add_to(field)), self.variance)

    @property
    def is_plain(self) -> bool:
        """Whether no sample is rounded."""
        return not self._converter.resolution

    @property
    def noise(self) -> NoiseRows:
        """The bias and the white noise of the samples to come."""
        return self._noise.ahead

    @property
    def variance(self) -> float:
        """Of the white noise of a sample, T^2."""
        return self._noise.variance

    def constants(self) -> dict[str, float]:
        """Return the constants of a sample, for `sensing`."""
        return {
            **numbered('field', self._earth.home_t),
            **numbered('field_east', self._earth.slopes_t_m[0]),
            **numbered('field_north', self._earth.slopes_t_m[1]),
            **numbered('field_up', self._earth.slopes_t_m[2]),
            **numbered('mag_axes', self._axes), **numbered('hard_iron', self._hard_iron),
            **numbered('field_per_current', self._field_per_current),
            'mag_limit': self._converter.limit}

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._noise.skip(samples)
