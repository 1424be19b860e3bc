# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes a recording of a bag of `ros2 bag record`.

`python examples/import_bag.py walk -o flights/walk --wind dryden`. In the bag messages stand in the
order of arrival at wall time, and nothing says how the run was set up: the options say it.
"""
from __future__ import annotations

import argparse
import contextlib
import itertools
import pathlib
import sqlite3
import struct
import sys
import typing

import zstandard
from rosbags.rosbag2 import Reader, ReaderError

from px4_sim_ros.cli.arguments import ArgumentParser
from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.process.new_folder import make_folder, new_folder
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.recording.bag.schema import decode
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.recording.bag.writer_thread import LostError, ReorderBuffer
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.configuration import Configuration, load_configuration, profile_parameters
from px4_sim_ros.spec.run_parameters import RecorderParameters
from px4_sim_ros.step import graph, side_topics

# Of simulated time: what is missing when all else has come so much further was lost.
_WINDOW_US = 60 * US_PER_S
_ADDED_AT_ONCE = 1000
# What the library and its decompressors raise on damaged bytes.
_DAMAGED = (ReaderError, sqlite3.Error, struct.error, zstandard.ZstdError, ValueError,
            AssertionError, KeyError, IndexError, MemoryError, OverflowError)


class Imported(typing.NamedTuple):
    """What has become of a bag."""

    end_us: int        # up to which time all steps are whole
    problem: str       # why what comes then is not in it, as a sentence; '' if nothing does


def import_bag(
    bag: pathlib.Path, folder: pathlib.Path, run: RunDescription, parameters: RecorderParameters,
) -> Imported:
    """Write the messages of a bag as a recording, in the order of their stamps.

    :param bag: folder of `ros2 bag record` with all topics of the run, from its first step on
    :param folder: that the recording becomes
    :param run: how the run was set up
    :param parameters: how to record; the folder in them does not count
    :raises BagError: it cannot be read, or lacks a topic or the first step
    :raises ParameterError: the folder exists, or cannot be made
    :raises OSError: the recording cannot be written
    """
    new_folder(folder)
    steps = _Steps(bag, run)
    messages = steps.in_order(_received(bag, run))
    first = next(messages)
    writer = BagWriter(make_folder(folder), run, parameters)
    for message in itertools.chain([first], messages):
        writer.write(*message)
    writer.close()
    return Imported(steps.end_us, steps.problem)


def _received(
    bag: pathlib.Path, run: RunDescription,
) -> typing.Iterator[tuple[str, bytes]]:
    """Yield the messages of a run as they have arrived, by the name of their topic in the graph."""
    known = [*run.graph.topics, *side_topics.RECORDED]
    names = {run.full_name(name): name for name in known}
    try:
        with Reader(bag) as reader:
            found = {names[c.topic]: c for c in reader.connections if c.topic in names}
            for name in known:
                if name in run.graph.topics and name not in found:
                    raise BagError(f'bag {bag}: the topic {run.full_name(name)} is missing; ros2'
                                   ' bag record has to record all topics')
                wanted = schema.topic_type(run.graph, name)
                if name in found and found[name].msgtype != wanted:
                    raise BagError(f'bag {bag}: {run.full_name(name)} has the type'
                                   f' {found[name].msgtype}, not {wanted}')
            for connection, _, data in reader.messages(list(found.values())):
                yield names[connection.topic], bytes(data)
    except OSError as error:
        raise BagError(f'bag {bag}: {error.strerror or error}') from error
    except BagError:
        raise
    except _DAMAGED as error:
        why = str(error).splitlines() or [type(error).__name__]
        raise BagError(f'bag {bag}: is damaged: {why[0]}') from error


class _Steps:
    """Joins messages to steps by their stamps."""

    def __init__(self, bag: pathlib.Path, run: RunDescription) -> None:
        self._bag, self._run = bag, run
        world = run.world
        self._buffer = ReorderBuffer(
            {name: topic.period_us(world.step_us, world.periods_us)
             for name, topic in run.graph.topics.items()}, world.step_us, _WINDOW_US)
        self._clock_us = 0
        self._whole: list[Message] = []
        self.problem = ''

    @property
    def end_us(self) -> int:
        """Up to which time all steps are whole."""
        return self._buffer.complete_us

    def in_order(
        self, received: typing.Iterable[tuple[str, bytes]],
    ) -> typing.Iterator[Message]:
        """Yield the messages of all steps that are whole, and those beside them.

        :raises BagError: no step is
        """
        try:
            for count, (name, data) in enumerate(received, 1):
                self._add(name, data)
                if count % _ADDED_AT_ONCE == 0:
                    yield from self._take()
        except BagError as error:          # what has come by then is kept
            self.problem = str(error)
        yield from self._take()
        lacking = ', '.join(map(self._run.full_name, self._buffer.waits_for()))
        missing = (f'bag {self._bag}: {lacking} for t = {seconds_text(self._buffer.next_us)} is'
                   ' missing')
        if not self.end_us:
            raise BagError(self.problem or f'{missing}; begin to record before the first step,'
                           ' which paused:=true holds')
        if self._clock_us > self._buffer.next_us and not self.problem:
            self.problem = missing

    def _take(self) -> list[Message]:
        """Return the messages of the steps that are whole by now."""
        with contextlib.suppress(LostError):        # it is reported at the end
            self._whole += self._buffer.take()
        if not self.end_us:
            return []
        whole, self._whole = self._whole, []
        return whole

    def _add(self, name: str, data: bytes) -> None:
        if name == graph.ABSENCE:
            header = decode(data, side_topics.NO_MEASUREMENT.type)
            silent = [topic.name for topic in self._run.graph.outputs(header.frame_id)]
            self._buffer.add_no_measurement(name, stamp_us(header.stamp), data, silent)
        elif name not in self._run.graph.topics:
            self._buffer.add_side_message(name, data)
        else:
            time_us = serialised_stamp_us(data)
            if name == graph.CLOCK:
                self._note_clock(time_us)
            self._buffer.add(name, time_us, data)

    def _note_clock(self, time_us: int) -> None:
        if time_us < self._clock_us:
            raise BagError(f'bag {self._bag}: time goes back from t ='
                           f' {seconds_text(self._clock_us)} to {seconds_text(time_us)}; there is'
                           ' more than one run in it')
        self._clock_us = time_us


def _configuration(options: argparse.Namespace) -> Configuration:
    """Return how the run was set up, as the options say, with how to record.

    :raises ParameterError: a parameter is not allowed
    """
    given = settings.settings(options)
    given[''] |= {'recorder': True}
    return load_configuration(options.params_file, given, options.namespace,
                              base=profile_parameters(options.profile))


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Make the recording; return 0, 1 if a part of the bag is missing in it, 2 for bad input."""
    parser = ArgumentParser(prog='import_bag', description=__doc__)
    parser.add_argument('bag', type=pathlib.Path, help='folder that ros2 bag record has made')
    parser.add_argument('-o', '--output', type=pathlib.Path, required=True, metavar='FOLDER',
                        help='that the recording becomes; it must not exist yet')
    parser.add_argument('--namespace', default='', help='of the nodes that were recorded')
    settings.add_graph_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        configuration = _configuration(options)
        run = RunDescription.of(
            configuration, mode='composed', autopilot='none', namespace=options.namespace)
        found = import_bag(options.bag, options.output, run,
                           configuration.of_node('recorder', RecorderParameters))
    except ParameterError as error:
        print(f'import_bag: {error}', file=sys.stderr)
        return 2
    print(f'{options.output}: all up to t = {seconds_text(found.end_us)}')
    if found.problem:
        print(f'import_bag: {found.problem}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
