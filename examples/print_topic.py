# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Prints what is published on a topic, as `ros2 topic echo` does, without an installed ROS 2.

For example `python examples/print_topic.py beacon/range sensor_msgs/msg/Range header.stamp range`:
the topic, its type, and the fields that are wanted. Ctrl-C ends it.
"""
# ruff: noqa: E402
import signal

# Ctrl-C, and a reader that has seen enough, end it at once, also while the rest is imported.
for number in signal.SIGINT, signal.SIGPIPE:
    signal.signal(number, signal.SIG_DFL)

import importlib
import operator
import sys

import rclpy
from rclpy.signals import SignalHandlerOptions


def message_type(name):
    package, _, message = name.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), message)


def show(message):
    print(*(operator.attrgetter(field)(message) for field in fields) if fields else [message],
          flush=True)


try:
    topic, kind, *fields = sys.argv[1:]
    shown = message_type(kind)
    operator.attrgetter(*fields or ['__class__'])(shown())
except (ValueError, ImportError, AttributeError) as error:
    sys.exit(f'print_topic: {error}; name a topic, its type such as sensor_msgs/msg/Range, and'
             ' fields of it')
rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node('print_topic')
node.create_subscription(shown, topic, show, 100)
rclpy.spin(node)
