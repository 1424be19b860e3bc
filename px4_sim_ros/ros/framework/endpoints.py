# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether all endpoints of the step are matched: a lost first message is a deadlock.

Names are not enough: the endpoints of a process that was killed stay known for a while, under
the names that its successor has as well. So peers are distinguished by their DDS participants.
"""
from __future__ import annotations

import dataclasses
import json
import typing
import uuid

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_msgs.msg import Header

from px4_sim_ros.step.graph import ABSENCE, Graph, qualified


@dataclasses.dataclass(frozen=True)
class NodeStatus:
    """Where a node stands; the text of its service `~/status` is this as JSON."""

    state: str = ''                # of its lifecycle
    problem: str = ''              # why it cannot take part in a step
    waits_for_us: int = 0          # the time of its next step
    waits_for: dict[str, int] = dataclasses.field(default_factory=dict)
    """The topics it waits for, each with the time of the last message, -1 for none."""
    holds: str = ''                # why it does not end a step although nothing is missing
    participant: str = ''          # of DDS, that the node belongs to
    matched: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """The participants that its endpoints are matched with, by topic."""
    by_value: list[str] = dataclasses.field(default_factory=list)
    """The inputs that are handed over by value within its process."""
    remapped: dict[str, str] = dataclasses.field(default_factory=dict)
    """The names of those topics that are not called as in the graph."""
    sources: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """The nodes that publish its inputs, as far as they are known."""
    world: dict[str, typing.Any] = dataclasses.field(default_factory=dict)
    """The parameters that all nodes share."""

    def to_json(self) -> str:
        """Return the text of the service's answer."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> NodeStatus:
        """Read what `to_json` has written."""
        return cls(**json.loads(text))


# The part of an endpoint's identity that all endpoints of a process share.
_PARTICIPANT_BYTES = 12
# What ROS calls a node that it has not heard of.
_UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'


def participant_of(node: Node) -> str:
    """Return the DDS participant that a node belongs to."""
    topic = f'identity_{uuid.uuid4().hex}'
    publisher = node.create_publisher(Header, topic, 1)
    info, = node.get_publishers_info_by_topic(topic)
    node.destroy_publisher(publisher)
    return _participant(info)


def connections_of(
    node: Node, publishers: typing.Mapping[str, Publisher],
    subscriptions: typing.Mapping[str, Subscription], vehicle: str = '',
) -> dict[str, typing.Any]:
    """Return the fields of a `NodeStatus` about the endpoints of a node, which are by topic.

    An endpoint with a peer that is known and not matched yet counts as matched with none. A
    sensor that joins what another one measures has both kinds of endpoints on `sensors/absence`.

    :param vehicle: whose topics they are, if that is not the namespace of the node
    """
    matched: dict[str, set[str]] = {}
    sources: dict[str, list[str]] = {}
    remapped: dict[str, str] = {}
    for topic, publisher in publishers.items():
        known = node.get_subscriptions_info_by_topic(publisher.topic_name)
        _note_name(node, qualified(vehicle, topic), publisher.topic_name, topic, remapped)
        if publisher.get_subscription_count() >= len(known):
            matched.setdefault(topic, set()).update(map(_participant, known))
    for topic, subscription in subscriptions.items():
        known = node.get_publishers_info_by_topic(subscription.topic_name)
        _note_name(node, qualified(vehicle, topic), subscription.topic_name, topic, remapped)
        sources[topic] = sorted({info.node_name for info in known})
        if subscription.get_publisher_count() >= len(known):
            matched.setdefault(topic, set()).update(map(_participant, known))
    return {'matched': {topic: sorted(peers) for topic, peers in matched.items()},
            'sources': sources, 'remapped': remapped}


def _note_name(
    node: Node, given: str, name: str, topic: str, remapped: dict[str, str],
) -> None:
    usual = given if given.startswith('/') else f"{node.get_namespace().rstrip('/')}/{given}"
    if name != usual:
        remapped[topic] = name


def other_publishers(node: Node, topic: str, participant: str) -> list[str]:
    """Return the full names of the nodes of other participants that publish a topic."""
    return [f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in node.get_publishers_info_by_topic(topic)
            if info.node_name != _UNKNOWN_NODE and (
                _participant(info) != participant or info.node_name != node.get_name())]


def find_unmatched(graph: Graph, statuses: typing.Mapping[str, NodeStatus]) -> str:
    """Return a sentence about two nodes that are not connected yet, '' when all are.

    Where a remapping puts a node of the user's between two others, it is enough that each of
    them is matched with a node.

    :param statuses: by node
    """
    for topic, publisher, subscriber in _connections(graph, statuses):
        names = {statuses[node].remapped.get(topic) for node in (publisher, subscriber)}
        for here, there in ((publisher, subscriber), (subscriber, publisher)):
            peers = statuses[here].matched.get(topic, ())
            if len(names) > 1 and not peers:
                return (f'{here} has no connection on'
                        f' {statuses[here].remapped.get(topic, topic)}')
            if len(names) == 1 and statuses[there].participant not in peers:
                return f'{here} is not connected with {there} on {topic}'
    return ''


def _connections(
    graph: Graph, statuses: typing.Mapping[str, NodeStatus],
) -> typing.Iterator[tuple[str, str, str]]:
    """Yield topic, publisher and subscriber of each connection of the step by DDS."""
    for topic in graph.topics.values():
        for subscriber in graph.subscribers(topic.name):
            if topic.name not in statuses[subscriber].by_value:
                yield topic.name, topic.publisher, subscriber
                if topic.publisher in graph.sensors:
                    yield ABSENCE, topic.publisher, subscriber


def _participant(info: TopicEndpointInfo) -> str:
    return bytes(info.endpoint_gid[:_PARTICIPANT_BYTES]).hex()
