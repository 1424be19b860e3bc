# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions: what can be done to a flight, each a class with its parameters.

An action is written once. While it is in force, the block that it changes lets its values run
through what `begin` has returned; how the block gets to know of it is the matter of the step.
"""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import Parameters, dict_of
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters

Effect = typing.Callable[[int, typing.Any], typing.Any]
"""Takes a time in us and a value of the block, and returns what it becomes."""

MOTION, WIND, AUTOPILOT, LINK, RECORD = 'dynamics', 'wind', 'pilot', 'hil_bridge', 'record'
"""What an action changes, besides sensors: the block of that name; or it is only noted."""


class Subject(typing.NamedTuple):
    """What a scenario happens to, as far as its actions have to fit it."""

    vehicle: Vehicle
    blocks: typing.Collection[str]         # of the graph
    has_scene: bool = False
    added: typing.Collection[str] = ()     # those of the blocks that are the user's
    collides: bool = False                 # with others

    @classmethod
    def of(cls, configuration: typing.Any) -> typing.Self:
        """Return that of the configuration of a run or of a block."""
        c = configuration
        return cls(c.vehicle, c.graph.blocks, c.scene is not None, c.graph.own, c.world.collisions)


class ActionContext(typing.NamedTuple):
    """How things are when an action begins."""

    name: str                      # of its event
    since_us: int
    block: str                     # that it changes
    world: WorldParameters
    vehicle: Vehicle
    last: typing.Any               # what the block had made of its last value; None before
    now: typing.Any                # its value now, without this action

    def seconds(self, time_us: int) -> float:
        """Return the age of the action."""
        return (time_us - self.since_us) / US_PER_S

    def stream(self) -> NormalStream:
        """Return random numbers of this action at this block."""
        return NormalStream(self.world.seed, f'{self.block}/{self.name}')


@dataclasses.dataclass(frozen=True)
class Action(Parameters):
    """Base of all actions; those of the user are derived from it as well.

    A value that a block is given is never changed in place: an effect returns another one.
    """

    DEFAULTS: typing.ClassVar[typing.Mapping[str, typing.Any]] = {}
    """Of parameters that need not be given."""
    INNER: typing.ClassVar[tuple[str, ...]] = ()
    """Parameters that follow from others."""
    INSTANT: typing.ClassVar[bool] = False
    """Whether it is done at once, and lasts for no time."""

    IS_ANSWERED: typing.ClassVar[bool] = False
    """Whether it asks something of the autopilot, which may refuse it."""

    SILENCES: typing.ClassVar[bool] = False
    """Whether it may take a measurement away: its effect then returns None."""

    @property
    def block(self) -> str:
        """The block that it changes."""
        raise NotImplementedError

    def changes(self, block: str) -> bool:
        """Return whether it changes a block: one that changes several begins at each."""
        return block == self.block

    def begin(self, onset: ActionContext) -> Effect:
        """Return its effect on the values of the block from now on."""
        raise NotImplementedError

    def check(self, owner: str, subject: Subject) -> None:
        """Check what depends on the vehicle and on the graph.

        :param owner: what to call it in an error sentence
        :raises ParameterError: it does not fit them
        """
        if self.block not in (RECORD, *subject.blocks):
            raise ParameterError(f'{owner}: there is no node {self.block} in this run;'
                                 f" nodes are {', '.join(subject.blocks)}")

    @property
    def kind(self) -> str:
        """`module:Class`, by which others find the class."""
        return f'{type(self).__module__}:{type(self).__qualname__}'

    @classmethod
    def read(cls, owner: str, values: typing.Any) -> typing.Self:
        """Build it from what a file says; None is for nothing.

        :raises ParameterError: naming the parameter and what is allowed
        """
        given = {} if values is None else dict_of(owner, values, ' of its parameters')
        return cls.from_mapping(owner, {**cls.DEFAULTS, **given})


class Fault(typing.NamedTuple):
    """An action that is in force."""

    name: str                      # of its event
    since_us: int
    action: Action


Faults = tuple[Fault, ...]
"""All that are in force, in the order in which they began. The same object: nothing has changed."""


# What the actions in force make of the values of one block.

_Key = tuple[str, int]


class FaultChain:
    """Lets values run through the effects of all actions on a block, in the order they began."""

    def __init__(self, block: str, world: WorldParameters, vehicle: Vehicle) -> None:
        """Begin without any."""
        self._block, self._world, self._vehicle = block, world, vehicle
        self._faults: Faults = ()
        self._effects: dict[_Key, Effect] = {}
        self._last: typing.Any = None

    def effects(self, faults: Faults) -> typing.Collection[Effect] | None:
        """Return the effects on the block; None if one of them begins or ends with the next value.

        :param faults: those that are in force, also on other blocks
        """
        return self._effects.values() if faults is self._faults else None

    def keep(self, value: typing.Any) -> None:
        """Take in the last value that others have changed, or none had to change."""
        self._last = value

    def of(self, time_us: int, value: typing.Any, faults: Faults) -> typing.Any:
        """Return the changed value; None if an action takes it away.

        :param faults: those that are in force, also on other blocks
        """
        if faults is not self._faults:
            self._follow(faults, value)
        for effect in self._effects.values():
            value = effect(time_us, value)
            if value is None:
                return None
        self._last = value
        return value

    def _follow(self, faults: Faults, value: typing.Any) -> None:
        """Begin actions that are new, and end those that have ceased to be in force."""
        before, self._effects = self._effects, {}
        for fault in faults:
            if fault.action.changes(self._block):
                key = fault.name, fault.since_us
                self._effects[key] = before.get(key) or fault.action.begin(ActionContext(
                    *key, self._block, self._world, self._vehicle, self._last, value))
        self._faults = faults
