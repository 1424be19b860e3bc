# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The block `scenario`: does what a scenario says, and judges what it expects.

It comes after the motion and before the sensors: what it puts out changes what they measure at
this time, and how the vehicle moves from this time on.
"""
from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import typing

from px4_sim_ros.model.encounters import reach_m
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Subject
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import matrix, to_world, total
from px4_sim_ros.model.scenario.condition import Between, Is
from px4_sim_ros.model.scenario.course import Course
from px4_sim_ros.model.scenario.happening import Happening, Verdict
from px4_sim_ros.model.scenario.scenario import Event, check_name, read_now
from px4_sim_ros.model.scenario.situation import (
    BATTERY,
    CLEARANCE,
    CONTACT,
    ESTIMATED,
    MOST_AWAITED,
    MOTION,
    AutopilotState,
    Situation,
)
from px4_sim_ros.model.scene.meshes import clearance_of
from px4_sim_ros.model.timebase import next_due_us
from px4_sim_ros.model.truth import BatteryStatus, Truth
from px4_sim_ros.step.block import Block, BlockConfiguration, BlockStatus, Inputs, Outputs
from px4_sim_ros.step.graph import AUTOPILOT_STATE, COLLISION, FAULTS
from px4_sim_ros.step.repeatability import FLOWN, NonRepeatability

_UNKNOWN = AutopilotState()


@dataclasses.dataclass(frozen=True)
class ScenarioParameters(Parameters):
    """What comes after it; its file is a parameter of all nodes, as vehicle and mission are."""

    at_end: str = parameter(
        'what to do when the scenario is over: let time run, or hold the step',
        choices=('go_on', 'hold'))


class ScenarioBlock(Block):
    """Runs the scenario of the world; at its end it may hold the step.

    Without one it does what is given by hand, and the mission ends the flight.
    """

    is_judge = True

    def __init__(self, configuration: BlockConfiguration[ScenarioParameters]) -> None:
        """Check that all actions fit the run."""
        super().__init__(configuration)
        self._scenario = configuration.scenario
        self._holds = configuration.parameters.at_end == 'hold'
        self._battery_period_us = configuration.world.periods_us['battery']
        self._subject = Subject.of(configuration)
        if self._scenario is not None:
            self._scenario.check(self._subject, f'scenario {self._scenario.name}')
        self._given: list[Event] = []      # by hand, that no step has seen yet
        # What the host sets, before `reset`.
        self.on_event: typing.Callable[[Happening], None] = lambda happening: None
        """Is given what is done."""
        self.on_over: typing.Callable[[tuple[Verdict, ...]], None] = lambda verdicts: None
        """Is given what has become of the expectations, at the end."""
        self.on_situation: typing.Callable[[Situation], bool] | None = None
        """Is given the situation of each step; whether to hold the step there until `go_on`."""
        self.on_judged: typing.Callable[[Situation], None] | None = None
        """Is given the situation of each step that is not held, some of them later."""
        self.reset()

    def reset(self) -> None:
        """Begin the scenario again."""
        self._sentence = ''
        self._is_over = self._is_held = self._has_left = False
        self._gap: NonRepeatability | None = None
        self._seen = _UNKNOWN              # what the autopilot said of itself in the last step
        c = self.configuration
        self._is_hit = False               # by another vehicle, in the last step
        self._apart_m = None if c.scene is None else clearance_of(c.scene, 0.0)
        self.course = Course(
            self._scenario, self._report,
            None if c.scene is None else clearance_of(c.scene, reach_m(c.vehicle)),
            self._is_touching)
        for event in self._given:          # before it begins, or joins the world
            self._add(event)

    def leave(self) -> None:
        """Take no more by hand."""
        self._has_left = True

    def step(self, time_us: int, inputs: Inputs) -> Outputs | None:
        """Return the actions in force; None if the scenario is over or the host holds the step."""
        self._given.clear()
        self._is_hit = bool(inputs.get(COLLISION))
        faults = self.course.step(
            time_us, inputs['ground_truth/odom'], inputs.get('battery_state'),
            inputs.get(AUTOPILOT_STATE, _UNKNOWN))
        if self.course.is_over and not self._is_over:
            self._is_over, self._sentence = True, 'the scenario is over'
            self.on_over(self.course.verdicts())
        assert self.course.situation is not None, 'it has stepped'
        self._seen = inputs.get(AUTOPILOT_STATE, _UNKNOWN)
        self._is_held = bool(self.holds()) or (
            self.on_situation is not None and self.on_situation(self.course.situation))
        if self.on_judged is not None and not self._is_held:
            self.on_judged(self.course.situation)
        return None if self._is_held else {FAULTS: faults}

    def _is_touching(self, truth: Truth) -> bool:
        """Return whether the vehicle touches an object of the scene, or another vehicle."""
        place, time_us, vehicle = truth.position_enu, truth.time_us, self.configuration.vehicle
        points = vehicle.all_points_m
        if self._is_hit or self._apart_m is None or not points or (
                self._apart_m(place, time_us) > max(math.hypot(*point) for point in points)):
            return self._is_hit
        r = matrix(truth.attitude)
        return any(self._apart_m(total(place, to_world(r, point)), time_us) < 0.0
                   for point in points)

    # For steps that compiled code takes: see `link.hil.burst`.

    def is_quiet(self, state: AutopilotState) -> bool:
        """Return whether only the motion, or time, can let something happen in the next steps.

        :param state: what the autopilot has said of itself
        """
        if self._given or self.course.is_instant or self.course.is_over or (
                self.on_situation is not None or state.texts or state.answers):
            return False
        is_seen = state is self._seen or (
            state._replace(moved_enu=None) == self._seen._replace(moved_enu=None))
        awaited = self.course.awaited
        return is_seen and len(awaited) <= MOST_AWAITED and not any(
            isinstance(leaf, (Between, Is)) and leaf.quantity in (*ESTIMATED, CLEARANCE, CONTACT)
            for leaf in awaited)

    def next_act_us(self, due_us: int) -> int:
        """Return when something may happen by the clock, or with the state of the battery."""
        step_us, battery_us = self.configuration.world.step_us, self._battery_period_us
        next_us = self.course.next_us(due_us - step_us)
        if any(isinstance(leaf, Between) and leaf.quantity in BATTERY
               for leaf in self.course.awaited):
            next_us = min(next_us, next_due_us(due_us - 1, battery_us))
        return sys.maxsize if next_us == math.inf else next_due_us(int(next_us) - 1, step_us)

    def bounds(self) -> list[tuple[int, float, float, bool]]:
        """Return the motion's quantities that are awaited: which, their bounds, whether they hold.

        A quantity is given by its place among those of `situation.MOTION`.
        """
        situation = self.course.situation
        assert situation is not None, 'it has stepped'
        return [(MOTION.index(leaf.quantity), leaf.above, leaf.below, leaf.look(situation).holds)
                for leaf in self.course.awaited
                if isinstance(leaf, Between) and leaf.quantity in MOTION]

    @property
    def expects(self) -> bool:
        """Whether each step is judged by itself."""
        return self.course.expects or self.on_judged is not None

    @property
    def start_enu(self) -> Vector:
        """Where the vehicle stood at first."""
        assert self.course.situation is not None, 'it has stepped'
        return self.course.situation.start_enu

    def look_back(
        self, truths: typing.Iterable[tuple[Truth, BatteryStatus | None, AutopilotState]],
    ) -> None:
        """Judge steps in which nothing has happened.

        :param truths: of each, with the state of the battery, and what the autopilot had said of
            itself by then
        :raises AssertionError: something should have happened
        """
        for truth, battery, state in truths:
            self.course.look_back(truth, battery, state)
            if self.on_judged is not None and self.course.situation is not None:
                self.on_judged(self.course.situation)
            self._seen = state

    def do(self, entry: typing.Any, check: typing.Callable[[Event, str], None]) -> str:
        """Do something more from the next step on, as an event of a file says; return its name."""
        if self._has_left:
            raise ParameterError('fault: the vehicle has left the world; it must be there')
        names = self.course.names
        name = entry.get('name') if isinstance(entry, dict) else None
        if name is None:
            name = next(n for i in itertools.count(1) if (n := f'hand_{i}') not in names)
        check_name('fault', name, names)
        event = read_now('fault', name, entry, names)
        event.action.check('fault', self._subject)
        check(event, 'fault')
        self._given.append(event)
        self._add(event)
        return name

    def _add(self, event: Event) -> None:
        self.course.add(event)
        if self._gap is None:
            situation = self.course.situation
            self._gap = NonRepeatability(situation.time_us if situation is not None else 0,
                            'a fault was given by hand')

    def go_on(self) -> None:
        """Hold the step no longer, if the host has."""
        self._is_held = bool(self.holds())

    def finish(self, time_us: int) -> Outputs | None:
        """Return the actions in force; None while the step is held."""
        return None if self._is_held else {FAULTS: self.course.faults}

    def holds(self) -> str:
        """Return that the scenario is over, once it is."""
        return self._sentence if self._is_over and self._holds else ''

    def _report(self, happening: Happening) -> None:
        self._sentence = happening.text
        self.on_event(happening)

    def status(self) -> BlockStatus | None:
        """Return the last event."""
        return BlockStatus(False, self._sentence, {
            'scenario': self.configuration.world.scenario if self._scenario is None else (
                self._scenario.name), FLOWN: self._is_over,
            **(self._gap.values() if self._gap is not None else {})})
