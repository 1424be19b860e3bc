# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One vehicle of a flight: what its pilot reports, and its autopilot, until its flight is over."""
from __future__ import annotations

import contextlib
import math
import threading
import time
import typing

from px4_sim_ros.flight.world import World
from px4_sim_ros.link.pilot.events import Event, MissionError
from px4_sim_ros.model.scenario.happening import Happening, Verdicts
from px4_sim_ros.process.children import Child
from px4_sim_ros.px4.log import LogLoss, loss_of
from px4_sim_ros.spec.flight_spec import VehicleSpec
from px4_sim_ros.step.presence import Change

if typing.TYPE_CHECKING:       # a flight without one does without all of its actions
    from px4_sim_ros.model.scenario.scenario import Scenario

_WATCH_S = 0.2
# Of wall time. PX4 connects within some seconds, also on a machine that is busy.
_CONNECTED_TIMEOUT_S = 60.0
# More for each that boots at the same time: with the schedule repeatable all are on one core.
_CONNECTED_TIMEOUT_OF_OTHERS_S = 4.0
# Nodes report once a second: an autopilot may have replied since.
_MOST_IN_VAIN = 2
# Of wall time, for a process of which the connection is gone.
_GONE_S = 1.0


class FlightWatch:
    """What pilot and scenario of a vehicle report, up to the end of its flight."""

    def __init__(
        self, on_event: typing.Callable[[Event | Happening], None], *, has_scenario: bool,
        on_over: typing.Callable[[], None] = lambda: None,
        on_change: typing.Callable[[Change], None] = lambda change: None,
        is_awaited: bool = True,
    ) -> None:
        """Begin.

        :param on_event: called with each event
        :param has_scenario: whether it is a scenario that ends the flight, not the mission
        :param on_over: called at the end
        :param on_change: called when the vehicle joins the world or has left it
        :param is_awaited: whether there is to be a flight, as of one that is not in reserve
        """
        self._on_event, self._has_scenario = on_event, has_scenario
        self._on_over, self._on_change, self._is_awaited = on_over, on_change, is_awaited
        self.restart_autopilot: typing.Callable[[], None] = lambda: None
        """Is called when a scenario has taken the power from the autopilot."""
        self.start_autopilot: typing.Callable[[], None] = lambda: None
        """Is called when the vehicle joins the world."""
        self.end_autopilot: typing.Callable[[], None] = lambda: None
        """Is called when it has left."""
        self.reset()

    def reset(self) -> None:
        """Begin again: the mission does, too."""
        self._begin()
        if not self._is_awaited:
            self.over.set()

    def _begin(self) -> None:
        self.over = threading.Event()
        self.flown, self.failure = False, ''
        self.verdicts: Verdicts | None = None      # None: the scenario is not over

    def attend(self, change: Change) -> None:
        """Take in that the vehicle joins the world, which waits for its autopilot, or has left."""
        self._on_change(change)
        self._on_event(Happening(change.time_us, change.text))
        if not change.joins:
            self.end()
        self.end_autopilot()           # also of one that begins again
        if change.joins:
            self._begin()
            self.start_autopilot()

    @property
    def is_flown(self) -> bool:
        """Whether the scenario has come to its end, or without one the mission."""
        return self.verdicts is not None if self._has_scenario else self.flown

    def take(self, event: Event | str) -> None:
        """Take in an event, or why the mission was not flown to its end, '' if it was."""
        if isinstance(event, Event):
            self._on_event(event)
        else:
            self.flown, self.failure = not event, event
            if not self._has_scenario:
                self.end()

    def follow(self, happening: Happening | Verdicts) -> None:
        """Take in what the scenario has done, or the verdicts at its end."""
        if isinstance(happening, Happening):
            self._on_event(happening)
            if happening.restarts:
                self.restart_autopilot()
        else:
            self.verdicts = happening
            self.end()

    def end(self) -> None:
        """End the flight; a second time nothing happens."""
        self.over.set()
        self._on_over()


