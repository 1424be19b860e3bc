# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The file `metadata.yaml` of a rosbag2 folder, version 9 (Jazzy)."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import typing

import yaml

from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.resources import DUMPER, PACKAGE, first_bytes, parse_yaml

FILE_NAME = 'metadata.yaml'
_VERSION = 9
_INFORMATION, _PATHS = 'rosbag2_bagfile_information', 'relative_file_paths'
_TOPICS = 'topics_with_message_count'
_NS_PER_US = 1000
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}


@dataclasses.dataclass
class FileInfo:
    """The content of one file of a bag; times are simulated."""

    name: str
    first_us: int = 0
    last_us: int = 0
    messages: int = 0


class TopicInfo(typing.NamedTuple):
    name: str
    type: str
    type_hash: str
    latched: bool


def qos_profiles(latched: bool) -> list[dict[str, typing.Any]]:
    """Return with what quality of service a topic was offered, as rosbag2 writes it."""
    return [{
        'history': 'keep_last', 'depth': 1 if latched else 100, 'reliability': 'reliable',
        'durability': 'transient_local' if latched else 'volatile', 'deadline': dict(_FOREVER),
        'lifespan': dict(_FOREVER), 'liveliness': 'automatic',
        'liveliness_lease_duration': dict(_FOREVER), 'avoid_ros_namespace_conventions': False}]


@functools.cache
def qos_text(latched: bool) -> str:
    """Return the same as the YAML text that a channel of an MCAP file carries."""
    return yaml.safe_dump(qos_profiles(latched), sort_keys=False)


def replace(folder: pathlib.Path, text: bytes) -> None:
    """Replace the file atomically, so that it is complete at any time.

    :raises OSError: it cannot be written; the one before stays
    """
    with atomic_write.replaced(folder / FILE_NAME) as new:
        new.write_bytes(text)


def text_of(
    files: typing.Sequence[FileInfo], topics: typing.Mapping[TopicInfo, int],
    custom_data: dict[str, str], *, is_final: bool,
) -> bytes:
    return (_yaml if is_final else _json)(files, topics, custom_data).encode()


def _yaml(
    files: typing.Sequence[FileInfo], topics: typing.Mapping[TopicInfo, int],
    custom_data: dict[str, str],
) -> str:
    return yaml.dump(_content(files, [
        {'topic_metadata': _topic(topic), 'message_count': count}
        for topic, count in topics.items()], custom_data), Dumper=DUMPER, sort_keys=False)


def _json(
    files: typing.Sequence[FileInfo], topics: typing.Mapping[TopicInfo, int],
    custom_data: dict[str, str],
) -> str:
    # A step waits for it: what never changes is made once.
    counts = ', '.join(f'{{"topic_metadata": {_topic_json(topic)}, "message_count": {count}}}'
                       for topic, count in topics.items())
    return json.dumps(_content(files, [], custom_data)).replace(
        f'"{_TOPICS}": []', f'"{_TOPICS}": [{counts}]', 1)


@functools.cache
def _topic_json(topic: TopicInfo) -> str:
    return json.dumps(_topic(topic))


def _topic(topic: TopicInfo) -> dict[str, typing.Any]:
    return {'name': topic.name, 'type': topic.type, 'serialization_format': 'cdr',
            'offered_qos_profiles': qos_profiles(topic.latched),
            'type_description_hash': topic.type_hash}


def _content(
    files: typing.Sequence[FileInfo], topics: list[dict[str, typing.Any]],
    custom_data: dict[str, str],
) -> dict[str, typing.Any]:
    filled = [file for file in files if file.messages]
    first_us = min((file.first_us for file in filled), default=0)
    last_us = max((file.last_us for file in filled), default=0)
    return {_INFORMATION: {
        'version': _VERSION,
        'storage_identifier': 'mcap',
        'duration': {'nanoseconds': (last_us - first_us) * _NS_PER_US},
        'starting_time': {'nanoseconds_since_epoch': first_us * _NS_PER_US},
        'message_count': sum(file.messages for file in files),
        _TOPICS: topics,
        'compression_format': '',       # chunks are compressed by MCAP, not by rosbag2
        'compression_mode': '',
        _PATHS: [file.name for file in files],
        'files': [
            {'path': file.name,
             'starting_time': {'nanoseconds_since_epoch': file.first_us * _NS_PER_US},
             'duration': {'nanoseconds': (file.last_us - file.first_us) * _NS_PER_US},
             'message_count': file.messages}
            for file in files],
        'custom_data': custom_data,
        'ros_distro': os.environ.get('ROS_DISTRO', 'jazzy'),
    }}


def key(*parts: str) -> str:
    """Return the name of an entry of the custom data that is of this package."""
    return '.'.join(filter(None, (PACKAGE, *parts)))


def files_and_data(folder: pathlib.Path) -> tuple[list[str], dict[str, str]]:
    """Return the names of the files of a bag in their order, and its custom data."""
    if not (folder / FILE_NAME).exists():
        return sorted((file.name for file in folder.glob('*.mcap')), key=_number), {}
    information = _read(folder)[_INFORMATION]
    if information.get('storage_identifier') != 'mcap':
        raise ValueError(f"its storage is {information.get('storage_identifier')}, not mcap")
    custom_data = information.get('custom_data')      # of rosbag2, there may be none
    return ([str(name) for name in information[_PATHS]],
            custom_data if isinstance(custom_data, dict) else {})


def add_custom_data(folder: pathlib.Path, entries: typing.Mapping[str, str]) -> None:
    """Add entries to the metadata of a bag that is complete.

    :raises OSError: they cannot be read or written; then they stay as they were
    :raises ValueError: `metadata.yaml` is none
    """
    content = _read(folder)
    content[_INFORMATION].setdefault('custom_data', {}).update(entries)
    replace(folder, yaml.dump(content, Dumper=DUMPER, sort_keys=False).encode())


def _read(folder: pathlib.Path) -> typing.Any:
    try:
        content = parse_yaml(first_bytes(folder / FILE_NAME), FILE_NAME)
        iter(content[_INFORMATION][_PATHS])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f'{FILE_NAME} is no metadata of rosbag2') from error
    return content


def _number(name: str) -> tuple[int, str]:
    text = pathlib.Path(name).stem.rpartition('_')[2]
    return (int(text) if text.isdigit() else 0), name
