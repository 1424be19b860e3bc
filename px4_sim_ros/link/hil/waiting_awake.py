# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether it pays to wait for a reply awake: not while others want the cores."""
from __future__ import annotations

import contextlib
import os
import pathlib
import time

# The kernel counts for how long a thread could run and had no core.
_SCHEDULE = pathlib.Path('/proc/thread-self/schedstat')
# Of wall time between two looks, some 20 us each.
_LOOK_S = 0.05
# Of wall time that was waited for a core. An idle machine is far below, a busy one far above.
_WANTED_SHARE = 0.1


class WaitingAwake:
    """Looks how long this thread has waited for a core of late.

    Whoever waits awake for another process takes from it what it needs when there are fewer cores
    than work, and keeps all others from theirs.
    """

    def __init__(self) -> None:
        """Begin on a machine that has a core for whoever is waited for, if it has several."""
        self.pays = self._has_cores = len(os.sched_getaffinity(0)) > 1
        self._looked_s = time.perf_counter()
        self._waited_s = _waited_for_core_s()

    def look(self, now_s: float) -> bool:
        """Return whether it pays now.

        :param now_s: of time.perf_counter
        """
        since_s = now_s - self._looked_s
        if self._has_cores and since_s >= _LOOK_S:
            waited_s = _waited_for_core_s()
            self.pays = waited_s - self._waited_s < _WANTED_SHARE * since_s
            self._looked_s, self._waited_s = now_s, waited_s
        return self.pays


def _waited_for_core_s() -> float:
    """Return for how long this thread has waited for a core so far; 0 if nobody counts that."""
    with contextlib.suppress(OSError):
        return 1e-9 * int(_SCHEDULE.read_text(encoding='ascii').split()[1])
    return 0.0