class StartedAutopilot:
    """An autopilot, from its start to its end; without one the world waits for the user's own."""

    def __init__(
        self, vehicle: VehicleSpec, world: World, flight: FlightWatch,
        start: typing.Callable[[], Child], on_gone: typing.Callable[[], object],
        on_new: typing.Callable[[str], None] = lambda reason: None,
        others: int = 0, is_external: bool = False,
    ) -> None:
        """Start it.

        :param flight: is ended when it ends, or does not come: nothing would fly the mission
        :param start: starts its process
        :param on_gone: called before that; returns whether the flight has gone on until then
        :param on_new: called with why another one is started in its place, if that is wanted
        :param others: how many there are besides it
        :param is_external: it has no process of its own
        """
        self._connected_timeout_s = _CONNECTED_TIMEOUT_S + others * _CONNECTED_TIMEOUT_OF_OTHERS_S
        self._vehicle, self._world, self._flight = vehicle, world, flight
        self._start_process, self._on_gone, self._on_new = start, on_gone, on_new
        self._is_missing = False
        self.has_failed = False        # it was the first whose end has ended the flight
        self._autopilot: Child | None = None
        self._all: list[Child] = []    # that were started, one after the other
        self._changes = threading.Lock()           # it is being ended and started
        self._ends = threading.Event()
        self._is_late = False          # it was started after time 0
        self._failure = ''             # of one whose vehicle has left since
        self._started = contextlib.ExitStack()
        self._in_vain = 0              # how many in a row have not replied
        self._is_wanted_again = vehicle.hil.on_waiting == 'begin_again'
        if vehicle.is_started and not is_external:
            flight.restart_autopilot, flight.end_autopilot = self.restart, self._leave
            flight.start_autopilot = self._join
            if vehicle.presence.joins_us == 0:
                self._join()

    def _join(self) -> None:
        """Start it: its vehicle is in the world from now on."""
        self._ends = threading.Event()
        self._failure, self.has_failed, self._is_missing = '', False, False
        self._is_late = bool(self._world.status(self._vehicle.name).steps)
        with contextlib.ExitStack() as stack:
            self._start()
            stack.callback(self._stop)
            watch = threading.Thread(target=self._watch, name='watch')
            watch.start()
            stack.callback(watch.join)
            stack.callback(self._ends.set)
            self._started = stack.pop_all()

    def _leave(self) -> None:
        """End it, if there is one: its vehicle is in the world no longer."""
        if self.has_failed:            # before that
            self._failure = self._why_not_flown()
        self._started.close()
        self._autopilot = None

    def _start(self) -> None:
        self._replies = self._reply_count()      # of those before it
        self._deadline_s = time.monotonic() + self._connected_timeout_s
        self._autopilot = self._start_process()
        self._all.append(self._autopilot)

    def log_loss(self) -> LogLoss | None:
        """Return the loss in the logs of all that were started, after the end; None without one."""
        return loss_of(self._all)

    def _stop(self) -> None:
        if self._autopilot is not None:
            self._autopilot.stop()

    def restart(self) -> None:
        """End it as without power, and start another one."""
        with self._changes:
            if self._autopilot is not None and not self._flight.over.is_set():
                self._autopilot.kill()
                self._start()

    @property
    def processes(self) -> list[Child]:
        """Its process, if this package has started one."""
        return [] if self._autopilot is None else [self._autopilot]

    def end_from_outside(self) -> str:
        """Return how it was killed from outside, or ''. Call before `end`.

        A scenario that takes its power does not count: another one is in its place since.
        """
        autopilot = self._autopilot
        if autopilot is None:
            return ''
        if self._reports_no_link():    # its connection goes a moment before its process
            autopilot.wait(_GONE_S)
        return f'{self._end_text()}: it was killed' if autopilot.was_killed else ''

    def _reports_no_link(self) -> bool:
        return self._world.status(self._vehicle.name).link.get('state') == 'WAITING'

    def expect_end(self) -> None:
        """Let its flight be over, and no other one come in its place."""
        self._ends.set()
        self._flight.end()

    def end(self) -> None:
        """End it; a second time nothing happens."""
        self.expect_end()
        self._started.close()

    def _watch(self) -> None:
        # The world waits for one that is wanted again, also after the end of its own flight.
        flight_over = threading.Event() if self._is_wanted_again else self._flight.over
        while not (self._ends.wait(_WATCH_S) or flight_over.is_set()):
            assert self._autopilot is not None, 'it was started before this'
            if time.monotonic() > self._deadline_s:       # it is looked once
                self._is_missing, self._deadline_s = not self._is_connected(), math.inf
            with self._changes:
                ended = self._autopilot.exit_code is not None
                begins_again = ended and self._is_wanted_again and not self._is_given_up()
                if begins_again:
                    self._on_new(self._end_text())
                    self._stop()       # it keeps what it has written, also of one that was killed
                    self._start()
            if not begins_again and (self._is_missing or ended):
                self.has_failed = bool(self._on_gone())
                self._flight.end()
                return

    def _end_text(self) -> str:
        assert self._autopilot is not None, 'it has ended'
        return self._autopilot.end_sentence

    def _is_given_up(self) -> bool:
        """Return whether one after the other has ended without a reply, as far as is known."""
        self._in_vain = 0 if self._has_replied() else self._in_vain + 1
        return self._in_vain > _MOST_IN_VAIN

    def _has_replied(self) -> bool:
        return self._reply_count() > self._replies

    def _reply_count(self) -> int:
        return self._world.status(self._vehicle.name).link_count('replies')

    def _is_connected(self) -> bool:
        status = self._world.status(self._vehicle.name)
        goes_on = bool(status.steps) and not (self._is_wanted_again or self._is_late)
        return goes_on or self._has_replied() or status.link.get('state', 'WAITING') != 'WAITING'

    def check_flown(self, watch: FlightWatch, scenario: Scenario | None) -> None:
        """Check that the mission was flown, or the scenario to its own end.

        :raises MissionError: it was not, and why
        """
        if watch.failure and (scenario is None or scenario.end is None):
            raise MissionError(watch.failure)
        if failure := self._failure or (
                '' if watch.is_flown and not self._is_missing else self._why_not_flown()):
            raise MissionError(failure)

    def _why_not_flown(self) -> str:
        """Return why it has flown nothing to its end, '' if it is not there."""
        if self._autopilot is None:
            return ''
        if self._is_missing:
            return (f'{self._autopilot.name} has not connected within'
                    f' {self._connected_timeout_s:g} s')
        return self._end_text()
