# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time in integer microseconds, and the names of the sensors that are due at it.

A period is a whole number of steps. All sensors of a kind have the same; further ones of a kind
are named by number: `imu`, `imu_1`, `imu_2`.
"""
from __future__ import annotations

import collections
import functools
import re
import typing

from px4_sim_ros.model.errors import ParameterError, nearest_valid, shown

# What arrives later than it was made, by a whole number of steps.

_Value = typing.TypeVar('_Value')


class Arrivals(typing.Generic[_Value]):
    """What is on its way, in the order of time: measurements of a sensor, or commands."""

    def __init__(self, delay_us: int, step_us: int) -> None:
        """Delay all by the whole number of steps that is nearest to a time."""
        self.delay_us = (2 * delay_us + step_us) // (2 * step_us) * step_us
        self._waiting: collections.deque[tuple[int, _Value]] = collections.deque()

    def put(self, time_us: int, value: _Value) -> None:
        """Send what was made at a time on its way."""
        self._waiting.append((time_us + self.delay_us, value))

    def arrived(self, clock_us: int) -> list[_Value]:
        """Return the value that has arrived by a time, and keep it."""
        return [value for arrival_us, value in self._waiting if arrival_us <= clock_us]

    @property
    def times_us(self) -> list[int]:
        """When what is on its way arrives."""
        return [arrival_us for arrival_us, _ in self._waiting]

    def take(self, clock_us: int) -> list[_Value]:
        """Return the value that has arrived by a time, and drop it."""
        waiting = self._waiting
        arrived = []
        while waiting and waiting[0][0] <= clock_us:
            arrived.append(waiting.popleft()[1])
        return arrived


US_PER_S = 1_000_000

_TELLS_TIME = 't = '
_TIMED = re.compile(rf'^{_TELLS_TIME}(\d+)\.(\d{{6}}) s: ')
_FURTHER = re.compile(r'(.+)_([1-9])')


def is_due(time_us: int, period_us: int) -> bool:
    """Return whether something with this period happens at `time_us`."""
    return time_us % period_us == 0


def next_due_us(time_us: int, period_us: int) -> int:
    """Return when something with this period happens first after `time_us`."""
    return (time_us // period_us + 1) * period_us


def check_period(name: str, period_us: int, step_us: int) -> None:
    """Check that a period is a positive whole multiple of the step.

    :raises ParameterError: naming the nearest valid values
    """
    if period_us > 0 and period_us % step_us == 0:
        return
    below = period_us // step_us * step_us
    raise ParameterError(
        f'{name} = {period_us}: must be a multiple of step_us = {step_us};'
        f' {nearest_valid([v for v in (below, below + step_us) if v > 0])} us')


def exact_us(name: str, time_s: float) -> int:
    """Return a time that is given in seconds in microseconds.

    :raises ParameterError: that is no whole number
    """
    time_us = round(time_s * US_PER_S)
    # A decimal fraction and the quotient of whole numbers are rounded to the same float.
    if time_us / US_PER_S != time_s:
        raise ParameterError(
            f'{name} = {shown(time_s)}: must be a whole number of microseconds, such as'
            f' {time_us / US_PER_S!r} s')
    return time_us


def seconds_text(time_us: int) -> str:
    """Return a time as exact seconds, such as `12.004000 s`."""
    return f'{time_us // US_PER_S}.{time_us % US_PER_S:06d} s'


def timed(sentence: str, time_us: int) -> str:
    """Return a sentence with its simulated time, unless it tells one, or the run has not begun."""
    if not time_us or _TELLS_TIME in sentence:
        return sentence
    return f'{_TELLS_TIME}{seconds_text(time_us)}: {sentence}'


def time_in_sentence_us(sentence: str) -> int | None:
    """Return the time that `timed` has put in front of a sentence, None for none."""
    found = _TIMED.match(sentence)
    return int(found[1]) * US_PER_S + int(found[2]) if found else None


def untimed(sentence: str) -> str:
    """Return a sentence without the time that `timed` has put in front."""
    return _TIMED.sub('', sentence)


def instance_name(kind: str, index: int) -> str:
    """Return the name of a sensor; the first has the name of its kind."""
    return f'{kind}_{index}' if index else kind


@functools.cache
def kind_and_index(name: str) -> tuple[str, int]:
    """Return the kind of a sensor, and its number from 0 on."""
    match = _FURTHER.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 0)
