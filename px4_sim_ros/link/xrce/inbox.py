# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""In which step what ROS 2 nodes send to PX4 is handed over.

Free: as soon as it has come, so in a step that depends on the wall clock. With awaited topics it
follows from stamps alone. A step in which a message is awaited waits for one with its stamp on
each of these topics. All else that has come is handed over in the first such step after its
stamp: what a node has published before it has published what was awaited is there by then.
"""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.step.repeatability import NonRepeatability

# Of all PX4's messages the first field: when it was published, in us.
_STAMP_BYTES = 8
NO_STAMP_US = -1


class Delivery(typing.NamedTuple):
    """A message for PX4."""

    stamp_us: int
    name: str              # of its topic
    data: bytes            # CDR without the encapsulation header


class Inbox:
    """Holds messages until their step."""

    def __init__(self, awaited: typing.Iterable[str], period_us: int, step_us: int) -> None:
        """Begin at time 0.

        :param awaited: the names of these topics; none: all are free
        :param period_us: a message on each is awaited in the first step from each multiple on
        """
        self.awaited = tuple(awaited)
        self._period_us, self._step_us = period_us, step_us
        self.reset()

    def reset(self) -> None:
        """Forget the run."""
        self._held: list[Delivery] = []
        self._taken_us = NO_STAMP_US           # the step in which something was awaited last
        self._last_us = dict.fromkeys(self.awaited, NO_STAMP_US)    # stamps that were handed over
        self._come_us = self._last_us.copy()   # and that have come
        self.gap: NonRepeatability | None = None

    def put(self, time_us: int, name: str, data: bytes) -> None:
        """Take in a message that has come in a step."""
        stamp_us = int.from_bytes(data[:_STAMP_BYTES], 'little')
        self._held.append(Delivery(stamp_us, name, data))
        if name in self._come_us:
            self._come_us[name] = stamp_us
        if self.gap is None and (why := self._why_free(time_us, stamp_us, name)):
            self.gap = NonRepeatability(time_us, why)

    def _why_free(self, time_us: int, stamp_us: int, name: str) -> str:
        """Return why the step in which a message is handed over depends on the wall clock."""
        if not self.awaited:
            return f'a ROS 2 node has sent {name}, which is not awaited'
        if stamp_us > time_us:
            return f'{name} has come with a stamp that is no simulated time: {stamp_us} us'
        if self._taken_us >= 0 and stamp_us < self._taken_us - self._step_us:
            return f'{name} of t = {seconds_text(stamp_us)} has come late'
        return ''

    def is_due(self, time_us: int) -> bool:
        """Return whether a step waits for what is awaited."""
        return bool(self.awaited) and (
            time_us // self._period_us > (time_us - self._step_us) // self._period_us)

    def lacking(self, time_us: int) -> list[str]:
        """Return the awaited topics on which nothing has come for a step."""
        if not self.is_due(time_us):
            return []
        return [name for name in self.awaited if not any(
            its.name == name and self._is_of(its, time_us) for its in self._held)]

    def _is_of(self, delivery: Delivery, time_us: int) -> bool:
        """Return whether an awaited message belongs to a step: it is of its time, and not taken.

        A node that answers what PX4 has said has the time of the step before.
        """
        return (max(self._last_us[delivery.name] + 1, time_us - self._step_us)
                <= delivery.stamp_us <= time_us)

    def take(self, time_us: int) -> list[Delivery]:
        """Return the messages for a step, in an order that follows from stamps."""
        if not self._held or (self.awaited and not self.is_due(time_us)):
            return []
        held, self._held = self._held, []
        if not self.awaited:
            return held
        self._taken_us = time_us
        found = []
        for delivery in held:
            if delivery.stamp_us < time_us or delivery.name in self._last_us or (
                    delivery.stamp_us > time_us + US_PER_S):
                found.append(delivery)
            else:
                self._held.append(delivery)
        for delivery in found:
            if delivery.name in self._last_us and delivery.stamp_us <= time_us:
                self._last_us[delivery.name] = max(
                    delivery.stamp_us, self._last_us[delivery.name])
        return sorted(found, key=lambda its: its[:2])

    def last_text(self, name: str, time_us: int) -> str:
        """Return the end of a sentence about the last message of an awaited topic."""
        stamp_us = self._come_us[name]
        if stamp_us == NO_STAMP_US:
            return 'none has come yet'
        if stamp_us > time_us:
            return (f'its last has the stamp {stamp_us} us, which is no simulated time: the node'
                    ' needs use_sim_time')
        return f'its last is of t = {seconds_text(stamp_us)}'
