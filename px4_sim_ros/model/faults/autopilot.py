# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is said to the autopilot, and to the reader of the record."""
from __future__ import annotations

import dataclasses
import math
import re
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.faults.action import AUTOPILOT, LINK, RECORD, Action, ActionContext, Effect
from px4_sim_ros.model.faults.channels import DelayAction
from px4_sim_ros.model.faults.motion import BodyInputs, MotionAction
from px4_sim_ros.model.parameters import parameter

# Actions on what goes to and fro: from the autopilot to the actuators, from the pilot to it.


@dataclasses.dataclass(frozen=True)
class RepliesLate(DelayAction, MotionAction):
    """What the autopilot asks of motors and servos reaches them late."""

    delay_s: float = parameter('how late, besides the step that it always takes', 's', above=0,
                               maximum=10)

    def begin(self, onset: ActionContext) -> Effect:
        """Hold the last command until the delay is over; then each is late by it."""
        late = self.delay_line(onset.last and (
            onset.since_us - onset.world.step_us, onset.last.references_rad_s))
        return lambda time_us, inputs: inputs._replace(
            references_rad_s=late(time_us, inputs.references_rad_s))


@dataclasses.dataclass(frozen=True)
class RepliesLost(MotionAction):
    """What the autopilot asks of motors and servos is lost, always or at random steps."""

    share: float = parameter('of the replies that are lost', above=0, maximum=1)

    DEFAULTS: typing.ClassVar = {'share': 1.0}

    def begin(self, onset: ActionContext) -> Effect:
        """Hold the last command; a random number a step decides whether one is lost."""
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

    def begin(self, onset: ActionContext) -> Effect:
        """Change nothing."""
        return lambda time_us, value: value


@dataclasses.dataclass(frozen=True)
class LinkLost(LinkAction):
    """Nothing that the pilot says reaches the autopilot, its heartbeats included."""

    BLOCK = AUTOPILOT


@dataclasses.dataclass(frozen=True)
class AutopilotPaused(LinkAction):
    """It stands still: no time passes for it, and its last command is held."""


@dataclasses.dataclass(frozen=True)
class AutopilotOff(LinkAction):
    """It has no power: its motors get none, and at the end another one begins to boot."""


# The ends of the names in MAVLink's FAILURE_UNIT and FAILURE_TYPE.
FAILURE_UNITS = (
    'gyro', 'accel', 'mag', 'baro', 'gps', 'optical_flow', 'vio', 'distance_sensor', 'airspeed',
    'battery', 'motor', 'servo', 'avoidance', 'rc_signal', 'mavlink_signal')
FAILURE_TYPES = ('ok', 'off', 'stuck', 'garbage', 'wrong', 'slow', 'delayed', 'intermittent')
_PARAMETERS = [f'param{i}' for i in range(1, 8)]
INT32, REAL32 = 'int32', 'real32'
_NAME = re.compile('[A-Za-z0-9_]{1,16}')
_INT32_BOUND = 2**31


@dataclasses.dataclass(frozen=True)
class Said(LinkAction):
    """Base of the actions that are sent once, to the autopilot or by the scenario itself."""

    BLOCK = AUTOPILOT
    INSTANT = True


@dataclasses.dataclass(frozen=True)
class Command(Said):
    """A MAVLink command, as COMMAND_LONG, once."""

    IS_ANSWERED = True

    command: str = parameter('name in MAV_CMD, such as MAV_CMD_NAV_LAND')
    params: tuple[float, ...] = parameter('its parameters from the first on; the others are 0')

    DEFAULTS: typing.ClassVar = {'params': ()}

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate; null stands for a parameter that is no number."""
        given = values.get('params')
        if isinstance(given, (list, tuple)):
            values = {**values, 'params': [0.0 if _is_none(value) else value for value in given]}
        built = super().from_mapping(owner, values)
        if len(built.params) > len(_PARAMETERS):
            raise ParameterError(f'{owner}.params: {len(built.params)} numbers: must be 7 at most')
        if isinstance(given, (list, tuple)):
            return dataclasses.replace(built, params=tuple(
                math.nan if _is_none(value) else known
                for value, known in zip(given, built.params)))
        return built


def _is_none(value: typing.Any) -> bool:
    """Return whether a value stands for no number: null in a file, NaN in a command."""
    return value is None or value != value


@dataclasses.dataclass(frozen=True)
class AutopilotParameter(Said):
    """A parameter of the autopilot is set, by PARAM_SET."""

    IS_ANSWERED = True
    INNER = ('type',)

    name: str = parameter('of the parameter: 1 to 16 letters, digits and _')
    value: float = parameter('a whole number for one of type INT32')
    type: str = parameter('with which it is set at first', choices=(INT32, REAL32))

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate."""
        is_whole = isinstance(values.get('value'), int)
        built = super().from_mapping(owner, {'type': INT32 if is_whole else REAL32, **values})
        if not _NAME.fullmatch(built.name):
            raise ParameterError(
                f'{owner}.name = {shown(built.name)}: must be 1 to 16 letters, digits and _')
        value = values.get('value')
        if isinstance(value, int) and not -_INT32_BOUND <= value < _INT32_BOUND:
            raise ParameterError(f'{owner}.value = {shown(value)}: must fit into 32 bits:'
                                 f' {-_INT32_BOUND} to {_INT32_BOUND - 1}')
        return built


@dataclasses.dataclass(frozen=True)
class Px4Failure(Said):
    """PX4's own `failure`, by MAV_CMD_INJECT_FAILURE; PX4 needs SYS_FAILURE_EN = 1 for it."""

    IS_ANSWERED = True

    unit: str = parameter('what fails', choices=FAILURE_UNITS)
    type: str = parameter('how; ok ends it', choices=FAILURE_TYPES)
    instance: int = parameter('which of them, from 1 on; 0: all', minimum=0, maximum=100)

    DEFAULTS: typing.ClassVar = {'instance': 0}

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate; YAML takes `off` for false."""
        if values.get('type') is False:
            values = {**values, 'type': 'off'}
        return super().from_mapping(owner, values)


@dataclasses.dataclass(frozen=True)
class Mode(Said):
    """PX4 is put into another mode, by MAV_CMD_DO_SET_MODE, once."""

    IS_ANSWERED = True

    to: str = parameter('its name, as in conditions')


@dataclasses.dataclass(frozen=True)
class Sticks(Action):
    """The sticks of a remote control are held so, for PX4 as MANUAL_CONTROL, 25 times a second.

    Of several in force the one that began last counts.
    """

    roll: float = parameter('to the right', minimum=-1, maximum=1)
    pitch: float = parameter('forward: nose down', minimum=-1, maximum=1)
    yaw: float = parameter('to the right: clockwise from above', minimum=-1, maximum=1)
    throttle: float = parameter('from 0, down, to 1, up', minimum=0, maximum=1)

    DEFAULTS: typing.ClassVar = {'roll': 0.0, 'pitch': 0.0, 'yaw': 0.0, 'throttle': 0.5}

    @property
    def block(self) -> str:
        """The pilot, who holds them."""
        return AUTOPILOT

    def begin(self, onset: ActionContext) -> Effect:
        """Change no value."""
        return lambda time_us, value: value


@dataclasses.dataclass(frozen=True)
class Note(Said):
    """A text in the record."""

    BLOCK = RECORD

    text: str = parameter('what is noted')


@dataclasses.dataclass(frozen=True)
class Clear(Said):
    """What an event has done is undone."""

    BLOCK = RECORD

    event: str = parameter('name of the event')
