# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on what sensors measure, whatever they are."""
from __future__ import annotations

import dataclasses
import itertools
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.faults.action import Action, ActionContext, Effect, Subject
from px4_sim_ros.model.faults.channels import (
    CHANNELS,
    ChannelAccess,
    DelayAction,
    Numbers,
    channels_of,
)
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import number, parameter
from px4_sim_ros.model.sensors.gnss import GnssMeasurement
from px4_sim_ros.model.timebase import US_PER_S, kind_and_index

_Change = typing.Callable[[int, Numbers], Numbers]


@dataclasses.dataclass(frozen=True)
class SensorAction(Action):
    """Base of all actions on a sensor."""

    sensor: str = parameter('the sensor: imu, gps_1, ...')

    @property
    def block(self) -> str:
        """The sensor's."""
        return self.sensor

    def check(self, owner: str, subject: Subject) -> None:
        """Check that there is such a sensor."""
        sensors = [name for name in subject.blocks if channels_of(name) or name in subject.added]
        if self.sensor not in sensors:
            raise ParameterError(
                f'{owner}.sensor = {shown(self.sensor)}: there is no such sensor in this run'
                f"{did_you_mean(self.sensor, sensors)}; there are {', '.join(sensors)}")


@dataclasses.dataclass(frozen=True)
class SensorOff(SensorAction):
    """It gives no measurement."""

    SILENCES = True

    def begin(self, onset: ActionContext) -> Effect:
        """Take every measurement away."""
        return lambda time_us, measurement: None


@dataclasses.dataclass(frozen=True)
class SensorFrozen(SensorAction):
    """It repeats its last measurement, with new stamps."""

    def begin(self, onset: ActionContext) -> Effect:
        """Hold the last measurement; the first, if there was none before."""
        held = onset.last

        def effect(time_us: int, measurement: typing.Any) -> typing.Any:
            nonlocal held
            held = held or measurement
            return held._replace(time_us=time_us)
        return effect


@dataclasses.dataclass(frozen=True)
class SensorDelay(DelayAction, SensorAction):
    """What it measures comes late, with stamps as if it were new."""

    delay_s: float = parameter('how late', 's', above=0, maximum=60)

    def begin(self, onset: ActionContext) -> Effect:
        """Repeat the last measurement until the delay is over; from then on all are late by it."""
        late = self.delay_line(onset.last and (onset.last.time_us, onset.last))
        return lambda time_us, measurement: late(time_us, measurement)._replace(time_us=time_us)


@dataclasses.dataclass(frozen=True)
class ChannelAction(SensorAction):
    """Base of the actions on a part of what a sensor measures."""

    channel: str = parameter('which part of the measurement: accel or gyro of an imu; it need not'
                             ' be given where there is only one')

    DEFAULTS: typing.ClassVar[typing.Mapping[str, typing.Any]] = {'channel': ''}

    @property
    def numbers(self) -> Numbers | None:
        """Those that are for the axes of the channel, one for each or one for all, if any are."""
        return None

    @property
    def _channel(self) -> str:
        return self.channel or next(iter(channels_of(self.sensor)))

    def check(self, owner: str, subject: Subject) -> None:
        """Check that the sensor has such a channel, with as many axes."""
        super().check(owner, subject)
        channels = channels_of(self.sensor)
        if not channels:
            raise ParameterError(
                f'{owner}.sensor = {shown(self.sensor)}: is a block that is added, of which no'
                ' channels are known: it must be one for sensor_off, sensor_frozen or sensor_delay')
        if self.channel not in channels and (self.channel or len(channels) > 1):
            raise ParameterError(f'{owner}.channel = {shown(self.channel)}: must be one of'
                                 f" {', '.join(channels)}")
        size = channels[self._channel].size
        if self.numbers is not None and len(self.numbers) not in (1, size):
            raise ParameterError(f'{owner}: {len(self.numbers)} numbers for {self._channel} of'
                                 f' {self.sensor}: must be {size}, or one for all axes')

    def begin(self, onset: ActionContext) -> Effect:
        """Change the numbers of the channel."""
        channel = channels_of(self.sensor)[self._channel]
        access = ChannelAccess(channel, onset.world)
        change = self.change(onset, channel.size)
        return lambda time_us, measurement: access.changed(
            measurement, lambda numbers: change(time_us, numbers))

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Return the change of a channel's numbers, for so many axes."""
        raise NotImplementedError


def _for_axes(numbers: Numbers, size: int) -> Numbers:
    return numbers if len(numbers) == size else numbers * size


def _sum(numbers: Numbers, others: typing.Iterable[float]) -> Numbers:
    return tuple(a + b for a, b in zip(numbers, others))


@dataclasses.dataclass(frozen=True)
class SensorBias(ChannelAction):
    """A constant is added, at once or growing steadily up to it."""

    value: tuple[float, ...] = parameter('what is added, in units of the channel')
    over_s: float = parameter('how long it takes to grow; 0: it is a step', 's', minimum=0)

    DEFAULTS: typing.ClassVar = {'channel': '', 'over_s': 0.0}

    @property
    def numbers(self) -> Numbers:
        """The bias."""
        return self.value

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Add it."""
        value = _for_axes(self.value, size)

        def change(time_us: int, numbers: Numbers) -> Numbers:
            age_s = onset.seconds(time_us)
            if age_s >= self.over_s:
                return _sum(numbers, value)
            return _sum(numbers, (v * (age_s / self.over_s) for v in value))
        return change


@dataclasses.dataclass(frozen=True)
class SensorDrift(ChannelAction):
    """A bias that grows for ever."""

    per_s: tuple[float, ...] = parameter('growth, in units of the channel a second')

    @property
    def numbers(self) -> Numbers:
        """The rate."""
        return self.per_s

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Add rate times age."""
        rates = _for_axes(self.per_s, size)
        return lambda time_us, numbers: _sum(
            numbers, (rate * onset.seconds(time_us) for rate in rates))


