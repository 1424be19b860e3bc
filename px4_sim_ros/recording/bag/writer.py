# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes a rosbag2 folder of MCAP files in simulated time, from serialised messages."""
from __future__ import annotations

import contextlib
import io
import pathlib
import typing

from px4_sim_ros import __version__
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.recording.bag import rosbag2_metadata, schema
from px4_sim_ros.recording.bag.fleet_description import FleetDescription
from px4_sim_ros.recording.bag.mcap_file import (
    McapFile,
    MessageRecord,
    Rows,
    end_without_summary,
    message_record,
)
from px4_sim_ros.recording.bag.rosbag2_metadata import FileInfo, TopicInfo, key
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.spec.run_parameters import RecorderParameters, recorded
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import qualified

NS_PER_US = 1000


class Channel:
    """Counts the messages of a topic."""

    __slots__ = 'every', 'id', 'seen'

    def __init__(self, every: int) -> None:
        """Begin.

        :param every: of so many messages one is recorded; 0: none
        """
        self.every = every
        self.id = 0                # in the file
        self.seen = 0

    def take(self) -> int | None:
        """Count a message; return its number among those that are recorded, if it is one."""
        seen, every = self.seen, self.every
        self.seen = seen + 1
        if every == 1:
            return seen
        return seen // every if every and not seen % every else None

    @property
    def written(self) -> int:
        """How many messages are recorded."""
        return -(-self.seen // self.every) if self.every else 0


RUN_ATTACHMENT = 'run.yaml'
_BYTES_PER_MB = 1_000_000
# A chunk ends with a flush; this only bounds it.
_CHUNK_BYTES = 16 * 1024 * 1024


def topics_of(run: RunDescription | FleetDescription) -> dict[str, TopicInfo]:
    """Return the topics of a recording, by name in the graph.

    If there are several vehicles, the namespace is before it.
    """
    return {qualified(vehicle, name): _topic(one, name) for vehicle, one in run.members.items()
            for name in (*one.graph.topics, *side_topics.RECORDED)}


def _topic(run: RunDescription, name: str) -> TopicInfo:
    type_name = schema.topic_type(run.graph, name)
    return TopicInfo(
        run.full_name(name), type_name, schema.type_hash(type_name),
        name in side_topics.RECORDED and side_topics.RECORDED[name].latched)


class BagWriter:
    """A bag that is being written.

    After `flush` all that was written is in the files: a process that is killed afterwards loses
    only later messages. `metadata.yaml` names each file from its beginning on, and counts its
    messages when the next one begins or the bag ends. After an OSError the bag ends with the last
    flush and is closed.
    """

    def __init__(
        self, folder: pathlib.Path, run: RunDescription | FleetDescription,
        parameters: RecorderParameters,
    ) -> None:
        """Begin in an empty folder.

        :raises OSError: nothing can be written there
        """
        self.folder = folder
        self._run_text = run.to_yaml().encode()
        self._parameters = parameters
        self._topics = topics_of(run)
        self._definitions: dict[str, str] = {}     # of types that were not known then
        self.channels = {
            qualified(vehicle, name): Channel(every) for vehicle, one in run.members.items()
            for name, every in recorded(one.graph, parameters).items()}
        """By name of the topic in the graph, with the namespace before it."""
        self._custom_data = {
            key('schema_version'): str(run.schema_version),
            key('version'): __version__, key('mode'): run.mode,
            key('autopilot'): run.autopilot,
            key('seed'): str(run.world.seed)}
        self._files: list[FileInfo] = []
        self.flush_at_us = run.world.step_us
        """Whatever is of a later time lets all before it be flushed."""
        self.flushed_us = 0        # up to which time all is on disk
        self._last_us = 0
        try:
            self._open()
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise

    def add_topic(self, name: str, type_name: str, definition: str) -> None:
        """Record a topic that was not known at the beginning.

        :param name: absolute
        :param definition: of its type, as `ros2msg`; '' if it is not known
        """
        wanted = self._parameters.topics.split()
        self._definitions[type_name] = definition
        self._topics[name] = TopicInfo(name, type_name, '', latched=True)      # as PX4's are
        self.channels[name] = Channel(1 if not wanted or name in wanted else 0)
        self._register(name, self._schema(type_name))

    def write(self, topic: str, time_us: int, data: bytes) -> None:
        """Write a serialised message, if it is among those that are recorded.

        :param topic: its name in the graph
        :param time_us: simulated time; that of topics of the step must not decrease
        :raises OSError: a flush has failed
        """
        self.write_all(time_us, self._records(topic, time_us, data))

    def _records(self, topic: str, time_us: int, data: bytes) -> typing.Iterator[MessageRecord]:
        channel = self.channels[topic]
        if (number := channel.take()) is not None:
            yield message_record(channel.id, time_us * NS_PER_US, number, data)

    def write_all(self, time_us: int, records: typing.Iterable[MessageRecord]) -> None:
        """Write messages of a time, which must not decrease.

        :param records: they are asked for when what was before is counted
        :raises OSError: a flush has failed
        """
        self._write(time_us, time_us, lambda: self._file.add_all(time_us * NS_PER_US, records))

    def write_rows(
        self, first_us: int, last_us: int, lay_out: typing.Callable[[int], Rows],
    ) -> None:
        """Write records of several times, all of them up to `flush_after_us` of the first.

        :param lay_out: returns them when what was before is counted, see `McapFile.add_rows`
        :raises OSError: a flush has failed
        """
        self._write(first_us, last_us, lambda: self._file.add_rows(lay_out))

    def _write(
        self, first_us: int, last_us: int, add: typing.Callable[[], int],
    ) -> None:
        if first_us > self.flush_at_us:
            self._flush_before(first_us)
        try:
            count = add()
        except OSError:      # a chunk was full and was flushed
            self._truncate()
            raise
        if count:
            self._last_us = last_us
            if not self._in_file:
                self._files[-1].first_us = first_us
            self._in_file += count

    def flush_after_us(self, time_us: int) -> int:
        """Return the time after which the next flush is, when all up to a time is written."""
        if time_us <= self.flush_at_us:
            return self.flush_at_us
        return time_us if self._is_full(time_us) else self._next_flush_us(time_us)

    def _next_flush_us(self, time_us: int) -> int:
        flush_us = self._parameters.flush_us
        return time_us - time_us % flush_us + flush_us

    def _flush_before(self, time_us: int) -> None:
        """Flush what is of the times before; begin another file if that is full."""
        self.flush()
        self.flush_at_us = self._next_flush_us(time_us)
        if self._is_full(time_us):
            self._finish_file()
            self._open()
            # Some readers need a message in each file, even if the run ends here.
            self.flush_at_us = time_us

    def flush(self) -> None:
        """Flush all that was written to disk; if it cannot be written, the bag ends.

        :raises OSError: it cannot be written
        """
        with self._truncate_on_failure():
            self._flush()

    def close(self) -> None:
        """Finish the bag.

        :raises OSError: its end cannot be written
        """
        self.flush()
        self._finish_file(is_final=True)

    def end_text(self, reason: str) -> str:
        """Return why the recording ends too early, as a sentence."""
        return (f'the recording in {self.folder} ends at t = {seconds_text(self.flushed_us)}:'
                f' {reason}')

    def _open(self) -> None:
        # Until it has messages it begins and ends where the file before has ended.
        info = FileInfo(
            f'{self.folder.name}_{len(self._files)}.mcap', self._last_us, self._last_us)
        self._stream = open(self.folder / info.name, 'xb')     # noqa: SIM115
        self._files.append(info)
        self._flushed_bytes = 0
        self._in_file = 0          # how many messages
        with self._truncate_on_failure():
            self._file = McapFile(
                self._stream, f'px4_sim_ros {__version__}', self._parameters.compression,
                _CHUNK_BYTES)
            self._file.add_metadata(PACKAGE, self._custom_data)
            self._file.add_attachment(RUN_ATTACHMENT, 'application/yaml', self._run_text)
            self._register_channels()
            self._file.flush()
            self._count()
            self._describe()
            self._flushed_bytes = self._file.size

    def _register_channels(self) -> None:
        """Register a channel for each topic in the file that begins."""
        self._schemas: dict[str, int] = {}
        for type_name in sorted({topic.type for topic in self._topics.values()}):
            self._schema(type_name)
        for name, topic in self._topics.items():
            self._register(name, self._schemas[topic.type])

    def _schema(self, type_name: str) -> int:
        """Return the id of a type in this file, to which its definition is added if needed."""
        if type_name not in self._schemas:
            known = self._definitions.get(type_name)
            text = schema.definition(type_name) if known is None else known
            self._schemas[type_name] = self._file.add_schema(
                type_name, 'ros2msg', text.encode())
        return self._schemas[type_name]

    def _register(self, name: str, schema_id: int) -> None:
        topic = self._topics[name]
        self.channels[name].id = self._file.add_channel(
            topic.name, 'cdr', schema_id, {
                'offered_qos_profiles': rosbag2_metadata.qos_text(topic.latched),
                'topic_type_hash': topic.type_hash})

    def _is_full(self, time_us: int) -> bool:
        split_us = self._parameters.split_duration_s * US_PER_S
        split_bytes = self._parameters.split_size_mb * _BYTES_PER_MB
        return (0.0 < split_us <= time_us - self._files[-1].first_us
                or 0.0 < split_bytes <= self._flushed_bytes)

    def _finish_file(self, *, is_final: bool = False) -> None:
        with self._truncate_on_failure():
            self._file.finish()
            self._stream.flush()
            self._describe(is_final=is_final)
        self._stream.close()

    def _flush(self) -> None:
        self._file.flush()
        self._count()
        self._flushed_bytes, self.flushed_us = self._file.size, self._last_us

    def _count(self) -> None:
        """Take in how many messages of each topic are on disk, and up to when."""
        self._files[-1].last_us, self._files[-1].messages = self._last_us, self._in_file
        self._counts = {topic: self.channels[name].written for name, topic in self._topics.items()}

    def _describe(self, *, is_final: bool = False) -> None:
        """Write `metadata.yaml`.

        Not at each flush: to replace a file takes a disk longer than to append to one.
        """
        rosbag2_metadata.replace(self.folder, rosbag2_metadata.text_of(
            self._files, self._counts, self._custom_data, is_final=is_final))

    @contextlib.contextmanager
    def _truncate_on_failure(self) -> typing.Iterator[None]:
        try:
            yield
        except OSError:
            self._truncate()
            raise

    def _truncate(self) -> None:
        """Truncate the file to what was flushed, write a footer, and count what is there."""
        # Not by the stream: closing it would flush its buffer once more.
        self._stream.raw.close()
        path = self.folder / self._files[-1].name
        # Without a footer or counts it can be read as well.
        with contextlib.suppress(OSError):
            if self._flushed_bytes:
                with open(path, 'r+b') as file:
                    file.truncate(self._flushed_bytes)
                    file.seek(0, io.SEEK_END)
                    file.write(end_without_summary())
            else:
                path.unlink()
                self._files.pop()
            if self._files:
                self._describe(is_final=True)
