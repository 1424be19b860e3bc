# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight that a test steers: step by step in this process, with an autopilot of its own."""
from __future__ import annotations

import dataclasses
import pathlib
import typing

import yaml

from px4_sim_ros.campaign.conduct import command
from px4_sim_ros.flight import flight as conducted
from px4_sim_ros.flight.flight import HungError, Silent
from px4_sim_ros.link.pilot import scenario_mavlink
from px4_sim_ros.link.pilot.events import Event as Achieved
from px4_sim_ros.model.encounters import Encounter
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Action, Subject
from px4_sim_ros.model.faults.actions import is_own, name_of
from px4_sim_ros.model.faults.autopilot import Clear
from px4_sim_ros.model.scenario.condition import read_condition
from px4_sim_ros.model.scenario.expectation import Expectation, read_expectation
from px4_sim_ros.model.scenario.happening import Happening, Verdict
from px4_sim_ros.model.scenario.scenario import Event, Scenario, check_refused
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S, exact_us
from px4_sim_ros.process import atomic_write
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.flight_spec import AS_FAST_AS_POSSIBLE, FlightSpec, Options, flight_of
from px4_sim_ros.spec.resources import DUMPER
from px4_sim_ros.step.repeatability import unrepeatable_because
from px4_sim_ros.testing.words import ANY_EVENT

# The flight is over when the test is: no scenario ends it before.
_END_S = 604_800.0
FILE = 'flight.yaml'
"""What is flown, as a scenario, in the folder of the flight."""


class FlightError(AssertionError):
    """The flight is not as the test says; the text is a sentence of the report."""


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
        self._spec = self._spec_of(yaml.safe_dump(self._content))
        self._subject = Subject.of(self._spec.configuration)
        self._events: list[Event] = []
        self._expectations: list[Expectation] = []
        self._demands: list[Expectation] = []      # of the test, that no watch judges
        self._flight: conducted.Flight | None = None       # None: it has not begun
        self._count = len(self._content.get('events') or ())
        self.said: list[str] = []
        """What pilot and scenario have reported, with the time."""

    def _spec_of(self, text: str) -> FlightSpec:
        px4 = self._plan.px4
        found = Options(
            'core', self._plan.autopilot, base=AS_FAST_AS_POSSIBLE, overrides={
                '': {'scenario': FILE, 'recorder': True},
                'hil_bridge': {'instance': self._plan.instance},
                # A full disk ends the recording, not the test.
                'recorder': {'folder': str(self.bag), 'on_failure': 'continue'}},
            files=Files({('scenarios', FILE): text}, ' of the test'))
        if px4 is not None:
            found = dataclasses.replace(
                found, px4_dir=str(px4.build), px4_schedule=px4.schedule)
        return flight_of(found)

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
        if self._flight is not None:
            self._flight.scenario().course.add(event)
        return event.name

    def expect(self, expectation: Expectation) -> None:
        """Expect something from now on; it is judged at the end of the test."""
        scenario_mavlink.check(Scenario('flight', (), (expectation,)), 'flight')
        self._expectations.append(self._from_now(expectation))
        if self._flight is not None:
            self._flight.scenario().course.expect(expectation)

    def _from_now(self, expectation: Expectation) -> Expectation:
        """Return one that means the same if it is expected from the beginning."""
        time_us = self._time_us()
        next_us = time_us + self._spec.configuration.world.step_us if time_us else 0
        return dataclasses.replace(expectation, from_us=max(expectation.from_us, next_us))

    # How far it goes.

    def run_until(
        self, predicate: typing.Callable[[Situation], bool], timeout_s: float,
    ) -> Situation:
        """Fly until a predicate holds; return the situation then.

        :raises FlightError: it does not hold within a simulated time
        """
        flight, start_us = self._begun(), self._time_us()
        found = self._run(flight, lambda s: (
            predicate(s) or s.time_us - start_us >= timeout_s * US_PER_S))
        if not predicate(found):
            if failure := flight.autopilot_failure:
                raise FlightError(failure)
            raise FlightError(f'condition not met within {timeout_s:g} s of simulated time;'
                              f' t = {found.time_us / US_PER_S:.3f} s: {_text(found)}')
        return found

    def run_for(self, duration_s: float) -> Situation:
        """Fly for a simulated time; return the situation then."""
        flight, start_us = self._begun(), self._time_us()
        return self._run(flight, lambda s: s.time_us - start_us >= duration_s * US_PER_S)

    def _time_us(self) -> int:
        known = self._flight and self._flight.scenario().course.situation
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
        self, flight: conducted.Flight, ends: typing.Callable[[Situation], bool],
    ) -> Situation:
        try:
            flight.run(ends, self._plan.wall_limit_s)
        except HungError as error:
            raise FlightError(str(error)) from error
        return self.situation

    def _begun(self) -> conducted.Flight:
        """Return the flight; begin it if it has not."""
        if self._flight is None:
            flight = conducted.Flight(
                self._spec, self.folder, _Notes(self.said), ros_home=self.folder)
            flight.begin()
            self._flight = flight
            for event in self._events:
                flight.scenario().course.add(event)
            for expectation in self._expectations:
                flight.scenario().course.expect(expectation)
        return self._flight

    # What is known.

    @property
    def situation(self) -> Situation:
        """The last situation: `height_m`, `tilt_deg`, `truth`, `battery`, `autopilot`, and so on.

        :raises FlightError: it has not begun
        """
        found = self._flight.scenario().course.situation if self._flight is not None else None
        if found is None:
            raise FlightError('the flight has not begun: run_until or run_for begins it')
        return found

    @property
    def fingerprint(self) -> str:
        """A digest of the flight up to now; the same flight has the same."""
        return self._flight.status().fingerprint if self._flight is not None else ''

    @property
    def misses(self) -> int:
        """Steps up to now that the autopilot did not answer in time, by the wall clock."""
        return self._flight.status().link_count('misses') if self._flight is not None else 0

    @property
    def unrepeatable(self) -> str:
        """Why the same test may fly otherwise the next time, '' if it may not."""
        if self._flight is None:
            return ''
        status = self._flight.status()
        return unrepeatable_because(
            self._plan.autopilot, self._plan.px4 is not None and self._plan.px4.repeats, True,
            status.gap, status.fingerprint)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What has become of the expectations by now."""
        return self._flight.scenario().course.verdicts() if self._flight is not None else ()

    def check(self) -> None:
        """Check that all that is expected holds.

        :raises FlightError: something does not: what, when and by how much
        """
        __tracebackhide__ = True
        failed = [verdict.text for verdict in self.verdicts if not verdict.holds]
        if self._expectations and self._flight is None:
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
        time_us = self._time_us() or self._spec.configuration.world.step_us
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
        if self._flight is not None:
            self._flight.close()


def _text(s: Situation) -> str:
    return (f'height {s.height_m:.2f} m, {s.distance_m:.2f} m from the start, tilt {s.tilt_deg:.1f}'
            f" deg, mode {s.autopilot.mode or 'not known'}")


class _Notes(Silent):
    """Keeps what is reported, with its time in the text."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def on_event(self, event: Achieved | Happening | Encounter) -> None:
        """Keep its text."""
        self._said.append(event.text)
