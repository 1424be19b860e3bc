"""Whether all endpoints of the step are matched: a lost first message is a deadlock."""
from __future__ import annotations

import typing

from rclpy.node import Node

from px4_sim_ros import graph


def missing_endpoints(
    node: Node, spec: graph.NodeSpec, publishers: typing.Mapping[str, typing.Any],
) -> str:
    """Return which peers of a node's publishers are not matched yet, '' when all are.

    A tool that looks on is a subscriber as well. So it is not enough to count: the peers
    must be known by name, and the publisher must be matched with as many subscribers as
    are known.
    """
    for topic in spec.outputs:
        expected = graph.subscribers(topic.name)
        known = node.get_subscriptions_info_by_topic(topic.name)
        names = {info.node_name for info in known if info.node_namespace == node.get_namespace()}
        for peer in expected:
            if peer not in names:
                return f'{topic.name} has no subscriber {peer}'
        matched = publishers[topic.name].get_subscription_count()
        if matched < len(known):
            return f'{topic.name} is matched with {matched} of {len(known)} subscribers'
    return ''
