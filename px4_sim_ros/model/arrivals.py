# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What arrives later than it was made, by a whole number of steps."""
from __future__ import annotations

import collections
import typing

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
        """Return what has arrived by a time, and leave it there."""
        return [value for arrival_us, value in self._waiting if arrival_us <= clock_us]

    def take(self, clock_us: int) -> list[_Value]:
        """Return what has arrived by a time, and forget it."""
        waiting = self._waiting
        arrived = []
        while waiting and waiting[0][0] <= clock_us:
            arrived.append(waiting.popleft()[1])
        return arrived
