# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cores that are left to the step by an autopilot that keeps to some."""
from __future__ import annotations

import contextlib
import os
import threading


class OtherCores:
    """Keeps a thread off the cores of an autopilot, where it would find neither turn nor caches.

    Linux puts both on one core, though another is free, and leaves them there for long: whoever
    waits awake looks busy, and whoever has just run is taken to have its caches there.
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
