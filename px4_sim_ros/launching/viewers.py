# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The viewers of a launch: rviz2 and what feeds it."""
from __future__ import annotations

import pathlib
import shlex
import typing

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process.children import die_with_parent
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.resources import PACKAGE, config_directory
from px4_sim_ros.step import side_topics
from px4_sim_ros.viewing.rviz_fleet import fleet_rviz
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
    """Check before anything starts that the viewers are installed."""
    check_tf(given)
    if given['rviz'] == 'true':
        _check_installed('rviz2')


def check_fleet_viewers(given: typing.Mapping[str, str]) -> None:
    """Check before anything starts that the viewers of several vehicles are installed."""
    check_tf(given)
    if given['rviz'] == 'true':
        for package in ('rviz2', 'robot_state_publisher', 'tf2_msgs'):
            _check_installed(package)


def _check_installed(package: str) -> None:
    if not _installed(package):
        raise ParameterError(
            f'rviz = true: the package {package} is not installed; install it (apt-get install'
            f" ros-$ROS_DISTRO-{package.replace('_', '-')}) or leave rviz away")


def check_tf(given: typing.Mapping[str, str]) -> None:
    """Check before anything starts that transforms can be published, if they are to be."""
    if given['publish_tf'] == 'true' and not _installed('tf2_msgs'):
        raise ParameterError(
            'publish_tf = true: the package tf2_msgs is not installed; it comes with an installed'
            ' ROS 2')


def viewers(
    given: typing.Mapping[str, str], configuration: Configuration, file: pathlib.Path,
    bounds: typing.Mapping[str, str],
) -> list[LaunchDescriptionEntity]:
    """Return TF, rviz2 and its sources; the flight continues when one of them ends."""
    shared = {'namespace': given['namespace'], 'output': 'screen', **bounds}
    found = []
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
        _rviz(config_directory() / 'iris.rviz', shared)]
    if helped:
        found.append(_state_publisher(configuration, '', shared))
    return found


def fleet_viewers(
    given: typing.Mapping[str, str], vehicles: typing.Mapping[str, Configuration],
    file: pathlib.Path, bounds: typing.Mapping[str, str],
) -> list[LaunchDescriptionEntity]:
    """Return TF and rviz2 for several vehicles, and what feeds it."""
    shared = {'output': 'screen', **bounds}
    found = []
    if 'true' in (given['publish_tf'], given['rviz']):
        found.append(Node(
            package=PACKAGE, executable='visualizer', exec_name='tf_broadcaster',
            arguments=['--only-tf', '--fleet', str(file)], **shared))
    if given['rviz'] != 'true':
        return found
    for vehicle, configuration in vehicles.items():
        own = {'namespace': vehicle, **shared}
        found += [
            Node(package=PACKAGE, executable='visualizer', exec_name=f'visualizer_{vehicle}',
                 arguments=['--fleet', str(file), '--member', vehicle],
                 parameters=[{'robot_state_publisher': True, 'tf_broadcaster': True}], **own),
            _state_publisher(configuration, f'{vehicle}/', own)]
    shown = file.with_name('fleet.rviz')
    shown.write_text(fleet_rviz(list(vehicles)), encoding='utf-8')
    return [*found, _rviz(shown, shared)]


def _rviz(shown: pathlib.Path, shared: typing.Mapping[str, str]) -> Node:
    # In simulated time it notices a reset, and drops the frames of the run before.
    return Node(package='rviz2', executable='rviz2', exec_name='rviz2',
                arguments=['-d', str(shown)], parameters=[{'use_sim_time': True}],
                **_of_others(shared))


def _state_publisher(
    configuration: Configuration, frame_prefix: str, shared: typing.Mapping[str, str],
) -> Node:
    return Node(
        package='robot_state_publisher', executable='robot_state_publisher',
        exec_name='robot_state_publisher', parameters=[{
            'robot_description': ParameterValue(urdf(configuration), value_type=str),
            'frame_prefix': frame_prefix,
            'use_sim_time': True, 'publish_frequency': _ALL_ANGLES_HZ}],
        remappings=[('joint_states', side_topics.JOINTS.name)], **_of_others(shared))


def _of_others(shared: typing.Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of a foreign program: blocked signals would stay so there."""
    return {**shared, 'prefix': shlex.join(die_with_parent())}
