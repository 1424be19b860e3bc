# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Waits for the disk in a thread of its own, so that the steps do not."""
from __future__ import annotations

import queue
import threading
import typing


class Disk(typing.Protocol):
    """Does what may take long, one thing at a time."""

    def begin(self, work: typing.Callable[[], None]) -> None:
        """Begin something, when what was begun before is done."""

    def wait(self) -> None:
        """Wait until it is done; what it has raised is raised here, once."""

    def close(self) -> None:
        """Wait until it is done, whatever becomes of it, and begin nothing more."""


class AtOnce:
    """Does it at once, for those who wait for the disk anyway."""

    def begin(self, work: typing.Callable[[], None]) -> None:
        """Do it."""
        work()

    def wait(self) -> None:
        """Nothing: it is done."""

    def close(self) -> None:
        """Nothing."""


class DiskThread:
    """A thread that does it meanwhile: of compressing and writing Python itself does little."""

    def __init__(self) -> None:
        """Start it; the core that it may run on is not that which the steps may share later."""
        self._asked: queue.SimpleQueue[typing.Callable[[], None] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._is_busy = False
        # Nobody waits for it at the end of the process: who has a bag closes it.
        self._thread = threading.Thread(target=self._run, name='disk', daemon=True)
        self._thread.start()

    def begin(self, work: typing.Callable[[], None]) -> None:
        """Begin something, when what was begun before is done."""
        self.wait()
        self._is_busy = True
        self._asked.put(work)

    def wait(self) -> None:
        """Wait until it is done; what it has raised is raised here, once."""
        if self._is_busy:
            error = self._answers.get()
            self._is_busy = False
            if error is not None:
                raise error

    def close(self) -> None:
        """Wait until it is done, whatever becomes of it, and end the thread."""
        self._asked.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._asked.get()) is not None:
            try:
                work()
            except BaseException as error:      # it is raised where the steps are
                self._answers.put(error)
            else:
                self._answers.put(None)
