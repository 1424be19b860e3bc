# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on what goes to and fro: from the autopilot to the actuators, from the pilot to it."""
from __future__ import annotations

import collections
import dataclasses
import typing

from px4_sim_ros.model.faults.action import AUTOPILOT, LINK, Action, Effect, Onset
from px4_sim_ros.model.faults.motion import BodyInputs, MotionAction
from px4_sim_ros.model.parameters import parameter
from px4_sim_ros.model.timebase import exact_us


@dataclasses.dataclass(frozen=True)
class RepliesLate(MotionAction):
    """What the autopilot asks of motors and servos reaches them late."""

    delay_s: float = parameter('how late, besides the step that it always takes', 's', above=0,
                               maximum=10)

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate.

        :raises ParameterError: a value is wrong, or the delay is no whole number of microseconds
        """
        built = super().from_mapping(owner, values)
        exact_us(f'{owner}.delay_s', built.delay_s)
        return built

    def begin(self, onset: Onset) -> Effect:
        """Go on with what was asked for last until the delay is over; then all is late by it."""
        delay_us = exact_us('delay_s', self.delay_s)
        waiting: collections.deque[tuple[int, typing.Sequence[float]]] = collections.deque()
        if onset.last is not None:
            waiting.append((onset.since_us - onset.world.step_us, onset.last.references_rad_s))

        def effect(time_us: int, inputs: BodyInputs) -> BodyInputs:
            waiting.append((time_us, inputs.references_rad_s))
            while len(waiting) > 1 and waiting[1][0] <= time_us - delay_us:
                waiting.popleft()
            return inputs._replace(references_rad_s=waiting[0][1])
        return effect


@dataclasses.dataclass(frozen=True)
class RepliesLost(MotionAction):
    """What the autopilot asks of motors and servos is lost, always or at random steps."""

    share: float = parameter('of the replies that are lost', above=0, maximum=1)

    DEFAULTS: typing.ClassVar = {'share': 1.0}

    def begin(self, onset: Onset) -> Effect:
        """Go on with what has come last; a random number a step says whether one is lost."""
        stream = onset.stream()
        held = onset.last.references_rad_s if onset.last is not None else None

        def effect(time_us: int, inputs: BodyInputs) -> BodyInputs:
            nonlocal held
            if held is None or stream.uniform() >= self.share:
                held = inputs.references_rad_s
            return inputs._replace(references_rad_s=held)
        return effect


@dataclasses.dataclass(frozen=True)
class LinkAction(Action):
    """Base of the actions on a link: who speaks on it looks for them, and changes nothing else."""

    BLOCK: typing.ClassVar[str] = LINK

    @property
    def block(self) -> str:
        """Who speaks."""
        return self.BLOCK

    def begin(self, onset: Onset) -> Effect:
        """Change nothing."""
        return lambda time_us, value: value


@dataclasses.dataclass(frozen=True)
class LinkLost(LinkAction):
    """Nothing that the pilot says reaches the autopilot, its heartbeats included."""

    BLOCK = AUTOPILOT


@dataclasses.dataclass(frozen=True)
class AutopilotPaused(LinkAction):
    """It stands still: no time passes for it, and what it has asked for last goes on."""


@dataclasses.dataclass(frozen=True)
class AutopilotOff(LinkAction):
    """It has no power: its motors get none, and at the end another one begins to boot."""
