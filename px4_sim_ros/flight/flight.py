# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight in any mode: a world, autopilots and pilots, started and ended in order."""
from __future__ import annotations

import contextlib
import functools
import pathlib
import signal
import threading
import typing

from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.flight.flight_watch import FlightWatch, StartedAutopilot
from px4_sim_ros.flight.record import FlightResult
from px4_sim_ros.flight.world import make_world
from px4_sim_ros.link.hil.link_state import MAX_HEIGHT
from px4_sim_ros.link.pilot.events import Event, MissionError
from px4_sim_ros.model.encounters import Encounter
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.model.scenario.happening import Happening
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import signals
from px4_sim_ros.process.children import stop_all
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.flight_spec import FlightSpec, VehicleSpec

if typing.TYPE_CHECKING:       # a flight without one does without all of its actions
    from px4_sim_ros.flight.core_world import CoreWorld
    from px4_sim_ros.model.scenario.situation import Situation
    from px4_sim_ros.step.scenario_block import ScenarioBlock

# Of wall time, for the step that is under way when a flight has hung.
_STEP_LIMIT_S = 1.0


class HungError(RunError):
    """A flight has not come to its end within a wall time; the text is one sentence."""


class Listener(typing.Protocol):
    """What is called with what happens in a flight."""

    def on_event(self, event: Event | Happening | Encounter) -> None:
        """Take in an event of a pilot, of a scenario or between vehicles."""

    def on_restart(self) -> None:
        """Take in that the run was reset, and the flight begins again."""

    def on_waiting(self) -> None:
        """Take in that the world is there and waits for the user's own autopilot."""


class Silent:
    """Ignores what happens in a flight."""

    def on_event(self, event: Event | Happening | Encounter) -> None:
        """Ignore it."""

    def on_restart(self) -> None:
        """Ignore it."""

    def on_waiting(self) -> None:
        """Ignore it."""


