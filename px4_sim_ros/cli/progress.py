# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The progress of a flight on the terminal."""
from __future__ import annotations

import sys

import tqdm

from px4_sim_ros.mavlink.pilot_events import Event
from px4_sim_ros.model.scenario.happening import Happening


class Progress:
    """A bar on a terminal, plain lines otherwise."""

    def __init__(self, events: int) -> None:
        self._bar = (
            tqdm.tqdm(total=events, unit='event', file=sys.stdout)
            if sys.stdout.isatty() else None)

    def show(self, event: Event | Happening) -> None:
        """Show an event."""
        self.print(f't = {event.time_s:7.2f} s  {event.text}')
        if self._bar is not None:
            self._bar.update()

    def print(self, line: str) -> None:
        """Print a line between the events."""
        if self._bar is None:
            print(line, flush=True)
        else:
            self._bar.write(line)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.close()
