# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of the user's that are added to the step, as plain values: no code of theirs is needed.

A vehicle file declares them; the parameter `blocks` has them as JSON, with what their classes say.
"""
from __future__ import annotations

import functools
import json
import re
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import list_of

NAME = re.compile(r'[a-z][a-z0-9_]*')
_FURTHER = re.compile(r'.*_[1-9]')           # as further instances of a sensor are called
_TOPIC = re.compile(r'[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*')
_CLASS = re.compile(r'([\w./ -]+\.py|[\w.]+):\w+')
# Of their messages a recording, which is data, may name the types.
_TYPE = re.compile(r'(geometry|nav|sensor|std|stereo|trajectory|vision|visualization)_msgs/msg/\w+')

SCAN, MOTION = 'sensor_msgs/msg/LaserScan', 'nav_msgs/msg/Odometry'
RANGE = 'sensor_msgs/msg/Range'
"""The types of messages of a lidar, of what finds its motion, and of a range finder."""
SECTORS, MOST_DISTANCES = 8, 10
"""How many distances an autopilot gets of a scan, and how many of all sensors PX4 takes."""
OF_THE_PACKAGE = 'px4_sim_ros:'
"""Of classes that come with the package, and are public: any data may import them."""
TO_AUTOPILOT = 'to_autopilot'
"""The parameter that says that the autopilot gets them."""

Entry = typing.Mapping[str, typing.Any]
"""A block as files declare it: its class, and what else is said of it."""


class OwnBlockRow(typing.NamedTuple):
    """A block of the user's."""

    name: str
    path: str                  # of its class: `module:Class`, or `file.py:Class`
    topic: str
    type: str                  # of its messages
    period_us: int
    inputs: tuple[str, ...]
    values: str                # of its parameters, as JSON

    @property
    def parameters(self) -> dict[str, typing.Any]:
        """Its parameters by name, those that are not by default."""
        return typing.cast('dict[str, typing.Any]', json.loads(self.values))

    @property
    def is_for_autopilot(self) -> bool:
        """Whether the autopilot gets what it measures."""
        return bool(self.parameters.get(TO_AUTOPILOT)) and (
            self.type in (SCAN, MOTION) or (self.type == RANGE and self.is_of_package))

    @property
    def is_of_package(self) -> bool:
        """Whether its class comes with the package."""
        return self.path.startswith(OF_THE_PACKAGE)

    def check(self) -> None:
        """Check what can be said without the graph.

        :raises ParameterError: naming the block and what is allowed
        """
        for what, value, form, words in (
                ('name', self.name, NAME, 'lower-case letters, digits and _'),
                ('class', self.path, _CLASS, 'module:Class or file.py:Class'),
                ('topic', self.topic, _TOPIC, 'lower-case letters, digits, _ and /'),
                ('message', self.type, _TYPE, 'a message of geometry_msgs, nav_msgs, sensor_msgs or'
                 ' another package of standard messages')):
            if not isinstance(value, str) or not form.fullmatch(value):
                raise ParameterError(f'block {self.name}: {what} = {shown(value)}: must be {words}')
        if _FURTHER.fullmatch(self.name):
            raise ParameterError(f'block {self.name}: name = {shown(self.name)}: ends as further'
                                 ' instances of a sensor do; give it another name')
        if type(self.period_us) is not int or self.period_us <= 0:
            raise ParameterError(f'block {self.name}: period_us = {shown(self.period_us)}: must be'
                                 ' a whole number greater than 0')


def read_entries(owner: str, content: typing.Any) -> tuple[Entry, ...]:
    """Return the section `blocks` of a file.

    :raises ParameterError: naming the place and what is allowed
    """
    for i, entry in enumerate(list_of(owner, content)):
        if not isinstance(entry, dict) or not isinstance(entry.get('class'), str):
            raise ParameterError(f'{owner}[{i}] = {shown(entry)}: must be a mapping with a class,'
                                 ' file.py:Class or module:Class')
    return tuple(content)


def to_text(rows: typing.Iterable[OwnBlockRow]) -> str:
    """Return the parameter `blocks`."""
    return json.dumps([row._asdict() for row in rows])


@functools.lru_cache
def from_text(text: str) -> tuple[OwnBlockRow, ...]:
    """Return the blocks in the parameter `blocks`, '' for none.

    :raises ParameterError: it is not as `to_text` writes it
    """
    if not text:
        return ()
    try:
        rows = tuple(OwnBlockRow(**entry | {'inputs': tuple(entry['inputs'])})
                     for entry in json.loads(text))
        for row in rows:
            if not isinstance(row.parameters, dict):
                raise TypeError(row.values)
    except (ValueError, TypeError, KeyError) as error:
        raise ParameterError(f'blocks = {shown(text)}: must be what the section blocks of a vehicle'
                             ' file becomes') from error
    for row in rows:
        row.check()
    return rows
