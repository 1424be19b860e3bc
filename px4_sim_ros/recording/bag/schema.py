# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The contract of a recording: its version, its topics, their types and what they mean.

`docs/recording.md` is the document; a test compares it with this and with the graph. Whoever
changes a topic, a type or a meaning raises the version.
"""
from __future__ import annotations

import hashlib
import json

from px4_sim_ros.recording.bag.message_definitions import definition
from px4_sim_ros.step import graph, side_topics

VERSION = 7
# Recordings of these versions are read as well: since then only these topics mean more or else.
CHANGED_SINCE = {1: frozenset({'joint_states', 'visual_odometry'}),
                 2: frozenset({graph.FAULTS, graph.AUTOPILOT_STATE}),
                 3: frozenset({side_topics.ESTIMATE.name, side_topics.SET_POINT.name,
                               side_topics.AUTOPILOT_STATUS.name, graph.AUTOPILOT_STATE}),
                 4: frozenset({graph.WAKE, graph.WAKES}),
                 5: frozenset({'joint_states'}),
                 6: frozenset({'gps/fix', 'gps/vel', 'battery_state', graph.AUTOPILOT_STATE})}


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
