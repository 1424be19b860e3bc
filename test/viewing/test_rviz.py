# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""config/iris.rviz names only what the graph and the visualizer publish, and as they publish it."""
from __future__ import annotations

import typing

import pytest
import rclpy
import yaml
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from urdf_parser_py.urdf import URDF

from px4_sim_ros.messages.truth import BODY_FRAME, WORLD_FRAME
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.nodes.visualizer import VisualizerNode
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step import graph, side_topics
from px4_sim_ros.viewing.links import ODOM_FRAME
from px4_sim_ros.viewing.markers import NAMESPACES
from px4_sim_ros.viewing.rviz_fleet import fleet_rviz
from px4_sim_ros.viewing.scenery import scene_markers
from px4_sim_ros.viewing.urdf import urdf


class Display(typing.NamedTuple):
    """The subscriptions of a display of rviz2, as its plugin has it (ros2/rviz, branch jazzy)."""

    type: str = ''               # of its messages; '' where it has no topic of its own
    topic: str = 'Topic'         # the name of its property


DISPLAYS = {
    'rviz_default_plugins/Grid': Display(),
    'rviz_default_plugins/Axes': Display(),
    'rviz_default_plugins/TF': Display(),      # as the frame manager
    'rviz_default_plugins/RobotModel': Display('std_msgs/msg/String', 'Description Topic'),
    'rviz_default_plugins/MarkerArray': Display('visualization_msgs/msg/MarkerArray'),
    'rviz_default_plugins/Path': Display('nav_msgs/msg/Path'),
    'rviz_default_plugins/Pose': Display('geometry_msgs/msg/PoseStamped'),
}
VIEWS = {'rviz_default_plugins/Orbit', 'rviz_default_plugins/ThirdPersonFollower'}
PANELS = {'rviz_common/Displays', 'rviz_common/Views', 'rviz_common/Tool Properties'}
# They look only; others would publish what has no subscriber.
TOOLS = {f'rviz_default_plugins/{name}'
         for name in ('MoveCamera', 'Select', 'FocusCamera', 'Measure')}
# How rviz2 writes the policies (qos_profile_property.cpp).
RELIABILITY = {'Reliable': ReliabilityPolicy.RELIABLE,
               'Best Effort': ReliabilityPolicy.BEST_EFFORT}
DURABILITY = {'Volatile': DurabilityPolicy.VOLATILE,
              'Transient Local': DurabilityPolicy.TRANSIENT_LOCAL}
HISTORY = {'Keep Last': HistoryPolicy.KEEP_LAST, 'Keep All': HistoryPolicy.KEEP_ALL}


@pytest.fixture(scope='module')
def rviz():
    """Return the file."""
    with open(config_directory() / 'iris.rviz', encoding='utf-8') as file:
        return yaml.safe_load(file)


@pytest.fixture(scope='module')
def displays(rviz):
    """Return its displays by name."""
    found = rviz['Visualization Manager']['Displays']
    assert len({d['Name'] for d in found}) == len(found)
    return {d['Name']: d for d in found}


@pytest.fixture(scope='module')
def configuration():
    """Return a run as it is by default."""
    return load_configuration(None, {})


@pytest.fixture(scope='module')
def published(configuration):
    """Return type and QoS of all topics, by name: those of the graph as BlockNode makes them."""
    found = {name: (topic.type, qos.LOOP) for name, topic in configuration.graph.topics.items()}
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = Listed(configuration, context)
    try:
        return found | node.made
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


class Listed(VisualizerNode):
    """A visualizer that notes what it makes."""

    def __init__(self, configuration, context):
        self.made = {}
        super().__init__(configuration, context=context)

    def create_publisher(self, msg_type, topic, qos_profile, **options):
        if isinstance(qos_profile, QoSProfile) and topic in side_topics.VIEWED:
            self.made[topic] = side_topics.VIEWED[topic].type, qos_profile
        return super().create_publisher(msg_type, topic, qos_profile, **options)


@pytest.fixture(scope='module')
def frames(configuration):
    """Return the frames that are published: those of the URDF and those above it."""
    return {WORLD_FRAME, ODOM_FRAME, *URDF.from_xml_string(urdf(configuration).encode()).link_map}


def subscribed(displays):
    """Return the topics that displays subscribe to: class and settings by name of the topic."""
    found = {}
    for display in displays.values():
        known = DISPLAYS[display['Class']]
        if known.type:
            found[display[known.topic]['Value']] = known, display[known.topic]
    return found


def test_there_is_only_what_rviz_has(rviz, displays):
    manager = rviz['Visualization Manager']
    assert {d['Class'] for d in displays.values()} <= set(DISPLAYS)
    assert {t['Class'] for t in manager['Tools']} <= TOOLS
    assert {p['Class'] for p in rviz['Panels']} <= PANELS
    views = [manager['Views']['Current'], *manager['Views']['Saved']]
    assert {v['Class'] for v in views} <= VIEWS
    assert manager['Transformation']['Current']['Class'] == 'rviz_default_plugins/TF'


