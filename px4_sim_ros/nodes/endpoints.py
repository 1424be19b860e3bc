"""Whether all endpoints of the step are matched: a lost first message is a deadlock."""
from __future__ import annotations

import typing

from rclpy.node import Node
from rclpy.publisher import Publisher


def missing_endpoints(
    node: Node, publishers: typing.Mapping[str, Publisher],
    peers: typing.Callable[[str], typing.Iterable[str]],
) -> str:
    """Return which peers of a node's publishers are not matched yet, '' when all are.

    A tool that looks on is a subscriber as well. So it is not enough to count: the peers
    must be known by name, and the publisher must be matched with as many subscribers as
    are known.

    :param publishers: by topic
    :param peers: returns the nodes that have to listen to a topic
    """
    for topic, publisher in publishers.items():
        known = node.get_subscriptions_info_by_topic(topic)
        names = {info.node_name for info in known if info.node_namespace == node.get_namespace()}
        for peer in peers(topic):
            if peer not in names:
                return f'{topic} has no subscriber {peer}'
        matched = publisher.get_subscription_count()
        if matched < len(known):
            return f'{topic} is matched with {matched} of {len(known)} subscribers'
    return ''
