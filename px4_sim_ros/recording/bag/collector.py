"""Puts the messages of many topics in order, without waiting for any of them."""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.recording.bag.bag_reader import Message


class LostError(RuntimeError):
    """A message of the step is missing and cannot come any more."""


class Collector:
    """Takes in messages in whatever order, and gives out those of whole steps."""

    def __init__(
        self, periods_us: typing.Mapping[str, int], step_us: int, window_us: int,
    ) -> None:
        """Begin at time 0.

        :param periods_us: how often each topic of the step has a message, in the order in which
            those of one time are given out
        :param window_us: a message that is still missing when there is one so much later is lost
        """
        self._periods_us = dict(periods_us)
        self._step_us, self._window_us = step_us, window_us
        self._next_us = dict(periods_us)       # of each topic, the first that is missing
        self._waiting: dict[str, dict[int, bytes | None]] = {name: {} for name in periods_us}
        self._order = {name: i for i, name in enumerate(periods_us)}
        self._beside: list[Message] = []
        self._ready: list[Message] = []
        self._lost = ''            # which message cannot come any more, as a sentence
        self.complete_us = 0       # up to which time all was given out

    def add(self, name: str, time_us: int, data: bytes | None) -> None:
        """Take in a message of the step; None says that there is none at this time.

        Whatever was there already is left out, and so is what the run before has left under way.
        """
        waiting, next_us = self._waiting[name], self._next_us[name]
        if time_us < next_us:
            return
        if time_us > next_us + self._window_us:
            if next_us > self._periods_us[name] and not self._lost:
                self._lost = f'{name} for t = {seconds_text(next_us)} was lost'
            return
        waiting.setdefault(time_us, data)
        while next_us in waiting:
            found = waiting.pop(next_us)
            if found is not None:
                self._ready.append(Message(name, next_us, found))
            next_us += self._periods_us[name]
        self._next_us[name] = next_us

    def add_absence(
        self, name: str, time_us: int, data: bytes, absent: typing.Iterable[str],
    ) -> None:
        """Take in a message that says that topics have none at a time; it goes with that step."""
        first = [topic for topic in absent if self._is_open(topic, time_us)]
        for topic in first:
            self.add(topic, time_us, None)
        if first:
            self._ready.append(Message(name, time_us, data))

    def _is_open(self, name: str, time_us: int) -> bool:
        """Return whether nothing is known yet about a topic at a time."""
        next_us = self._next_us[name]
        return (next_us <= time_us <= next_us + self._window_us
                and time_us not in self._waiting[name])

    def add_beside(self, name: str, data: bytes) -> None:
        """Take in a message that has no time of its own: it gets that of the last whole step."""
        self._beside.append(Message(name, self.complete_us, data))

    def take(self) -> list[Message]:
        """Return what can be written, in the order of time and of the topics.

        :raises LostError: there is nothing more, because a message was lost
        """
        self.complete_us = min(self._next_us.values()) - self._step_us
        whole = [m for m in self._ready if m.time_us <= self.complete_us]
        self._ready = [m for m in self._ready if m.time_us > self.complete_us]
        whole.sort(key=lambda m: (m.time_us, self._order.get(m.topic, len(self._order))))
        if self._lost and not whole:
            raise LostError(self._lost)
        beside, self._beside = self._beside, []
        return beside + whole

    @property
    def next_us(self) -> int:
        """The first time that is not whole."""
        return self.complete_us + self._step_us

    def waits_for(self) -> dict[str, int]:
        """Return which topics the next step lacks, with the time of the last of each."""
        return {name: next_us - self._periods_us[name] or -1
                for name, next_us in self._next_us.items() if next_us <= self.next_us}
