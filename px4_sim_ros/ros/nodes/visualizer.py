# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `visualizer`: what rviz2 and other viewers show, at a rate for eyes.

An observer: no step waits for it. It hears only what comes at the display rate or more rarely,
and it publishes at most so often in wall time, however fast simulated time goes.
"""
from __future__ import annotations

import functools
import math
import os
import typing

from geometry_msgs.msg import PointStamped, PoseStamped, TransformStamped
from nav_msgs.msg import Path
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from sensor_msgs.msg import JointState, NavSatFix, Range
from std_msgs.msg import String

from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.messages.stamps import in_frame, set_stamp, stamp_us
from px4_sim_ros.messages.truth import BODY_FRAME, ODOM_FRAME, WORLD_FRAME
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.scene.moving import axes_at
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import leaving
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.session import (
    OBSERVER_NICENESS,
    create_wall_timer,
    message_class,
    ros_session,
    spin_once,
)
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import qualified
from px4_sim_ros.viewing.links import Link, rotor_link, sensor_links, servo_links, wheel_links
from px4_sim_ros.viewing.markers import Beam, Fix, FlownPath, Markers, RotorAngles, Scene
from px4_sim_ros.viewing.scenery import path_frame, scene_markers
from px4_sim_ros.viewing.urdf import BODY_LINK, urdf


class TfBroadcaster(Node):
    """Publishes the true pose as TF, one transform for each `ground_truth/pose`.

    So it has the display rate of simulated time, and the stamps of the poses. The frames of a
    vehicle of several have its namespace before them, as `frame_prefix` of robot_state_publisher
    puts it there: `px4_1/base_link`. All are below one `map`.
    """

    def __init__(
        self, configurations: typing.Mapping[str, Configuration], **options: typing.Any,
    ) -> None:
        super().__init__('tf_broadcaster', **options)
        try:
            self._kind = message_class(side_topics.TF.type)
        except ImportError:
            raise ParameterError(
                'tf2_msgs is not installed; it comes with an installed ROS 2') from None
        self._configurations = configurations
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
        time_us = stamp_us(pose.header.stamp)
        links = [_prefixed(Link(BODY_FRAME, ODOM_FRAME, *pose_values(pose)), vehicle)]
        if vehicle == next(iter(self._configurations)):       # all are in one scene
            links += path_links(self._configurations[vehicle], time_us)
        self._moving.publish(self._kind(transforms=[transform(link, time_us) for link in links]))


def _prefixed(link: Link, vehicle: str) -> Link:
    parent = link.parent if link.parent == WORLD_FRAME else qualified(vehicle, link.parent)
    return link._replace(frame=qualified(vehicle, link.frame), parent=parent)


def path_links(configuration: Configuration, time_us: int) -> list[Link]:
    """Return where the axes of a scene's paths are at a time."""
    scene = configuration.scene
    return [] if scene is None else [
        Link(path_frame(name), WORLD_FRAME, *axes_at(scene, name, time_us)) for name in scene.paths]


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


_RATE_HZ = 20.0
_SPIN_S = 0.1
# A path has many points and changes little; viewers that come later want it whole.
_PATH_EVERY_S = 0.5
_NO_TF = ('tf2_msgs is not installed: no transforms are published, so a viewer cannot draw the'
          ' vehicle from its URDF; markers and the path need none')


