# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The base of a block of the user's that is added to the step: it publishes a message of its own.

Its value is the serialised message, so it is the same in all modes, and does not change later.
"""
from __future__ import annotations

import copy
import json
import traceback
import typing

from px4_sim_ros.messages.cdr import serialised
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.model.faults.action import FaultChain
from px4_sim_ros.model.own_blocks import OwnBlockRow
from px4_sim_ros.model.parameters import like, unknown_key_error
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.step.block import NO_OUTPUTS, Block, BlockConfiguration, Inputs, Outputs
from px4_sim_ros.step.graph import FAULTS, JOINTS

# Of these it takes what it does not say itself.
_PERIOD_US, _TRUTH = 20_000, 'ground_truth/odom'
_ALIGNED = 4
"""A message in another process comes padded to so many bytes."""


class _Measured(typing.NamedTuple):
    """What an action on a sensor may change: when, and what."""

    time_us: int
    message: typing.Any


class OwnBlock(Block):
    """Derive from it, say what it publishes, and define `measure`."""

    topic: typing.ClassVar[str] = ''
    message: typing.ClassVar[typing.Any] = None
    """The class of the messages, whose first field is a header."""
    period_us: typing.ClassVar[int] = _PERIOD_US
    inputs: typing.ClassVar[tuple[str, ...]] = (_TRUTH,)
    defaults: typing.ClassVar[typing.Mapping[str, typing.Any]] = {}
    """Its parameters: numbers, texts, truths and lists of numbers."""

    def __init__(self, configuration: BlockConfiguration[typing.Any]) -> None:
        """Check all that can be wrong; `parameters` has the defaults, or what the vehicle says."""
        super().__init__(configuration)
        self._row = next(row for row in configuration.world.own_blocks
                         if row.name == configuration.name)
        self.parameters = self.checked(f'block {self._row.name}', self._row.parameters)
        period_us, every = self._row.period_us, configuration.world.periods_us['display']
        if JOINTS in self._row.inputs and period_us % every:
            raise ParameterError(
                f'block {self._row.name}: period_us = {period_us}: with {JOINTS}, as on a gimbal,'
                f' it must be a multiple of periods_us.display, {every}')
        self._has_faults = FAULTS in configuration.graph.nodes[configuration.name].inputs

    @classmethod
    def checked(
        cls, owner: str, given: typing.Mapping[str, typing.Any],
    ) -> dict[str, typing.Any]:
        """Return all parameters, with those that are given.

        :raises ParameterError: one is unknown, or not of the kind of its default
        """
        found = dict(cls.defaults)
        for name, value in given.items():
            if name not in cls.defaults:
                raise unknown_key_error(owner, name, cls.defaults)
            found[name] = like(f'{owner}: {name}', value, cls.defaults[name])
        return found

    @classmethod
    def row(
        cls, name: str, path: str, given: typing.Mapping[str, typing.Any],
    ) -> OwnBlockRow:
        """Return its row in the graph, from what a vehicle file says.

        :raises ParameterError: naming the block and what is allowed
        """
        rest = dict(given)
        topic, period_us = rest.pop('topic', cls.topic), rest.pop('period_us', cls.period_us)
        cls.checked(f'block {name}', rest)
        fields = getattr(cls.message, '_fields_and_field_types', {})
        if next(iter(fields.values()), '') != 'std_msgs/Header':
            raise ParameterError(f'block {name}: message = {cls.message!r}: must be a class of'
                                 ' messages that begin with a header')
        package = cls.message.__module__.partition('.')[0]
        row = OwnBlockRow(name, path, topic, f'{package}/msg/{cls.message.__name__}', period_us,
                          tuple(cls.inputs), json.dumps(rest))
        row.check()
        return row

    def reset(self) -> None:
        """Begin with the state of time 0; `noise` has standard normal numbers of the seed."""
        c = self.configuration
        self.noise = NormalStream(c.world.seed, f'block {self._row.name}')
        self._faults = FaultChain(c.name, c.world, c.vehicle)
        self.last: typing.Any = None       # its last message

    def measure(self, time_us: int, inputs: Inputs) -> typing.Any:
        """Return the message of a time, whose stamp is set; None: there is none.

        :param inputs: values by topic, as the model has them
        """
        raise NotImplementedError

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the message, serialised.

        :raises RunError: its code has raised an error, or has returned something else
        """
        where = f'block {self._row.name}: t = {seconds_text(time_us)}'
        try:
            message = self.measure(time_us, inputs)
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            raise RunError(f'{where}: {type(error).__name__}: {error} ({at.filename}, line'
                           f' {at.lineno})') from error
        if message is None:
            return NO_OUTPUTS
        if type(message) is not self.message:
            raise RunError(f'{where}: measure has returned a {type(message).__name__}: must be a'
                           f' {self._row.type} or None')
        if self._has_faults:
            # A copy: the block may fill the same one again, and an action may keep it.
            measured = self._faults.of(
                time_us, _Measured(time_us, copy.deepcopy(message)), inputs[FAULTS])
            if measured is None:
                return NO_OUTPUTS
            message = measured.message
        set_stamp(message.header.stamp, time_us)
        self.last = message
        data = serialised(message)
        return {self._row.topic: data + bytes(-len(data) % _ALIGNED)}
