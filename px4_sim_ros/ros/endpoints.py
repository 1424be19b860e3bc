"""Whether all endpoints of the step are matched: a lost first message is a deadlock.

Names are not enough: the endpoints of a process that was killed stay known for a while, under
the names that its successor has as well. So peers are told apart by their DDS participants.
"""
from __future__ import annotations

import typing
import uuid

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_msgs.msg import Header

from px4_sim_ros.step.graph import ABSENCE, Graph

# The part of an endpoint's identity that all endpoints of a process share.
_PARTICIPANT_BYTES = 12


def participant_of(node: Node) -> str:
    """Return the DDS participant that a node belongs to."""
    topic = f'identity_{uuid.uuid4().hex}'
    publisher = node.create_publisher(Header, topic, 1)
    info, = node.get_publishers_info_by_topic(topic)
    node.destroy_publisher(publisher)
    return _participant(info)


def matched_participants(
    node: Node, publishers: typing.Mapping[str, Publisher],
    subscriptions: typing.Mapping[str, Subscription],
) -> dict[str, list[str]]:
    """Return by topic with which participants a node's endpoints are matched.

    An endpoint with a peer that is known and not matched yet counts for none. A sensor that
    joins what another one measures has both kinds of endpoints on `sensors/absence`.
    """
    matched: dict[str, set[str]] = {}
    for topic, publisher in publishers.items():
        known = node.get_subscriptions_info_by_topic(topic)
        if publisher.get_subscription_count() >= len(known):
            matched.setdefault(topic, set()).update(map(_participant, known))
    for topic, subscription in subscriptions.items():
        known = node.get_publishers_info_by_topic(topic)
        if subscription.get_publisher_count() >= len(known):
            matched.setdefault(topic, set()).update(map(_participant, known))
    return {topic: sorted(peers) for topic, peers in matched.items()}


def other_publishers(node: Node, topic: str, participant: str) -> list[str]:
    """Return the full names of the nodes of other participants that publish a topic."""
    return [f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in node.get_publishers_info_by_topic(topic)
            if _participant(info) != participant or info.node_name != node.get_name()]


def find_unmatched(
    graph: Graph, participants: typing.Mapping[str, str],
    matched: typing.Mapping[str, typing.Mapping[str, typing.Iterable[str]]],
) -> str:
    """Return a sentence about two nodes that are not matched yet, '' when all are.

    :param participants: by node
    :param matched: by node, what `matched_participants` returned there
    """
    for topic, publisher, subscriber in _connections(graph):
        for here, there in ((publisher, subscriber), (subscriber, publisher)):
            if participants[there] not in matched[here].get(topic, ()):
                return f'{here} is not connected with {there} on {topic}'
    return ''


def _connections(graph: Graph) -> typing.Iterator[tuple[str, str, str]]:
    """Yield topic, publisher and subscriber of each connection of the step."""
    for topic in graph.topics.values():
        for subscriber in graph.subscribers(topic.name):
            yield topic.name, topic.publisher, subscriber
            if topic.publisher in graph.sensors:
                yield ABSENCE, topic.publisher, subscriber


def _participant(info: TopicEndpointInfo) -> str:
    return bytes(info.endpoint_gid[:_PARTICIPANT_BYTES]).hex()
