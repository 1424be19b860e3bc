# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The contract of a recording: its version, its topics, their types and what they mean.

`docs/recording.md` is the document; a test compares it with this and with the graph. A
change of a topic, a type or a meaning raises the version.
"""
from __future__ import annotations

import functools
import hashlib
import json
import re
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.step import graph, side_topics

# Definitions of ROS messages, for bags to carry and for decoding.

_CONSTANT = re.compile(r'\S+ \w+=')
_SEPARATOR = '=' * 80 + '\n'


@functools.cache
def _store() -> typing.Any:
    """Return the definitions; a process that only reads what is flown does without them."""
    from rosbags.typesys import Stores, get_typestore
    # All that we record has the same definition in Jazzy and in later releases.
    return get_typestore(Stores.ROS2_JAZZY)


@functools.cache
def definition(type_name: str) -> str:
    """Return the text of a definition with all that it refers to (encoding `ros2msg`).

    Fields come before constants: some tools look for the header in the first line.
    """
    parts = _store().generate_msgdef(type_name, ros_version=2)[0].split(_SEPARATOR)
    return _SEPARATOR.join(
        ''.join(sorted(part.splitlines(keepends=True), key=lambda line: (
            not line.startswith('MSG: '), _CONSTANT.match(line) is not None)))
        for part in parts)


@functools.cache
def type_hash(type_name: str) -> str:
    """Return the hash of a type by REP-2011 (`RIHS01_...`)."""
    found: str = _store().hash_rihs01(type_name)
    return found


def decode(data: bytes, type_name: str) -> typing.Any:
    """Return a serialised message as an object with the fields of its definition.

    Four times as fast as rclpy, and it needs no ROS.

    :raises ParameterError: it is damaged
    """
    return decode_by(_store(), data, type_name)


def decode_by(store: typing.Any, data: bytes, type_name: str) -> typing.Any:
    """Return the same of a type that a store of rosbags knows."""
    try:
        return store.deserialize_cdr(data, type_name)
    except Exception as error:         # of bytes that are damaged it raises many
        raise ParameterError(f'a message of {type_name}: is damaged') from error


VERSION = 10
# Recordings of these versions are read as well: since then only these topics mean more or else.
CHANGED_SINCE = {1: frozenset({'joint_states', 'visual_odometry'}),
                 2: frozenset({graph.FAULTS, graph.AUTOPILOT_STATE}),
                 3: frozenset({side_topics.ESTIMATE.name, side_topics.SET_POINT.name,
                               side_topics.AUTOPILOT_STATUS.name, graph.AUTOPILOT_STATE}),
                 4: frozenset({graph.WAKE, graph.WAKES}),
                 5: frozenset({'joint_states'}),
                 6: frozenset({'gps/fix', 'gps/vel', 'battery_state', graph.AUTOPILOT_STATE}),
                 7: frozenset({'gps/sky'}),
                 8: frozenset({graph.HULL, graph.COLLISION}),
                 9: frozenset({graph.HULL, graph.COLLISION})}


def changed_between(one: int, other: int) -> frozenset[str]:
    """Return the topics that are not the same in two versions."""
    return frozenset().union(*(
        CHANGED_SINCE[version] for version in range(min(one, other), max(one, other))))


def topic_type(nodes: graph.Graph, name: str) -> str:
    """Return the ROS type of a topic of a recording.

    :raises KeyError: no recording has it
    """
    return nodes.topics[name].type if name in nodes.topics else side_topics.RECORDED[name].type


def fingerprint() -> str:
    """Return a short hash of the contract; it changes whenever the contract does."""
    contract = {
        'step': [[t.name, t.type, t.publisher, t.instead, t.period, t.meaning]
                 for t in graph.TOPICS.values()],
        'beside': [[t.name, t.type, t.meaning] for t in side_topics.RECORDED.values()],
        'definitions': {name: definition(name) for name in (
            *(t.type for t in graph.TOPICS.values()),
            *(t.type for t in side_topics.RECORDED.values()))}}
    return hashlib.sha256(json.dumps(contract, sort_keys=True).encode()).hexdigest()[:16]
