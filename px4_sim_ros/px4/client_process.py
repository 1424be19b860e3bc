# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process on this machine that has connected, and whether its start script still runs."""
from __future__ import annotations

import contextlib
import time

import psutil

_LOOK_PERIOD_S = 0.05
# Of wall time. Another autopilot may have children for ever.
_LONGEST_S = 20.0


def process_at(address: tuple[str, int]) -> int | None:
    """Return who has a TCP connection from an address; None for nobody on this machine."""
    return next((connection.pid for connection in psutil.net_connections('tcp')
                 if connection.laddr == address and connection.pid is not None), None)


class StartScript:
    """Looks whether an autopilot still has children, as PX4 has until its start script has ended.

    PX4 answers long before that, and complains when its boot takes more than 20 s of its time.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        """Look for nobody yet: that takes some milliseconds.

        :param address: from which the autopilot has connected
        """
        self._address = address
        self._process: psutil.Process | None = None
        self._began_s = time.monotonic()
        self._looked_s = 0.0           # 0: never
        self._runs = True

    def runs(self) -> bool:
        """Return whether it did at the last look; when it has ended, that is for ever."""
        now_s = time.monotonic()
        if self._runs and now_s - self._looked_s >= _LOOK_PERIOD_S:
            self._runs = now_s - self._began_s < _LONGEST_S and self._look()
            self._looked_s = time.monotonic()
        return self._runs

    def _look(self) -> bool:
        with contextlib.suppress(psutil.Error):      # it has just ended
            if self._process is None:
                process = process_at(self._address)
                self._process = psutil.Process(process) if process is not None else None
            return self._process is not None and any(map(_runs, self._process.children()))
        return False


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):      # it has just ended; others may not have
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False