@dataclasses.dataclass(frozen=True)
class SensorScale(ChannelAction):
    """All is multiplied by a factor."""

    factor: tuple[float, ...] = parameter('factor; 1 changes nothing')

    @property
    def numbers(self) -> Numbers:
        """The factors."""
        return self.factor

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Multiply."""
        factors = _for_axes(self.factor, size)
        return lambda time_us, numbers: tuple(a * f for a, f in zip(numbers, factors))


@dataclasses.dataclass(frozen=True)
class SensorNoise(ChannelAction):
    """White noise is added to each sample."""

    sigma: tuple[float, ...] = parameter(
        'standard deviation of a sample, in units of the channel', minimum=0)

    @property
    def numbers(self) -> Numbers:
        """The standard deviations."""
        return self.sigma

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Add the next random numbers."""
        sigmas, stream = _for_axes(self.sigma, size), onset.stream()
        return lambda time_us, numbers: _sum(
            numbers, [sigma * stream.next() for sigma in sigmas])


@dataclasses.dataclass(frozen=True)
class SensorSpikes(ChannelAction):
    """Single samples are off, at random, up or down."""

    value: tuple[float, ...] = parameter('height of a spike, in units of the channel')
    every_s: float = parameter('mean time from one spike to the next', 's', above=0)

    @property
    def numbers(self) -> Numbers:
        """The heights."""
        return self.value

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Add a spike when a random number says so: two of them a sample."""
        stream, period_s = onset.stream(), onset.world.period_us(self.sensor) / US_PER_S
        up = _for_axes(self.value, size)
        signed = up, tuple(-v for v in up)

        def change(time_us: int, numbers: Numbers) -> Numbers:
            chance, side = stream.uniform(), stream.uniform()
            return _sum(numbers, signed[side < 0.5]) if chance * self.every_s < period_s else (
                numbers)
        return change


@dataclasses.dataclass(frozen=True)
class SensorAxes(ChannelAction):
    """Its axes are mixed up, as of a sensor that is mounted wrongly."""

    axes: str = parameter("what each of x, y, z shows, such as '-y x z'")

    def check(self, owner: str, subject: Subject) -> None:
        """Check that each axis is there once."""
        super().check(owner, subject)
        if channels_of(self.sensor)[self._channel].size != 3:
            raise ParameterError(f'{owner}: {self.sensor} has no axes')
        if sorted(axis.lstrip('-') for axis in self.axes.split()) != ['x', 'y', 'z']:
            raise ParameterError(
                f"{owner}.axes = {shown(self.axes)}: must be x, y and z in an order, each with or"
                " without a minus, such as '-y x z'")

    def change(self, onset: ActionContext, size: int) -> _Change:
        """Change places and signs."""
        sources = [('xyz'.index(axis[-1]), -1.0 if axis[0] == '-' else 1.0)
                   for axis in self.axes.split()]
        return lambda time_us, numbers: tuple(sign * numbers[i] for i, sign in sources)


# Actions on the reception of a GNSS receiver.


@dataclasses.dataclass(frozen=True)
class ReceiverAction(SensorAction):
    """Base of these actions."""

    DEFAULTS: typing.ClassVar = {'sensor': 'gps'}

    def check(self, owner: str, subject: Subject) -> None:
        """Check that it is a receiver."""
        super().check(owner, subject)
        if kind_and_index(self.sensor)[0] != 'gps':
            raise ParameterError(f'{owner}.sensor = {shown(self.sensor)}: must be a GNSS receiver')


@dataclasses.dataclass(frozen=True)
class GnssDenied(ReceiverAction):
    """It has no fix; position and velocity stay those of the last one, as in an outage."""

    def begin(self, onset: ActionContext) -> Effect:
        """Hold the last fix."""
        held: GnssMeasurement | None = onset.last

        def effect(time_us: int, measurement: GnssMeasurement) -> GnssMeasurement:
            nonlocal held
            held = held or measurement
            return held.lost(time_us)
        return effect


@dataclasses.dataclass(frozen=True)
class GnssJammed(ReceiverAction):
    """Interference: position and velocity are noisy, and it reports how bad it is."""

    error_m: float = parameter('1-sigma error of each axis of a position', 'm', minimum=0)
    error_m_s: float = parameter('1-sigma error of each axis of a velocity', 'm/s', minimum=0)
    horizontal_accuracy_m: float = parameter('what it reports', 'm', above=0, maximum=600)
    vertical_accuracy_m: float = parameter('what it reports', 'm', above=0, maximum=600)

    def begin(self, onset: ActionContext) -> Effect:
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

    def begin(self, onset: ActionContext) -> Effect:
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
        raise ParameterError(f'{owner} = {shown(points)}: must be a list of [s, east, north, up]')
    found = []
    for i, point in enumerate(points):
        if not isinstance(point, (list, tuple)) or len(point) != 4:
            raise ParameterError(f'{owner}[{i}] = {shown(point)}: must be [s, east, north, up]')
        t, x, y, z = (number(f'{owner}[{i}][{k}]', value) for k, value in enumerate(point))
        found.append((t, x, y, z))
    times = [0.0, *(point[0] for point in found)]
    if any(b <= a for a, b in itertools.pairwise(times)):
        raise ParameterError(f'{owner}: times must be above 0 and increase')
    return tuple(found)
