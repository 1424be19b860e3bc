# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Frames as TF has them, and the node `tf_broadcaster`, which publishes those of a vehicle."""
from __future__ import annotations

import typing

from geometry_msgs.msg import PoseStamped, TransformStamped
from rclpy.node import Node

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.messages.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.message_types import message_class
from px4_sim_ros.step import side_topics
from px4_sim_ros.viewing.links import Link, sensor_links


class TfBroadcaster(Node):
    """Publishes the true pose as TF, one transform for each `ground_truth/pose`.

    So it has the display rate of simulated time, and the stamps of the poses.
    """

    def __init__(self, configuration: Configuration, **options: typing.Any) -> None:
        """Publish what is fixed, and begin.

        :param configuration: of the graph
        :param options: those of every ROS node
        :raises ParameterError: there is no tf2_msgs
        """
        super().__init__('tf_broadcaster', **options)
        try:
            self._kind = message_class(side_topics.TF.type)
        except ImportError:
            raise ParameterError(
                'tf2_msgs is not installed; it comes with an installed ROS 2') from None
        fixed = [Link(ODOM_FRAME, WORLD_FRAME), *sensor_links(configuration)]
        self._fixed = self.create_publisher(
            self._kind, side_topics.TF_STATIC.name, qos.LATCHED)
        self._fixed.publish(self._kind(transforms=[transform(link, 0) for link in fixed]))
        self._moving = self.create_publisher(self._kind, side_topics.TF.name, qos.LOOP)
        self.create_subscription(PoseStamped, 'ground_truth/pose', self._on_pose, qos.LOOP)

    def _on_pose(self, pose: PoseStamped) -> None:
        position_m, attitude = pose_values(pose)
        self._moving.publish(self._kind(transforms=[transform(
            Link(BODY_FRAME, ODOM_FRAME, position_m, attitude), stamp_us(pose.header.stamp))]))


def pose_values(pose: PoseStamped) -> tuple[Vector, Quaternion]:
    """Return position and attitude, w first."""
    p, q = pose.pose.position, pose.pose.orientation
    return (p.x, p.y, p.z), (q.w, q.x, q.y, q.z)


def transform(link: Link, time_us: int) -> TransformStamped:
    """Return a frame in its parent, as TF has it."""
    message = in_frame(TransformStamped(child_frame_id=link.frame), link.parent)
    set_stamp(message.header.stamp, time_us)
    t, r = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = link.position_m
    r.w, r.x, r.y, r.z = link.attitude
    return message
