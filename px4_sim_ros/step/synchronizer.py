# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Joins what comes from elsewhere by its stamps, so that the order of arrival never matters."""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import next_due_us
from px4_sim_ros.step.schedule import Input

NEVER_US = -1

# Stands for the measurement of a sensor that is stopped.
NO_MEASUREMENT = object()


class StampSynchronizer:
    """Collects the inputs of one block, for one time after the other.

    In lockstep nobody is ahead: what belongs to another time than the next was repeated, or was
    left under way by the run before, and is dropped.
    """

    def __init__(self, inputs: typing.Sequence[Input], period_us: int) -> None:
        """Wait for the first multiple of the period.

        :param period_us: how often the block acts
        """
        self._inputs = {i.topic.name: i for i in inputs}
        self._period_us = period_us
        self.reset()

    def reset(self, begin_us: int = 0) -> None:
        """Wait for the first time again: the first multiple of the period after `begin_us`."""
        self.last_us = dict.fromkeys(self._inputs, NEVER_US)   # the last stamp of each topic
        self._held: dict[str, typing.Any] = {}
        self._begin_us = begin_us
        self._wait_for(next_due_us(begin_us, self._period_us))

    def _wait_for(self, time_us: int) -> None:
        self.next_us = time_us
        self._found: dict[str, typing.Any] = {}
        self.lacking = {
            name for name, i in self._inputs.items() if i.is_due(time_us, self._begin_us)}

    def put(self, name: str, stamp_us: int, read: typing.Callable[[], typing.Any]) -> bool:
        """Take in what has come on a topic; return whether it was the last that was lacking.

        :param read: returns the value, or NO_MEASUREMENT; called only if it is used
        """
        time_us = stamp_us + self._inputs[name].delay_us
        if time_us > self.next_us:
            return False
        self.last_us[name] = max(stamp_us, self.last_us[name])
        if time_us != self.next_us or name not in self.lacking:
            return False
        self._found[name] = read()
        self.lacking.remove(name)
        return not self.lacking

    def take(self) -> dict[str, typing.Any]:
        """Return the values of the next time by topic, each whole, and wait for the one after."""
        parts: list[tuple[str, dict[str, typing.Any]]] = []
        values = self._held.copy()
        for name, value in self._found.items():
            if value is NO_MEASUREMENT:
                continue
            topic, _, _, is_held = self._inputs[name]
            if topic.part_of:
                parts.append((topic.part_of, value))
            else:
                values[name] = value
                if is_held:
                    self._held[name] = value
        for whole, fields in parts:
            if whole in values:
                values[whole] = values[whole]._replace(**fields)
        self._wait_for(self.next_us + self._period_us)
        return values
