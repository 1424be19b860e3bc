# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compares two recordings message by message, bit by bit."""
from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import struct
import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.schema import changed_between, decode, topic_type
from px4_sim_ros.step.graph import AUTOPILOT_STATE

_Read = typing.Callable[[bytes], typing.Any]


# A larger message, an image or a cloud, is read rather than tried byte by byte.
_MOST_MASKED = 2048
_PADDING = 8           # bytes at the end of a message, at most


def value_mask(data: bytes, read: _Read) -> int:
    """Return a number with all bits set of those bytes that carry a value.

    These are the bytes whose change alters a field, or makes the message unreadable.
    """
    fields = read(data)
    mask = bytearray(len(data))
    for i, byte in enumerate(data):
        # Flipping all bits is not enough: a true would stay true.
        for other in (byte ^ 0xff, byte ^ 0x01):
            changed = data[:i] + bytes([other]) + data[i + 1:]
            try:
                is_padding = differing_field('', fields, read(changed)) is None
            except ParameterError:
                is_padding = False
            if not is_padding:
                mask[i] = 0xff
    return int.from_bytes(mask)


def differing_field(
    path: str, one: typing.Any, other: typing.Any,
) -> tuple[str, typing.Any, typing.Any] | None:
    """Return path and values of the first field with other bits, None if there is none."""
    if dataclasses.is_dataclass(one):
        parts = ((f'{path}.{field.name}'.lstrip('.'), getattr(one, field.name),
                  getattr(other, field.name)) for field in dataclasses.fields(one))
    elif isinstance(one, (np.ndarray, list)):
        if len(one) != len(other):
            return f'the length of {path}', len(one), len(other)
        if isinstance(one, np.ndarray):
            i = _first_difference(one, other)
            return None if i is None else (f'{path}[{i}]', _plain(one[i]), _plain(other[i]))
        parts = ((f'{path}[{i}]', a, b) for i, (a, b) in enumerate(zip(one, other)))
    else:
        return None if _bits(one) == _bits(other) else (path, _plain(one), _plain(other))
    return next((found for part in parts if (found := differing_field(*part))), None)


def _first_difference(one: np.ndarray, other: np.ndarray) -> int | None:
    """Return the index of the first element with other bits, None if there is none."""
    mine, yours = (np.frombuffer(array.tobytes(), np.uint8) for array in (one, other))
    differing = np.flatnonzero(mine != yours)
    return int(differing[0]) // one.itemsize if len(differing) else None


def _bits(value: typing.Any) -> typing.Any:
    if isinstance(value, np.generic):
        return value.tobytes()
    return struct.pack('<d', value) if isinstance(value, float) else value


def _plain(value: typing.Any) -> typing.Any:
    return value.item() if isinstance(value, np.generic) else value


def value_text(value: typing.Any) -> str:
    """Return the value of a field; of a NaN its bits as well."""
    if isinstance(value, float):
        bits = f' (bits {struct.pack(">d", value).hex()})' if math.isnan(value) else ''
        return f'{value}{bits}'
    return repr(value)


class Difference(typing.NamedTuple):
    """Where two runs differ."""

    topic: str
    time_us: int       # simulated
    field: str         # such as 'pose.covariance[3]'; '' when one run has no such message
    one: typing.Any    # its value in the first run, None when it has no such message
    other: typing.Any  # the same of the second run


class TopicComparison(typing.NamedTuple):
    """How many messages of a topic agree, and the first that does not."""

    equal: int
    differ: int
    only_one: int
    only_other: int
    first: Difference | None


