# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Range finder: the distance to the ground along one of the body's axes."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, check_ascending, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.mounting import distance_to_ground_m, height_m
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth, in_32_bits
from px4_sim_ros.model.world import WorldParameters

# The beam in FLU. PX4 knows only such directions.
DIRECTIONS: dict[str, Vector] = {
    'forward': (1.0, 0.0, 0.0), 'backward': (-1.0, 0.0, 0.0),
    'left': (0.0, 1.0, 0.0), 'right': (0.0, -1.0, 0.0),
    'up': (0.0, 0.0, 1.0), 'down': (0.0, 0.0, -1.0),
}


@dataclasses.dataclass(frozen=True)
class RangeFinderParameters(Parameters):
    """What the sensor can see, and its noise."""

    position_m: tuple[float, float, float] = parameter(
        'place relative to the centre of mass, FLU', 'm', minimum=-100, maximum=100)
    direction: str = parameter('where the beam goes', choices=tuple(DIRECTIONS))
    field_of_view_deg: float = parameter(
        'full angle of the cone in which the nearest ground counts', 'deg', minimum=0, maximum=90)
    min_range_m: float = parameter('shortest distance', 'm', minimum=0, maximum=100)
    # The largest number of DISTANCE_SENSOR is 655.35 m.
    max_range_m: float = parameter('longest distance', 'm', above=0, maximum=655)
    noise_m: float = parameter('standard deviation of a sample', 'm', minimum=0, maximum=100)

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> RangeFinderParameters:
        """Build and validate; the shortest distance must be below the longest."""
        built = super().from_mapping(owner, values)
        check_ascending(owner, built, 'min_range_m', 'max_range_m')
        return built


class RangeMeasurement(typing.NamedTuple):
    """One sample and what the sensor can see; all numbers are exact in 32 bits.

    A range beyond the maximum, or of nothing at all, is +inf, below the minimum it is -inf
    (REP-117).
    """

    time_us: int
    range_m: float
    variance: float
    min_range_m: float
    max_range_m: float
    field_of_view_rad: float
    direction: str


class RangeFinder:
    """The sensor."""

    def __init__(
        self, name: str, parameters: RangeFinderParameters, world: WorldParameters,
    ) -> None:
        p = parameters
        self._parameters = p
        self._beam = DIRECTIONS[p.direction]
        self._ground = world.ground()
        self._half_angle_rad = 0.5 * math.radians(p.field_of_view_deg)
        self._stream = NormalStream(world.seed, name)
        self._variance, self._min_range_m, self._max_range_m, self._field_of_view_rad = in_32_bits(
            p.noise_m * p.noise_m, p.min_range_m, p.max_range_m, math.radians(p.field_of_view_deg))

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> RangeMeasurement:
        """Return the sample at the truth's time: the nearest ground within the cone."""
        p = self._parameters
        truth = self._ground.seen(truth)
        rotation = matrix(truth.attitude)
        downwards = -to_world(rotation, self._beam)[2]
        off_nadir_rad = math.acos(min(1.0, max(-1.0, downwards)))
        distance = distance_to_ground_m(
            height_m(truth, rotation, p.position_m),
            max(0.0, off_nadir_rad - self._half_angle_rad))
        measured, = in_32_bits(distance + p.noise_m * self._stream.next())
        if measured > self._max_range_m:
            measured = math.inf
        elif measured < self._min_range_m:
            measured = -math.inf
        return RangeMeasurement(
            truth.time_us, measured, self._variance, self._min_range_m, self._max_range_m,
            self._field_of_view_rad, p.direction)

    def skip(self, samples: int) -> None:
        """Skip samples: the noise advances as if they had been measured."""
        self._stream.skip(samples)
