# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Frames as TF has them, and the node `tf_broadcaster`, which publishes those of vehicles."""
from __future__ import annotations

import functools
import typing

from geometry_msgs.msg import PoseStamped, TransformStamped
from rclpy.node import Node

from px4_sim_ros.messages.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.message_types import message_class
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import qualified
from px4_sim_ros.viewing.links import Link, sensor_links


class TfBroadcaster(Node):
    """Publishes the true pose as TF, one transform for each `ground_truth/pose`.

    So it has the display rate of simulated time, and the stamps of the poses. The frames of a
    vehicle of several have its namespace before them, as `frame_prefix` of robot_state_publisher
    puts it there: `px4_1/base_link`. All are below one `map`.
    """

    def __init__(
        self, configurations: typing.Mapping[str, Configuration], **options: typing.Any,
    ) -> None:
        """Publish what is fixed, and begin.

        :param configurations: of the vehicles by namespace; that of one alone is ''
        :param options: those of every ROS node
        :raises ParameterError: there is no tf2_msgs
        """
        super().__init__('tf_broadcaster', **options)
        try:
            self._kind = message_class(side_topics.TF.type)
        except ImportError:
            raise ParameterError(
                'tf2_msgs is not installed; it comes with an installed ROS 2') from None
        fixed = [_prefixed(link, vehicle) for vehicle, its in configurations.items()
                 for link in (Link(ODOM_FRAME, WORLD_FRAME), *sensor_links(its))]
        self._fixed = self.create_publisher(
            self._kind, side_topics.TF_STATIC.name, qos.LATCHED)
        self._fixed.publish(self._kind(transforms=[transform(link, 0) for link in fixed]))
        self._moving = self.create_publisher(self._kind, side_topics.TF.name, qos.LOOP)
        for vehicle in configurations:
            self.create_subscription(
                PoseStamped, qualified(vehicle, 'ground_truth/pose'),
                functools.partial(self._on_pose, vehicle), qos.LOOP)

    def _on_pose(self, vehicle: str, pose: PoseStamped) -> None:
        link = Link(BODY_FRAME, ODOM_FRAME, *pose_values(pose))
        self._moving.publish(self._kind(transforms=[
            transform(_prefixed(link, vehicle), stamp_us(pose.header.stamp))]))


def _prefixed(link: Link, vehicle: str) -> Link:
    parent = link.parent if link.parent == WORLD_FRAME else qualified(vehicle, link.parent)
    return link._replace(frame=qualified(vehicle, link.frame), parent=parent)


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
