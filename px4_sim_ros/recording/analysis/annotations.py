# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a flight is annotated with: marks on its time, and waypoints in space."""
from __future__ import annotations

import typing

from px4_sim_ros.model.frames import Vector


class Mark(typing.NamedTuple):
    """An event at a time, or a state from one time to another."""

    start_s: float
    end_s: float
    kind: str                  # one of `report.plots.MARK_COLOURS`
    who: str
    text: str


class Waypoint(typing.NamedTuple):
    """A point that the mission leads to, drawn with the path."""

    name: str
    position_enu_m: Vector
