# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time in lockstep: a step begins when the one before is complete, unless time is paused.

All policy is here: pause, single steps, limit, pace, counters. The clock has no callbacks. Its
owner drives it: it calls `begin` after whatever may allow a step (`complete`, `resume`, `step`,
`limit`), makes the time known that it gets, and calls `complete` when the step has ended.
"""
from __future__ import annotations

import sys
import time

from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.step.pacing import Pacer


def real_time_factor(sim_time_s: float, steps: float, wall_s: float) -> float:
    """Return simulated over wall time; 0 before there is any.

    The wall time begins at the end of the first step, which waits for the autopilot.
    """
    return sim_time_s * (1.0 - 1.0 / max(steps, 1)) / wall_s if wall_s > 0.0 else 0.0


class LockstepClock:
    """Step k ends at k * step_us."""

    def __init__(self, step_us: int, speed_factor: float) -> None:
        self.step_us = step_us
        self.speed_factor = speed_factor
        self.reset()

    def reset(self) -> None:
        """Stand still at time 0, paused and without a limit."""
        self.time_us = 0               # of the step that began last
        self.steps = 0                 # that are complete
        self.under_way = False
        self.is_held = False           # by the owner, for a moment: no step begins
        self._allowed: int | None = 0  # how many steps may begin; None is without a bound
        self._limit_us: int | None = None
        self._pacer = Pacer(self.speed_factor, self.step_us)
        self._is_paced = False         # the first step after a pause begins at once
        self._first_s = 0.0            # wall time at which the first step was complete
        self._last_s = 0.0             # and the last one
        self._idle_s = 0.0             # wall time between them in which time was paused
        self.begun_s = time.monotonic()
        self.paced_s = 0.0
        self.busy_s = 0.0
        self._lost_before_s = 0.0      # by pacers of this run that are gone

    # The step.

    def begin(self) -> int | None:
        """Begin the next step if it is allowed, after waiting for its wall time.

        :return: its time; None when one is under way, time is paused, or the limit is reached
        """
        if self.under_way or self.is_held or self._allowed == 0 or (
                self._limit_us is not None and self.at_limit):
            return None
        self.begun_s = time.monotonic()
        if self._is_paced and self.speed_factor:
            waits_since_s = self.begun_s
            self._pacer.wait()
            self.begun_s = time.monotonic()
            self.paced_s += self.begun_s - waits_since_s
        self._is_paced = True
        if self._allowed is not None:
            self._allowed -= 1
        self.under_way = True
        self.time_us += self.step_us
        return self.time_us

    def published(self) -> None:
        """Count the wall time since the step began as work of the owner, who has published it."""
        self.busy_s += time.monotonic() - self.begun_s

    def complete(self, time_us: int) -> bool:
        """Record the end of a step; return whether it is the one that is under way."""
        if not self.under_way or time_us != self.time_us:
            return False
        self.under_way = False
        self.steps += 1
        self._last_s = time.monotonic()
        self._first_s = self._first_s or self._last_s
        return True

    @property
    def latest_us(self) -> int:
        """The time up to which steps may follow the one that is under way at once."""
        if self._allowed is not None or self.is_held or self.speed_factor:
            return self.time_us
        return sys.maxsize if self._limit_us is None else self._limit_us

    def run_ahead(self, steps: int) -> None:
        """Record that the step under way is complete, and so many have begun since."""
        self.complete(self.time_us)
        self.steps += steps - 1
        self.time_us += steps * self.step_us
        self.begun_s, self.under_way = self._last_s, True

    # What is allowed.

    def resume(self) -> None:
        """Allow steps without end."""
        if self.paused:
            self._allow(None)

    def pause(self) -> None:
        """Allow no step after the one that is under way."""
        self._allowed = 0

    def step(self, count: int) -> None:
        """Allow `count` more steps; while time is not paused that means nothing."""
        if self._allowed is not None:
            self._allow(self._allowed + count)

    def limit(self, limit_us: int | None) -> None:
        """Set the last time to which steps may go; None is without a bound."""
        self._limit_us = limit_us

    def set_speed_factor(self, speed_factor: float) -> None:
        """Change the pace; 0 is as fast as possible."""
        self.speed_factor = speed_factor
        self._new_pacer()

    def _allow(self, allowed: int | None) -> None:
        self._allowed = allowed
        if self.under_way:
            return
        if self.steps:
            now_s = time.monotonic()
            self._idle_s += now_s - self._last_s
            self._last_s = now_s
        self._new_pacer()
        self._is_paced = False

    def _new_pacer(self) -> None:
        self._lost_before_s = self.lost_s
        self._pacer = Pacer(self.speed_factor, self.step_us)

    # How it stands.

    @property
    def paused(self) -> bool:
        """Whether the steps to come are limited."""
        return self._allowed is not None

    @property
    def standing(self) -> bool:
        """Whether time stands still because it is paused."""
        return self._allowed == 0 and not self.under_way

    @property
    def at_limit(self) -> bool:
        """Whether the next step would be beyond the limit."""
        return self._limit_us is not None and self.time_us + self.step_us > self._limit_us

    @property
    def held_s(self) -> float:
        """Wall time for which the limit has held the next step until now."""
        is_held = self.at_limit and not self.under_way and self._allowed != 0
        return time.monotonic() - self._last_s if is_held else 0.0

    @property
    def complete_us(self) -> int:
        """The time of the last step that is complete."""
        return self.steps * self.step_us

    @property
    def wall_s(self) -> float:
        """Wall time since the end of the first step, which waits for the autopilot."""
        return self._last_s - self._first_s - self._idle_s

    @property
    def lost_s(self) -> float:
        """Wall time by which the run fell behind the speed that is asked for."""
        return self._lost_before_s + self._pacer.lost_s

    def real_time_factor(self) -> float:
        """Return simulated over wall time since the end of the first step."""
        return real_time_factor(self.complete_us / US_PER_S, self.steps, self.wall_s)
