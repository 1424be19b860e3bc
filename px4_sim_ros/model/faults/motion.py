# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on the vehicle: its motors, its mass, its battery, and what pushes it."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.body.alterations import (
    UNALTERED,
    Alterations,
    Inertia,
    inertia_of_point,
    loaded,
)
from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.faults.action import MOTION, Action, ActionContext, Effect, Subject
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import parameter
from px4_sim_ros.model.rotation import total
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.elements import Servo


class BodyInputs(typing.NamedTuple):
    """What moves the vehicle, besides the air, and how it is loaded and worn."""

    references_rad_s: typing.Sequence[float]       # of rotors and motors; angles of servos, rad
    reached: typing.Sequence[float] = ()           # of the same, before the step
    force_enu: Vector = (0.0, 0.0, 0.0)            # N, on the centre of mass
    altered: Alterations = UNALTERED

    def with_altered(self, **changes: typing.Any) -> BodyInputs:
        """Return it with other alterations."""
        return self._replace(altered=self.altered._replace(**changes))


@dataclasses.dataclass(frozen=True)
class Change:
    """One of the references becomes `factor` of what is asked for, or another value."""

    index: int
    factor: float | None           # None: the value
    value: float

    def __call__(self, time_us: int, inputs: BodyInputs) -> BodyInputs:
        """Return inputs with the reference changed."""
        return _with_reference(inputs, self.index, lambda asked: (
            self.value if self.factor is None else self.factor * asked))


_Changed = typing.Callable[[float], float] | tuple[float | None, float]


def _effect(index: int, changed: _Changed) -> Effect:
    """Return the effect of a motor's or a servo's action on its reference."""
    if isinstance(changed, tuple):
        return Change(index, *changed)
    return lambda time_us, inputs: _with_reference(inputs, index, changed)


def _with_reference(
    inputs: BodyInputs, index: int, change: typing.Callable[[float], float],
) -> BodyInputs:
    references = list(inputs.references_rad_s)
    references[index] = change(references[index])
    return inputs._replace(references_rad_s=tuple(references))


@dataclasses.dataclass(frozen=True)
class Load:
    """What else moves the vehicle is the same in all steps."""

    change: Effect

    def __call__(self, time_us: int, inputs: BodyInputs) -> BodyInputs:
        """Return inputs with force and alterations changed."""
        changed: BodyInputs = self.change(time_us, inputs)
        return changed


@dataclasses.dataclass(frozen=True)
class MotionAction(Action):
    """Base of these actions."""

    @property
    def block(self) -> str:
        """The motion."""
        return MOTION


