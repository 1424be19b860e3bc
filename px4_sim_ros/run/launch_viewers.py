# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The viewers of a launch: Rerun, rviz2 and what feeds it."""
from __future__ import annotations

import pathlib
import typing

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.config.resources import PACKAGE, config_directory
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.step import side_topics
from px4_sim_ros.viewing.rerun_target import RerunTarget
from px4_sim_ros.viewing.urdf import urdf

# Its angles come at the display rate already; by default it would leave out every second.
_ALL_ANGLES_HZ = 1000.0


def _installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def check_viewers(given: typing.Mapping[str, str]) -> None:
    """Check before anything starts that the viewers are installed.

    :raises ParameterError: one is not
    """
    if given['viewer']:
        RerunTarget(given['viewer'])
    check_tf(given)
    if given['rviz'] == 'true' and not _installed('rviz2'):
        raise ParameterError(
            'rviz = true: the package rviz2 is not installed; install it'
            ' (apt-get install ros-$ROS_DISTRO-rviz2) or leave rviz away')


def check_tf(given: typing.Mapping[str, str]) -> None:
    """Check before anything starts that transforms can be published, if they are to be.

    :raises ParameterError: they cannot
    """
    if given['publish_tf'] == 'true' and not _installed('tf2_msgs'):
        raise ParameterError(
            'publish_tf = true: the package tf2_msgs is not installed; it comes with an installed'
            ' ROS 2')


def viewers(
    given: typing.Mapping[str, str], configuration: Configuration, file: pathlib.Path,
    bounds: typing.Mapping[str, str],
) -> list[LaunchDescriptionEntity]:
    """Return Rerun, TF, rviz2 and what feeds it; the flight goes on when one of them ends.

    :param file: the parameters of the graph
    :param bounds: what every process of the launch has
    """
    shared = {'namespace': given['namespace'], 'output': 'screen', **bounds}
    found = []
    if given['viewer']:
        found.append(Node(
            package=PACKAGE, executable=PACKAGE, exec_name='viewer',
            arguments=['view', '--viewer', given['viewer'], '--params-file', str(file),
                       '--namespace', given['namespace']], **shared))
    broadcasts = given['publish_tf'] == 'true'
    if broadcasts:
        found.append(Node(
            package=PACKAGE, executable='visualizer', exec_name='tf_broadcaster',
            arguments=['--only-tf', '--params-file', str(file)], **shared))
    if given['rviz'] != 'true':
        return found
    helped = _installed('robot_state_publisher')
    found += [
        Node(package=PACKAGE, executable='visualizer', exec_name='visualizer',
             arguments=['--params-file', str(file)],
             parameters=[{'robot_state_publisher': helped, 'tf_broadcaster': broadcasts}],
             **shared),
        # In simulated time it notices a reset, and drops the frames of the run before.
        Node(package='rviz2', executable='rviz2', exec_name='rviz2',
             arguments=['-d', str(config_directory() / 'iris.rviz')],
             parameters=[{'use_sim_time': True}], **shared)]
    if helped:
        found.append(Node(
            package='robot_state_publisher', executable='robot_state_publisher',
            exec_name='robot_state_publisher', parameters=[{
                'robot_description': ParameterValue(urdf(configuration), value_type=str),
                'use_sim_time': True, 'publish_frequency': _ALL_ANGLES_HZ}],
            remappings=[('joint_states', side_topics.JOINTS.name)], **shared))
    return found