class VisualizerNode(Node):
    """Publishes transforms, markers, path, rotor angles and URDF of a running graph."""

    def __init__(
        self, configuration: Configuration, *, of_fleet: bool = False, **options: typing.Any,
    ) -> None:
        super().__init__('visualizer', **options)
        rate_hz = self.declare_parameter('rate_hz', _RATE_HZ, ParameterDescriptor(
            description='pictures a second of wall time', read_only=True,
            floating_point_range=[FloatingPointRange(from_value=0.1, to_value=100.0)])).value
        # robot_state_publisher does the rest when it runs.
        self._only_vehicle = self.declare_parameter(
            'robot_state_publisher', False, ParameterDescriptor(
                description='whether that node publishes the URDF and the frames in it',
                read_only=True)).value
        self._has_tf = self.declare_parameter(
            'tf_broadcaster', False, ParameterDescriptor(
                description='whether that node publishes where the vehicle and its sensors are',
                read_only=True)).value
        self._configuration, self._of_fleet = configuration, of_fleet
        self._home = configuration.world.local_frame()
        self._markers, self._path = Markers(configuration), FlownPath()
        self._angles = RotorAngles(configuration.vehicle)
        self._scene = Scene()
        self._pose: PoseStamped | None = None       # not shown yet
        self._turned: JointState | None = None
        self._changed = self._path_changed = False
        self._outputs = self._make_outputs()
        self._listen()
        self._wall_timers = [create_wall_timer(self, 1.0 / rate_hz, self._show),
                             create_wall_timer(self, _PATH_EVERY_S, self._show_path)]
        self._describe()

    def _make_outputs(self) -> dict[str, typing.Any]:
        outputs = {}
        for topic in side_topics.VIEWED.values():
            if self._only_vehicle and topic is side_topics.DESCRIPTION:
                continue
            try:
                kind = message_class(topic.type)
            except ImportError:
                if topic is side_topics.TF:
                    self.get_logger().warning(_NO_TF)
                continue
            outputs[topic.name] = self.create_publisher(
                kind, topic.name, qos.LATCHED if topic.latched else qos.DIAGNOSTICS)
        return outputs

    def _listen(self) -> None:
        known = self._configuration.graph.topics
        for kind, name, heard in (
                (PoseStamped, 'ground_truth/pose', self._on_pose),
                (JointState, 'joint_states', self._on_joints),
                (message_class('geometry_msgs/msg/TwistStamped'), 'wind', self._on_wind),
                (Range, 'range', self._on_range), (NavSatFix, 'gps/fix', self._on_fix)):
            if name in known:
                self.create_subscription(kind, name, heard, qos.LOOP)
        self.create_subscription(
            PointStamped, side_topics.SET_POINT.name, self._on_set_point, qos.LATCHED)
        self._status_client = StatusClient(self, self._on_status, of_fleet=self._of_fleet)
        self.create_subscription(String, side_topics.LINK_STATE.name, self._on_link, qos.LATCHED)

    # What is heard.

    def _on_pose(self, pose: PoseStamped) -> None:
        position_m, attitude = pose_values(pose)
        time_s = stamp_us(pose.header.stamp) / US_PER_S
        if time_s < self._scene.time_s:       # the run has begun again
            self._scene = self._scene.after_reset()
            self._path.clear()
        self._scene.move(time_s, position_m, attitude)
        self._path_changed |= self._path.add(position_m)
        self._pose, self._changed = pose, True

    def _on_joints(self, joints: JointState) -> None:
        vehicle, scene = self._configuration.vehicle, self._scene
        servos_at = len(vehicle.rotors)
        wheels_at = servos_at + len(vehicle.servos)
        steered_at = wheels_at + len(vehicle.wheels)
        scene.rotor_speeds_rad_s = tuple(joints.velocity[:servos_at])
        self._angles.at(stamp_us(joints.header.stamp) / US_PER_S, scene.rotor_speeds_rad_s)
        scene.servo_angles_rad = tuple(joints.position[servos_at:wheels_at])
        scene.wheel_angles_rad = tuple(joints.position[wheels_at:steered_at])
        scene.wheel_steering_rad = tuple(joints.position[steered_at:])
        self._turned = joints

    def _on_wind(self, wind: typing.Any) -> None:
        v = wind.twist.linear
        self._scene.wind_enu_m_s = v.x, v.y, v.z

    def _on_range(self, message: Range) -> None:
        self._scene.beam = Beam(message.header.frame_id, message.range, message.max_range)

    def _on_fix(self, fix: NavSatFix) -> None:
        east_m, north_m, up_m = (
            math.sqrt(max(0.0, fix.position_covariance[i])) for i in (0, 4, 8))
        self._scene.fix = None if fix.status.status < 0 else Fix(
            self._home.to_local(GeodeticPosition(fix.latitude, fix.longitude, fix.altitude)),
            (east_m, north_m, up_m))

    def _on_set_point(self, point: PointStamped) -> None:
        self._scene.set_point_enu_m = point.point.x, point.point.y, point.point.z
        self._changed = True

    def _on_status(self, status: RunStatus) -> None:
        self._scene.state = status.state
        self._scene.real_time_factor = status.real_time_factor
        self._changed = True

    def _on_link(self, state: String) -> None:
        self._scene.link = state.data
        self._changed = True

    # What is shown.

    def _publish(self, topic: side_topics.SideTopic, message: typing.Any) -> None:
        if topic.name in self._outputs:
            self._outputs[topic.name].publish(message)

    def _publish_frames(self, topic: side_topics.SideTopic, frames: list[TransformStamped]) -> None:
        if frames and topic.name in self._outputs:
            self._publish(topic, message_class(topic.type)(transforms=frames))

    def _describe(self) -> None:
        """Publish what never changes."""
        self._publish(side_topics.DESCRIPTION, String(data=urdf(self._configuration)))
        self._publish(side_topics.SCENE, scene_markers(self._configuration.scene))
        fixed = [] if self._has_tf else [Link(ODOM_FRAME, WORLD_FRAME)]
        if not self._only_vehicle:
            fixed.append(Link(BODY_LINK, BODY_FRAME))
            if not self._has_tf:
                fixed += sensor_links(self._configuration)
        self._publish_frames(side_topics.TF_STATIC, [transform(link, 0) for link in fixed])

    def _show(self) -> None:
        """Publish what has changed since the last picture."""
        if self._pose is not None:
            self._publish_frames(side_topics.TF, self._frames(stamp_us(self._pose.header.stamp)))
        if self._turned is not None:
            self._publish(side_topics.JOINTS, JointState(
                header=self._turned.header, name=self._turned.name,
                position=[*self._angles.joints_rad,
                          *self._turned.position[len(self._configuration.vehicle.rotors):]]))
        if self._changed:
            self._publish(side_topics.MARKERS, self._markers.of(self._scene))
        self._pose, self._turned, self._changed = None, None, False

    def _frames(self, time_us: int) -> list[TransformStamped]:
        """Return the frames that move: `base_link`, and what turns unless another node does."""
        position_m = self._scene.position_enu_m
        assert position_m is not None, 'a pose has come'
        links = [] if self._has_tf else [
            Link(BODY_FRAME, ODOM_FRAME, position_m, self._scene.attitude),
            *path_links(self._configuration, time_us)]
        if not self._only_vehicle:
            vehicle, scene = self._configuration.vehicle, self._scene
            links += [rotor_link(vehicle, i, angle)
                      for i, angle in enumerate(self._angles.angles_rad)]
            links += servo_links(vehicle, scene.servo_angles_rad)
            links += wheel_links(vehicle, scene.wheel_angles_rad, scene.wheel_steering_rad)
        return [transform(link, time_us) for link in links]

    def _show_path(self) -> None:
        if not self._path_changed and self.count_subscribers(side_topics.PATH.name) == 0:
            return
        self._path_changed = False
        path = in_frame(Path(), WORLD_FRAME)
        set_stamp(path.header.stamp, round(self._scene.time_s * US_PER_S))
        for point in self._path.points:
            pose = in_frame(PoseStamped(), WORLD_FRAME)
            p = pose.pose.position
            p.x, p.y, p.z = point
            path.poses.append(pose)
        self._publish(side_topics.PATH, path)


def run(
    make: typing.Callable[[], Node], arguments: typing.Sequence[str],
) -> None:
    """Publish until a signal comes."""
    stop = Stop()
    with ros_session(arguments):
        os.nice(OBSERVER_NICENESS)
        node = make()
        try:
            while not stop.asked:
                spin_once(node, _SPIN_S)
        finally:
            leaving.at_the_end(node.destroy_node)
