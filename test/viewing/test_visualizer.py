# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node visualizer: its subscriptions, what it publishes, how often, and what may be missing."""
from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import time
import types

import pytest
import rclpy
from commands import interrupt, running
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped, TransformStamped, TwistStamped
from nav_msgs.msg import Path
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState, NavSatFix, NavSatStatus, Range
from shown import LEVEL, Shown, at, points, turn, windy
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from px4_sim_ros.cli import visualizer
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.messages.truth import BODY_FRAME, WORLD_FRAME
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.scene.moving import axes_at
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.ros.nodes.visualizer import TfBroadcaster, VisualizerNode
from px4_sim_ros.spec.configuration import load_configuration, write_configuration
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.step import side_topics
from px4_sim_ros.viewing import markers
from px4_sim_ros.viewing.links import ODOM_FRAME
from px4_sim_ros.viewing.urdf import BODY_LINK

RATE_HZ = 10.0
PATIENCE_S = 20.0
HOME = (47.397742, 8.545594, 488.0 + 47.3)


@pytest.fixture(scope='module')
def configuration():
    """Return a run with wind and a range finder."""
    return windy()


# The node, without anybody who runs it.

class FakePublisher:
    """Keeps what is published."""

    def __init__(self):
        self.messages = []

    def publish(self, message):
        self.messages.append(message)


class Still:
    """Mixed into a node: it is in a room of its own, the test delivers messages and time."""

    def __init__(self, configuration, context, **parameters):
        self.out, self.ears, self.timers_by_period = {}, {}, {}
        super().__init__(configuration, context=context, parameter_overrides=[
            rclpy.Parameter(name, value=value) for name, value in parameters.items()])

    def create_publisher(self, msg_type, topic, qos_profile, **options):
        if topic not in side_topics.VIEWED:
            return super().create_publisher(msg_type, topic, qos_profile, **options)
        self.out[topic] = FakePublisher()
        return self.out[topic]

    def create_subscription(self, msg_type, topic, callback, qos_profile, **options):
        self.ears[topic] = callback

    def create_timer(self, period, callback, **options):
        self.timers_by_period[period] = callback

    def receive(self, topic, message):
        self.ears[topic](message)

    def show(self):
        """Let a period of each timer pass."""
        for callback in self.timers_by_period.values():
            callback()

    def published(self, topic):
        """Return what was published, and clear it."""
        messages, self.out[topic].messages = self.out[topic].messages, []
        return messages


class StillNode(Still, VisualizerNode):
    """A visualizer."""


class StillBroadcaster(Still, TfBroadcaster):
    """A tf_broadcaster."""


@pytest.fixture
def context():
    """Return a ROS context of its own."""
    own = rclpy.Context()
    rclpy.init(args=[], context=own)
    yield own
    rclpy.shutdown(context=own)


@pytest.fixture
def tf2(monkeypatch):
    """Put a tf2_msgs in place, whether there is one or not; there is no wheel of it."""
    @dataclasses.dataclass
    class TFMessage:
        transforms: list[TransformStamped]

    monkeypatch.setitem(sys.modules, 'tf2_msgs', types.ModuleType('tf2_msgs'))
    module = types.ModuleType('tf2_msgs.msg')
    module.TFMessage = TFMessage
    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', module)
    message_class.cache_clear()
    yield
    message_class.cache_clear()


@pytest.fixture
def node(configuration, context, tf2):
    """Return a visualizer that does it all."""
    found = StillNode(configuration, context)
    yield found
    found.destroy_node()


def pose(time_s, position, attitude=LEVEL):
    message = PoseStamped()
    set_stamp(message.header.stamp, round(time_s * 1e6))
    p, q = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = position
    q.w, q.x, q.y, q.z = attitude
    return message


def rotors(time_s, *speeds):
    message = JointState(name=[f'rotor_{i + 1}' for i in range(4)], velocity=speeds)
    set_stamp(message.header.stamp, round(time_s * 1e6))
    return message


def frames(messages):
    """Return the parent of each frame, and the last transform of it."""
    parents, found = {}, {}
    for message in messages:
        for t in message.transforms:
            assert parents.setdefault(t.child_frame_id, t.header.frame_id) == t.header.frame_id
            found[t.child_frame_id] = t
    return parents, found


