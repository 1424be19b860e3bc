# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a scenario goes in one flight: what has begun, what is in force, what is expected."""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.faults.action import Fault, Faults
from px4_sim_ros.model.faults.autopilot import AutopilotOff, Clear, Note
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scenario.condition import AGE, TIME, Between
from px4_sim_ros.model.scenario.expectation import Expectation, Watch
from px4_sim_ros.model.scenario.happening import Happening, Verdict, Verdicts
from px4_sim_ros.model.scenario.scenario import End, Event, Scenario
from px4_sim_ros.model.scenario.situation import Answer, AutopilotState, Situation
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import BatteryStatus, Truth

_ANSWER_US = US_PER_S
"""An autopilot that has not answered an event for so long, at the end, has refused it."""
_PATIENCE_US = 60 * US_PER_S
"""How long a flight without an end of its own lasts after its mission."""


class Course:
    """The state of a scenario in one flight."""

    def __init__(
        self, scenario: Scenario | None, report: typing.Callable[[Happening], None],
        clear_m: typing.Callable[[Vector, int], float] | None = None,
        is_touching: typing.Callable[[Truth], bool] = lambda truth: False,
    ) -> None:
        """Begin before the first step.

        :param scenario: None: nothing happens by itself, and it has no end
        :param report: called with what is done
        :param clear_m: see `Situation`; None: there is no scene
        :param is_touching: see `Situation`
        """
        self._report, self._clear_m, self._is_touching = report, clear_m, is_touching
        self._is_endless, scenario = scenario is None, scenario or Scenario('')
        self._pending = list(scenario.events)
        self._end: End | None = scenario.end
        self._note_awaited()
        self._watches = [expectation.watch() for expectation in scenario.expectations]
        self._begun_us: dict[str, int] = {}
        self._until_us: dict[str, int] = {}        # when what lasts for a while ends, by event
        self._start_enu: Vector | None = None
        self._instant = False                      # something is in force for this step only
        self._mission_over_us: int | None = None
        self._in_vain: Verdict | None = None       # on what was to end the flight
        self._asked: dict[str, Event] = {}         # what the autopilot answers, that has begun
        self._answers: dict[str, tuple[int, str]] = {}     # when, and why not, by event
        self.faults: Faults = ()
        self.is_over = False
        self.situation: Situation | None = None    # the last

    def add(self, event: Event) -> None:
        """Let another event happen from the next step on."""
        self._pending.append(event)
        self._note_awaited()

    @property
    def names(self) -> list[str]:
        """Of the events that have happened, or are to happen."""
        return [*self._begun_us, *(event.name for event in self._pending)]

    def expect(self, expectation: Expectation) -> Watch:
        """Expect something more from the next step on; return its judge."""
        watch = expectation.watch()
        self._watches.append(watch)
        return watch

    def step(
        self, time_us: int, truth: Truth, battery: BatteryStatus | None,
        autopilot: AutopilotState,
    ) -> Faults:
        """Return the actions in force from this time on."""
        self._start_enu = self._start_enu or truth.position_enu
        situation = self.situation = Situation(
            time_us, truth, self._start_enu, battery, autopilot, self._begun_us, self._clear_m,
            self._is_touching)
        self._end_what_is_over(time_us)
        for answer in autopilot.answers:
            self._take(answer, time_us)
        for event in [event for event in self._pending if _is_due(event, situation)]:
            self._pending.remove(event)
            self._note_awaited()
            self._begin(event, time_us)
        for watch in self._watches:
            watch.look(situation)
        self.is_over = self._has_ended(situation)
        return self.faults

    @property
    def expects(self) -> bool:
        """Whether something has to hold."""
        return bool(self._watches)

    @property
    def is_instant(self) -> bool:
        """Whether something is in force for this step only."""
        return self._instant

    # For steps that are looked at afterwards: see `link.hil.burst`.

    def _note_awaited(self) -> None:
        conditions = [event.when for event in self._pending]
        conditions.append(None if self._end is None else self._end.when)
        self.awaited = [leaf for condition in conditions if condition is not None
                        for leaf in condition.leaves()]
        """The conditions that let something happen."""

    def next_us(self, now_us: int) -> float:
        """Return the time of the next thing that may happen by the clock alone."""
        times_us = [event.at_us for event in self._pending if event.at_us is not None]
        times_us += self._until_us.values()
        if self._end is not None and self._end.at_us is not None:
            times_us.append(self._end.at_us)
        if self._mission_over_us is not None:
            times_us.append(self._mission_over_us + _PATIENCE_US)
        for leaf in self.awaited:
            if not isinstance(leaf, Between) or leaf.quantity not in (TIME, AGE):
                continue
            since_us = 0 if leaf.quantity == TIME else self._begun_us.get(leaf.event)
            if since_us is not None:
                # At the bound it does not hold yet.
                times_us += [since_us + math.floor(bound * US_PER_S) + i for i in (0, 2)
                             for bound in (leaf.above, leaf.below) if math.isfinite(bound)]
        return min((time_us for time_us in times_us if time_us > now_us), default=math.inf)

    def look_back(
        self, truth: Truth, battery: BatteryStatus | None, autopilot: AutopilotState,
    ) -> None:
        """Judge a step in which nothing happened.

        :raises AssertionError: something should have
        """
        faults = self.faults
        self.step(truth.time_us, truth, battery, autopilot)
        assert self.faults is faults and not self.is_over, (
            f'something happens at {truth.time_us} us, in a step that was taken without it')

    def _end_what_is_over(self, time_us: int) -> None:
        if self._instant:
            self._instant = False
            self.faults = tuple(f for f in self.faults if not f.action.INSTANT)
        for name in [name for name, us in self._until_us.items() if time_us >= us]:
            self._clear(name, time_us)

    def _take(self, answer: Answer, time_us: int) -> None:
        self._answers[answer.event] = time_us, answer.refusal
        if answer.refusal:
            self._report(Happening(time_us, f'{answer.event} is refused: {answer.refusal}'))

    def _clear(self, name: str, time_us: int) -> None:
        self._until_us.pop(name, None)
        left = tuple(fault for fault in self.faults if fault.name != name)
        if len(left) < len(self.faults):
            self.faults = left
            self._report(Happening(time_us, f'{name} ends'))

    def _begin(self, event: Event, time_us: int) -> None:
        action = event.action
        self._begun_us[event.name] = time_us
        if action.IS_ANSWERED:
            self._asked[event.name] = event
        self._report(Happening(
            time_us, action.text if isinstance(action, Note) else event.text,
            restarts=isinstance(action, AutopilotOff)))
        if isinstance(action, Clear):
            self._clear(action.event, time_us)
            return
        self._instant |= action.INSTANT
        self.faults = (*self.faults, Fault(event.name, time_us, action))
        if event.for_us is not None:
            self._until_us[event.name] = time_us + event.for_us

    def _has_ended(self, situation: Situation) -> bool:
        end, now_us = self._end, situation.time_us
        if end is None:
            return situation.autopilot.is_over and not self._is_endless
        if end.when is not None and end.when.look(situation).holds:
            return True
        if end.at_us is not None:
            return now_us >= end.at_us
        return self._waits_in_vain(situation)

    def _waits_in_vain(self, situation: Situation) -> bool:
        """Return whether what is to end the flight has not come long after its mission was over."""
        if not situation.autopilot.is_over:
            return False
        if self._mission_over_us is None:
            self._mission_over_us = situation.time_us
        if situation.time_us - self._mission_over_us < _PATIENCE_US or self._end is None:
            return False
        assert self._end.when is not None, 'an end has a time or a condition'
        self._in_vain = Verdict(
            f'end when {self._end.when.text}', False, None, '', situation.time_us,
            f'condition not met within {_PATIENCE_US / US_PER_S:g} s after the end of the mission')
        return True

    def verdicts(self) -> Verdicts:
        """Return the verdicts so far."""
        found = [watch.verdict() for watch in self._watches]
        found += filter(None, map(self._verdict_on, self._asked.values()))
        return tuple(found) if self._in_vain is None else (*found, self._in_vain)

    def _verdict_on(self, event: Event) -> Verdict | None:
        """Return whether the autopilot has taken an event; None where nothing is wrong with it."""
        time_us, refusal = self._answers.get(event.name, (None, ''))
        now_us = self.situation.time_us if self.situation is not None else 0
        if time_us is None:
            if now_us - self._begun_us[event.name] < _ANSWER_US:
                return None
            refusal = 'the autopilot has not answered by the end of the flight'
        if event.refused:
            return Verdict(f'the autopilot refuses event {event.text}', bool(refusal), None, '',
                           time_us, refusal or 'the autopilot has taken it')
        if not refusal:
            return None
        return Verdict(
            f'the autopilot takes event {event.text}', False, None, '', time_us, refusal)


def _is_due(event: Event, situation: Situation) -> bool:
    if event.at_us is not None:
        return situation.time_us >= event.at_us
    return event.when is not None and event.when.look(situation).holds
