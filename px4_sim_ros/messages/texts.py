# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Values of no fixed size, for which ROS has no message, as JSON in the text of a Log message.

It begins with a stamp, as all messages of the step do, and viewers show it as it is. Most change
seldom: while a value is the same object, the message is made, and read, from the one before.
"""
from __future__ import annotations

import json
import typing

from rcl_interfaces.msg import Log

from px4_sim_ros.messages.cdr import NOTHING_BEFORE, Before, Layout, Packer
from px4_sim_ros.model.collisions import Hull
from px4_sim_ros.model.environment.downwash import Wake
from px4_sim_ros.model.scenario.situation import Answer, AutopilotState
from px4_sim_ros.step.graph import AUTOPILOT_STATE, COLLISION, FAULTS, HULL, WAKE, WAKES

_INFO = 20


class TextCodec(typing.NamedTuple):
    """How a value becomes what JSON can hold, and how it is read from it."""

    name: str                  # of who speaks
    to_plain: typing.Callable[[typing.Any], typing.Any]
    from_plain: typing.Callable[[typing.Any], typing.Any]


def _faults_to_plain(faults: typing.Any) -> typing.Any:
    # A flight without faults does not import the actions.
    from px4_sim_ros.model.faults.actions import faults_to_plain
    return faults_to_plain(faults)


def _faults_from_plain(plain: typing.Any) -> typing.Any:
    from px4_sim_ros.model.faults.actions import faults_from_plain
    return faults_from_plain(plain)


def _state(plain: dict[str, typing.Any]) -> AutopilotState:
    moved = plain.get('moved_enu')        # not in recordings of version 3
    return AutopilotState(**plain | {
        'texts': tuple(plain['texts']), 'moved_enu': None if moved is None else tuple(moved),
        # Not in recordings of version 6.
        'answers': tuple(Answer(*answer) for answer in plain.get('answers', ()))})


def _wake(plain: dict[str, typing.Any]) -> Wake:
    return Wake(**plain | {name: tuple(plain[name]) for name in ('position_enu', 'direction_enu')})


def _hull(plain: dict[str, typing.Any]) -> Hull:
    its: typing.Any = {name: tuple(value) if isinstance(value, list) else value
                       for name, value in plain.items()}
    return Hull(**its)


# By kind of topic.
TEXTS: dict[str, TextCodec] = {
    FAULTS: TextCodec('scenario', _faults_to_plain, _faults_from_plain),
    AUTOPILOT_STATE: TextCodec('autopilot', AutopilotState._asdict, _state),
    WAKE: TextCodec('dynamics', Wake._asdict, _wake),
    WAKES: TextCodec('manager', lambda wakes: [wake._asdict() for wake in wakes],
                     lambda plain: tuple(map(_wake, plain))),
    HULL: TextCodec('dynamics', Hull._asdict, _hull),
    COLLISION: TextCodec('manager', list, tuple),
}


def read_text(kind: str, text: str) -> typing.Any:
    return TEXTS[kind].from_plain(json.loads(text))


class TextEncoder:
    """Makes the messages of one topic."""

    def __init__(self, codec: TextCodec, before: Before = NOTHING_BEFORE) -> None:
        self._codec, self._before = codec, before
        self._value: typing.Any = None
        self._layout: Layout | None = None

    def __call__(
        self, time_us: int, value: typing.Any, before: tuple[int, ...] = (),
    ) -> bytes:
        """Return a serialised message."""
        if self._layout is None or value is not self._value:
            self._value = value
            self._layout = Layout(Log(
                level=_INFO, name=self._codec.name,
                msg=json.dumps(self._codec.to_plain(value))), (), self._before)
        return self._layout.pack(time_us, (), before)

    def packer(self, value: typing.Any) -> Packer:
        """Return a maker of messages, for any value."""
        return self.__call__


class TextDecoder:
    """Reads the messages of one topic."""

    def __init__(
        self, codec: TextCodec, deserialise: typing.Callable[[bytes], typing.Any],
    ) -> None:
        self._codec, self._deserialise = codec, deserialise
        self._layout: Layout | None = None
        self._value: typing.Any = None

    def __call__(self, data: bytes) -> typing.Any:
        """Return the value in a serialised message; the same object while the text is the same."""
        if self._layout is None or self._layout.unpack(data) is None:
            message = self._deserialise(data)
            message.stamp.sec, message.stamp.nanosec = 0, 0
            self._layout = Layout(message, ())
            self._value = self._codec.from_plain(json.loads(message.msg))
        return self._value
