# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a sensor measures, as plain numbers that an action can change."""
from __future__ import annotations

import collections
import typing

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.faults.action import Action
from px4_sim_ros.model.timebase import exact_us, kind_and_index
from px4_sim_ros.model.truth import in_32_bits
from px4_sim_ros.model.world import WorldParameters

# What comes late: what sensors measure, and what the autopilot asks for.

Value = typing.TypeVar('Value')


class DelayAction(Action):
    """Base of the actions with a parameter `delay_s`, a whole number of microseconds."""

    delay_s: float

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate.

        :raises ParameterError: a value is wrong, or the delay is no whole number of microseconds
        """
        built = super().from_mapping(owner, values)
        exact_us(f'{owner}.delay_s', built.delay_s)
        return built

    def delay_line(
        self, before: tuple[int, Value] | None,
    ) -> typing.Callable[[int, Value], Value]:
        """Return a delay line: it takes the value of a time and gives that of `delay_s` ago.

        Until the delay is over that is the value before the onset; without one the first.

        :param before: the last value before the onset, with its time in microseconds
        """
        delay_us = exact_us('delay_s', self.delay_s)
        waiting = collections.deque([before] if before is not None else ())

        def late(time_us: int, value: Value) -> Value:
            waiting.append((time_us, value))
            while len(waiting) > 1 and waiting[1][0] <= time_us - delay_us:
                waiting.popleft()
            return waiting[0][1]
        return late


Numbers = tuple[float, ...]


class Channel(typing.NamedTuple):
    """A part of a measurement."""

    field: str                 # of the measurement
    unit: str
    size: int = 1              # how many numbers
    in_message_bits: int = 64      # how exact the message of the sensor is


# By kind of sensor. The position of a receiver is in m, ENU from home.
CHANNELS: dict[str, dict[str, Channel]] = {
    'imu': {'accel': Channel('specific_force_flu', 'm/s^2', 3),
            'gyro': Channel('rate_flu', 'rad/s', 3)},
    'magnetometer': {'field': Channel('field_flu_t', 'T', 3)},
    'barometer': {'pressure': Channel('pressure_pa', 'Pa')},
    'gps': {'position': Channel('position', 'm', 3), 'velocity': Channel('velocity_enu', 'm/s', 3)},
    'airspeed': {'pressure': Channel('differential_pressure_pa', 'Pa')},
    'range_finder': {'range': Channel('range_m', 'm', in_message_bits=32)},
    'optical_flow': {'rate': Channel('rate_flu', 'rad/s', 3)},
    'visual_odometry': {'position': Channel('position_enu', 'm', 3),
                        'velocity': Channel('velocity_flu', 'm/s', 3)},
}


def channels_of(sensor: str) -> dict[str, Channel]:
    """Return the channels of a sensor by name; none if it is no sensor."""
    return CHANNELS.get(kind_and_index(sensor)[0], {})


class ChannelAccess:
    """Reads and replaces the numbers of a channel in the measurements of a sensor."""

    def __init__(self, channel: Channel, world: WorldParameters) -> None:
        """Take the channel."""
        self._field = channel.field
        self._is_short = channel.in_message_bits == 32
        self._frame = world.local_frame()

    def changed(
        self, measurement: typing.Any, change: typing.Callable[[Numbers], Numbers],
    ) -> typing.Any:
        """Return a measurement with other numbers in the channel."""
        value = getattr(measurement, self._field)
        numbers = change(self._numbers(value))
        if self._is_short:
            numbers = in_32_bits(*numbers)
        return measurement._replace(**{self._field: _as(value, numbers, self._frame)})

    def _numbers(self, value: typing.Any) -> Numbers:
        if isinstance(value, GeodeticPosition):
            return self._frame.to_local(value)
        return value if isinstance(value, tuple) else (value,)


def _as(like: typing.Any, numbers: Numbers, frame: LocalFrame) -> typing.Any:
    """Return numbers in the form of a value."""
    if isinstance(like, GeodeticPosition):
        east, north, up = numbers
        return frame.to_geodetic((east, north, up))
    return numbers if isinstance(like, tuple) else numbers[0]
