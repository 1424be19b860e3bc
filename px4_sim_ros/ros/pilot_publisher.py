# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Publishes what a pilot does: its events, and the set points of the autopilot."""
from __future__ import annotations

import contextlib
import typing

from geometry_msgs.msg import PointStamped
from rcl_interfaces.msg import Log
from rclpy.node import Node

from px4_sim_ros.mavlink.pilot_link import SetPoint
from px4_sim_ros.messages.stamps import in_frame, set_stamp
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.session import ros_node
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.side_topics import SET_POINT


class PilotPublisher:
    """Publishes for a pilot, also from its thread: it needs no executor."""

    def __init__(self, node: Node) -> None:
        """Make the publishers."""
        self._log = node.create_publisher(Log, side_topics.LOG.name, qos.LATCHED_LOG)
        self._set_points = node.create_publisher(PointStamped, SET_POINT.name, qos.LATCHED)
        self._last: SetPoint | None = None

    def publish_event(self, text: str) -> None:
        """Publish an event, so that it is in the logs and in a recording."""
        self._log.publish(Log(level=Log.INFO, name='pilot', msg=text))

    def publish_set_point(self, set_point: SetPoint) -> None:
        """Publish a set point for viewers, unless it is the last one again."""
        if self._last is not None and set_point.position_enu == self._last.position_enu:
            return
        self._last = set_point
        message = in_frame(PointStamped(), WORLD_FRAME)
        set_stamp(message.header.stamp, set_point.time_us)
        message.point.x, message.point.y, message.point.z = set_point.position_enu
        self._set_points.publish(message)


@contextlib.contextmanager
def pilot_node(arguments: typing.Sequence[str]) -> typing.Iterator[PilotPublisher]:
    """Join ROS as the node `pilot` of a process that does nothing else in ROS.

    :param arguments: `--ros-args` and what follows
    :raises ParameterError: ROS refuses the arguments
    """
    with ros_node('pilot', arguments) as node:
        yield PilotPublisher(node)
