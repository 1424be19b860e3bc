# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What comes late: what sensors measure, and what the autopilot asks for."""
from __future__ import annotations

import collections
import typing

from px4_sim_ros.model.faults.action import Action
from px4_sim_ros.model.timebase import exact_us

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
        """Return what takes the value of a time and gives that of `delay_s` ago.

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
