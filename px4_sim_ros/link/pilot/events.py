# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a pilot says, and what its courses of action are."""
from __future__ import annotations

import typing

from px4_sim_ros.model.environment.geodesy import LocalFrame
from px4_sim_ros.model.frames import Vector


class MissionError(RuntimeError):
    """The mission could not be flown; the text says what was missing."""


class Event(typing.NamedTuple):
    """Something that the pilot has achieved; times are the autopilot's."""

    text: str
    time_s: float
    target_enu: Vector | None = None      # where it has arrived, from the place of take-off
    ends_item: bool = False               # an item of the mission is flown with it
    place_enu: Vector | None = None       # where the vehicle truly was, from its place at first


class Home(typing.NamedTuple):
    """The place of take-off."""

    position_enu: Vector              # by the autopilot's estimate
    frame: LocalFrame


def place_text(target_enu: typing.Sequence[float]) -> str:
    """Return where a target is from the place of take-off, in whole metres, for the user."""
    east, north, up = map(round, target_enu)
    return f'{north} m north, {east} m east, {up} m up'


_T = typing.TypeVar('_T')
Report = typing.Callable[[Event], None]
# Is resumed when there may be something new, and returns its result at its end. It yields the time
# (s) before which only what the autopilot sends is new; None: anything may be at any time.
Course = typing.Generator[float | None, None, _T]
