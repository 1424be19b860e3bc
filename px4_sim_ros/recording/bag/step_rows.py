# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Records of steps that were taken at once, laid out by machine code from rows of numbers.

They go into a file, or their messages to subscribers.

A record differs from that of the step before in its times and its number, and in numbers that
stand in a row. Where they stand is found with rows whose numbers are their own places: what turns
a row into messages stays where it is. A message whose numbers are computed from those of a row, as
that of the battery, or that has other things than numbers, is made in Python and put in its place;
one that only gets another time is made once.
"""
from __future__ import annotations

import ctypes
import functools
import math
import typing

import numpy as np

from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import IS_PLAIN, ROWS, is_kept
from px4_sim_ros.jit.compiled import put_integer
from px4_sim_ros.messages.codec import Encoder
from px4_sim_ros.messages.publications import Publication
from px4_sim_ros.messages.stamps import STAMP_OFFSET
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.bag.mcap_file import FIELDS_AT, MESSAGE_AT, Rows
from px4_sim_ros.recording.bag.writer import NS_PER_US, Channel
from px4_sim_ros.step.block import Ahead, Outputs
from px4_sim_ros.step.graph import CLOCK, COMMAND

_MOST_STEPS = 256
# Numbers of a topic: when it is due, of how many messages one is recorded and how many there were;
# its channel; where its first record is and its bytes; where its columns are in the table, how
# many; the row of a step, counted from that of its motion; how many were laid out; and which of the
# given records holds, -1 if none is given, and the end of these.
(_PERIOD_US, _EVERY, _SEEN, _CHANNEL, _AT, _SIZE, _FIRST, _COLUMNS, _ROW, _FOUND, _GIVEN, _END,
 _NUMBERS) = range(13)
# Numbers of a record that is given: since when it holds, where it is, and its bytes.
_SINCE_US, _GIVEN_AT, _GIVEN_SIZE, _GIVEN_NUMBERS = range(4)
_NO_HEAD = 0, 0, 0, 0

Members = typing.Sequence[tuple[str, Ahead]]
"""The vehicles of a step, in their order."""


class _Given(typing.NamedTuple):
    """A topic whose messages are made in Python."""

    job: int
    to: Publication
    member: int
    name: str                      # of the value


class StepRows:
    """Lays out the records of steps of which all numbers are in rows."""

    def __init__(
        self, publications: typing.Mapping[str, typing.Mapping[str, list[Publication]]],
        channels: typing.Mapping[str, Channel],
    ) -> None:
        """Begin without vehicles.

        :param publications: by vehicle and the topic that blocks know a value by
        """
        self._publications, self._channels = publications, channels
        self._known: list[typing.Any] = []         # what the jobs were made for

    def possible(self, members: Members, first_us: int, step_us: int, count: int) -> int:
        """Return how many of steps can be laid out, from the first of them on."""
        if not _is_there():
            return 0
        if not all(ahead.is_in_rows for _, ahead in members):
            return 0
        known = [(ahead.taken, list(ahead.given)) for _, ahead in members]
        if known != self._known:
            self._known = known
            self._lay_out(members)
        return min(count, _MOST_STEPS)

    def _lay_out(self, members: Members) -> None:
        """Find out where the numbers of each topic stand."""
        self._taken: list[Channel] = []
        self._given: list[_Given] = []
        jobs: list[list[int]] = []
        columns: list[tuple[int, int]] = []
        templates, base = b'', 0
        # By vehicle: the values of a step, and the same from rows of places.
        sources: list[tuple[str, list[Outputs]]] = [('', [{CLOCK: 0}] * 3)]
        for vehicle, ahead in members:
            places = np.arange(base, base + ahead.rows.shape[1], dtype=float)
            sources.append((vehicle, [
                ahead.values_of(row) for row in (ahead.rows[0], places, places + _APART)]))
            base += len(places)
        for member, (vehicle, (values, placed, apart)) in enumerate(sources, -1):
            for name, value in values.items():
                for to in self._publications[vehicle][name]:
                    record = to.encode.packer(value)(0, value, (0, 0, 0, 0))
                    is_called = member >= 0 and name in members[member][1].given
                    where = None
                    if isinstance(to.encode, Encoder) and not is_called:
                        where = _places(to.encode, placed[name], apart[name])
                    channel = self._channels[to.topic]
                    self._taken.append(channel)
                    if where is None:
                        self._given.append(_Given(len(jobs), to, member, name))
                    jobs.append([to.period_us, channel.every, 0, 0, len(templates), len(record),
                                 len(columns), len(where or ()), name == COMMAND, 0, -1, -1])
                    columns += where or ()
                    templates += record
        self._jobs = np.array(jobs, np.int64)
        self._columns = np.array(columns or [(0, 0)], np.int64)
        self._templates = np.frombuffer(templates, np.uint8).copy()
        self._out = np.zeros(_MOST_STEPS * len(templates), np.uint8)
        self._places = np.zeros((len(jobs), _MOST_STEPS, 2), np.int64)
        self._sizes = np.array(
            [0] * 7 + [*self._columns.shape, len(jobs), len(templates), len(self._out), 0])
        self._addresses = [array.ctypes.data for array in (
            self._jobs, self._columns, self._templates, self._out, self._places, self._sizes)]

    def of(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
        begin: int,
    ) -> Rows:
        """Lay out so many steps, which are possible.

        :param first_row: that of the motion of the first of them
        :param begin: the offset of the first record in the chunk
        """
        jobs, sizes = self._jobs.data, self._sizes.data        # quick for single numbers
        for i, channel in enumerate(self._taken):
            jobs[i, _SEEN], jobs[i, _CHANNEL] = channel.seen, channel.id
        rows = [ahead.rows for _, ahead in members]
        numbers = rows[0] if len(rows) == 1 else np.hstack(rows)
        assert numbers.flags.c_contiguous
        for i, number in enumerate((*numbers.shape, first_us, step_us, count, first_row, begin)):
            sizes[i] = number
        data, given = self._made(members, first_us, step_us, count, first_row)
        sizes[12] = len(given)
        # One that is given may be longer than the first of its topic.
        longest = len(self._templates) + len(self._given) * int(given[:, _GIVEN_SIZE].max())
        if (most := count * longest) > len(self._out):
            self._out = np.zeros(most, np.uint8)
            sizes[11], self._addresses[3] = most, self._out.ctypes.data
        size = _function()(
            numbers.ctypes.data, data, given.ctypes.data, *self._addresses)
        places = []
        for i, channel in enumerate(self._taken):
            channel.seen = jobs[i, _SEEN]
            if found := jobs[i, _FOUND]:
                places.append((channel.id, self._places[i, :found].ravel().tolist()))
        return Rows(self._out[:size].tobytes(), places)

    def messages(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
    ) -> typing.Iterator[tuple[int, bytes]]:
        """Yield the messages of so many steps in their order, each with the id of its channel."""
        data, places = self.of(members, first_us, step_us, count, first_row, 0)
        begins = sorted((at, channel) for channel, found in places for at in found[1::2])
        ends = [at for at, _ in begins[1:]] + [len(data)]
        for (at, channel), end in zip(begins, ends):
            yield channel, data[at + MESSAGE_AT:end]

    def _made(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
    ) -> tuple[bytes, np.ndarray]:
        """Return records that are made here, and their numbers; their heads are left open."""
        records: list[bytes] = []
        since_us: list[int] = []
        for job, to, member, name in self._given:
            numbers = self._jobs[job]
            numbers[_GIVEN] = numbers[_END] = len(records)
            steps = range(first_row + -first_us % to.period_us // step_us, first_row + count,
                          to.period_us // step_us)
            if not steps or not numbers[_EVERY]:
                continue
            ahead, of_row_us = members[member][1], first_us - first_row * step_us
            columns = ahead.columns(name, steps)
            if columns is not None:
                assert isinstance(to.encode, Encoder), 'what has numbers has one'
                records += self._records(job, to.encode, columns, len(steps))
                since_us += [of_row_us + step * step_us for step in steps]
            else:
                for step, value in ahead.values(name, steps):
                    since_us.append(of_row_us + step * step_us)
                    records.append(to.encode.packer(value)(0, value, _NO_HEAD))
            numbers[_END] = len(records)
            assert since_us[numbers[_GIVEN]] == of_row_us + steps[0] * step_us, 'one holds'
        sizes = np.array([0, *map(len, records)], np.int64)
        given = np.zeros((max(1, len(records)), _GIVEN_NUMBERS), np.int64)
        given[:len(records)] = np.transpose([since_us, np.cumsum(sizes)[:-1], sizes[1:]])
        return b''.join(records), given

    def _records(
        self, job: int, encode: Encoder, columns: typing.Any, count: int,
    ) -> list[bytes]:
        """Return the records of a value whose numbers are arrays."""
        at, size = self._jobs[job, _AT], self._jobs[job, _SIZE]
        found = np.tile(self._templates[at:at + size], (count, 1))
        for (place, form), numbers in zip(encode.leaves, encode.numbers(columns)):
            octets = np.full(count, numbers, f'<{form}').view(np.uint8).reshape(count, -1)
            found[:, MESSAGE_AT + place:MESSAGE_AT + place + octets.shape[1]] = octets
        return [row.tobytes() for row in found]


# More than any place of a row.
_APART = 1_000_000.0


def _places(
    encode: Encoder, place: typing.Any, other: typing.Any,
) -> list[tuple[int, int]] | None:
    """Return which 64-bit numbers of a record stand where in a row; None: not all of them do.

    :param place: the value from a row whose numbers are their places
    :param other: the same, from one whose numbers are `_APART` from that
    """
    where = []
    for (at, form), one, two in zip(
            encode.leaves, encode.numbers(place), encode.numbers(other)):
        if one == two or (math.isnan(one) and math.isnan(two)):
            continue
        if form != 'd' or two - one != _APART or one != int(one):
            return None
        where.append((MESSAGE_AT + at, int(one)))
    return where


@functools.cache
def _is_there() -> bool:
    """Return whether there is machine code: to make it would hold the flight."""
    return not IS_PLAIN and is_kept(ROWS)


@functools.cache
def _function() -> typing.Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 9)(address())


def address() -> int:
    """Return the address of the machine code, which is made if none is kept."""
    return machine_code.load(ROWS, _make)


def _make(numba: typing.Any) -> tuple[typing.Any, typing.Any]:
    """Return signature and function."""
    t, carray = numba.types, numba.carray
    integers, data = t.CPointer(t.int64), t.CPointer(t.uint8)

    def entry(  # type: ignore[no-untyped-def]
        rows_at, data_at, given_at, jobs_at, columns_at, templates_at, out_at, places_at, sizes_at,
    ):
        n_rows, width, first_us, step_us, count, row, begin = carray(sizes_at, 7)
        n_columns, two, n_jobs, n_templates, n_out, n_given = carray(sizes_at, 13)[7:]
        jobs, columns = carray(jobs_at, (n_jobs, _NUMBERS)), carray(columns_at, (n_columns, two))
        templates = carray(templates_at, n_templates)
        out = carray(out_at, n_out)
        rows = carray(rows_at, (n_rows, 8 * width))
        places = carray(places_at, (n_jobs, _MOST_STEPS, 2))
        given, data = carray(given_at, (n_given, _GIVEN_NUMBERS)), carray(data_at, n_out)
        size = 0
        for j in range(n_jobs):
            jobs[j, _FOUND] = 0
        for step in range(count):
            time_us = first_us + step * step_us
            for j in range(n_jobs):
                job = jobs[j]
                if time_us % job[_PERIOD_US]:
                    continue
                seen, every = job[_SEEN], job[_EVERY]
                job[_SEEN] = seen + 1
                if every == 0 or seen % every:
                    continue
                source, at, length = templates, job[_AT], job[_SIZE]
                if job[_GIVEN] >= 0:
                    while job[_GIVEN] + 1 < job[_END] and (
                            given[job[_GIVEN] + 1, _SINCE_US] <= time_us):
                        job[_GIVEN] += 1
                    source = data
                    at, length = given[job[_GIVEN], _GIVEN_AT], given[job[_GIVEN], _GIVEN_SIZE]
                for i in range(length):
                    out[size + i] = source[at + i]
                fields = size + FIELDS_AT
                put_integer(out, fields, job[_CHANNEL], 2)
                put_integer(out, fields + 2, seen // every, 4)
                put_integer(out, fields + 6, time_us * NS_PER_US, 8)
                put_integer(out, fields + 14, time_us * NS_PER_US, 8)
                stamp = size + MESSAGE_AT + STAMP_OFFSET
                put_integer(out, stamp, time_us // US_PER_S, 4)
                put_integer(out, stamp + 4, time_us % US_PER_S * NS_PER_US, 4)
                for k in range(job[_FIRST], job[_FIRST] + job[_COLUMNS]):
                    at, place = size + columns[k, 0], 8 * columns[k, 1]
                    for i in range(8):
                        out[at + i] = rows[row + step + job[_ROW], place + i]
                places[j, job[_FOUND], 0] = time_us * NS_PER_US
                places[j, job[_FOUND], 1] = begin + size
                job[_FOUND] += 1
                size += length
        return size

    return t.int64(
        data, data, integers, integers, integers, data, data, integers, integers), entry