class Flight:
    """A flight: `begin`, `run`, `end`; all that it starts is ended with it, whatever happens."""

    def __init__(
        self, spec: FlightSpec, folder: pathlib.Path, listener: Listener | None = None, *,
        ros_home: pathlib.Path | None = None, ends_at_once: bool = False,
    ) -> None:
        """Prepare; nothing is started.

        :param folder: for files that are needed on the way
        :param ros_home: below which the folders of PX4 are; that of the user by default
        :param ends_at_once: whether autopilots are killed at the end: what they write is lost
        """
        self.spec, self.result = spec, FlightResult(spec)
        self._folder, self._listener = folder, listener or Silent()
        self._ros_home, self._ends_at_once = ros_home, ends_at_once
        self._stop = threading.Event()
        self._watches = {vehicle.name: self._watch(vehicle) for vehicle in spec.vehicles}
        self._autopilots: list[StartedAutopilot] = []
        self._open = contextlib.ExitStack()
        self._holds = False            # a step, until the next `run`
        self._left: set[str] = set()   # vehicles, at a step before the end of their missions

    def __enter__(self) -> Flight:
        try:
            self.begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all that was started; a second time nothing happens."""
        if self._holds:
            self._left |= {name for name, watch in self._watches.items() if not watch.over.is_set()}
        self._open.close()

    # From begin to end.

    def begin(self) -> None:
        """Start the world, and the autopilots as soon as nothing of the flight is missed.

        :raises RuntimeError: the world does not come up
        :raises OSError: a port is taken, or nothing can be recorded
        """
        compile_ahead(sees=any(its.configuration.world.sees for its in self.spec.vehicles))
        with contextlib.ExitStack() as stack:
            self._world = make_world(
                self.spec, self._folder, self._watches, self.result, self._listener.on_event,
                stack)
            stack.callback(self._collect)
            stack.callback(self._world.close)
            self._world.wait_until_seen()
            if self.spec.awaited_at:
                self._listener.on_waiting()
            self._open = stack
            self._start_autopilots()
            self._open = stack.pop_all()

    def _start_autopilots(self) -> None:
        autopilots: list[StartedAutopilot] = []
        self._autopilots = autopilots
        self._open.callback(self._end_autopilots, autopilots)
        # Before them, so that none is missed, and the counters end with the flight.
        self._open.callback(self._world.close)
        self._open.callback(_expect_ends, autopilots)
        # An interrupt finds all that was started: a pilot would be waited for.
        with signals.held_back():
            for vehicle in self.spec.vehicles:
                autopilots.append(StartedAutopilot(
                    vehicle, self._world, self._watches[vehicle.name],
                    functools.partial(start_autopilot, vehicle, self._folder,
                                      ros_home=self._ros_home),
                    functools.partial(self._note_gone, vehicle),
                    functools.partial(self._note_new, vehicle),
                    others=len(self.spec.vehicles) - 1, is_external=self.spec.in_process))

    def check_by_hand(self, what: str) -> None:
        """Check that there is a node that knows the situation, for an argument or a method."""
        if 'scenario' not in self.spec.configuration.nodes:
            raise ParameterError(f'by_hand = False: must be True for `{what}`, or name a scenario')

    def run(
        self, until: typing.Callable[[Situation], bool] | None = None,
        wall_limit_s: float | None = None,
    ) -> None:
        """Fly to the end, or in mode `core` until the situation after a step is as wanted.

        A step at which it is holds until the next `run`.

        :param until: returns whether a situation is as wanted
        :param wall_limit_s: of wall time; a flight that takes longer hangs
        :raises HungError: it does
        :raises ParameterError: the flight has no node that knows it
        :raises RuntimeError: a part of the world has failed
        """
        if until is not None:
            self.check_by_hand('until')
        if self._holds:                # the situation has set it, or an autopilot has gone
            self._stop.clear()
        if self._is_over():
            return
        if until is not None or self._holds:
            scenario = self.scenario()
            scenario.on_situation = (
                functools.partial(self._hold, until) if until else None)
            scenario.go_on()
            self._holds = until is not None
        with self._guard(wall_limit_s):
            self._run()

    def _run(self) -> None:
        while True:
            try:
                with signals.unwrapped():
                    begins_again = self._world.run(self._stop)
            except KeyboardInterrupt:
                if any(vehicle.mission is not None for vehicle in self.spec.vehicles):
                    raise
                self.result.was_stopped = True        # there is no other end
                return
            self.result.was_stopped = self._world.was_stopped
            if not begins_again:
                return
            self._end_autopilots(self._autopilots)
            for watch in self._watches.values():
                watch.reset()
            self._stop.clear()
            self.result.reset()
            self._listener.on_restart()
            self._start_autopilots()

    def _hold(self, until: typing.Callable[[Situation], bool], situation: Situation) -> bool:
        if until(situation):
            self._stop.set()
        return self._stop.is_set()

    @contextlib.contextmanager
    def _guard(self, limit_s: float | None) -> typing.Iterator[None]:
        """End a flight after some wall time, also in a step that does not end.

        :raises HungError: it was ended
        """
        if limit_s is None:
            yield
            return
        hangs, is_over = threading.Event(), threading.Event()
        flying = threading.get_ident()

        def give_up() -> None:
            hangs.set()
            self._stop.set()
            if not is_over.wait(_STEP_LIMIT_S):
                signal.pthread_kill(flying, signal.SIGINT)

        timer = threading.Timer(limit_s, give_up)
        timer.daemon = True        # it keeps no process whose signal comes before it is cancelled
        why = ''
        try:
            timer.start()
            with signals.unwrapped():
                yield
        except (RunError, KeyboardInterrupt) as error:
            if not hangs.is_set():
                raise
            why = f': {error}'.rstrip(': ')
        finally:
            is_over.set()
            timer.cancel()
        if hangs.is_set():
            raise HungError(f'the flight has hung for {limit_s:g} s of wall time{why}')

    def end(self) -> FlightResult:
        """End all that was started, and return the result.

        :raises RuntimeError: a part of the world has failed
        """
        self.close()
        # When a part of the world fails the autopilots end, too: the first cause comes first.
        self._world.check_end()
        if not self.result.was_stopped:
            self._judge()
        return self.result

    def fly(self, wall_limit_s: float | None = None) -> FlightResult:
        """Begin, run to the end, and end.

        :raises RuntimeError: a part of the world has failed
        :raises OSError: a port is taken, or nothing can be recorded
        """
        with self:
            self.run(wall_limit_s=wall_limit_s)
        return self.end()

    # What is known on the way, in mode `core`.

    def scenario(self, vehicle: str = '') -> ScenarioBlock:
        """Return the scenario of a vehicle, which has one."""
        return typing.cast('CoreWorld', self._world).scenario(vehicle)

    def status(self) -> typing.Any:
        """Return the counters of the first vehicle by now."""
        return self._world.status()

    @property
    def autopilot_failure(self) -> str:
        """Why the flight is over before its end: how an autopilot has ended; '' if none has."""
        return next((self.why_not_flown(vehicle) for vehicle, autopilot in zip(
            self.spec.vehicles, self._autopilots) if autopilot.has_failed), '')

    def killed_from_outside(self) -> str:
        """Return how an autopilot was killed from outside, or ''. Call before `end`."""
        for autopilot in self._autopilots:
            if killed := autopilot.end_from_outside():
                return killed
        return ''

    def why_not_flown(self, vehicle: VehicleSpec) -> str:
        """Return why a vehicle has not flown to its end, '' if it has."""
        autopilot = self._autopilots[self.spec.vehicles.index(vehicle)]
        try:
            autopilot.check_flown(self._watches[vehicle.name], vehicle.scenario)
        except MissionError as error:
            return str(error)
        return ''

    # What is called on the way.

    def _watch(self, vehicle: VehicleSpec) -> FlightWatch:
        record = self.result.vehicles[vehicle.name]

        def report(event: Event | Happening) -> None:
            record.add_event(event)
            self._listener.on_event(
                event._replace(text=f'{vehicle.name}: {event.text}') if vehicle.name else event)

        return FlightWatch(
            report, has_scenario=vehicle.scenario is not None, on_over=self._look,
            on_change=record.attend, is_awaited=vehicle.presence.joins_us is not None)

    def _is_over(self) -> bool:
        return all(watch.over.is_set() for watch in self._watches.values())

    def _look(self) -> None:
        if self._is_over():
            self._stop.set()

    def _note_gone(self, vehicle: VehicleSpec) -> bool:
        goes_on = not self._stop.is_set()
        if vehicle.hil.on_waiting in ('hold', 'begin_again'):
            self._stop.set()       # the others do not fly without it
        return goes_on

    def _note_new(self, vehicle: VehicleSpec, reason: str) -> None:
        self.result.vehicles[vehicle.name].begin_again()
        self._listener.on_event(Happening(
            round(self._world.status(vehicle.name).sim_time_s * US_PER_S),
            f'{vehicle.name}: {reason}; it is started again, and so is its flight'))

    def _end_autopilots(self, autopilots: typing.Sequence[StartedAutopilot]) -> None:
        """End autopilots, all at once; a second time nothing happens."""
        _expect_ends(autopilots)
        stop_all([process for autopilot in autopilots for process in autopilot.processes],
                 *[0.0] * self._ends_at_once)
        for autopilot in autopilots:
            autopilot.end()

    def _collect(self) -> None:
        """Take the counters of the end into the result."""
        self.result.recording = self._world.recording
        self.result.recording_problem = self._world.recording_problem
        for name, record in self.result.vehicles.items():
            record.status = self._world.status(name)
            record.verdicts = self._watches[name].verdicts
        for vehicle, autopilot in zip(self.spec.vehicles, self._autopilots):
            self.result.vehicles[vehicle.name].log_loss = autopilot.log_loss()
        self.result.complete_recording()

    def _judge(self) -> None:
        """Take into the result which vehicles have flown, and why not."""
        failures = []
        for vehicle, autopilot in zip(self.spec.vehicles, self._autopilots):
            watch, record = self._watches[vehicle.name], self.result.vehicles[vehicle.name]
            if not record.stay.has_begun:
                continue
            failure = ''
            if vehicle.name not in self._left and (
                    vehicle.mission is not None or vehicle.scenario is not None):
                failure = self.why_not_flown(vehicle)
            untrue = '' if failure else self._why_untrue(vehicle)
            if not failure and not untrue:
                record.mission_flown = watch.flown or vehicle.mission is None
                continue
            # Others have ended with the flight, which is no fault of theirs.
            is_cause = autopilot.has_failed or bool(untrue or watch.failure) or not vehicle.name
            failure = failure or untrue
            record.failure = failure if is_cause else 'its flight was ended with that of another'
            if is_cause:
                failures.append(f'{vehicle.name}: {failure}' if vehicle.name else failure)
        self.result.failure = '; '.join(failures)

    def _why_untrue(self, vehicle: VehicleSpec) -> str:
        """Return why a mission that its autopilot calls flown was not, '' if it was."""
        status = self.result.vehicles[vehicle.name].status
        if vehicle.mission is None or vehicle.scenario is not None or (
                not self._watches[vehicle.name].flown or MAX_HEIGHT not in status.link):
            return ''
        return vehicle.mission.why_not_up(status.max_height_m)


def _expect_ends(autopilots: typing.Iterable[StartedAutopilot]) -> None:
    """Let none start another process: they end with the world."""
    for autopilot in autopilots:
        autopilot.expect_end()
