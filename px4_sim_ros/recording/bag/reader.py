# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads bags that `writer` has written, also truncated and damaged ones."""
from __future__ import annotations

import contextlib
import copy
import io
import itertools
import os
import pathlib
import struct
import typing
import warnings

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, McapRecord, Schema
from mcap.records import Message as McapMessage
from mcap.stream_reader import StreamReader, get_chunk_data_stream

from px4_sim_ros.messages.px4_definitions import store_of
from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.recording.bag import rosbag2_metadata, schema
from px4_sim_ros.recording.bag.fleet_description import FleetDescription, read_description
from px4_sim_ros.recording.bag.mcap_file import MAGIC
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.recording.bag.schema import decode
from px4_sim_ros.recording.bag.writer import RUN_ATTACHMENT
from px4_sim_ros.spec.resources import first_bytes
from px4_sim_ros.step import side_topics

RUN_FILE = 'run.yaml'
"""In the folder of a bag: a description of the run that takes the place of that in its file."""
_NS_PER_US = 1000
_LARGEST_RECORD = 2**30
# Of MCAP: what kind of record it is and how long; a message's channel, number and times.
_HEAD, _OF_MESSAGE = struct.Struct('<BQ'), struct.Struct('<HIQQ')
_OF_OTHERS = ''        # the name of all topics of other vehicles than the one that is read
# What the MCAP library and its decompressors raise on damaged bytes; LZ4 a RuntimeError.
_DAMAGED = (
    McapError, ValueError, RuntimeError, MemoryError, OverflowError, struct.error,
    zstandard.ZstdError)


class Message(typing.NamedTuple):
    """A serialised message of a bag."""

    topic: str         # its name in the graph
    time_us: int       # simulated
    data: bytes


class SeveralVehiclesError(BagError):
    """A bag has to be read by vehicle."""

    def __init__(self, sentence: str, bags: typing.Iterator[BagReader]) -> None:
        super().__init__(sentence)
        self.bags = bags


def folder_and_vehicle(path: pathlib.Path) -> tuple[pathlib.Path, str]:
    """Return the folder that a path is, or that of the bag of the vehicle that it names."""
    if not path.is_dir() and path.parent.is_dir() and any(path.parent.glob('*.mcap')):
        return path.parent, path.name
    return path, ''


