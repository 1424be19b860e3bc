"""Joins the inputs of a time by their stamps, so that the order of arrival never matters."""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.timebase import is_due

Fire = typing.Callable[[int, dict[str, typing.Any]], None]

_NEVER_US = -1


class Inbox:
    """Calls `fire` once per period, in the order of time, when all that is due is there.

    What is due at a time follows from the periods alone, so that nobody waits for a
    message that will not come.
    """

    def __init__(
        self, input_periods_us: typing.Mapping[str, int], period_us: int, fire: Fire,
        delays_us: typing.Mapping[str, int] | None = None,
    ) -> None:
        """Wait for the first multiple of `period_us`.

        :param input_periods_us: how often each input comes
        :param period_us: how often to fire
        :param delays_us: how much older than what they are joined with some inputs are
        """
        self._delays_us = dict.fromkeys(input_periods_us, 0) | dict(delays_us or {})
        self._inputs = [
            (name, period_us, self._delays_us[name])
            for name, period_us in input_periods_us.items()]
        self._period_us = period_us
        self._fire = fire
        # Once all inputs have begun, what is due repeats itself.
        self._cycle_us = math.lcm(period_us, *input_periods_us.values())
        self._begun_us = max(self._delays_us.values(), default=0) + self._cycle_us
        self._due_in_cycle: dict[int, tuple[str, ...]] = {}
        self._last_us = dict.fromkeys(input_periods_us, _NEVER_US)
        self._found: dict[str, typing.Any] = {}      # of what belongs to the next time
        self.next_us = period_us
        self.lacking = set(self._due(period_us))     # what the next time still waits for

    def put(self, name: str, stamp_us: int, item: typing.Any) -> None:
        """Take in an item; those that the next time does not wait for are dropped.

        In lockstep nobody is ahead: what seems to be was left under way by the run before.

        :param item: None says that there is no measurement at this time: nobody waits for it
            then, and `fire` does not get it
        """
        time_us = stamp_us + self._delays_us[name]
        if time_us > self.next_us:
            return
        if stamp_us > self._last_us[name]:
            self._last_us[name] = stamp_us
        if time_us < self.next_us:
            return
        if item is not None:
            self._found[name] = item
        self.lacking.discard(name)
        while not self.lacking:
            fired_us, found = self.next_us, self._found
            self.next_us, self._found = fired_us + self._period_us, {}
            self.lacking = set(self._due(self.next_us))
            self._fire(fired_us, found)

    def _due(self, time_us: int) -> tuple[str, ...]:
        """Return which inputs belong to a time; nobody says anything at time 0."""
        if time_us > self._begun_us:
            time_us = self._begun_us + (time_us - self._begun_us) % self._cycle_us
        if time_us not in self._due_in_cycle:
            self._due_in_cycle[time_us] = tuple(
                name for name, period_us, delay_us in self._inputs
                if (stamp_us := time_us - delay_us) > 0 and is_due(stamp_us, period_us))
        return self._due_in_cycle[time_us]

    def waits_for(self) -> dict[str, int]:
        """Return which inputs the next step waits for, with the time of the last of each."""
        return {name: last_us for name, last_us in self._last_us.items() if name in self.lacking}
