# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The core that the step shares with an autopilot that goes first there."""
from __future__ import annotations

import contextlib
import os
import threading
import typing


def core_of(instance: int, cores: typing.Iterable[int]) -> int:
    """Return which of some cores an autopilot keeps to; each instance has another while they last.

    The first core is left to the world.
    """
    found = sorted(cores)
    return found[-1 - instance % max(len(found) - 1, 1)]


def shared_core_of(instance: int) -> int:
    """Return the core that an autopilot has with the step, which needs no other one.

    So each instance has another while they last, and the first core is one of them.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores[-1 - instance % len(cores)]


class OtherCores:
    """Keeps a thread off the cores of an autopilot, where it would find neither turn nor caches.

    Linux puts both on one core, though another is free, and leaves them there for long: a thread
    that waits awake looks busy, and one that has just run is taken to have its caches there.
    """

    def __init__(self) -> None:
        self._thread = 0
        self._left: set[int] = set()       # cores that it has left

    def keep_off(self, process: int) -> None:
        """Keep the calling thread off the cores of a process, until `leave`, if it has others."""
        with contextlib.suppress(ProcessLookupError):       # it has just ended
            own, its = os.sched_getaffinity(0), os.sched_getaffinity(process)
            if own & its and own - its:
                self._thread, self._left = threading.get_native_id(), own & its
                os.sched_setaffinity(0, own - its)

    def leave(self) -> None:
        """Let the thread run there again; a second time nothing happens."""
        left, self._left = self._left, set()
        with contextlib.suppress(ProcessLookupError):       # it has ended
            if left:
                os.sched_setaffinity(self._thread, os.sched_getaffinity(self._thread) | left)


class Scheduling(typing.NamedTuple):
    """How a thread is scheduled, before that is changed."""

    thread: int
    cores: set[int]
    policy: int
    parameters: os.sched_param

    @classmethod
    def of_caller(cls) -> Scheduling:
        return cls(threading.get_native_id(), os.sched_getaffinity(0), os.sched_getscheduler(0),
                   os.sched_getparam(0))

    def restore(self) -> None:
        """Schedule the thread so again, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            # An ordinary user may not take this flag back (sched(7)).
            os.sched_setscheduler(
                self.thread, self.policy | os.SCHED_RESET_ON_FORK, self.parameters)
            os.sched_setaffinity(self.thread, self.cores)


def go_last(thread: int, flags: int = 0) -> None:
    """Give a thread the lowest real-time priority: all with SCHED_FIFO on its core go before it.

    :param thread: 0: the calling one
    :param flags: for its policy; SCHED_RESET_ON_FORK: who is started by it does not inherit that
    :raises ProcessLookupError: it has ended
    :raises PermissionError: the user has not the right
    """
    lowest = os.sched_param(os.sched_get_priority_min(os.SCHED_RR))
    os.sched_setscheduler(thread, os.SCHED_RR | flags, lowest)


class SharedCore:
    """Lets a thread run only while the autopilot, on the same core, has nothing to do.

    So each step finds it in the same state: whatever it is about goes first. Its threads have
    SCHED_FIFO; the step has the lowest real-time priority and no ordinary one, since Linux lets
    ordinary threads run for 5 % of the time of a core that real-time threads fill, in the midst
    of what these are about. Several flights on one core take turns, a step each; a step that hangs
    keeps the core for one turn of SCHED_RR.
    """

    def __init__(self, core: int) -> None:
        self._core = core
        self._before: Scheduling | None = None

    def enter(self) -> str:
        """Let the calling thread share the core, until `leave`; to be called in each step.

        Returns why it may be that the autopilot does not go first, '' if it does.
        """
        if self._before is not None:
            os.sched_yield()
            return ''
        self._before = Scheduling.of_caller()
        os.sched_setaffinity(0, {self._core})
        try:
            # What this thread starts is no part of the step.
            go_last(0, os.SCHED_RESET_ON_FORK)
        except PermissionError:
            return 'the step may not use SCHED_RR'
        return ''

    @property
    def thread(self) -> int | None:
        """The thread that shares the core, None for none."""
        return None if self._before is None else self._before.thread

    def leave(self) -> None:
        """Let the thread run as it did before; a second time nothing happens.

        An autopilot that ends, or has lost its link, can keep the core to itself.
        """
        if self._before is not None:
            before, self._before = self._before, None
            before.restore()
