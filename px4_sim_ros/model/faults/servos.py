# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on the servos of surfaces and of wheels that are steered."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.model.faults.action import Effect, Onset, Subject
from px4_sim_ros.model.faults.motion import BodyInputs, MotionAction
from px4_sim_ros.model.parameters import parameter
from px4_sim_ros.model.vehicle.elements import Servo

_Change = typing.Callable[[float], float]
POSITIVE, NEGATIVE = 'positive', 'negative'


@dataclasses.dataclass(frozen=True)
class ServoAction(MotionAction):
    """Base of the actions on a servo: they change the angle that is asked of it.

    The servo goes there with its own lag and rate, as to any angle.
    """

    servo: str = parameter('name of the servo in the vehicle file')

    def check(self, owner: str, subject: Subject) -> None:
        """Check that the vehicle has such a servo."""
        super().check(owner, subject)
        names = [servo.name for servo in subject.vehicle.servos]
        if not names:
            raise ParameterError(f'{owner}: {subject.vehicle.name} has no servos')
        if self.servo not in names:
            raise ParameterError(
                f'{owner}.servo = {self.servo!r}: there is no such servo'
                f"{did_you_mean(self.servo, names)}; {subject.vehicle.name} has {', '.join(names)}")

    def begin(self, onset: Onset) -> Effect:
        """Change one of the references."""
        vehicle = onset.vehicle
        index = len(vehicle.rotors) + vehicle.actuator_indices[self.servo]
        servo, = (servo for servo in vehicle.servos if servo.name == self.servo)
        asked = servo.center_rad if onset.last is None else onset.last.references_rad_s[index]
        angle = self.angle(asked, onset.now.reached[index], servo)

        def effect(time_us: int, inputs: BodyInputs) -> BodyInputs:
            references = list(inputs.references_rad_s)
            references[index] = angle(references[index])
            return inputs._replace(references_rad_s=tuple(references))
        return effect

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Change:
        """Return what becomes of the angle that is asked for in each step, rad.

        :param asked_rad: the angle that was asked for in the last step before
        :param reached_rad: that which the servo has
        :param servo: the one it acts on
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class ServoStuck(ServoAction):
    """It stays at the angle that it has reached, whatever is asked for."""

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Change:
        """Ask for where it is."""
        return lambda asked: reached_rad


@dataclasses.dataclass(frozen=True)
class ServoHardOver(ServoAction):
    """It runs to the end of its travel and stays there."""

    side: str = parameter(
        'sign of the angle there, from that at control 0', choices=(POSITIVE, NEGATIVE))

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Change:
        """Ask for the whole travel."""
        travel = servo.travel_rad if self.side == POSITIVE else -servo.travel_rad
        end = servo.center_rad + travel
        return lambda asked: end


@dataclasses.dataclass(frozen=True)
class ServoSlack(ServoAction):
    """Its linkage has play: what it moves lags behind by half of that."""

    play_deg: float = parameter('from one end of the play to the other', 'deg', above=0,
                                maximum=90)

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Change:
        """Drag the angle along at half the play's distance: the play operator of hysteresis."""
        half, state = 0.5 * math.radians(self.play_deg), asked_rad

        def drag(asked: float) -> float:
            nonlocal state
            state = min(max(state, asked - half), asked + half)
            return state
        return drag
