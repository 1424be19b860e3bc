# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The topics beside the step: the second half of the graph table.

No step waits for them, and a replay does not repeat them.
"""
from __future__ import annotations

import typing

from px4_sim_ros.step.graph import ABSENCE


class SideTopic(typing.NamedTuple):
    """A topic that is no output of a step."""

    name: str
    type: str
    meaning: str
    latched: bool = False


NO_MEASUREMENT = SideTopic(
    ABSENCE, 'std_msgs/msg/Header',
    'time at which the sensor frame_id, which is stopped, would have measured')
LINK_STATE = SideTopic(
    'hil/state', 'std_msgs/msg/String',
    'state of the link: WAITING, FREEWHEEL, LOCKED, STALLED, TERMINATED', latched=True)
RUN_STATUS = SideTopic(
    'sim/status', 'diagnostic_msgs/msg/DiagnosticStatus',
    'what the manager is about, its counters and the real-time factor', latched=True)
DIAGNOSTICS = SideTopic(
    '/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray',
    'each node: its counters and the wall time that it took')
LOG = SideTopic(
    '/rosout', 'rcl_interfaces/msg/Log',
    'what nodes, the pilot and the autopilot have said, and each state of the link', latched=True)

ESTIMATE = SideTopic(
    'autopilot/odometry', 'nav_msgs/msg/Odometry',
    'how the autopilot takes itself to move: pose in odom, from where its estimate has begun, and'
    ' twist in base_link; its own stamps')
SET_POINT = SideTopic(
    'autopilot/set_point', 'geometry_msgs/msg/PointStamped',
    'where the autopilot wants to be, as the pilot reads it', latched=True)
AUTOPILOT_STATUS = SideTopic(
    'autopilot/status', 'diagnostic_msgs/msg/DiagnosticArray',
    'mode, armed, landed and failsafe, when they have changed, as the pilot reads them',
    latched=True)

# Those in a recording: with their meaning they are a part of its contract.
RECORDED = {topic.name: topic for topic in (
    NO_MEASUREMENT, LINK_STATE, RUN_STATUS, DIAGNOSTICS, LOG, ESTIMATE, SET_POINT,
    AUTOPILOT_STATUS)}

RECORDING_STATUS = SideTopic(
    'recording/status', 'diagnostic_msgs/msg/DiagnosticStatus',
    'up to which time all is recorded, or why the recording has ended', latched=True)
PILOT_EVENTS = SideTopic(
    'pilot/events', 'diagnostic_msgs/msg/DiagnosticStatus',
    'what the pilot has achieved, and at last that its mission is over', latched=True)
SCENARIO_EVENTS = SideTopic(
    'scenario/events', 'diagnostic_msgs/msg/DiagnosticStatus',
    'what the scenario has done, and at last what has become of its expectations', latched=True)
TOUCHES = SideTopic(
    'ground_truth/touches', 'diagnostic_msgs/msg/DiagnosticStatus',
    'in a scene: which object the vehicle begins to touch, where and how fast', latched=True)
JOY = SideTopic(
    'joy', 'sensor_msgs/msg/Joy',
    'published by others: sticks of a remote control, which the pilot passes on')
ENCOUNTERS = SideTopic(
    'encounters', 'diagnostic_msgs/msg/DiagnosticStatus',
    'of a fleet: which vehicles nearly meet or collide, and at last the least distances',
    latched=True)
VEHICLES = SideTopic(
    'vehicles', 'diagnostic_msgs/msg/DiagnosticStatus',
    'of a fleet: which vehicle joins the world or has left it, and at which time', latched=True)
MARKERS = SideTopic(
    'visual/markers', 'visualization_msgs/msg/MarkerArray',
    'thrust and wind arrows, set point, range beam, accuracy of GNSS, text, what moves in a scene;'
    ' all in map')
SCENE = SideTopic(
    'visual/scene', 'visualization_msgs/msg/MarkerArray', 'what stands in the world, in map',
    latched=True)
PATH = SideTopic('visual/path', 'nav_msgs/msg/Path', 'the path flown, in map')
JOINTS = SideTopic(
    'visual/joint_states', 'sensor_msgs/msg/JointState',
    'joint_states with angles of the rotors a hundred times slower than they turn')
DESCRIPTION = SideTopic(
    'robot_description', 'std_msgs/msg/String', 'the vehicle as URDF', latched=True)
TF = SideTopic('/tf', 'tf2_msgs/msg/TFMessage',
               'base_link in odom, all that turns in base_link, paths of a scene in map')
TF_STATIC = SideTopic(
    '/tf_static', 'tf2_msgs/msg/TFMessage', 'odom in map, sensors in base_link', latched=True)

# All of a graph, but for those of the visualizer.
BESIDE = RECORDED | {topic.name: topic for topic in (
    RECORDING_STATUS, PILOT_EVENTS, SCENARIO_EVENTS, TOUCHES, JOY, ENCOUNTERS, VEHICLES)}

# Those of the visualizer.
VIEWED = {topic.name: topic for topic in (
    MARKERS, SCENE, PATH, JOINTS, DESCRIPTION, TF, TF_STATIC)}
