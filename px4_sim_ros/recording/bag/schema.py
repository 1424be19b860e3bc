"""The contract of a recording: its version, its topics, their types and what they mean.

`docs/recording.md` is the document; a test compares it with this and with the graph. Whoever
changes a topic, a type or a meaning raises the version.
"""
from __future__ import annotations

import dataclasses
import hashlib
import json

from px4_sim_ros.messages import run_status
from px4_sim_ros.recording.bag.message_definitions import definition
from px4_sim_ros.step import graph

VERSION = 1


@dataclasses.dataclass(frozen=True)
class SideTopic:
    """A topic that is no output of a step: it is recorded, but a replay does not repeat it."""

    name: str
    type: str
    meaning: str
    latched: bool = False


SIDE_TOPICS: dict[str, SideTopic] = {topic.name: topic for topic in (
    SideTopic(graph.ABSENCE, 'std_msgs/msg/Header',
                'time at which the sensor frame_id, which is stopped, would have measured'),
    SideTopic('hil/state', 'std_msgs/msg/String',
                'state of the link: WAITING, FREEWHEEL, LOCKED, STALLED', latched=True),
    SideTopic(run_status.TOPIC, 'diagnostic_msgs/msg/DiagnosticStatus',
                'what the manager is about, its counters and the real-time factor', latched=True),
    SideTopic('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray',
                'each node: its counters and the wall time that it took'),
    SideTopic('/rosout', 'rcl_interfaces/msg/Log',
                'what nodes and the pilot have said', latched=True),
)}


def topic_type(nodes: graph.Graph, name: str) -> str:
    """Return the ROS type of a topic of a recording.

    :raises KeyError: no recording has it
    """
    return nodes.topics[name].type if name in nodes.topics else SIDE_TOPICS[name].type


def fingerprint() -> str:
    """Return a short hash of the contract; it changes whenever the contract does."""
    contract = {
        'step': [[t.name, t.type, t.publisher, t.instead, t.period, t.meaning]
                 for t in graph.TOPICS.values()],
        'beside': [[t.name, t.type, t.meaning] for t in SIDE_TOPICS.values()],
        'definitions': {name: definition(name) for name in (
            *(t.type for t in graph.TOPICS.values()), *(t.type for t in SIDE_TOPICS.values()))}}
    return hashlib.sha256(json.dumps(contract, sort_keys=True).encode()).hexdigest()[:16]
