# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a vehicle was at a time, whenever its positions and whoever asks for them come."""
from __future__ import annotations

import collections

from px4_sim_ros.model.frames import Vector

# A pilot's word may come late beside a graph: 20 s at the display rate, 2 s in `core`, where it
# comes in its step.
_KEPT = 500


class Track:
    """The last true positions, each with its simulated time."""

    def __init__(self) -> None:
        self._places: collections.deque[tuple[int, Vector]] = collections.deque(maxlen=_KEPT)

    def add(self, time_us: int, position_enu: Vector) -> None:
        """Take in a position in m; times grow."""
        self._places.append((time_us, position_enu))

    def at(self, time_us: int) -> Vector | None:
        """Return the position at a time, None while none of it or later has come.

        Between two positions it is on the straight line, before the first one that is kept there.
        """
        after: tuple[int, Vector] | None = None
        for place in reversed(self._places):
            if place[0] < time_us:
                return None if after is None else _between(place, after, time_us)
            after = place
        return None if after is None else after[1]


def _between(before: tuple[int, Vector], after: tuple[int, Vector], time_us: int) -> Vector:
    share = (time_us - before[0]) / (after[0] - before[0])
    east, north, up = (
        one + share * (other - one) for one, other in zip(before[1], after[1]))
    return east, north, up
