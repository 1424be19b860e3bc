# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the actions in force make of the values of one block."""
from __future__ import annotations

import typing

from px4_sim_ros.model.faults.action import Effect, Faults, Onset
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters

_Key = tuple[str, int]


class FaultChain:
    """Lets values run through the effects of all actions on a block, in the order they began."""

    def __init__(self, block: str, world: WorldParameters, vehicle: Vehicle) -> None:
        """Begin without any."""
        self._block, self._world, self._vehicle = block, world, vehicle
        self._faults: Faults = ()
        self._effects: dict[_Key, Effect] = {}
        self._last: typing.Any = None

    def of(self, time_us: int, value: typing.Any, faults: Faults) -> typing.Any:
        """Return what becomes of a value; None if an action takes it away.

        :param faults: those that are in force, also on other blocks
        """
        if faults is not self._faults:
            self._follow(faults, value)
        for effect in self._effects.values():
            value = effect(time_us, value)
            if value is None:
                return None
        self._last = value
        return value

    def _follow(self, faults: Faults, value: typing.Any) -> None:
        """Begin with actions that are new, and end those that are not in force any more."""
        before, self._effects = self._effects, {}
        for fault in faults:
            if fault.action.changes(self._block):
                key = fault.name, fault.since_us
                self._effects[key] = before.get(key) or fault.action.begin(Onset(
                    *key, self._block, self._world, self._vehicle, self._last, value))
        self._faults = faults
