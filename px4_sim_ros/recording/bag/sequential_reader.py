# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The messages of a bag in the order of time, from a start on."""
from __future__ import annotations

import typing

from px4_sim_ros.recording.bag.reader import BagReader, Message
from px4_sim_ros.step import side_topics

# So many messages before the start are read at once: some 10 ms.
_SKIPPED_AT_ONCE = 1000


class SequentialReader:
    """Gives out the messages of a bag in the order of time, from a start on."""

    def __init__(self, bag: BagReader, start_us: int) -> None:
        """Begin before the first message.

        :param start_us: simulated time; of what comes before only the last latched messages count
        """
        self.bag, self.start_us = bag, start_us
        self.rewind()

    def rewind(self) -> None:
        """Begin again before the first message."""
        self._messages = self.bag.messages()
        self._next = next(self._messages, None)
        self._latched: dict[str, Message] = {}      # the last ones before the start

    @property
    def is_over(self) -> bool:
        """Whether all was given out."""
        return self._next is None

    def skip(self) -> bool:
        """Read some of the messages before the start; return whether that is reached."""
        for _ in range(_SKIPPED_AT_ONCE):
            if self._next is None or self._next.time_us >= self.start_us:
                return True
            side = side_topics.RECORDED.get(self._next.topic)
            if side is not None and side.latched:
                self._latched[self._next.topic] = self._next
            self._next = next(self._messages, None)
        return False

    def up_to(self, time_us: int) -> typing.Iterator[Message]:
        """Yield the messages up to a time; first what is known at the start."""
        yield from self._latched.values()
        self._latched.clear()
        while self._next is not None and self._next.time_us <= time_us:
            yield self._next
            self._next = next(self._messages, None)
