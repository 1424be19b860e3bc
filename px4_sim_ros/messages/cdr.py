# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""CDR without rclpy: whole messages, and numbers written into the bytes of a template.

To serialise a message object, and to deserialise it, costs ten to forty times as much as its
numbers alone: an Odometry has 72 numbers of covariance that never change. A message of the step
is therefore serialised once, and after that only its numbers are written and read in place. The
bytes on the wire are the same.
"""
from __future__ import annotations

import array
import enum
import functools
import itertools
import re
import struct
import typing

import numpy as np

from px4_sim_ros.messages.stamps import STAMP_OFFSET
from px4_sim_ros.model.timebase import US_PER_S

# Plain CDR, little-endian: a number is aligned to its size, counted from the end of this header.
_HEADER = b'\x00\x01\x00\x00'
_PADDED_TO = 4
_FORMATS = {'boolean': '?', 'octet': 'B', 'uint8': 'B', 'int8': 'b', 'uint16': 'H', 'int16': 'h',
            'uint32': 'I', 'int32': 'i', 'uint64': 'Q', 'int64': 'q', 'float': 'f', 'double': 'd'}
_STAMP = struct.Struct('<iI')
_LENGTH = struct.Struct('<I')


class _Leaf(typing.NamedTuple):
    path: str
    offset: int
    form: str            # of one number
    after: int           # the end of what is before it; from there to `offset` is padding


class Before(typing.NamedTuple):
    """What is packed before each message, in one go with it."""

    constant: typing.Callable[[int], bytes]    # from the size of the message in bytes
    form: str                                  # of the numbers after that, as `struct` has it


class Packer(typing.Protocol):
    """Makes a message from the time in microseconds, a value, and the numbers before it."""

    def __call__(
        self, time_us: int, value: typing.Any, before: tuple[int, ...] = (), /,
    ) -> bytes:
        """Return the message."""


NOTHING_BEFORE = Before(lambda size: b'', '')


class Layout:
    """The offsets of the numbers in messages with the same texts and sequence lengths.

    The message begins with a stamp: it is a Clock, or its first field is a Header.
    """

    def __init__(
        self, message: typing.Any, fields: typing.Sequence[str], before: Before = NOTHING_BEFORE,
    ) -> None:
        """Serialise a message as the template.

        :param fields: those whose numbers change, in the order of the message; `pose.pose`
            means all numbers in it
        :param before: what `pack` puts before the message
        """
        walk = _Walk(message)
        self._texts = tuple(text for _, _, text in walk.texts)
        self._read_texts = struct.Struct(_format_of_texts(walk.texts)).unpack_from
        # From another process it comes padded, as RTPS has it.
        self._sizes = len(walk.data), -(-len(walk.data) // _PADDED_TO) * _PADDED_TO
        chosen = [leaf for leaf in walk.leaves if any(
            leaf.path == field or leaf.path.startswith((f'{field}.', f'{field}['))
            for field in fields)]
        self._lay_out(bytes(walk.data), _neighbours(chosen), before)
        self._pack_numbers = self.packer(lambda numbers: numbers)
        self.leaves = [(leaf.offset, leaf.form) for leaf in chosen]
        """Offset and format of each of the numbers."""
        self._start = chosen[0].offset if chosen else 0
        self._unpack = struct.Struct(_format(chosen)).unpack_from
        self._read_stamp = _STAMP.unpack_from
        self.numbers: tuple[float, ...] = self._unpack(walk.data, self._start)
        """Those of the message that it was made from."""

    def _lay_out(
        self, template: bytes, runs: typing.Sequence[typing.Sequence[_Leaf]], before: Before,
    ) -> None:
        """Prepare to pack a message at once: what never changes is in it as texts."""
        at = STAMP_OFFSET + _STAMP.size
        self._first, self._head = before.constant(len(template)), template[:STAMP_OFFSET]
        form = f'<{len(self._first)}s{before.form}{STAMP_OFFSET}s{_STAMP.format[1:]}'
        self._constants: list[bytes] = []      # before each run of numbers, and after the last
        self._ends: list[int] = []             # of the runs, in the numbers
        for run in runs:
            self._constants.append(template[at:run[0].offset])
            self._ends.append((self._ends[-1] if self._ends else 0) + len(run))
            form += f'{len(self._constants[-1])}s{_format(run)[1:]}'
            at = run[0].offset + struct.calcsize(_format(run))
        self._constants.append(template[at:])
        self._pack = struct.Struct(f'{form}{len(self._constants[-1])}s').pack

    def packer(self, numbers: typing.Callable[[typing.Any], typing.Sequence[float]]) -> Packer:
        """Return a packer of messages with the numbers of values."""
        pack, first, head = self._pack, self._first, self._head
        constant, *others = self._constants
        if len(self._ends) == 1:               # so it is with most messages
            last, = others

            def packed(time_us: int, value: typing.Any, before: tuple[int, ...] = ()) -> bytes:
                return pack(
                    first, *before, head, time_us // US_PER_S, time_us % US_PER_S * 1000, constant,
                    *numbers(value), last)
            return packed
        runs = [(slice(*its), after) for its, after in zip(
            itertools.pairwise([0, *self._ends]), others)]

        def packed_in_runs(time_us: int, value: typing.Any, before: tuple[int, ...] = ()) -> bytes:
            all_of_them = numbers(value)
            values: list[float | bytes] = [constant]
            for its, after in runs:
                values += all_of_them[its]
                values.append(after)
            return pack(
                first, *before, head, time_us // US_PER_S, time_us % US_PER_S * 1000, *values)
        return packed_in_runs

    def pack(
        self, time_us: int, numbers: typing.Sequence[float], before: tuple[int, ...] = (),
    ) -> bytes:
        """Return a message with this stamp and these numbers."""
        return self._pack_numbers(time_us, numbers, before)

    def unpack(self, data: bytes) -> tuple[int, tuple[float, ...]] | None:
        """Return stamp and numbers of a message; None if it does not match the template."""
        if len(data) not in self._sizes or self._read_texts(data) != self._texts:
            return None
        seconds, nanoseconds = self._read_stamp(data, STAMP_OFFSET)
        return seconds * US_PER_S + nanoseconds // 1000, self._unpack(data, self._start)


def _format(leaves: typing.Sequence[_Leaf]) -> str:
    """Return the format of numbers with the gaps between them."""
    form, end = '<', leaves[0].offset if leaves else 0
    for leaf in leaves:
        gap = leaf.offset - end
        form += f'{gap}x{leaf.form}' if gap else leaf.form
        end = leaf.offset + struct.calcsize(leaf.form)
    return form


def _format_of_texts(texts: typing.Sequence[tuple[int, int, bytes]]) -> str:
    """Return the format of bytes with the gaps between them."""
    form, last = '', 0
    for start, end, _ in texts:
        form += f'{start - last}x{end - start}s'
        last = end
    return form


def _neighbours(leaves: typing.Sequence[_Leaf]) -> list[list[_Leaf]]:
    """Return the numbers in runs without anything between them but padding."""
    runs: list[list[_Leaf]] = []
    for leaf in leaves:
        last = runs[-1][-1] if runs else None
        if last and leaf.after == last.offset + struct.calcsize(last.form):
            runs[-1].append(leaf)
        else:
            runs.append([leaf])
    return runs


def serialised(message: typing.Any) -> bytes:
    """Return a message object as plain CDR, little-endian, with its four-byte header.

    It needs no ROS. Wide strings are not supported: none of our messages has one.

    :raises struct.error: a number does not fit its field
    """
    return bytes(_Walk(message, notes=False).data)


class _Kind(enum.Enum):
    NUMBER, TEXT, MESSAGE, SEQUENCE, ARRAY = range(5)


class _Field(typing.NamedTuple):
    kind: _Kind
    form: str = ''                 # of a number
    size: int = 0                  # of it, in bytes
    item: _Field | None = None     # of a sequence or an array


@functools.cache
def _fields_of(message_class: typing.Any) -> list[tuple[str, _Field]]:
    """Return the fields of a class of messages, by name."""
    return [(name, _field_of(kind))
            for name, kind in message_class.get_fields_and_field_types().items()]


def _field_of(kind: str) -> _Field:
    if match := re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind):
        return _Field(_Kind.SEQUENCE, item=_field_of(match[1]))
    if match := re.fullmatch(r'(.+)\[\d+\]', kind):
        return _Field(_Kind.ARRAY, item=_field_of(match[1]))
    if re.fullmatch(r'string(<\d+>)?', kind):
        return _Field(_Kind.TEXT)
    if kind in _FORMATS:
        return _Field(_Kind.NUMBER, _FORMATS[kind], struct.calcsize(f'<{_FORMATS[kind]}'))
    return _Field(_Kind.MESSAGE)


class _Walk:
    """Serialises a message and notes the offsets of its numbers and texts."""

    def __init__(self, message: typing.Any, *, notes: bool = True) -> None:
        self._notes = notes            # without them arrays are written as they are in memory
        self.data = bytearray(_HEADER)
        self.leaves: list[_Leaf] = []
        # Bytes that are the same in all messages like this one: (start, end, bytes).
        self.texts: list[tuple[int, int, bytes]] = [(0, len(_HEADER), _HEADER)]
        self._message('', message)

    def _message(self, path: str, message: typing.Any) -> None:
        fields = _fields_of(message.__class__)
        for name, field in fields:
            self._field(f'{path}.{name}' if path else name, field, getattr(message, name))
        if not fields:         # IDL has no empty structure: one byte stands for it
            self._fixed(b'\0')

    def _field(self, path: str, field: _Field, value: typing.Any) -> None:
        kind, form, size, item = field
        if kind is _Kind.NUMBER:
            after = len(self.data)
            self._align(size)
            self.leaves.append(_Leaf(path, len(self.data), form, after))
            # An octet of a message object is of type bytes.
            self.data += value if isinstance(value, bytes) else struct.pack(f'<{form}', value)
        elif kind is _Kind.TEXT:
            text = value.encode() + b'\0'
            self._constant(_LENGTH.pack(len(text)) + text)
        elif item is None:
            self._message(path, value)
        else:
            if kind is _Kind.SEQUENCE:
                self._constant(_LENGTH.pack(len(value)))
            if not self._notes and isinstance(value, (array.array, np.ndarray)):
                if len(value):
                    self._align(item.size)
                self.data += value.tobytes()
                return
            for i, its in enumerate(value):
                self._field(f'{path}[{i}]', item, its)

    def _align(self, size: int) -> None:
        self.data += bytes(-(len(self.data) - len(_HEADER)) % size)

    def _constant(self, data: bytes) -> None:
        """Write a length, and a text if it is one's."""
        self._align(_LENGTH.size)
        self._fixed(data)

    def _fixed(self, data: bytes) -> None:
        self.texts.append((len(self.data), len(self.data) + len(data), data))
        self.data += data