@dataclasses.dataclass(frozen=True)
class MotorAction(MotionAction):
    """Base of the actions on a motor: they change the speed that is asked of it."""

    motor: int = parameter('number of the motor, from 1 on', minimum=1)

    def check(self, owner: str, subject: Subject) -> None:
        """Check that the vehicle has such a motor."""
        super().check(owner, subject)
        rotors = len(subject.vehicle.rotors)
        if self.motor > rotors:
            raise ParameterError(f'{owner}.motor = {self.motor}: must be at most {rotors}, as many'
                                 f' as {subject.vehicle.name} has')

    def begin(self, onset: ActionContext) -> Effect:
        """Change one of the references."""
        index = self.motor - 1
        before = onset.last.references_rad_s[index] if onset.last is not None else 0.0
        return _effect(index, self.reference(before, onset.world.step_us / US_PER_S))

    def reference(self, before_rad_s: float, step_s: float) -> _Changed:
        """Return the change of each step's reference: a function, or two fields of a `Change`.

        :param before_rad_s: the reference of the last step before
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class MotorThrust(MotorAction):
    """It gives a share of its thrust: that grows with the square of the speed."""

    share: float = parameter('of the thrust that is asked for', minimum=0, maximum=1)

    def reference(self, before_rad_s: float, step_s: float) -> _Changed:
        """Ask for less speed."""
        return math.sqrt(self.share), 0.0


@dataclasses.dataclass(frozen=True)
class MotorOff(MotorAction):
    """It gets no power and runs down."""

    def reference(self, before_rad_s: float, step_s: float) -> _Changed:
        """Ask for nothing."""
        return None, 0.0


@dataclasses.dataclass(frozen=True)
class MotorStuck(MotorAction):
    """It keeps the speed that was commanded last."""

    def reference(self, before_rad_s: float, step_s: float) -> _Changed:
        """Ask for the same as before."""
        return None, before_rad_s


@dataclasses.dataclass(frozen=True)
class MotorSlow(MotorAction):
    """What is asked for reaches it with a lag of the first order, besides its own."""

    time_constant_s: float = parameter('of the lag', 's', above=0, maximum=60)

    def reference(self, before_rad_s: float, step_s: float) -> _Changed:
        """Follow exponentially; exact for what is held over a step."""
        share, state = -math.expm1(-step_s / self.time_constant_s), before_rad_s

        def follow(reference: float) -> float:
            nonlocal state
            state += share * (reference - state)
            return state
        return follow


@dataclasses.dataclass(frozen=True)
class Push(MotionAction):
    """A force on the centre of mass."""

    force_n: tuple[float, float, float] = parameter(
        'east, north, up', 'N', minimum=-1e5, maximum=1e5)

    def begin(self, onset: ActionContext) -> Effect:
        """Add the force."""
        x, y, z = self.force_n

        def effect(time_us: int, inputs: BodyInputs) -> BodyInputs:
            fx, fy, fz = inputs.force_enu
            return inputs._replace(force_enu=(fx + x, fy + y, fz + z))
        return Load(effect)


@dataclasses.dataclass(frozen=True)
class Torque(MotionAction):
    """A moment about the centre of mass, in body axes."""

    torque_n_m: tuple[float, float, float] = parameter(
        'about forward (right side down), left (nose down) and up (nose to the left)', 'N m',
        minimum=-1e5, maximum=1e5)

    def begin(self, onset: ActionContext) -> Effect:
        """Add the moment."""
        return Load(lambda time_us, inputs: inputs.with_altered(
            torque_flu=total(inputs.altered.torque_flu, self.torque_n_m)))


@dataclasses.dataclass(frozen=True)
class Payload(MotionAction):
    """The vehicle weighs more or less, here or there, and turns more or less easily."""

    mass_kg: float = parameter('what is added; negative: what is dropped', 'kg',
                               minimum=-1e3, maximum=1e3)
    position_m: tuple[float, float, float] = parameter(
        'where: forward, left and up from the centre of mass of the vehicle file; all of it moves'
        ' there', 'm', minimum=-100, maximum=100)
    inertia_kg_m2: tuple[float, float, float] = parameter(
        'its own moments of inertia about x, y and z', 'kg m^2', minimum=-1e4, maximum=1e4)

    DEFAULTS: typing.ClassVar = {
        'position_m': (0.0, 0.0, 0.0), 'inertia_kg_m2': (0.0, 0.0, 0.0)}

    def check(self, owner: str, subject: Subject) -> None:
        """Check that something is left."""
        super().check(owner, subject)
        if subject.vehicle.body.mass_kg + self.mass_kg <= 0.0:
            raise ParameterError(f'{owner}.mass_kg = {self.mass_kg:g}: {subject.vehicle.name} has'
                                 f' only {subject.vehicle.body.mass_kg:g} kg')
        body, _ = loaded(subject.vehicle.body, self._altered(UNALTERED))
        if min(body.inertia_kg_m2) <= 0.0:
            raise ParameterError(f'{owner}.inertia_kg_m2 = {self.inertia_kg_m2}:'
                                 f' {subject.vehicle.name} has only'
                                 f' {subject.vehicle.body.inertia_kg_m2}')
        body.check(owner)

    def begin(self, onset: ActionContext) -> Effect:
        """Add the mass and the inertia."""
        return Load(lambda time_us, inputs: inputs._replace(altered=self._altered(inputs.altered)))

    def _altered(self, altered: Alterations) -> Alterations:
        (x, y, z), m = self.position_m, self.mass_kg
        own: Inertia = (*self.inertia_kg_m2, 0.0, 0.0, 0.0)
        inertia = map(sum, zip(altered.inertia_kg_m2, own, inertia_of_point(m, (x, y, z))))
        return altered._replace(
            mass_kg=altered.mass_kg + m,
            moment_kg_m=total(altered.moment_kg_m, (m * x, m * y, m * z)),
            inertia_kg_m2=typing.cast(Inertia, tuple(inertia)))


@dataclasses.dataclass(frozen=True)
class BatteryAction(MotionAction):
    """Base of the actions on the battery: on all its packs alike."""

    def check(self, owner: str, subject: Subject) -> None:
        """Check that there is one."""
        super().check(owner, subject)
        if subject.vehicle.battery is None:
            raise ParameterError(f'{owner}: {subject.vehicle.name} has no battery')


@dataclasses.dataclass(frozen=True)
class BatteryCells(BatteryAction):
    """Cells of each pack are shorted: their voltage, resistance and polarisation are missing."""

    shorted: int = parameter('cells of each pack', minimum=1)
    of: int = parameter('cells that each pack has in series', minimum=2)

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate; a cell has to be left."""
        built = super().from_mapping(owner, values)
        if built.shorted >= built.of:
            raise ParameterError(f'{owner}.shorted = {built.shorted}: must be below of ='
                                 f' {built.of}')
        return built

    def begin(self, onset: ActionContext) -> Effect:
        """Leave the share of the cells that work."""
        share = (self.of - self.shorted) / self.of
        return Load(lambda time_us, inputs: inputs.with_altered(
            cells_share=inputs.altered.cells_share * share))


