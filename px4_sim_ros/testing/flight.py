# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight that a test steers: step by step in this process, with an autopilot of its own."""
from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import signal
import threading
import typing

import yaml

from px4_sim_ros.campaign.conduct import command
from px4_sim_ros.flight import px4_parameters
from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.flight.embedded import check_embedded
from px4_sim_ros.flight.px4 import Px4, described, world_parameters
from px4_sim_ros.link.pilot import scenario_mavlink
from px4_sim_ros.link.pilot.events import Event as Achieved
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.model.faults.action import Action, Subject
from px4_sim_ros.model.faults.actions import is_own, name_of
from px4_sim_ros.model.faults.autopilot import Clear
from px4_sim_ros.model.scenario.condition import read_condition
from px4_sim_ros.model.scenario.expectation import Expectation, read_expectation
from px4_sim_ros.model.scenario.happening import Happening, Verdict, Verdicts
from px4_sim_ros.model.scenario.scenario import Event, Scenario, check_refused
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S, exact_us
from px4_sim_ros.process import atomic_write
from px4_sim_ros.process.children import Child
from px4_sim_ros.recording.bag.run_description import RunDescription, with_run_file
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.configuration import Configuration, load_configuration
from px4_sim_ros.spec.resources import DUMPER
from px4_sim_ros.step.repeatability import unrepeatable_because
from px4_sim_ros.testing.words import ANY_EVENT

# The flight is over when the test is: no scenario ends it before.
_END_S = 604_800.0
FILE = 'flight.yaml'
"""What is flown, as a scenario, in the folder of the flight."""
# Of wall time, for the step that is under way when a flight has hung.
_STEP_LIMIT_S = 1.0


class FlightError(AssertionError):
    """The flight is not as the test says; the text is a sentence for whoever reads the report."""


class Plan(typing.NamedTuple):
    """What a test flies."""

    instance: int                      # of PX4: its ports
    px4: Px4 | None                    # None: the embedded autopilot
    scenario: typing.Mapping[str, typing.Any]      # vehicle, mission, seed, weather, ... of a file
    wall_limit_s: float                # for one `run_until`: whatever is slower than this hangs

    @property
    def autopilot(self) -> str:
        """`px4`, or `embedded`."""
        return 'embedded' if self.px4 is None else 'px4'


