# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A topic of a recording."""
from __future__ import annotations

NS_PER_US = 1000


class Channel:
    """Counts the messages of a topic."""

    __slots__ = 'every', 'id', 'seen'

    def __init__(self, every: int) -> None:
        """Begin.

        :param every: of so many messages one is recorded; 0: none
        """
        self.every = every
        self.id = 0                # in the file
        self.seen = 0

    def take(self) -> int | None:
        """Count a message; return its number among those that are recorded, if it is one."""
        seen, every = self.seen, self.every
        self.seen = seen + 1
        if every == 1:
            return seen
        return seen // every if every and not seen % every else None

    @property
    def written(self) -> int:
        """How many messages are recorded."""
        return -(-self.seen // self.every) if self.every else 0
