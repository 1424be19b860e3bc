# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An outside subscriber: a node of its own, in a ROS context of its own, that keeps what comes."""
import contextlib

import rclpy
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.polling import taken
from px4_sim_ros.ros.framework.session import message_class


@contextlib.contextmanager
def listening(*topics):
    """Subscribe to side topics; yield a function that returns what has come since, by topic.

    Messages are serialised; nothing has to be spun.
    """
    context = rclpy.Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node('outside', context=context)
        subscriptions = {topic.name: node.create_subscription(
            message_class(topic.type), topic.name, lambda message: None,
            qos.LATCHED_LOG if topic.latched else qos.DEEP, raw=True) for topic in topics}
        yield lambda: {name: list(taken(found)) for name, found in subscriptions.items()}
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