@dataclasses.dataclass(frozen=True)
class BagComparison:
    """What two runs have in common; pairs are of the first run and of the second."""

    names: tuple[str, str]                 # the folders
    topics: dict[str, TopicComparison]     # of both runs, in the order of the graph
    topics_of_one_run: tuple[tuple[str, ...], tuple[str, ...]]
    ends_us: tuple[int, int]               # time of the last step; 0 without any
    damages: tuple[str, str]               # a sentence each, '' where a bag is whole
    versions: dict[str, tuple[str | None, str | None]]     # those that differ
    topics_left_out: tuple[str, ...]       # as versions of the contract differ in them

    @property
    def messages(self) -> int:
        """How many times of topics were compared."""
        return sum(sum(topic[:4]) for topic in self.topics.values())

    @property
    def differences(self) -> int:
        """How many messages differ, or are in one run only."""
        return self.messages - sum(topic.equal for topic in self.topics.values())

    @property
    def agree(self) -> bool:
        """Whether all that was compared has the same bits."""
        return self.messages > 0 and self.differences == 0

    @property
    def identical(self) -> bool:
        """Whether the runs agree, have the same topics and end at the same time."""
        return (self.agree and not any(self.topics_of_one_run)
                and self.ends_us[0] == self.ends_us[1])

    @functools.cached_property
    def first(self) -> Difference | None:
        """The first difference of all: the earliest, then in the order of the graph."""
        found = [topic.first for topic in self.topics.values() if topic.first]
        return min(found, key=lambda difference: difference.time_us, default=None)

    @property
    def sentence(self) -> str:
        if not self.messages:
            return 'there is nothing to compare: the recordings have no message at the same time'
        if self.first is None:
            text = f'all {self.messages} common messages are bit-identical'
        else:
            text = (f'{self.differences} of {self.messages} messages differ, first'
                    f' {difference_text(self.first, self.names)}')
        return '; '.join([text, *self._remarks()])

    def _remarks(self) -> list[str]:
        remarks = []
        if self.ends_us[0] != self.ends_us[1]:
            remarks.append(' and '.join(
                f'{name} ends at t = {seconds_text(end_us)}'
                for name, end_us in zip(self.names, self.ends_us)))
        if self.topics_left_out:
            remarks.append(f'not compared are {", ".join(self.topics_left_out)}, which versions of'
                           ' the recordings differ in')
        remarks += [f'only {name} has {", ".join(topics)}'
                    for name, topics in zip(self.names, self.topics_of_one_run) if topics]
        if self.differences and self.versions:
            remarks.append('the versions differ as well, which may change last bits: ' + ', '.join(
                f'{name} {one} and {other}' for name, (one, other) in self.versions.items()))
        return remarks


def differing_text(comparison: BagComparison) -> str:
    """Return the topics that differ, with how many of their messages do."""
    counts = {name: sum(topic[1:4]) for name, topic in comparison.topics.items()}
    return ', '.join(f'{name} {count}' for name, count in counts.items() if count)


def difference_text(difference: Difference, names: tuple[str, str]) -> str:
    """Return a difference as the end of a sentence; `names` are those of the runs."""
    where = f'{difference.topic} at t = {seconds_text(difference.time_us)}'
    if not difference.field:
        return f'{where}, which only {names[difference.one is None]} has'
    return (f'{where}, {difference.field}: {value_text(difference.one)} and'
            f' {value_text(difference.other)}')


def compare_bags(one: BagReader, other: BagReader) -> BagComparison:
    """Compare the topics of the step of two runs; side topics are left out.

    So are topics in which the versions of the recordings differ.

    A message is identified by its topic and its stamp. Both bags are read in step, so only the
    messages of a few steps are in memory. The last step of a truncated bag may be incomplete:
    what it lacks there is no difference.

    :raises BagError: a file cannot be read
    """
    mine, yours = _Steps(one), _Steps(other)
    both = [name for name in one.run.graph.topics if name in other.run.graph.topics]
    changed = changed_between(one.run.schema_version, other.run.schema_version)
    counters = {name: _Counter(name, functools.partial(
        decode, type_name=topic_type(one.run.graph, name)))
        for name in both if name not in changed}
    added: dict[str, _Counter] = {}            # of topics that are none of the graph
    while mine.now and yours.now:
        time_us = min(mine.now[0], yours.now[0])
        messages, other_messages = mine.take(time_us), yours.take(time_us)
        for name, counter in counters.items():
            data, other_data = messages.get(name), other_messages.get(name)
            if (data is not None or not mine.is_cut) and (
                    other_data is not None or not yours.is_cut):
                counter.add(time_us, data, other_data)
        for key in dict.fromkeys((*messages, *other_messages)):
            name = key.partition(_AGAIN)[0]
            if one.is_added(name):
                if name not in added:
                    added[name] = _Counter(name, _reader(one, other, name))
                added[name].add(time_us, messages.get(key), other_messages.get(key))
    counters |= {name: counter for name, counter in added.items() if counter.is_of_both}
    return BagComparison(
        (str(one.folder), str(other.folder)),
        {name: counter.result() for name, counter in counters.items()},
        _topics_of_one_run(one, other), (mine.last_us(), yours.last_us()),
        (one.damage, other.damage), _differing_versions(one, other),
        tuple(name for name in both if name in changed))


_AGAIN = '#'
"""Behind the name of a topic that has a further message in a step."""


def _reader(one: BagReader, other: BagReader, topic: str) -> _Read | None:
    """Return a decoder of a topic that was added, None if no recording has its definition."""
    for bag in one, other:
        if bag.knows(topic):
            return functools.partial(bag.decode_added, topic)
    return None


