"""Simulated time: a step begins when the one before is complete, unless time is paused."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.step.pacing import Pacer

# What `_allowed` says when nothing holds time back.
_UNBOUNDED = None


class Stepper:
    """Step k ends at k * step_us."""

    def __init__(
        self, step_us: int, speed_factor: float, publish: typing.Callable[[int], None],
    ) -> None:
        """Stand still at time 0, paused.

        :param publish: makes a new time known to all
        """
        self.step_us = step_us
        self._publish = publish
        self.speed_factor = speed_factor
        self.restart()

    def restart(self) -> None:
        """Stand still at time 0, paused."""
        self.time_us = 0               # of the step that began last
        self.steps = 0                 # that are complete
        self.under_way = False
        self._allowed: int | None = 0
        self._limit_us: int | None = None
        self._pacer = Pacer(self.speed_factor, self.step_us)
        self._first_s = 0.0            # wall time at which the first step was complete
        self._last_s = 0.0             # and the last one
        self._idle_s = 0.0             # wall time between them without a step under way
        self.begun_s = time.monotonic()
        self.paced_s = 0.0
        self.busy_s = 0.0
        self._lost_before_s = 0.0      # by pacers of this run that are gone

    @property
    def paused(self) -> bool:
        """Whether time does not go on by itself."""
        return self._allowed is not _UNBOUNDED

    @property
    def complete_us(self) -> int:
        """The time of the last step that is complete."""
        return self.steps * self.step_us

    @property
    def wall_s(self) -> float:
        """Wall time since the end of the first step, which waits for the autopilot."""
        return self._last_s - self._first_s - self._idle_s

    def set_speed_factor(self, speed_factor: float) -> None:
        """Change the pace; 0 is as fast as possible."""
        self.speed_factor = speed_factor
        self._new_pacer()

    @property
    def lost_s(self) -> float:
        """Wall time by which the run fell behind the speed that is asked for."""
        return self._lost_before_s + self._pacer.lost_s

    def _new_pacer(self) -> None:
        self._lost_before_s = self.lost_s
        self._pacer = Pacer(self.speed_factor, self.step_us)

    def resume(self) -> None:
        """Go on without end."""
        if self.paused:
            self._allow(_UNBOUNDED)

    def pause(self) -> None:
        """Stand still at the end of this step."""
        self._allowed = 0

    def go_on(self, count: int) -> None:
        """Take `count` steps, beside those that are allowed already, then stand still."""
        if self.paused:
            self._allow(self._allowed + count)

    def complete(self, time_us: int) -> bool:
        """Take note of the end of a step and begin the next; return whether it was the end."""
        if not self.under_way or time_us != self.time_us:
            return False
        self.under_way = False
        self.steps += 1
        self._last_s = time.monotonic()
        self._first_s = self._first_s or self._last_s
        if self._allowed != 0 and not self.held:
            self._pacer.wait()
            paced_s = time.monotonic()
            self.paced_s += paced_s - self._last_s
            self._begin()
            self.busy_s += time.monotonic() - paced_s
        return True

    @property
    def standing(self) -> bool:
        """Whether time stands still because it is paused."""
        return self._allowed == 0 and not self.under_way

    @property
    def held(self) -> bool:
        """Whether the next step would be beyond the limit."""
        return self._limit_us is not None and self.time_us + self.step_us > self._limit_us

    def limit(self, limit_us: int | None) -> None:
        """Set the last time to which steps may go; None is without a bound."""
        was_held = self.held
        self._limit_us = limit_us
        if was_held and not self.held and self._allowed != 0 and not self.under_way:
            self._pacer.wait()
            self._begin()

    def _allow(self, allowed: int | None) -> None:
        self._allowed = allowed
        if not self.under_way:
            if self.steps:
                now_s = time.monotonic()
                self._idle_s += now_s - self._last_s
                self._last_s = now_s
            self._new_pacer()
            if not self.held:
                self._begin()

    def _begin(self) -> None:
        if self._allowed is not _UNBOUNDED:
            self._allowed -= 1
        self.under_way = True
        self.begun_s = time.monotonic()
        self.time_us += self.step_us
        self._publish(self.time_us)

    def real_time_factor(self) -> float:
        """Return simulated over wall time since the end of the first step."""
        simulated_s = max(self.steps - 1, 0) * self.step_us / US_PER_S
        return simulated_s / self.wall_s if self.wall_s > 0.0 else 0.0
