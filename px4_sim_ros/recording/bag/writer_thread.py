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
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.reorder_buffer import LostError
from px4_sim_ros.recording.bag.writer import BagWriter


class BagThread:
    """A thread that writes what was gathered whenever it is woken.

    It works mostly while the step blocks on the autopilot.
    """

    def __init__(
        self, writer: BagWriter, gather: typing.Callable[[], list[Message]],
        on_written: typing.Callable[[], None],
    ) -> None:
        """Begin.

        :param gather: returns the messages to write; called in the thread
        :param on_written: called in the thread after each write and after a failure
        """
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