class _Steps:
    """The steps of a bag, one after the other."""

    def __init__(self, bag: BagReader) -> None:
        self._bag = bag
        names = bag.run.graph.topics
        self._steps = itertools.groupby(
            (m for m in bag.messages() if m.topic in names or bag.is_added(m.topic)),
            lambda m: m.time_us)
        self.now: tuple[int, dict[str, bytes]] | None = None   # time, and data by topic
        self._last_us = 0
        self._advance()

    @property
    def is_cut(self) -> bool:
        """Whether the step last taken is the last one of a damaged bag."""
        return self.now is None and bool(self._bag.damage)

    def take(self, time_us: int) -> dict[str, bytes]:
        """Return the messages of a time, none if the next step is another one."""
        if self.now is None or self.now[0] != time_us:
            return {}
        messages = self.now[1]
        self._advance()
        return messages

    def last_us(self) -> int:
        """Read to the end and return the time of the last step, 0 without any."""
        while self.now:
            self._advance()
        return self._last_us

    def _advance(self) -> None:
        time_us, messages = next(self._steps, (0, ()))
        found: dict[str, bytes] = {}
        for message in messages:
            key = message.topic
            while key in found:                # PX4 may say something twice in a step
                key += _AGAIN
            found[key] = message.data
        self.now = (time_us, found) if time_us else None
        self._last_us = time_us or self._last_us


class _Counter:
    """Compares the messages of a topic."""

    def __init__(self, topic: str, read: _Read | None) -> None:
        """Begin.

        :param read: decodes a message; None: its fields are not known, and each byte counts
        """
        self._topic, self._read = topic, read
        self._masks: dict[int, int] = {}       # by length
        self._equal = self._differ = self._only_one = self._only_other = 0
        self._first: Difference | None = None

    def add(self, time_us: int, one: bytes | None, other: bytes | None) -> None:
        """Compare two serialised messages; None is a missing one."""
        if one is None and other is None:
            return
        if one == other or self._differ_in_padding(one, other):
            self._equal += 1
            return
        if other is None:
            self._only_one += 1
        elif one is None:
            self._only_other += 1
        else:
            self._differ += 1
        if self._first is None:
            self._first = Difference(self._topic, time_us, *self._difference(one, other))

    @property
    def is_of_both(self) -> bool:
        """Whether both runs have messages of the topic."""
        return bool(self._equal or self._differ or (self._only_one and self._only_other))

    def result(self) -> TopicComparison:
        return TopicComparison(
            self._equal, self._differ, self._only_one, self._only_other, self._first)

    def _differ_in_padding(self, one: bytes | None, other: bytes | None) -> bool:
        """Return whether two messages differ only in the bytes that CDR leaves undefined.

        These are between fields and, as the middleware pads a message, at the end. Within a topic
        messages of one length have one layout: all texts in them are constant.
        """
        if one is None or other is None or self._read is None:
            return False
        shorter = min(one, other, key=len)
        size = len(shorter)
        if size > _MOST_MASKED:
            return abs(len(one) - len(other)) <= _PADDING and (
                differing_field('', self._read(one), self._read(other)) is None)
        mask = self._masks.get(size)
        if mask is None:
            mask = self._masks[size] = value_mask(shorter, self._read)
        return not (int.from_bytes(one[:size]) ^ int.from_bytes(other[:size])) & mask

    def _difference(self, one: bytes | None, other: bytes | None) -> tuple[str, object, object]:
        if one is None or other is None or self._read is None:
            return '', one, other
        found = differing_field('', self._read(one), self._read(other))
        # rosbags makes a quiet NaN of a signalling one of 32 bits.
        return found or ('the kind of a NaN', math.nan, math.nan)


def _topics_of_one_run(
    one: BagReader, other: BagReader,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    mine, yours = one.run.graph.topics, other.run.graph.topics
    # A replay has no autopilot that could say anything.
    unsaid = {AUTOPILOT_STATE} if 'recording' in {
        one.run.world.commands, other.run.world.commands} else set()
    return (tuple(name for name in mine if name not in {*yours, *unsaid}),
            tuple(name for name in yours if name not in {*mine, *unsaid}))


def _differing_versions(
    one: BagReader, other: BagReader,
) -> dict[str, tuple[str | None, str | None]]:
    mine, yours = one.run.versions, other.run.versions
    return {name: (mine.get(name), yours.get(name)) for name in mine | yours
            if mine.get(name) != yours.get(name)}