class BagReader:
    """A bag, read as often as needed.

    One that is still being recorded has what it had at first, however often it is read. The bag
    of several vehicles is read by vehicle, as if each were alone: `FOLDER/NAMESPACE` names one.
    """

    def __init__(self, folder: str | pathlib.Path) -> None:
        """Find the files and read the description of the run.

        :raises BagError: it is no bag, not of this package, of another version, or lacks a topic
        """
        self.folder = pathlib.Path(os.path.expanduser(folder))
        self.damage = ''       # a sentence, once a damaged file was read
        if self.folder.is_file():
            raise BagError(f'bag {folder}: is a file; name the folder that --record has made')
        files, vehicle = folder_and_vehicle(self.folder)
        if not files.is_dir():
            raise BagError(f'bag {folder}: there is no such folder')
        try:
            names, custom_data = rosbag2_metadata.files_and_data(files)
        except OSError as error:
            raise BagError(f'bag {folder}: {error.strerror}') from error
        except ValueError as error:
            raise BagError(f'bag {folder}: {error}') from error
        if not names:
            raise BagError(f'bag {folder}: there is no .mcap file in it')
        self.paths = [files / name for name in names]
        for path in self.paths:
            if not path.is_file():
                raise BagError(f'bag {folder}: {path.name} is missing')
        self._sizes = {path: path.stat().st_size for path in self.paths}
        description, channels = self._head()
        try:
            with contextlib.suppress(FileNotFoundError):
                description = read_description(files, first_bytes(files / RUN_FILE))
        except OSError as error:
            raise BagError(f'bag {folder}: {RUN_FILE}: {error.strerror}') from error
        self._custom_data, self._channels = custom_data, channels
        if vehicle not in description.members:
            vehicles = list(filter(None, description.members))
            if not vehicle:
                raise SeveralVehiclesError(
                    f'bag {folder}: several vehicles are in it; name one, such as'
                    f' {files}/{vehicles[0]}', (self._of(name, description) for name in vehicles))
            raise BagError(f'bag {folder}: there is no vehicle {vehicle} in it; there are'
                           f" {', '.join(vehicles) or 'none with a name'}")
        self._choose(vehicle, description)

    def _of(self, vehicle: str, description: RunDescription | FleetDescription) -> BagReader:
        """Return the same bag for a vehicle; what it says of the run is not read again."""
        bag = copy.copy(self)
        bag.folder = self.folder / vehicle
        bag._choose(vehicle, description)
        return bag

    def _choose(self, vehicle: str, description: RunDescription | FleetDescription) -> None:
        self.fleet = description if isinstance(description, FleetDescription) else None
        self.run = description.members[vehicle]
        self.is_one_of_several = bool(vehicle)
        self._vehicle = vehicle
        self._added: dict[str, Schema] = {}        # of topics that are none of the graph
        self._stores: dict[str, typing.Any] = {}   # what decodes them, by type
        self._check_topics(self._channels)

    def log_loss(self, vehicle: str | None = None) -> LogLoss | None:
        """Return the gaps in the logs of a vehicle's PX4; None if they are not known."""
        name = self._vehicle if vehicle is None else vehicle
        return LogLoss.of({figure: self._custom_data.get(rosbag2_metadata.key(name, figure))
                           for figure in LogLoss._fields})

    def messages(self) -> typing.Iterator[Message]:
        """Yield all messages in the order written: those of the step in the order of time.

        A damaged or truncated file is read as far as possible and is the last one; `damage` then
        describes it, as a InputWarning does.

        :raises BagError: a file is no MCAP file, or cannot be read at all
        """
        return self._messages(self._name_of)

    def messages_of_all(self) -> typing.Iterator[Message]:
        """Yield the messages of all vehicles, with absolute names of topics, as `messages`."""
        return self._messages(lambda topic: topic)

    def _messages(
        self, name_of: typing.Callable[[str], str],
    ) -> typing.Iterator[Message]:
        self.damage = ''
        time_us = 0
        # Of the next message of each topic. Without the file before it, any may be the first.
        numbers: dict[str, int] = {}
        begins_at_0 = self.paths[0].stem.endswith('_0')
        for path in self.paths:
            channels: dict[int, str] = {}
            schemas: dict[int, Schema] = {}
            records = self._records(path)
            for record in records:
                if isinstance(record, McapMessage):
                    topic = channels[record.channel_id]
                    if topic == _OF_OTHERS:
                        continue
                    number = numbers.get(topic, 0 if begins_at_0 else record.sequence)
                    if record.sequence != number:
                        records.damage = 'is damaged'       # some are missing
                        break
                    numbers[topic] = number + 1
                    time_us = record.log_time // _NS_PER_US
                    yield Message(topic, time_us, record.data)
                elif isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    name = channels[record.id] = name_of(record.topic)
                    if self.is_added(name) and record.schema_id in schemas:
                        self._added[name] = schemas[record.schema_id]
            if records.damage:
                self.damage = (f'bag {self.folder}: {path.name} {records.damage}; it was read up'
                               f' to t = {seconds_text(time_us)}')
                warnings.warn(self.damage, InputWarning, stacklevel=2)
                return

    def _name_of(self, topic: str) -> str:
        """Return the name of a topic in the graph from its absolute name."""
        name = self.run.relative_name(topic)
        return _OF_OTHERS if self.is_one_of_several and name == topic not in (
            *self.run.graph.topics, *side_topics.RECORDED) else name

    def is_added(self, name: str) -> bool:
        """Return whether a topic is none of the graph, as those of PX4 itself."""
        return name not in self.run.graph.topics and name not in side_topics.RECORDED

    def decode(self, message: Message) -> typing.Any:
        """Return a message with its fields.

        :raises BagError: it is damaged, or of a topic whose definition is not in the bag
        """
        if self.is_added(message.topic):
            return self.decode_added(message.topic, message.data)
        try:
            return decode(message.data, schema.topic_type(self.run.graph, message.topic))
        except ParameterError as error:
            raise BagError(f'bag {self.folder}: {error}') from error

    @property
    def added(self) -> list[str]:
        """The topics that are none of the graph, once the bag was read, with a definition."""
        return list(filter(self.knows, self._added))

    def knows(self, topic: str) -> bool:
        """Return whether the bag has the definition of a topic that was added."""
        return topic in self._added and bool(self._added[topic].data)

    def type_of_added(self, topic: str) -> tuple[str, str]:
        """Return type and definition of a topic that was added, once one was read; '' for none."""
        kind = self._added[topic]
        return kind.name, kind.data.decode()

    def decode_added(self, topic: str, data: bytes) -> typing.Any:
        """Return a message of a topic that is none of the graph with its fields.

        :raises BagError: its definition is not in the bag
        """
        if not self.knows(topic):
            raise BagError(f'bag {self.folder}: the definition of {topic} is missing: give the'
                           ' folder of the messages, px4_topics.messages, when it is recorded')
        kind = self._added[topic]
        if kind.name not in self._stores:
            self._stores[kind.name] = store_of({kind.name: kind.data.decode()})
        return schema.decode_by(self._stores[kind.name], data, kind.name)

    def _records(self, path: pathlib.Path) -> _Records:
        return _Records(self.folder, path, self._sizes[path])

    def _head(self) -> tuple[RunDescription | FleetDescription, dict[str, str]]:
        """Return the description of the run, and the types of the first file's topics by name."""
        run: RunDescription | FleetDescription | None = None
        schemas: dict[int, str] = {}
        types: dict[str, str] = {}
        records = self._records(self.paths[0])
        for record in records:
            if isinstance(record, Attachment) and record.name == RUN_ATTACHMENT:
                run = read_description(self.folder, record.data)
            elif isinstance(record, Schema):
                schemas[record.id] = record.name
            elif isinstance(record, Channel):
                types[record.topic] = schemas.get(record.schema_id, 'none')
            elif isinstance(record, McapMessage):
                break
        if run is None:
            if records.damage:
                raise BagError(f'bag {self.folder}: {self.paths[0].name} {records.damage}, before'
                               ' anything was recorded')
            raise BagError(f'bag {self.folder}: px4_sim_ros has not recorded it: it does not say'
                           ' how the run was set up')
        return run, types

    def _check_topics(self, types: typing.Mapping[str, str]) -> None:
        newer = schema.changed_between(self.run.schema_version, schema.VERSION)
        for name in [*self.run.graph.topics, *side_topics.RECORDED]:
            found = types.get(self.run.full_name(name))
            if found is None and types and name not in newer:
                raise BagError(f'bag {self.folder}: the topic {name} is missing')
            wanted = schema.topic_type(self.run.graph, name)
            if found not in (None, wanted):
                raise BagError(
                    f'bag {self.folder}: {name} has the type {found}, not {wanted}')


