# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sticks of a remote control: what a scenario or a person holds, as MANUAL_CONTROL."""
from __future__ import annotations

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.faults.action import Faults
from px4_sim_ros.model.faults.autopilot import Sticks
from px4_sim_ros.model.timebase import is_due

# PX4 takes sticks for lost after COM_RC_LOSS_T, 0.5 s by default.
_PERIOD_US = 40_000
_HELD_US = 500_000                 # what a person has held is not held any longer than this
_FULL = 1000                       # of MANUAL_CONTROL


class StickLine:
    """What the sticks are at a time, and when they are sent."""

    def __init__(self) -> None:
        self._sent: Sticks | None = None
        self._taken: Sticks | None = None          # from a person, since the step before
        self._by_hand: Sticks | None = None
        self._until_us = 0

    def take(self, sticks: Sticks) -> None:
        """Hold what a person does, from the next step on, for half a simulated second."""
        self._taken = sticks

    def at(self, time_us: int, faults: Faults) -> Sticks | None:
        """Return the sticks to be sent at this time, or None.

        A change is sent at once. Sticks of a person override those of a scenario.
        """
        sticks = self._held(time_us, faults)
        is_new = sticks is not self._sent
        self._sent = sticks
        return sticks if is_new or is_due(time_us, _PERIOD_US) else None

    def _held(self, time_us: int, faults: Faults) -> Sticks | None:
        if self._taken is not None:
            self._by_hand, self._taken, self._until_us = self._taken, None, time_us + _HELD_US
        if self._by_hand is not None and time_us < self._until_us:
            return self._by_hand
        self._by_hand = None
        held = [f.action for f in faults if isinstance(f.action, Sticks)] if faults else ()
        return held[-1] if held else None


def manual_control(mav: mavlink.MAVLink, system_id: int, sticks: Sticks) -> mavlink.MAVLink_message:
    """Return the message for PX4: x is pitch, y is roll, r is yaw, z is throttle from 0 on."""
    return mav.manual_control_encode(
        system_id, *(round(_FULL * value) for value in (
            sticks.pitch, sticks.roll, sticks.throttle, sticks.yaw)), 0)


def joy_axes(owner: str, text: str) -> tuple[int, ...]:
    """Return which axes of a Joy are roll, pitch, yaw and throttle."""
    words = text.split()
    if len(set(words)) != 4 or not all(word.isdecimal() for word in words):
        raise ParameterError(f'{owner} = {shown(text)}: must be four different whole numbers: the'
                             ' axes of roll, pitch, yaw and throttle, from 0 on')
    return tuple(map(int, words))
