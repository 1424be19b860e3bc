"""Simulated time against the wall clock."""
from __future__ import annotations

import time

from px4_sim_ros.core.timebase import US_PER_S

# A run that fell further behind than this does not try to catch up.
_MAX_LAG_S = 0.1


def speed_factor(text: str) -> float:
    """Return a speed factor from a text; `max` is 0, as fast as possible."""
    return 0.0 if text == 'max' else float(text)


class Pacer:
    """Holds each step back until its wall time has come."""

    def __init__(self, speed_factor: float, step_us: int) -> None:
        self._step_s = step_us / US_PER_S / speed_factor if speed_factor > 0.0 else 0.0
        self._next_s = time.monotonic()

    def wait(self) -> None:
        """Sleep until the next step may begin."""
        if not self._step_s:
            return
        self._next_s += self._step_s
        ahead_s = self._next_s - time.monotonic()
        if ahead_s > 0.0:
            time.sleep(ahead_s)
        elif ahead_s < -_MAX_LAG_S:
            self._next_s = time.monotonic()
