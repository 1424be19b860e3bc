# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Hands the wakes of rotors from each vehicle to all others, where the clock is.

A step with this in it begins with the wakes of a period before. These were put out before the
command that ended their step, so nobody waits for them; and because one place knows who was in
the world then, all modes have the same bits.
"""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import WAKE, WAKES, Graph
from px4_sim_ros.step.lane import Lane


class WakeExchange:
    """The last wakes of all vehicles."""

    def __init__(self, period_us: int) -> None:
        """Begin without any.

        :param period_us: how often wakes are put out
        """
        self._period_us = period_us
        self.reset()

    @classmethod
    def of(cls, graph: Graph, world: WorldParameters) -> typing.Self | None:
        """Return that of a graph; None if it has no wakes, or a recording says what they are."""
        topic = graph.topics.get(WAKES)
        if topic is None or topic.publisher != 'manager':
            return None
        return cls(topic.period_us(world.step_us, world.periods_us))

    def reset(self) -> None:
        """Forget the run."""
        self._last: dict[str, typing.Any] = {}       # by vehicle

    def take(self, time_us: int, lanes: typing.Iterable[Lane]) -> None:
        """Take in the wakes of the vehicles that took part in a step that is complete."""
        if is_due(time_us, self._period_us):
            self._last = {lane.vehicle: lane.values[WAKE]
                          for lane in lanes if WAKE in lane.values}

    def give(
        self, time_us: int, lanes: typing.Sequence[Lane],
    ) -> dict[str, tuple[typing.Any, ...]]:
        """Return by vehicle of a step that begins the wakes of all the others, if they are due."""
        if not is_due(time_us, self._period_us):
            return {}
        # By name, since lanes stand in another order in each mode, and sums of floats have one.
        there = sorted((lane.vehicle, self._last[lane.vehicle])
                       for lane in lanes if lane.vehicle in self._last)
        return {lane.vehicle: tuple(wake for vehicle, wake in there if vehicle != lane.vehicle)
                for lane in lanes}
