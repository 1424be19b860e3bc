# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Range finder: the distance to what is nearest along one of the body's axes."""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, check_ascending, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import cross
from px4_sim_ros.model.scene.rays import DISTANCE, Pose, Rays
from px4_sim_ros.model.sensors.mounting import plane_along_m
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth, in_32_bits
from px4_sim_ros.model.world import WorldParameters

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

# The beam in FLU. PX4 knows only such directions.
DIRECTIONS: dict[str, Vector] = {
    'forward': (1.0, 0.0, 0.0), 'backward': (-1.0, 0.0, 0.0),
    'left': (0.0, 1.0, 0.0), 'right': (0.0, -1.0, 0.0),
    'up': (0.0, 0.0, 1.0), 'down': (0.0, 0.0, -1.0),
}
# The largest number of DISTANCE_SENSOR is 655.35 m.
MOST_RANGE_M = 655
# The cone in a scene: its axis and two rings, of so many rays, at shares of its half angle.
_RINGS = (0.5, 8), (1.0, 16)


@dataclasses.dataclass(frozen=True)
class RangeFinderParameters(Parameters):
    """What the sensor can see, and its noise."""

    position_m: tuple[float, float, float] = parameter(
        'place relative to the centre of mass, FLU', 'm', minimum=-100, maximum=100)
    direction: str = parameter('where the beam goes', choices=tuple(DIRECTIONS))
    field_of_view_deg: float = parameter(
        'full angle of the cone in which what is nearest counts', 'deg', minimum=0, maximum=90)
    min_range_m: float = parameter('shortest distance', 'm', minimum=0, maximum=100)
    max_range_m: float = parameter('longest distance', 'm', above=0, maximum=MOST_RANGE_M)
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
        self._rays: Rays | None = None
        self._has_plane = True
        self._variance, self._min_range_m, self._max_range_m, self._field_of_view_rad = in_32_bits(
            p.noise_m * p.noise_m, p.min_range_m, p.max_range_m, math.radians(p.field_of_view_deg))

    def see(self, scene: Scene) -> None:
        """Measure the distance to what stands in the world as well, by 25 rays within the cone."""
        p = self._parameters
        self._rays = Rays(scene, self._ground, cone(self._beam, self._half_angle_rad),
                          p.max_range_m + 6.0 * p.noise_m)
        self._has_plane = scene.ground is None

    def measure(self, truth: Truth, inputs: SensorInputs = STILL) -> RangeMeasurement:
        """Return the sample at the truth's time: what is nearest within the cone."""
        p = self._parameters
        distance = plane_along_m(
            self._ground, truth, p.position_m, self._beam, self._half_angle_rad
        ) if self._has_plane else math.inf
        if self._rays is not None:
            found = self._rays.cast(Pose.on_body(truth, p.position_m))
            distance = min(distance, float(found[:, DISTANCE].min()))
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


def cone(beam: Vector, half_angle_rad: float) -> np.ndarray:
    """Return directions within a cone about one of the body's axes: the axis first."""
    across = (0.0, 0.0, 1.0) if beam[2] == 0.0 else (1.0, 0.0, 0.0)
    other, found = cross(beam, across), [beam]
    for share, count in _RINGS if half_angle_rad else ():
        ahead, aside = math.cos(share * half_angle_rad), math.sin(share * half_angle_rad)
        for i in range(count):
            u, v = (aside * f(math.tau * i / count) for f in (math.cos, math.sin))
            x, y, z = (ahead * b + u * a + v * o for b, a, o in zip(beam, across, other))
            found.append((x, y, z))
    return np.array(found)
