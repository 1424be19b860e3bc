# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Prints what is published on a topic, as `ros2 topic echo` does, without an installed ROS 2.

For example `python examples/print_topic.py beacon/range sensor_msgs/msg/Range header.stamp range`:
the topic, its type, and the fields that are wanted.
"""
import contextlib
import importlib
import operator
import sys

import rclpy
from rclpy.executors import ExternalShutdownException

topic, type_name, *fields = sys.argv[1:]
package, _, name = type_name.split('/')
message_type = getattr(importlib.import_module(f'{package}.msg'), name)


def show(message):
    print(*(operator.attrgetter(field)(message) for field in fields) if fields else [message],
          flush=True)


rclpy.init()
node = rclpy.create_node('print_topic')
node.create_subscription(message_type, topic, show, 100)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
    rclpy.spin(node)