@dataclasses.dataclass(frozen=True)
class BatteryResistance(BatteryAction):
    """The series resistance of each pack is another one."""

    factor: float = parameter('of the resistance', above=0, maximum=1e3)

    def begin(self, onset: ActionContext) -> Effect:
        """Multiply it."""
        return _multiply('resistance_factor', self.factor)


@dataclasses.dataclass(frozen=True)
class BatteryCapacity(BatteryAction):
    """Each pack holds less: what it held beyond is lost, and its share falls faster."""

    share: float = parameter('of the capacity that is left', above=0, maximum=1)

    def begin(self, onset: ActionContext) -> Effect:
        """Multiply it."""
        return _multiply('capacity_share', self.share)


def _multiply(name: str, factor: float) -> Effect:
    return Load(lambda time_us, inputs: inputs.with_altered(
        **{name: getattr(inputs.altered, name) * factor}))


# Actions on the servos of surfaces and of wheels that are steered.

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
                f'{owner}.servo = {shown(self.servo)}: there is no such servo'
                f"{did_you_mean(self.servo, names)}; {subject.vehicle.name} has {', '.join(names)}")

    def begin(self, onset: ActionContext) -> Effect:
        """Change one of the references."""
        vehicle = onset.vehicle
        index = len(vehicle.rotors) + vehicle.actuator_indices[self.servo]
        servo, = (servo for servo in vehicle.servos if servo.name == self.servo)
        asked = servo.center_rad if onset.last is None else onset.last.references_rad_s[index]
        return _effect(index, self.angle(asked, onset.now.reached[index], servo))

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Changed:
        """Return the change of each step's commanded angle, rad, as that of a motor.

        :param asked_rad: the angle that was asked for in the last step before
        :param reached_rad: that which the servo has
        :param servo: the one it acts on
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class ServoStuck(ServoAction):
    """It stays at the angle that it has reached, whatever the command."""

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Changed:
        """Ask for where it is."""
        return None, reached_rad


@dataclasses.dataclass(frozen=True)
class ServoHardOver(ServoAction):
    """It runs to the end of its travel and stays there."""

    side: str = parameter(
        'sign of the angle there, from that at control 0', choices=(POSITIVE, NEGATIVE))

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Changed:
        """Ask for the whole travel."""
        travel = servo.travel_rad if self.side == POSITIVE else -servo.travel_rad
        return None, servo.center_rad + travel


@dataclasses.dataclass(frozen=True)
class ServoSlack(ServoAction):
    """Its linkage has play: what it moves lags behind by half of that."""

    play_deg: float = parameter('from one end of the play to the other', 'deg', above=0,
                                maximum=90)

    def angle(self, asked_rad: float, reached_rad: float, servo: Servo) -> _Changed:
        """Drag the angle along at half the play's distance: the play operator of hysteresis."""
        half, state = 0.5 * math.radians(self.play_deg), asked_rad

        def drag(asked: float) -> float:
            nonlocal state
            state = min(max(state, asked - half), asked + half)
            return state
        return drag
