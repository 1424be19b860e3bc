# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Waits for the disk in a thread of its own, so that the steps do not, where it takes long."""
from __future__ import annotations

import functools
import queue
import threading
import time
import typing

# Of wall time. The steps lose half of it to a thread that does its part on the autopilot's core
# and takes turns with them for Python; a disk that others use takes many times as long.
_MOMENT_S = 1e-3


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
        self._asked: queue.SimpleQueue[typing.Callable[[], None] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._is_busy = False
        # The end of the process does not wait for it: the owner of a bag closes it.
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


class ThreadIfLong:
    """Does at once what takes a moment, and in a thread what is going to take long, as before."""

    def __init__(self) -> None:
        self._thread = DiskThread()
        self._takes_long = False           # as the last one did

    def begin(self, work: typing.Callable[[], None]) -> None:
        """Begin something, when what was begun before is done."""
        self._thread.wait()
        if self._takes_long:
            self._thread.begin(functools.partial(self._do, work))
        else:
            self._do(work)

    def _do(self, work: typing.Callable[[], None]) -> None:
        started_s = time.perf_counter()
        work()
        self._takes_long = time.perf_counter() - started_s > _MOMENT_S

    def wait(self) -> None:
        """Wait until it is done; what it has raised is raised here, once."""
        self._thread.wait()

    def close(self) -> None:
        """Wait until it is done, whatever becomes of it, and end the thread."""
        self._thread.close()
