# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on what goes to and fro: from the autopilot to the actuators, from the pilot to it."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.faults.action import AUTOPILOT, LINK, Action, Effect, Onset
from px4_sim_ros.model.faults.channels import DelayAction
from px4_sim_ros.model.faults.motion import BodyInputs, MotionAction
from px4_sim_ros.model.parameters import parameter


@dataclasses.dataclass(frozen=True)
class RepliesLate(DelayAction, MotionAction):
    """What the autopilot asks of motors and servos reaches them late."""

    delay_s: float = parameter('how late, besides the step that it always takes', 's', above=0,
                               maximum=10)

    def begin(self, onset: Onset) -> Effect:
        """Go on with what was asked for last until the delay is over; then all is late by it."""
        late = self.delay_line(onset.last and (
            onset.since_us - onset.world.step_us, onset.last.references_rad_s))
        return lambda time_us, inputs: inputs._replace(
            references_rad_s=late(time_us, inputs.references_rad_s))


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
