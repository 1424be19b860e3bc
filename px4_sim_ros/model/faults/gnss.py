# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on the reception of a GNSS receiver."""
from __future__ import annotations

import dataclasses
import itertools
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Effect, Onset, Subject
from px4_sim_ros.model.faults.channels import CHANNELS, ChannelAccess
from px4_sim_ros.model.faults.sensors import SensorAction
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import number, parameter
from px4_sim_ros.model.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.model.timebase import kind_and_index


@dataclasses.dataclass(frozen=True)
class ReceiverAction(SensorAction):
    """Base of these actions."""

    DEFAULTS: typing.ClassVar = {'sensor': 'gps'}

    def check(self, owner: str, subject: Subject) -> None:
        """Check that it is a receiver."""
        super().check(owner, subject)
        if kind_and_index(self.sensor)[0] != 'gps':
            raise ParameterError(f'{owner}.sensor = {self.sensor!r}: must be a GNSS receiver')


@dataclasses.dataclass(frozen=True)
class GnssDenied(ReceiverAction):
    """It has no fix; position and velocity stay those of the last one, as in an outage."""

    def begin(self, onset: Onset) -> Effect:
        """Hold the last fix."""
        held: GnssMeasurement | None = onset.last

        def effect(time_us: int, measurement: GnssMeasurement) -> GnssMeasurement:
            nonlocal held
            held = held or measurement
            return held._replace(time_us=time_us, fix_type=FixType.NONE)
        return effect


@dataclasses.dataclass(frozen=True)
class GnssJammed(ReceiverAction):
    """Interference: position and velocity are noisy, and it reports how bad it is."""

    error_m: float = parameter('1-sigma error of each axis of a position', 'm', minimum=0)
    error_m_s: float = parameter('1-sigma error of each axis of a velocity', 'm/s', minimum=0)
    horizontal_accuracy_m: float = parameter('what it reports', 'm', above=0, maximum=600)
    vertical_accuracy_m: float = parameter('what it reports', 'm', above=0, maximum=600)

    def begin(self, onset: Onset) -> Effect:
        """Add white noise."""
        stream = onset.stream()
        position, velocity = (ChannelAccess(c, onset.world) for c in CHANNELS['gps'].values())

        def noisy(sigma: float) -> typing.Callable[[tuple[float, ...]], tuple[float, ...]]:
            return lambda numbers: tuple(n + sigma * stream.next() for n in numbers)

        def effect(time_us: int, measurement: GnssMeasurement) -> GnssMeasurement:
            measurement = position.changed(measurement, noisy(self.error_m))
            measurement = velocity.changed(measurement, noisy(self.error_m_s))
            return measurement._replace(
                horizontal_accuracy_m=self.horizontal_accuracy_m,
                vertical_accuracy_m=self.vertical_accuracy_m)
        return effect


_Point = tuple[float, float, float, float]


@dataclasses.dataclass(frozen=True)
class GnssSpoofed(ReceiverAction):
    """It is led away along a path: positions are off by it, and velocities by its rate."""

    path: tuple[_Point, ...] = parameter(
        'how far off it is: a list of [seconds since it began, east, north, up], straight lines'
        ' between; before the first point, 0; after the last, as there', 'm')

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate; the path is a list of lists."""
        built = super().from_mapping(owner, {**values, 'path': ()})
        return dataclasses.replace(built, path=_path(f'{owner}.path', values.get('path')))

    def begin(self, onset: Onset) -> Effect:
        """Add the path."""
        position, velocity = (ChannelAccess(c, onset.world) for c in CHANNELS['gps'].values())

        def effect(time_us: int, measurement: GnssMeasurement) -> GnssMeasurement:
            offset, rate = self.offset(onset.seconds(time_us))
            measurement = position.changed(
                measurement, lambda p: tuple(a + b for a, b in zip(p, offset)))
            measurement = velocity.changed(
                measurement, lambda v: tuple(a + b for a, b in zip(v, rate)))
            return measurement
        return effect

    def offset(self, age_s: float) -> tuple[Vector, Vector]:
        """Return how far off it is, ENU in m, and the rate of that in m/s."""
        for (s, *a), (t, *b) in itertools.pairwise(((0.0, 0.0, 0.0, 0.0), *self.path)):
            if age_s < t:
                share = (age_s - s) / (t - s)
                x, y, z = (p + share * (q - p) for p, q in zip(a, b))
                u, v, w = ((q - p) / (t - s) for p, q in zip(a, b))
                return (x, y, z), (u, v, w)
        _, x, y, z = self.path[-1]
        return (x, y, z), (0.0, 0.0, 0.0)


def _path(owner: str, points: typing.Any) -> tuple[_Point, ...]:
    """Return the points of a path.

    :raises ParameterError: they are none, or not in the order of time
    """
    if not isinstance(points, (list, tuple)) or not points:
        raise ParameterError(f'{owner} = {points!r}: must be a list of [s, east, north, up]')
    found = []
    for i, point in enumerate(points):
        if not isinstance(point, (list, tuple)) or len(point) != 4:
            raise ParameterError(f'{owner}[{i}] = {point!r}: must be [s, east, north, up]')
        t, x, y, z = (number(f'{owner}[{i}][{k}]', value) for k, value in enumerate(point))
        found.append((t, x, y, z))
    times = [0.0, *(point[0] for point in found)]
    if any(b <= a for a, b in itertools.pairwise(times)):
        raise ParameterError(f'{owner}: times must be above 0 and increase')
    return tuple(found)
