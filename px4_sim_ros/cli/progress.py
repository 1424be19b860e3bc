# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The progress of a flight on the terminal."""
from __future__ import annotations

import sys
import typing

from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.model.encounters import Encounter
from px4_sim_ros.model.scenario.happening import Happening


class Bar:
    """A bar on a terminal, plain lines otherwise."""

    def __init__(self, total: int, unit: str) -> None:
        self._bar: typing.Any = None
        if sys.stdout.isatty():
            import tqdm  # it takes a while
            self._bar = tqdm.tqdm(total=total, unit=unit, file=sys.stdout)

    def print(self, line: str) -> None:
        if self._bar is None:
            print(line, flush=True)
        else:
            self._bar.write(line)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.close()


class Progress(Bar):
    """The events of a flight."""

    def __init__(self, events: int, awaited_at: typing.Iterable[str] = ()) -> None:
        """Begin.

        :param events: how many a mission has
        :param awaited_at: where autopilots are waited for that are not started here
        """
        super().__init__(events, 'event')
        self._awaited_at = ', '.join(awaited_at)

    def on_event(self, event: Event | Happening | Encounter) -> None:
        self.print(f't = {event.time_s:7.2f} s  {event.text}')
        if self._bar is not None:
            self._bar.update()

    def on_restart(self) -> None:
        """Show that the run was reset."""
        self.print('the run begins again: so does the flight')

    def on_waiting(self) -> None:
        """Show where autopilots are waited for."""
        self.print(f'waiting for your autopilot on {self._awaited_at}')