class Flight:
    """A flight: actions, expectations, and how far it goes.

    It begins with the first `run_until`, `run_for` or `finish`. All times are simulated.
    """

    def __init__(self, plan: Plan, folder: pathlib.Path) -> None:
        """Prepare.

        :param folder: empty; for the recording and what else is written
        :raises ParameterError: a parameter is wrong
        """
        self.folder, self.bag = folder, folder / 'recording'
        self._plan = plan
        self._file = folder / FILE
        self._content = {
            'weather': {'wind': 'constant', 'speed_m_s': 0.0}, 'mission': 'hover',
            **plan.scenario, 'end': {'at_s': _END_S}}
        atomic_write.write(self._file, yaml.safe_dump(self._content))
        self._configuration = self._configured(self._file)
        self._subject = Subject(
            self._configuration.vehicle, self._configuration.graph.blocks)
        self._events: list[Event] = []
        self._expectations: list[Expectation] = []
        self._demands: list[Expectation] = []      # of the test, that no watch judges
        self._world: CoreWorld | None = None
        self._open = contextlib.ExitStack()
        self._mission: str | None = None           # how it has ended, '' for well
        self._count = len(self._content.get('events') or ())
        self.said: list[str] = []
        """What pilot and scenario have reported, with the time."""

    def _configured(self, file: pathlib.Path) -> Configuration:
        base = {'manager': {'speed_factor': 0.0}}
        if self._plan.px4 is not None:
            base |= world_parameters(self._plan.px4)
        found = load_configuration(None, {
            '': {'scenario': str(file), 'recorder': True},
            'hil_bridge': {'instance': self._plan.instance},
            # A full disk ends the recording, not the test.
            'recorder': {'folder': str(self.bag), 'on_failure': 'continue'}}, base=base)
        if self._plan.px4 is None:
            check_embedded(found)
        else:
            px4_parameters.environment(
                self._plan.px4, found.world.vehicle, found.world.scenario)
        return found

    # What happens.

    def at(self, time_s: float, action: Action, for_s: float | None = None, name: str = '',
           *, refused: bool = False) -> str:
        """Let an action begin at a time; return the name of the event.

        :param refused: whether the autopilot is expected to refuse it
        :raises ParameterError: it does not fit the vehicle or the run
        """
        return self._add(action, for_s, name, refused, at_us=exact_us('at', time_s))

    def when(
        self, condition: dict[str, typing.Any], action: Action, for_s: float | None = None,
        name: str = '', *, refused: bool = False,
    ) -> str:
        """Let an action begin once a condition holds, as in a scenario file."""
        return self._add(
            action, for_s, name, refused, when=read_condition('when', condition, ANY_EVENT))

    def now(self, action: Action, for_s: float | None = None, name: str = '',
            *, refused: bool = False) -> str:
        """Let an action begin with the next step."""
        return self._add(action, for_s, name, refused, at_us=0)

    def clear(self, name: str) -> None:
        """Undo what an event has done."""
        self.now(Clear(name))

    def _add(
        self, action: Action, for_s: float | None, name: str, refused: bool, **when: typing.Any,
    ) -> str:
        self._count += 1
        event = Event(name or str(self._count), action, **when,
                      for_us=None if for_s is None else exact_us('for_s', for_s), refused=refused)
        owner = f'event {event.name}'
        action.check(owner, self._subject)
        check_refused(f'{owner}: refused', action, refused)
        scenario_mavlink.check_event(event, owner)
        if event.name in {one.name for one in self._events}:
            raise ParameterError(f'event name = {name!r}: must be one that no other event has')
        self._events.append(event)
        if self._world is not None:
            self._world.scenario.course.add(event)
        return event.name

    def expect(self, expectation: Expectation) -> None:
        """Expect something from now on; it is judged at the end of the test."""
        scenario_mavlink.check(Scenario('flight', (), (expectation,)), 'flight')
        self._expectations.append(self._from_now(expectation))
        if self._world is not None:
            self._world.scenario.course.expect(expectation)

    def _from_now(self, expectation: Expectation) -> Expectation:
        """Return one that means the same if it is expected from the beginning."""
        time_us = self._time_us()
        next_us = time_us + self._configuration.world.step_us if time_us else 0
        return dataclasses.replace(expectation, from_us=max(expectation.from_us, next_us))

    # How far it goes.

    def run_until(
        self, predicate: typing.Callable[[Situation], bool], timeout_s: float,
    ) -> Situation:
        """Fly until a predicate holds; return the situation then.

        :raises FlightError: it does not hold within a simulated time
        """
        world, start_us = self._begun(), self._time_us()
        found = self._run(world, lambda s: (
            predicate(s) or s.time_us - start_us >= timeout_s * US_PER_S))
        if not predicate(found):
            raise FlightError(f'condition not met within {timeout_s:g} s of simulated time;'
                              f' t = {found.time_us / US_PER_S:.3f} s: {_text(found)}')
        return found

    def run_for(self, duration_s: float) -> Situation:
        """Fly for a simulated time; return the situation then."""
        world, start_us = self._begun(), self._time_us()
        return self._run(
            world, lambda s: s.time_us - start_us >= duration_s * US_PER_S)

    def _time_us(self) -> int:
        known = self._world and self._world.scenario.course.situation
        return known.time_us if known else 0

    def finish(self, timeout_s: float = 600.0) -> Situation:
        """Fly the mission to its end.

        :raises FlightError: it was not flown, and why
        """
        demand = self._from_now(read_expectation('finish', {'eventually': {'flown': True}}, ()))
        self._demands.append(demand)
        found = self.run_until(lambda s: s.autopilot.is_over, timeout_s)
        if found.autopilot.failure:
            raise FlightError(found.autopilot.failure)
        self._demands.remove(demand)
        return found

    def _run(
        self, world: CoreWorld, ends: typing.Callable[[Situation], bool],
    ) -> Situation:
        stop, hangs, is_over = threading.Event(), threading.Event(), threading.Event()
        flying = threading.get_ident()

        def look(situation: Situation) -> bool:
            if ends(situation):
                stop.set()
            return stop.is_set()

        def give_up() -> None:
            hangs.set()
            stop.set()
            if not is_over.wait(_STEP_LIMIT_S):       # a step that does not end
                signal.pthread_kill(flying, signal.SIGINT)

        world.scenario.on_situation = look
        world.scenario.go_on()
        guard = threading.Timer(self._plan.wall_limit_s, give_up)
        guard.start()
        why = ''
        try:
            world.run(stop)
        except (RunError, KeyboardInterrupt) as error:
            if not hangs.is_set():
                raise
            why = f': {error}'.rstrip(': ')
        finally:
            is_over.set()
            guard.cancel()
        if hangs.is_set():
            raise FlightError(
                f'the flight has hung for {self._plan.wall_limit_s:g} s of wall time{why}')
        return self.situation

    def _begun(self) -> CoreWorld:
        """Return the world, with its autopilot; begin it if it has not."""
        if self._world is not None:
            return self._world
        compile_ahead()
        run = RunDescription.of(
            self._configuration, mode='core', autopilot=self._plan.autopilot,
            px4=described(self._plan.px4))
        configuration = with_run_file(self._configuration, run, self.folder)
        world = CoreWorld(
            configuration, None, CoreRecorder(configuration, run), on_pilot=self._note,
            on_scenario=self._follow)
        self._open.callback(world.close)
        for event in self._events:
            world.scenario.course.add(event)
        for expectation in self._expectations:
            world.scenario.course.expect(expectation)
        self._autopilot = self._started()
        self._open.callback(lambda: self._autopilot.stop())
        self._world = world
        return world

    def _started(self) -> Child:
        world = self._configuration.world
        return start_autopilot(
            self._plan.px4, world.vehicle, self._plan.instance, world.scenario,
            ros_home=self.folder)

    def _follow(self, happening: Happening | Verdicts) -> None:
        if isinstance(happening, Happening):
            self._note(happening.text)
            if happening.restarts:
                self._autopilot.kill()
                self._autopilot = self._started()

    def _note(self, event: Achieved | str) -> None:
        text = event.text if isinstance(event, Achieved) else event
        if text and text not in self.said[-1:]:        # why a mission was not flown comes twice
            self.said.append(text)

    # What is known.

    @property
    def situation(self) -> Situation:
        """The last situation: `height_m`, `tilt_deg`, `truth`, `battery`, `autopilot`, and so on.

        :raises FlightError: it has not begun
        """
        found = self._world.scenario.course.situation if self._world is not None else None
        if found is None:
            raise FlightError('the flight has not begun: run_until or run_for begins it')
        return found

    @property
    def fingerprint(self) -> str:
        """A digest of the flight up to now; the same flight has the same."""
        return self._world.status().fingerprint if self._world is not None else ''

    @property
    def misses(self) -> int:
        """Steps up to now that the autopilot did not answer in time, by the wall clock."""
        return self._world.status().link_count('misses') if self._world is not None else 0

    @property
    def unrepeatable(self) -> str:
        """Why the same test may fly otherwise the next time, '' if it may not."""
        if self._world is None:
            return ''
        status = self._world.status()
        return unrepeatable_because(
            self._plan.autopilot, self._plan.px4 is not None and self._plan.px4.repeats, True,
            status.gap, status.fingerprint)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What has become of the expectations by now."""
        return self._world.scenario.course.verdicts() if self._world is not None else ()

    def check(self) -> None:
        """Check that all that is expected holds.

        :raises FlightError: something does not: what, when and by how much
        """
        __tracebackhide__ = True
        failed = [verdict.text for verdict in self.verdicts if not verdict.holds]
        if self._expectations and self._world is None:
            failed = ['the flight has not begun, so nothing that is expected was judged']
        if failed:
            raise FlightError('\n'.join(failed))

    def command(self, file: pathlib.Path) -> str:
        """Return the command that flies a scenario as this flight, and compares the fingerprint."""
        px4 = self._plan.px4
        return command(
            file, None if px4 is None else (str(px4.build), px4.schedule), self.fingerprint)

    def write_scenario(self, head: str) -> str:
        """Write what was flown as a scenario that flies alone, up to now; return its text.

        What has begun begins at the time at which it did, what has not does not.

        :param head: a comment
        :raises OSError: it cannot be written
        """
        time_us = self._time_us() or self._configuration.world.step_us
        begun_us = self.situation.begun_us if self._time_us() else {}
        names = {event.name for event in self._events} | {
            entry.get('name', str(i)) for i, entry in enumerate(
                self._content.get('events') or (), 1)}
        events = [dataclasses.replace(
            event, when=None, at_us=begun_us.get(event.name, round(_END_S * US_PER_S)))
            for event in self._events
            if getattr(event.action, 'event', None) in (None, *names)]
        own = {name_of(event.action): event.action.kind for event in events
               if is_own(event.action)}
        text = ''.join(f'# {line}'.rstrip() + '\n' for line in head.splitlines()) + yaml.dump({
            **self._content, 'actions': {**(self._content.get('actions') or {}), **own},
            'events': [*(self._content.get('events') or ()),
                       *(event.to_mapping() for event in events)],
            'expect': [*(self._content.get('expect') or ()), *(
                expectation.to_mapping() for expectation in
                (*self._expectations, *self._demands))],
            'end': {'at_s': time_us / US_PER_S}}, Dumper=DUMPER, sort_keys=False)
        atomic_write.write(self._file, text)
        return text

    def close(self) -> None:
        """End it; a second time nothing happens."""
        self._open.close()


def _text(s: Situation) -> str:
    return (f'height {s.height_m:.2f} m, {s.distance_m:.2f} m from the start, tilt {s.tilt_deg:.1f}'
            f" deg, mode {s.autopilot.mode or 'not known'}")
