# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes a bag in a thread of its own, so that the disk does not block the steps."""
from __future__ import annotations

import contextlib
import threading
import time
import traceback
import typing

from px4_sim_ros.model.errors import sentence
from px4_sim_ros.model.timebase import next_due_us, seconds_text
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.step.presence import ALWAYS, Presence


class LostError(RuntimeError):
    """A message of the step was lost."""


class ReorderBuffer:
    """Accepts messages in any order and returns those of complete steps."""

    def __init__(
        self, periods_us: typing.Mapping[str, int], step_us: int, window_us: int,
        presences: typing.Mapping[str, Presence] | None = None,
    ) -> None:
        """Begin at time 0.

        :param periods_us: the period of each topic of the step, in the order in which the
            messages of one time are returned
        :param window_us: a message that is missing when one so much later has arrived is lost
        :param presences: by topic from when to when there are messages, if not always
        """
        self._periods_us = dict(periods_us)
        self._step_us, self._window_us = step_us, window_us
        self._presences = dict.fromkeys(periods_us, ALWAYS) | dict(presences or {})
        # By topic, the first that is missing.
        self._next_us = {name: self._first_us(name) for name in periods_us}
        self._waiting: dict[str, dict[int, bytes | None]] = {name: {} for name in periods_us}
        self._order = {name: i for i, name in enumerate(periods_us)}
        self._side: list[Message] = []
        self._ready: list[Message] = []
        self._lost = ''            # which message was lost, as a sentence
        self.complete_us = 0       # up to which time all steps are complete

    def add(self, name: str, time_us: int, data: bytes | None) -> None:
        """Add a message of the step; None is for a topic that has none at this time.

        Duplicates are dropped, and so are messages of the run before that arrive late.
        """
        waiting, next_us = self._waiting[name], self._next_us[name]
        if time_us < next_us:
            return
        if time_us > next_us + self._window_us and self._is_awaited(name):
            if next_us > self._periods_us[name] and not self._lost:
                self._lost = f'{name} for t = {seconds_text(next_us)} was lost'
            return
        waiting.setdefault(time_us, data)
        self._go_on(name)

    def _go_on(self, name: str) -> None:
        waiting, next_us = self._waiting[name], self._next_us[name]
        while next_us in waiting:
            found = waiting.pop(next_us)
            if found is not None:
                self._ready.append(Message(name, next_us, found))
            next_us += self._periods_us[name]
        self._next_us[name] = next_us

    def _first_us(self, name: str) -> int:
        """Return the time of the first message of a topic."""
        return next_due_us(self._presences[name].joins_us or 0, self._periods_us[name])

    def _is_awaited(self, name: str) -> bool:
        """Return whether there is to be a message at the time of the first that is missing."""
        return self._presences[name].has(self._next_us[name])

    def change(self, name: str, presence: Presence) -> None:
        """Take in from when to when there are messages of a topic from now on.

        What has come before that is kept. Of a vehicle that stays none is left out.
        """
        if self._is_awaited(name):
            self._presences[name] = self._presences[name]._replace(leaves_us=presence.leaves_us)
            return
        self._presences[name] = presence
        self._next_us[name] = max(self._first_us(name), self._next_us[name])
        self._go_on(name)

    def add_no_measurement(
        self, name: str, time_us: int, data: bytes, silent: typing.Iterable[str],
    ) -> None:
        """Add a message that announces that a sensor has no measurement at a time.

        :param silent: the topics of that sensor
        """
        missing = [topic for topic in silent if self._is_missing(topic, time_us)]
        for topic in missing:
            self.add(topic, time_us, None)
        if missing:
            self._ready.append(Message(name, time_us, data))

    def _is_missing(self, name: str, time_us: int) -> bool:
        """Return whether nothing was added yet for a topic at a time."""
        next_us = self._next_us[name]
        return (next_us <= time_us <= next_us + self._window_us
                and time_us not in self._waiting[name])

    def add_side_message(self, name: str, data: bytes) -> None:
        """Add a message without a stamp: it gets the time of the last complete step."""
        self._side.append(Message(name, self.complete_us, data))

    def take(self) -> list[Message]:
        """Return the messages of all complete steps, in the order of time and of the topics.

        :raises LostError: no further step can be completed, because a message was lost
        """
        self.complete_us = min(
            next_us for name, next_us in self._next_us.items() if self._is_awaited(name)
        ) - self._step_us
        complete = [m for m in self._ready if m.time_us <= self.complete_us]
        self._ready = [m for m in self._ready if m.time_us > self.complete_us]
        complete.sort(key=lambda m: (m.time_us, self._order.get(m.topic, len(self._order))))
        if self._lost and not complete:
            raise LostError(self._lost)
        side, self._side = self._side, []
        return side + complete

    @property
    def next_us(self) -> int:
        """The time of the first step that is not complete."""
        return self.complete_us + self._step_us

    def waits_for(self) -> dict[str, int]:
        """Return the topics that the next step lacks, with the last time of each."""
        return {name: next_us - self._periods_us[name] or -1
                for name, next_us in self._next_us.items()
                if next_us <= self.next_us and self._is_awaited(name)}


class BagThread:
    """A thread that writes what was gathered whenever it is woken.

    It works mostly while the step blocks on the autopilot.
    """

    def __init__(
        self, writer: BagWriter, gather: typing.Callable[[], list[Message]],
        on_written: typing.Callable[[], None],
    ) -> None:
        self._writer, self._gather, self._on_written = writer, gather, on_written
        self.problem = ''          # why it has stopped writing, as a sentence
        self.is_writing = False    # gathered messages are not all written yet
        self.busy_s = 0.0          # processor time that it has taken
        self._woken = threading.Event()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name='bag')
        self._thread.start()

    def wake(self) -> None:
        """Gather and write."""
        self._woken.set()

    def close(self) -> None:
        """Gather and write once more, finish the bag and join; `problem` has a failure."""
        self._ending = True
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ending:
                self._woken.wait()
                self._woken.clear()
                self._write_gathered()
            self._write_gathered()
            self._writer.close()
        except OSError as error:       # the bag has ended with its last flush
            self._fail(sentence(error))
        except LostError as error:
            self._finish_and_fail(sentence(error))
        except Exception as error:     # a bug: it must reach the run all the same
            traceback.print_exc()
            self._finish_and_fail(f'{type(error).__name__}: {error}')

    @property
    def flushed_us(self) -> int:
        """Up to which time all is on disk."""
        return self._writer.flushed_us

    def _fail(self, reason: str) -> None:
        self.problem = self._writer.end_text(reason)
        self._report()

    def _report(self) -> None:
        self.is_writing, self.busy_s = False, time.thread_time()
        self._on_written()

    def _write_gathered(self) -> None:
        messages = self._gather()
        if messages:
            self.is_writing = True
            for message in messages:
                self._writer.write(*message)
            self._report()

    def _finish_and_fail(self, reason: str) -> None:
        """Finish the bag first, as far as it can be: the sentence says how far that is."""
        try:
            with contextlib.suppress(OSError):
                self._writer.close()
        finally:
            self._fail(reason)
