# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The wheels in the memory of a step as a part of the truth."""
from __future__ import annotations

import typing

from px4_sim_ros.model.body.motion_memory import Memory
from px4_sim_ros.model.body.wheel_motion import ROWS
from px4_sim_ros.model.truth import WheelMotion
from px4_sim_ros.model.vehicle.vehicle import Vehicle


class WheelReader(typing.NamedTuple):
    """Where the numbers of the wheels are, from the state on."""

    angles: slice
    speeds: slice
    steered: tuple[int, ...]
    headings: tuple[int, ...]       # of those that are steered

    @classmethod
    def of_memory(cls, vehicle: Vehicle, memory: Memory) -> WheelReader | None:
        """Return it for a vehicle; None if that has no wheels, or there is no ground."""
        first, count = memory.wheels_at - memory.state_at, len(vehicle.wheels)
        if len(memory.all) == memory.wheels_at:
            return None
        assert len(memory.all) == memory.wheels_at + ROWS * count
        steered = tuple(i for i, wheel in enumerate(vehicle.wheels) if wheel.has_steering)
        return cls(slice(first, first + count), slice(first + count, first + 2 * count), steered,
                   tuple(first + 2 * count + i for i in steered))

    def of(self, numbers: tuple[float, ...]) -> WheelMotion:
        """Return how the wheels turn, from the numbers of the state and all that follows it."""
        return WheelMotion(numbers[self.angles], numbers[self.speeds], self.steered,
                           tuple([numbers[i] for i in self.headings]))