def test_topics_and_types_are_those_that_are_published(displays, published):
    for topic, (display, _) in subscribed(displays).items():
        assert published[topic][0] == display.type, topic


def test_what_the_visualizer_publishes_is_shown(displays, published):
    # Angles of the rotors are for robot_state_publisher, and for TF without it.
    unseen = {side_topics.JOINTS.name, side_topics.TF.name, side_topics.TF_STATIC.name}
    assert set(side_topics.VIEWED) - set(subscribed(displays)) == unseen
    assert {side_topics.MARKERS.name, side_topics.PATH.name,
            side_topics.DESCRIPTION.name} <= set(published)


def test_topics_are_in_the_namespace_of_rviz(displays):
    assert not [topic for topic in subscribed(displays) if topic.startswith('/')]


def test_quality_of_service_fits_that_of_the_publisher(displays, published):
    for topic, (_, settings) in subscribed(displays).items():
        offered = published[topic][1]
        reliability = RELIABILITY[settings['Reliability Policy']]
        durability = DURABILITY[settings['Durability Policy']]
        assert settings['Depth'] >= 1 and HISTORY[settings['History Policy']]
        # A publisher may offer more than is asked for, never less.
        assert (offered.reliability is ReliabilityPolicy.RELIABLE
                or reliability is ReliabilityPolicy.BEST_EFFORT), topic
        assert (offered.durability is DurabilityPolicy.TRANSIENT_LOCAL
                or durability is DurabilityPolicy.VOLATILE), topic


def test_what_is_said_once_is_heard_by_those_who_come_later(displays, published):
    for topic, (_, settings) in subscribed(displays).items():
        latched = published[topic][1].durability is DurabilityPolicy.TRANSIENT_LOCAL
        assert latched is (settings['Durability Policy'] == 'Transient Local'), topic


def test_what_comes_with_the_steps_is_not_waited_for(displays):
    # A viewer of reliable loop topics would have to be sent again what it misses.
    for topic, (_, settings) in subscribed(displays).items():
        if topic in graph.TOPICS:
            assert settings['Reliability Policy'] == 'Best Effort', topic


def test_frames_are_published(rviz, displays, frames):
    manager = rviz['Visualization Manager']
    views = [manager['Views']['Current'], *manager['Views']['Saved']]
    named = {manager['Global Options']['Fixed Frame'], *(v['Target Frame'] for v in views)}
    for display in displays.values():
        named |= {display['Reference Frame']} if 'Reference Frame' in display else set()
        named |= set(display.get('Frames', ())) - {'All Enabled'}
    assert named <= frames, named - frames
    assert manager['Global Options']['Fixed Frame'] == WORLD_FRAME
    assert manager['Views']['Current']['Target Frame'] == BODY_FRAME


def test_all_namespaces_of_markers_are_on(displays):
    markers, scene = [d for d in displays.values() if d['Class'].endswith('MarkerArray')]
    assert markers['Namespaces'] == dict.fromkeys(NAMESPACES, True)
    drawn = scene_markers(Files().scene('hills')).markers
    assert scene['Namespaces'] == {marker.ns: True for marker in drawn}


def test_what_is_on_is_told_twice_the_same(displays):
    for name, display in displays.items():
        assert display['Enabled'] is display['Value'], name
    on = {display['Class'].split('/')[1] for display in displays.values() if display['Enabled']}
    assert on == {'Grid', 'Axes', 'RobotModel', 'MarkerArray', 'Path'}


def test_the_ground_is_where_the_feet_stand(displays):
    [grid] = [d for d in displays.values() if d['Class'].endswith('Grid')]
    assert grid['Reference Frame'] == WORLD_FRAME and grid['Plane'] == 'XY'
    assert set(grid['Offset'].values()) == {0}
    assert (grid['Cell Size'], grid['Plane Cell Count']) == (1, 40)


def test_of_a_fleet_each_vehicle_is_shown_under_one_map(displays, frames):
    content = yaml.safe_load(fleet_rviz(['alpha', 'bravo']))
    of_fleet = {d['Name']: d for d in content['Visualization Manager']['Displays']}
    topics = subscribed(displays)
    assert {name: found[0] for name, found in subscribed(of_fleet).items()} == {
        f'/{vehicle}/{name}': found[0] for vehicle in ('alpha', 'bravo')
        for name, found in topics.items()}
    prefixes = [d['TF Prefix'] for d in of_fleet.values() if 'TF Prefix' in d]
    assert prefixes == ['alpha', 'bravo']
    assert len({d['Color'] for d in of_fleet.values() if d['Class'].endswith('/Path')}) == 2
    views = content['Visualization Manager']['Views']
    targets = {view['Target Frame'] for view in (views['Current'], *views['Saved'])}
    assert targets <= {WORLD_FRAME, *(f'alpha/{frame}' for frame in frames)}
    # What is of no vehicle is there once.
    assert [d['Class'] for d in of_fleet.values()].count('rviz_default_plugins/Grid') == 1
