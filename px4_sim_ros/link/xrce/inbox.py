# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""In which step what ROS 2 nodes send to PX4 is handed over.

Free: as soon as it has come, so in a step that depends on the wall clock. With awaited topics it
follows from stamps alone. A step in which a message is awaited waits for one with its stamp on
each of these topics. All else is handed over in the first such step that awaits a later stamp: what
a node has published before what was awaited is there by then.
"""
from __future__ import annotations

import sys
import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.step.repeatability import NonRepeatability

# Of all PX4's messages the first field: when it was published, in us.
_STAMP_BYTES = 8
NO_STAMP_US = -1


class Delivery(typing.NamedTuple):
    """A message for PX4."""

    stamp_us: int
    name: str              # of its topic
    data: bytes            # CDR without the encapsulation header
    header: typing.Any = None      # of a request to a service: where its answer goes


class Awaited(typing.NamedTuple):
    """A topic to PX4 on which a message is awaited."""

    name: str
    answers: str = ''      # the topic of PX4 whose messages it answers, each; '': the time itself


class Inbox:
    """Holds messages until their step."""

    def __init__(
        self, awaited: typing.Iterable[Awaited], period_us: int, step_us: int, from_us: int = 0,
    ) -> None:
        """Begin at time 0.

        :param awaited: none: all topics are free
        :param from_us: up to then nothing is awaited, nor handed over
        :param period_us: of those that answer the time a message is awaited in the first step from
            each multiple on
        """
        self._wanted, self._from_us = tuple(awaited), from_us
        self.answered = frozenset(its.answers for its in self._wanted if its.answers)
        """The topics of PX4 whose messages are answered."""
        self._period_us, self._step_us = period_us, step_us
        self.reset()

    def reset(self) -> None:
        """Forget the run."""
        self._awaited = self._wanted
        self._held: list[Delivery] = []
        self._asked_us: dict[str, int] = {}    # stamps of PX4's messages, by topic
        self._settled_us = NO_STAMP_US         # before it all has been handed over
        self._last_us = dict.fromkeys(self.awaited, NO_STAMP_US)    # stamps that were handed over
        self._come_us = self._last_us.copy()   # and that have come
        self.gap: NonRepeatability | None = None
        self.may_repeat = False
        """Whether what PX4 has said was repeated, so that it may be answered again."""

    @property
    def awaited(self) -> list[str]:
        """The topics on which something is awaited."""
        return [its.name for its in self._awaited]

    def release(self, name: str) -> None:
        """Await nothing more on a topic: the node that has published it has left."""
        self._awaited = tuple(its for its in self._awaited if its.name != name)

    def begins_at(self, time_us: int) -> bool:
        """Return whether a step is the first in which something may be awaited.

        Nodes that begin in flight hear of time when DDS has matched them, as it happens.
        """
        begins = bool(self._wanted) and time_us - self._step_us < max(
            self._from_us, self._step_us) <= time_us
        if begins and self._from_us and self.gap is None:
            self.gap = NonRepeatability(time_us, 'a ROS 2 node has joined in flight')
        return begins

    def ask(self, name: str, data: bytes) -> None:
        """Await an answer to a message of PX4, in the next step."""
        self._asked_us[name] = int.from_bytes(data[:_STAMP_BYTES], 'little')

    def put(self, time_us: int, name: str, data: bytes, header: typing.Any = None) -> None:
        """Take in a message that has come in a step, or a request to a service."""
        stamp_us = int.from_bytes(data[:_STAMP_BYTES], 'little')
        is_answered = name in self._last_us and stamp_us <= self._last_us[name]
        if not is_answered:
            self._held.append(Delivery(stamp_us, name, data, header))
        if name in self._come_us:
            self._come_us[name] = stamp_us
        if is_answered and self.may_repeat:
            return
        if self.gap is None and (why := self._why_free(time_us, stamp_us, name)):
            self.gap = NonRepeatability(time_us, why)

    def _why_free(self, time_us: int, stamp_us: int, name: str) -> str:
        """Return why the step in which a message is handed over depends on the wall clock."""
        if not self._wanted:
            return f'a ROS 2 node has sent {name}, which is not awaited'
        if not self._awaited:
            return f'{name} has come after the end of what was awaited'
        if stamp_us > time_us:
            return f'{name} has come with a stamp that is no simulated time: {stamp_us} us'
        if stamp_us < self._settled_us or stamp_us <= self._last_us.get(name, NO_STAMP_US):
            return f'{name} of t = {seconds_text(stamp_us)} has come late'
        return ''

    def is_due(self, time_us: int) -> bool:
        """Return whether a step waits for what is awaited."""
        return bool(self._awaited) and time_us > self._from_us and (
            bool(self._asked_us) or self._is_tick(time_us))

    def next_act_us(self, due_us: int) -> int:
        """Return the first step from a time on that may wait, as far as that is known now."""
        if self._asked_us:
            return due_us
        begins_us = -(-max(self._from_us, self._step_us) // self._step_us) * self._step_us
        if due_us <= begins_us:
            return begins_us
        if all(its.answers for its in self._awaited):
            return sys.maxsize
        multiple_us = ((due_us - self._step_us) // self._period_us + 1) * self._period_us
        return -(-multiple_us // self._step_us) * self._step_us

    def _is_tick(self, time_us: int) -> bool:
        return any(not its.answers for its in self._awaited) and (
            time_us // self._period_us > (time_us - self._step_us) // self._period_us)

    def awaited_us(self, time_us: int) -> dict[str, int]:
        """Return the topics that lack something for a step, with the stamp it has to have."""
        found = {}
        if self.is_due(time_us):
            for name, answers in self._awaited:
                stamp_us = self._asked_us.get(answers) if answers else (
                    time_us if self._is_tick(time_us) else None)
                if stamp_us is not None and not any(
                        its.name == name and self._is_of(its, stamp_us, answers)
                        for its in self._held):
                    found[name] = stamp_us
        return found

    def _is_of(self, delivery: Delivery, stamp_us: int, answers: str) -> bool:
        """Return whether a message has the stamp that is awaited, and was not handed over.

        Of a node with a timer that may be the step before: it may have taken the stamp of PX4.
        """
        least_us = stamp_us if answers else stamp_us - self._step_us
        return max(self._last_us[delivery.name] + 1, least_us) <= delivery.stamp_us <= stamp_us

    def take(self, time_us: int) -> list[Delivery]:
        """Return the messages for a step, in an order that follows from stamps."""
        is_over = self._wanted and not self._awaited
        if (self._wanted and not is_over and not self.is_due(time_us)) or not self._held:
            return []
        held, self._held = self._held, []
        if not self._wanted or is_over:
            return held
        asked = [*self._asked_us.values()]
        if self._is_tick(time_us):
            asked.append(time_us - self._step_us)
        # What has been published with the answer, or by the same timer, may still be under way.
        self._settled_us = min(asked)
        self._asked_us.clear()
        found: list[Delivery] = []
        for delivery in held:
            stamp_us, name, *_ = delivery
            if name in self._last_us:
                is_now = stamp_us <= time_us
            else:
                is_now = stamp_us < self._settled_us or stamp_us > time_us
            (found if is_now else self._held).append(delivery)
            if is_now and name in self._last_us:
                self._last_us[name] = max(stamp_us, self._last_us[name])
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
