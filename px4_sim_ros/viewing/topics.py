"""The topics that the visualizer publishes: the only list."""
from __future__ import annotations

import typing


class ViewTopic(typing.NamedTuple):
    """A topic for viewers."""

    name: str
    type: str
    meaning: str
    latched: bool = False


MARKERS = ViewTopic(
    'visual/markers', 'visualization_msgs/msg/MarkerArray',
    'thrust and wind arrows, set point, range beam, accuracy of GNSS, text; all in map')
PATH = ViewTopic('visual/path', 'nav_msgs/msg/Path', 'the path flown, in map')
JOINTS = ViewTopic(
    'visual/joint_states', 'sensor_msgs/msg/JointState',
    'angles of the rotors, a hundred times slower than they turn')
DESCRIPTION = ViewTopic(
    'robot_description', 'std_msgs/msg/String', 'the vehicle as URDF', latched=True)
TF = ViewTopic(
    '/tf', 'tf2_msgs/msg/TFMessage', 'base_link in odom, rotors in base_link')
TF_STATIC = ViewTopic(
    '/tf_static', 'tf2_msgs/msg/TFMessage', 'odom in map, sensors in base_link', latched=True)

TOPICS: dict[str, ViewTopic] = {
    topic.name: topic for topic in (MARKERS, PATH, JOINTS, DESCRIPTION, TF, TF_STATIC)}

# The pilot publishes the autopilot's position set point there; it is no topic of the step.
SET_POINT = 'autopilot/set_point'
