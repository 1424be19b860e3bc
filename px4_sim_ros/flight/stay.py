# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From when to when a vehicle was in a world of several."""
from __future__ import annotations

from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.step.attendance import Change


class Stay:
    """When a vehicle has first joined and last left, and how long it was there."""

    def __init__(self, joins_us: int | None) -> None:
        """Begin at time 0.

        :param joins_us: when it is to join; None: when somebody asks for it
        """
        self.joined_us = 0 if joins_us == 0 else None      # None: not yet
        self.left_us: int | None = None                    # None: it is there to the end
        self._away_us = 0                                  # between leaving and joining again

    def take(self, change: Change) -> None:
        """Take note that it joins, or has left."""
        if not change.joins:
            self.left_us = change.time_us
            return
        if self.joined_us is None:
            self.joined_us = change.time_us
        if self.left_us is not None:
            self._away_us += change.time_us - self.left_us
            self.left_us = None

    @property
    def has_begun(self) -> bool:
        """Whether it was ever there."""
        return self.joined_us is not None

    @property
    def has_ended(self) -> bool:
        """Whether it has left, and not joined again."""
        return self.left_us is not None

    def length_s(self, end_s: float) -> float:
        """Return for how long it was in a world that has ended at a simulated time."""
        if self.joined_us is None:
            return 0.0
        until_s = end_s if self.left_us is None else self.left_us / US_PER_S
        return until_s - (self.joined_us + self._away_us) / US_PER_S