def test_frames_are_one_tree_from_map_down(node, configuration):
    node.receive('ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0)))
    node.receive('joint_states', rotors(1.0, *(600.0,) * 4))
    node.show()
    parents, _ = frames([*node.published('/tf_static'), *node.published('/tf')])
    for frame in parents:
        chain = [frame]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
            assert len(chain) < 6, chain
        assert chain[-1] == WORLD_FRAME
        assert frame == ODOM_FRAME or chain[-3:] == [BODY_FRAME, ODOM_FRAME, WORLD_FRAME]
    named = {f'rotor_{i + 1}_link' for i in range(4)} | {
        'imu_link', 'imu_1_link', 'mag_link', 'baro_link', 'gps_link', 'range_down_link'}
    assert named <= set(parents)


def test_frames_that_move_are_where_the_vehicle_is(node, configuration):
    attitude, _ = turn(10.0, 20.0, 30.0)
    node.receive('ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0), attitude))
    node.receive('joint_states', rotors(1.0, *(600.0,) * 4))
    node.receive('joint_states', rotors(1.1, *(600.0,) * 4))
    node.show()
    _, found = frames(node.published('/tf'))
    body = found[BODY_FRAME]
    assert (body.header.stamp.sec, body.header.stamp.nanosec) == (1, 0)
    t, r = body.transform.translation, body.transform.rotation
    assert (t.x, t.y, t.z) == (1.0, 2.0, 3.0)
    assert (r.w, r.x, r.y, r.z) == pytest.approx(attitude)
    for i, rotor in enumerate(configuration.vehicle.rotors):
        t = found[f'rotor_{i + 1}_link'].transform
        assert (t.translation.x, t.translation.y, t.translation.z) == rotor.position_m
        sense = 1.0 if rotor.turns == 'ccw' else -1.0
        # 60 rad, a hundred times slower.
        assert 2.0 * math.atan2(t.rotation.z, t.rotation.w) == pytest.approx(sense * 0.6)
        assert t.rotation.x == t.rotation.y == 0.0


def test_urdf_and_frames_tell_the_same_angles(node):
    for time_s in (0.0, 0.1):
        node.receive('joint_states', rotors(time_s, 600.0, 500.0, 400.0, 300.0))
    node.receive('ground_truth/pose', pose(0.1, (0.0, 0.0, 1.0)))
    node.show()
    [joints] = node.published('visual/joint_states')
    _, found = frames(node.published('/tf'))
    assert list(joints.name) == [f'rotor_{i + 1}' for i in range(4)]
    assert joints.position == pytest.approx([0.6, 0.5, 0.4, 0.3])
    for name, angle, sense in zip(joints.name, joints.position, (1, 1, -1, -1)):
        r = found[f'{name}_link'].transform.rotation
        assert 2.0 * math.atan2(r.z, r.w) == pytest.approx(sense * angle)


def test_wheels_roll_and_are_steered_one_by_one(context, tf2):
    """Rolled by 7 rad, which is more than a turn; the left one in front is steered further."""
    node = StillNode(load_configuration(None, {'': {'vehicle': 'rover_ackermann'}}), context)
    names = ['servo_1', *(f'wheel_{i}' for i in range(1, 5)), 'wheel_1_steering',
             'wheel_2_steering']
    position = [0.35, 7.0, 6.0, 7.0, 5.0, 0.4, 0.3]
    message = JointState(name=names, position=position, velocity=[math.nan, *[1.0] * 4, *[
        math.nan] * 2])
    node.receive('joint_states', message)
    node.receive('ground_truth/pose', pose(0.0, (0.0, 0.0, 0.1)))
    node.show()
    [joints] = node.published('visual/joint_states')
    assert list(joints.name) == names and list(joints.position) == position
    parents, found = frames(node.published('/tf'))
    for i, rolled in enumerate(position[1:5]):
        t = found[f'wheel_{i + 1}_link'].transform
        assert 2.0 * math.atan2(t.rotation.y, t.rotation.w) == pytest.approx(
            math.remainder(rolled, math.tau))
        assert parents[f'wheel_{i + 1}_link'] == (
            f'wheel_{i + 1}_steering_link' if i < 2 else BODY_FRAME)
    for i, heading in enumerate(position[5:]):
        t = found[f'wheel_{i + 1}_steering_link'].transform
        assert 2.0 * math.atan2(t.rotation.z, t.rotation.w) == pytest.approx(heading)
        assert (t.translation.x, t.translation.y) == (0.25, 0.175 * (-1.0) ** i)
    node.destroy_node()


def test_with_robot_state_publisher_only_the_vehicle_moves(configuration, context, tf2):
    node = StillNode(configuration, context, robot_state_publisher=True)
    node.receive('ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0)))
    node.receive('joint_states', rotors(1.0, *(600.0,) * 4))
    node.show()
    parents, _ = frames([*node.published('/tf_static'), *node.published('/tf')])
    assert parents == {ODOM_FRAME: WORLD_FRAME, BODY_FRAME: ODOM_FRAME}
    assert 'robot_description' not in node.out
    node.destroy_node()


def test_paths_of_a_scene_are_frames(context, tf2):
    """Of the one that publishes where the vehicle is."""
    its = load_configuration(None, {'': {'scene': 'moving_deck'}})
    (x, y, z), _ = axes_at(its.scene, 'ship', 40_000)
    for node in StillNode(its, context), StillBroadcaster({'': its, 'other': its}, context):
        node.receive('ground_truth/pose', pose(0.04, (1.0, 2.0, 3.0)))
        if isinstance(node, StillNode):
            node.show()
        ship, = (t for message in node.published('/tf') for t in message.transforms
                 if t.child_frame_id == 'path_ship')
        at = ship.transform.translation
        assert ship.header.frame_id == WORLD_FRAME and (at.x, at.y, at.z) == (x, y, z)
        node.destroy_node()


def test_the_broadcaster_has_a_transform_for_each_pose(configuration, context, tf2):
    """With the stamp of the pose; beside it the visualizer publishes what is left."""
    broadcaster = StillBroadcaster({'': configuration}, context)
    for i in range(1, 4):
        broadcaster.receive('ground_truth/pose', pose(0.04 * i, (1.0 * i, 2.0, 3.0)))
    moving = [t for message in broadcaster.published('/tf') for t in message.transforms]
    assert [(t.header.frame_id, t.child_frame_id, t.header.stamp.nanosec, t.transform.translation.x)
            for t in moving] == [(ODOM_FRAME, BODY_FRAME, 40_000_000 * i, i) for i in range(1, 4)]
    parents, _ = frames(broadcaster.published('/tf_static'))
    assert {ODOM_FRAME: WORLD_FRAME, 'imu_link': BODY_FRAME}.items() <= parents.items()
    broadcaster.destroy_node()
    node = StillNode(configuration, context, tf_broadcaster=True)
    node.receive('ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0)))
    node.show()
    rest, _ = frames([*node.published('/tf_static'), *node.published('/tf')])
    assert set(rest) == {BODY_LINK, *(f'rotor_{i}_link' for i in range(1, 5))}
    node.destroy_node()


def test_the_frames_of_several_vehicles_have_their_namespace_and_one_map(
        configuration, context, tf2):
    broadcaster = StillBroadcaster({'alpha': configuration, 'bravo': configuration}, context)
    broadcaster.receive('bravo/ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0)))
    parents, _ = frames([*broadcaster.published('/tf_static'), *broadcaster.published('/tf')])
    for name in 'alpha', 'bravo':
        assert parents[f'{name}/{ODOM_FRAME}'] == WORLD_FRAME
        assert parents[f'{name}/imu_link'] == f'{name}/{BODY_FRAME}'
    assert parents[f'bravo/{BODY_FRAME}'] == f'bravo/{ODOM_FRAME}'
    assert not {ODOM_FRAME, BODY_FRAME, f'alpha/{BODY_FRAME}'} & set(parents)
    broadcaster.destroy_node()


def test_without_tf2_msgs_the_broadcaster_is_refused(configuration, context, monkeypatch):
    monkeypatch.setitem(sys.modules, 'tf2_msgs', None)
    message_class.cache_clear()
    with pytest.raises(ParameterError, match='tf2_msgs is not installed'):
        StillBroadcaster({'': configuration}, context)
    message_class.cache_clear()


def test_without_tf2_msgs_one_line_says_so_and_all_else_is_there(
        configuration, context, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, 'tf2_msgs', None)
    message_class.cache_clear()
    node = StillNode(configuration, context)
    node.receive('ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0)))
    node.receive('joint_states', rotors(1.0, *(600.0,) * 4))
    node.show()
    assert set(node.out) == set(side_topics.VIEWED) - {'/tf', '/tf_static'}
    assert all(node.published(topic) for topic in node.out)
    [line] = [line for line in capfd.readouterr().err.splitlines() if line]
    assert 'tf2_msgs is not installed' in line and 'WARN' in line
    node.destroy_node()
    message_class.cache_clear()


def test_it_tells_nothing_twice(node):
    node.receive('ground_truth/pose', pose(1.0, (1.0, 2.0, 3.0)))
    node.receive('joint_states', rotors(1.0, *(600.0,) * 4))
    node.show()
    shown = [topic for topic in node.out if node.published(topic)]
    assert set(shown) == set(side_topics.VIEWED)
    node.show()
    assert [topic for topic in node.out if node.published(topic)] == []


def test_however_much_comes_a_picture_has_only_the_last(node):
    for i in range(500):
        node.receive('ground_truth/pose', pose(0.04 * i, (0.1 * i, 0.0, 1.0)))
        node.receive('joint_states', rotors(0.04 * i, *(600.0,) * 4))
    node.show()
    for topic in ('visual/markers', '/tf', 'visual/joint_states'):
        assert len(node.published(topic)) == 1
    [path] = node.published('visual/path')
    assert path.header.frame_id == WORLD_FRAME and len(path.poses) == 500


def test_the_period_is_the_parameter(configuration, context, tf2):
    node = StillNode(configuration, context, rate_hz=5.0)
    assert 0.2 in node.timers_by_period
    node.destroy_node()


def test_a_run_that_begins_again_clears_path_and_scene(node):
    status = DiagnosticStatus(values=[KeyValue(key='state', value='RUNNING')])
    node.receive('sim/status', status)
    for i in range(50):
        node.receive('ground_truth/pose', pose(0.04 * i, (i, 0.0, 1.0)))
    node.receive('range', Range(range=1.0, max_range=25.0))
    node.show()
    assert len(node.published('visual/path')[0].poses) == 50
    node.published('visual/markers')
    node.receive('ground_truth/pose', pose(0.0, (0.0, 0.0, 0.05)))
    node.show()
    [path], [array] = node.published('visual/path'), node.published('visual/markers')
    assert len(path.poses) == 1
    found = Shown(array)
    assert found[markers.RANGE].action == Marker.DELETE
    assert 'RUNNING' in found[markers.TEXT].text and 't = 0.0 s' in found[markers.TEXT].text


def test_what_sensors_say_is_shown_where_it_is(node):
    node.receive('ground_truth/pose', pose(1.0, (0.0, 0.0, 2.0)))
    latitude, longitude, altitude = HOME
    fix = NavSatFix(latitude=latitude, longitude=longitude, altitude=altitude + 4.0)
    fix.position_covariance[::4] = [0.81, 0.64, 4.0]
    fix.status.status = NavSatStatus.STATUS_FIX
    node.receive('gps/fix', fix)
    beam = Range(range=1.96, max_range=25.0)
    beam.header.frame_id = 'range_down_link'
    node.receive('range', beam)
    wind = TwistStamped()
    wind.twist.linear.x = 5.0
    node.receive('wind', wind)
    point = PointStamped()
    point.point.x, point.point.z = 3.0, 2.0
    node.receive('autopilot/set_point', point)
    node.receive('hil/state', String(data='LOCKED'))
    node.show()
    found = Shown(node.published('visual/markers')[0])
    assert at(found[markers.GNSS]) == pytest.approx((0.0, 0.0, 4.0), abs=1e-6)
    assert found[markers.GNSS].scale.z == pytest.approx(4.0)
    assert points(found[markers.RANGE])[1][2] == pytest.approx(0.0, abs=1e-6)
    assert points(found[markers.WIND])[1][0] == pytest.approx(5.0 * markers.WIND_M_PER_M_S)
    assert at(found[markers.SET_POINT]) == (3.0, 0.0, 2.0)
    assert 'LOCKED' in found[markers.TEXT].text
    # A receiver without a fix.
    fix.status.status = NavSatStatus.STATUS_NO_FIX
    node.receive('gps/fix', fix)
    node.receive('ground_truth/pose', pose(1.1, (0.0, 0.0, 2.0)))
    node.show()
    assert Shown(node.published('visual/markers')[0])[markers.GNSS].action == Marker.DELETE


def test_a_status_without_a_factor_has_none_in_the_text(node):
    node.receive('ground_truth/pose', pose(1.0, (0.0, 0.0, 2.0)))
    node.receive('sim/status', DiagnosticStatus(values=[KeyValue(key='state', value='FAILED')]))
    node.show()
    text = Shown(node.published('visual/markers')[0])[markers.TEXT].text
    assert 'FAILED' in text and 'nan' not in text and 'real time' not in text


def test_only_what_the_graph_publishes_is_listened_to(context, tf2):
    node = StillNode(load_configuration(None, {}), context)
    assert 'wind' not in node.ears and 'range' not in node.ears
    assert {'ground_truth/pose', 'joint_states', 'gps/fix', 'sim/status', 'hil/state'} <= set(
        node.ears)
    node.destroy_node()


# The process.

@pytest.mark.parametrize('namespace', ['', 'uav1'])
def test_the_file_of_a_launch_gives_the_parameters_of_its_graph(configuration, namespace, tmp_path):
    user = tmp_path / 'mine.yaml'
    path = '/'.join(filter(None, ('', namespace, 'dynamics')))
    user.write_text(f'{path}:\n  ros__parameters: {{substeps: 2}}\n')
    mine = load_configuration(user, {'': {'vehicle': 'hexa'}, 'gps': {'delay_s': 0.25}}, namespace)
    for started in (mine, configuration):
        file = write_configuration(tmp_path, {'': started})
        parser = argparse.ArgumentParser()
        visualizer.add_arguments(parser)
        options = parser.parse_args(['--params-file', str(file)])
        assert visualizer._vehicles(options) == {'': started}


class Graph:
    """Publishes what a graph would, and subscribes to what the visualizer shows."""

    def __init__(self, namespace):
        self._context = rclpy.Context()
        rclpy.init(args=[], context=self._context)
        self.node = rclpy.create_node('played_graph', namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.received = {topic: [] for topic in side_topics.VIEWED}
        self._ears = [
            self.node.create_subscription(
                kind, topic.name, self.received[topic.name].append,
                qos.LATCHED if topic.latched else qos.DIAGNOSTICS)
            for kind, topic in (
                (MarkerArray, side_topics.MARKERS), (Path, side_topics.PATH),
                (JointState, side_topics.JOINTS),
                (String, side_topics.DESCRIPTION))]
        self.poses = self.node.create_publisher(PoseStamped, 'ground_truth/pose', qos.LOOP)
        self.rotors = self.node.create_publisher(JointState, 'joint_states', qos.LOOP)
        self.link = self.node.create_publisher(String, 'hil/state', qos.LATCHED)
        self.link.publish(String(data='LOCKED'))

    def close(self):
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def is_matched(self):
        return (all(p.get_subscription_count() for p in (self.poses, self.rotors, self.link))
                and all(ear.get_publisher_count() for ear in self._ears))

    def wait_for(self, condition, what):
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, f'{what} has not come: {self.counts()}'
            self._executor.spin_once(timeout_sec=0.02)

    def fly(self, duration_s, every_s=0.005):
        """Fly at eight times real time; return the numbers of steps and of messages."""
        before = self.counts()
        started_s = now_s = time.monotonic()
        step = 0
        while now_s - started_s < duration_s:
            time_s = 0.04 * step
            self.poses.publish(pose(time_s, (0.1 * step, 0.0, 2.0)))
            self.rotors.publish(rotors(time_s, *(600.0,) * 4))
            step += 1
            while time.monotonic() < started_s + step * every_s:
                self._executor.spin_once(timeout_sec=0.001)
            now_s = time.monotonic()
        return step, {topic: n - before[topic] for topic, n in self.counts().items()}

    def counts(self):
        return {topic: len(messages) for topic, messages in self.received.items()}

    def last(self, topic):
        return self.received[topic.name][-1]


@pytest.fixture
def graph():
    """Return a graph that the test plays."""
    played = Graph('/uav1')
    yield played
    played.close()


@pytest.mark.process
def test_the_process_shows_what_happens_at_its_own_rate(graph, configuration, tmp_path):
    file = write_configuration(tmp_path, {'': configuration})
    with running([sys.executable, '-m', 'px4_sim_ros.cli.visualizer', '--params-file', str(file),
                  '--ros-args', '-r', '__ns:=/uav1', '-p', f'rate_hz:={RATE_HZ}'],
                 env=os.environ | ros_environment()) as process:
        graph.wait_for(graph.is_matched, 'the visualizer')
        duration_s = 2.0
        steps, counts = graph.fly(duration_s)
        assert steps > 3 * RATE_HZ * duration_s
        for topic in (side_topics.MARKERS, side_topics.JOINTS):
            assert 3 <= counts[topic.name] <= RATE_HZ * duration_s + 2
        assert counts[side_topics.PATH.name] <= duration_s / 0.5 + 2
        graph.wait_for(
            lambda: graph.last(side_topics.PATH).poses[-1].pose.position.x == 0.1 * (steps - 1),
            'the end of the path')
        graph.wait_for(
            lambda: 'LOCKED' in Shown(graph.last(side_topics.MARKERS))[markers.TEXT].text,
            'the link')
        assert '<robot' in graph.last(side_topics.DESCRIPTION).data
        graph.poses.publish(pose(0.0, (0.0, 0.0, 0.05)))
        graph.wait_for(
            lambda: len(graph.last(side_topics.PATH).poses) == 1, 'a path that begins again')
        assert interrupt(process) < 5.0
        assert process.returncode == 0
