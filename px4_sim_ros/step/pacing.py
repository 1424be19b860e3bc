# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time against the wall clock."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.model.timebase import US_PER_S

# A run that fell further behind than this does not try to catch up.
_MAX_LAG_S = 0.1
# A speed that is not kept within this is reported; over less time a hiccup would be as well.
_KEPT_WITHIN = 0.01
_JUDGED_OVER_S = 1.0


def speed_factor(text: str) -> float:
    """Return a speed factor from a text; `max` is 0, as fast as possible."""
    return 0.0 if text == 'max' else float(text)


class Pacer:
    """Holds each step back until its wall time has come."""

    def __init__(
        self, speed_factor: float, step_us: int,
        clock_s: typing.Callable[[], float] = time.monotonic,
        sleep: typing.Callable[[float], None] = time.sleep,
    ) -> None:
        self._step_s = step_us / US_PER_S / speed_factor if speed_factor > 0.0 else 0.0
        self._clock_s, self._sleep = clock_s, sleep
        self._next_s = clock_s()
        self.lost_s = 0.0      # wall time that will not be caught up with

    def wait(self) -> None:
        """Sleep until the next step may begin."""
        if not self._step_s:
            return
        self._next_s += self._step_s
        ahead_s = self._next_s - self._clock_s()
        if ahead_s > 0.0:
            self._sleep(ahead_s)
        elif ahead_s < -_MAX_LAG_S:
            self.lost_s -= ahead_s
            self._next_s = self._clock_s()


class PaceWatch:
    """Notices that a machine cannot keep the speed that is asked for."""

    def __init__(
        self, step_us: int, clock_s: typing.Callable[[], float] = time.monotonic,
    ) -> None:
        self._step_s = step_us / US_PER_S
        self._clock_s = clock_s
        self._speed_factor = 0.0
        self._is_reported = False
        self._since: tuple[float, int, float] | None = None

    def remark(self, speed_factor: float, steps: int, lost_s: float, goes_on: bool) -> str:
        """Return a sentence when the speed is not kept, once for each that is asked for; else ''.

        :param speed_factor: that is asked for
        :param steps: that are complete
        :param lost_s: wall time that the pacer has given up, so far
        :param goes_on: whether nothing else holds time, such as a pause or an autopilot
        """
        now_s = self._clock_s()
        if speed_factor != self._speed_factor:
            self._speed_factor, self._is_reported, self._since = speed_factor, False, None
        if not goes_on or not speed_factor or self._is_reported:
            self._since = None
            return ''
        if self._since is None:      # what was lost until now, others have held up
            self._since = now_s, steps, lost_s
            return ''
        since_s, since_steps, since_lost_s = self._since
        wall_s = now_s - since_s
        if wall_s < _JUDGED_OVER_S:
            return ''
        self._since = now_s, steps, lost_s
        done = (steps - since_steps) * self._step_s / wall_s
        # What was lost may have been lost before, and the steps may have caught up since.
        self._is_reported = lost_s - since_lost_s > _KEPT_WITHIN * wall_s and (
            done < (1.0 - _KEPT_WITHIN) * speed_factor)
        if not self._is_reported:
            return ''
        return f'{speed_factor:g} times real time is asked for, and this machine does {done:.3g}'