class _Records:
    """The records of a file, as far as it can be read."""

    def __init__(self, folder: pathlib.Path, path: pathlib.Path, size: int) -> None:
        self._folder, self._path, self._size = folder, path, size
        self.damage = ''       # what is wrong with the file, once that was met

    def __iter__(self) -> typing.Iterator[typing.Any]:
        """Yield them.

        :raises BagError: it does not begin as an MCAP file, or cannot be read at all
        """
        name = f'bag {self._folder}: {self._path.name}'
        known: set[int] = set()
        try:
            with open(self._path, 'rb', buffering=0) as file:
                if not MAGIC.startswith(file.read(len(MAGIC))):
                    raise BagError(f'{name} is no MCAP file')
                file.seek(0)
                records = StreamReader(
                    _Beginning(file, self._size), emit_chunks=True, validate_crcs=True,
                    record_size_limit=_LARGEST_RECORD).records
                for record in itertools.chain.from_iterable(map(_broken_up, records)):
                    if isinstance(record, Channel):
                        known.add(record.id)
                    elif isinstance(record, McapMessage) and record.channel_id not in known:
                        self.damage = 'is damaged'
                        return
                    yield record
        except BagError:
            raise
        except OSError as error:
            raise BagError(f'{name}: {error.strerror}') from error
        except (EndOfFile, struct.error):
            grows = self._path.stat().st_size > self._size
            self.damage = 'is still being recorded' if grows else 'ends too early'
        except _DAMAGED:
            self.damage = 'is damaged'


def _broken_up(record: McapRecord) -> typing.Sequence[McapRecord]:
    """Return the records of a chunk, or another one by itself.

    The library does the same, but reads each number by itself: a bag takes twice as long with it.
    """
    if not isinstance(record, Chunk):
        return (record,)
    stream, size = get_chunk_data_stream(record, validate_crc=True)
    data, place, found = stream.read(size), 0, list[McapRecord]()
    while place < size:
        opcode, length = _HEAD.unpack_from(data, place)
        place, begin = place + _HEAD.size + length, place + _HEAD.size
        if place > size:
            raise EndOfFile
        if opcode == Opcode.MESSAGE:
            channel, number, time_ns, published_ns = _OF_MESSAGE.unpack_from(data, begin)
            found.append(McapMessage(
                channel, time_ns, data[begin + _OF_MESSAGE.size:place], published_ns, number))
        elif opcode in _READ:
            found.append(_READ[opcode](ReadDataStream(io.BytesIO(data[begin:place]))))
    return found


_READ: dict[int, typing.Callable[[ReadDataStream], McapRecord]] = {
    Opcode.CHANNEL: Channel.read, Opcode.SCHEMA: Schema.read}


class _Beginning(io.RawIOBase):
    """The first bytes of a file, which may grow."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: typing.Any) -> int:
        """Read some bytes into a buffer; return how many, 0 at the end."""
        count = self._file.readinto(memoryview(buffer)[:self._left])
        self._left -= count
        return count


def vehicles_of(folder: str | pathlib.Path) -> list[BagReader]:
    """Return a bag by vehicle; the bag itself if there is only one.

    :raises BagError: as `BagReader`
    """
    try:
        return [BagReader(folder)]
    except SeveralVehiclesError as error:
        return list(error.bags)
