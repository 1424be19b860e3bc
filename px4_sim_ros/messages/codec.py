# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Values of the core as bytes of messages, and back."""
from __future__ import annotations

import typing

from px4_sim_ros.messages.cdr import NOTHING_BEFORE, Before, Layout, Packer
from px4_sim_ros.messages.stamps import serialised_stamp_us

Numbers = tuple[float, ...]
_Value = typing.Callable[[int, Numbers, str], typing.Any]


class Codec(typing.NamedTuple):
    """How a value becomes the message of one kind of topic, and how it is read from it."""

    new: typing.Callable[[typing.Any], typing.Any]
    """Returns a message for values like the one given, with all that is no number of `fields`."""
    fields: tuple[str, ...]
    """Those whose numbers change, in the order of the message."""
    numbers: typing.Callable[[typing.Any], typing.Sequence[float]]
    """Returns their numbers from a value."""
    value: _Value | None = None
    """Returns the value from a time in microseconds, the numbers and the frame."""
    reader: typing.Callable[[typing.Any], _Value] | None = None
    """In its place, if texts of a message tell what its numbers are: returns such a function for
    messages with the texts of this one."""

    def reader_of(self, message: typing.Any) -> _Value:
        """Return a reader of messages with the texts of this one."""
        if self.reader is not None:
            return self.reader(message)
        assert self.value is not None, 'a codec has one of both'
        return self.value


class Encoder:
    """Makes the messages of one topic; all its values are alike in what is no number."""

    def __init__(
        self, codec: Codec, frame: str | None = None, before: Before = NOTHING_BEFORE,
    ) -> None:
        self._codec, self._frame, self._before = codec, frame, before
        self._pack: Packer | None = None

    def __call__(self, time_us: int, value: typing.Any) -> bytes:
        """Return a serialised message."""
        return self.packer(value)(time_us, value)

    def packer(self, value: typing.Any) -> Packer:
        """Return a maker of messages from values like the first one that was given."""
        if self._pack is None:
            layout = Layout(self.message(value), self._codec.fields, self._before)
            self.leaves = layout.leaves
            """Offset and format of each number in the message."""
            self._pack = layout.packer(self._codec.numbers)
        return self._pack

    def numbers(self, value: typing.Any) -> typing.Sequence[float]:
        """Return the numbers of a value, in the order of `leaves`."""
        return self._codec.numbers(value)

    def message(self, value: typing.Any) -> typing.Any:
        """Return a message with all that is no number."""
        message = self._codec.new(value)
        if self._frame is not None:
            message.header.frame_id = self._frame
        return message


class Decoder:
    """Reads the messages of one topic, also those that others have laid out otherwise."""

    def __init__(
        self, codec: Codec, deserialise: typing.Callable[[bytes], typing.Any],
    ) -> None:
        self._codec = codec
        self._deserialise = deserialise
        self._layout: Layout | None = None
        self._value: _Value
        self._frame = ''

    def __call__(self, data: bytes) -> typing.Any:
        """Return the value in a serialised message."""
        if self._layout is not None:
            found = self._layout.unpack(data)
            if found is not None:
                time_us, numbers = found
                return self._value(time_us, numbers, self._frame)
        message = self._deserialise(data)
        self._layout = Layout(message, self._codec.fields)
        self._value = self._codec.reader_of(message)
        self._frame = message.header.frame_id if hasattr(message, 'header') else ''
        return self._value(serialised_stamp_us(data), self._layout.numbers, self._frame)

