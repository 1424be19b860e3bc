# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The environment of ROS processes: how they discover each other, and with which threads."""
from __future__ import annotations

import os

from px4_sim_ros.process import blas_threads
from px4_sim_ros.spec.resources import config_directory

# What Fast DDS calls the file of its settings, and ours for it: to Jazzy, and since Kilted. A file
# with a name of the other kind is refused as a whole.
_PROFILES = {'FASTRTPS_DEFAULT_PROFILES_FILE': 'fastdds.xml',
             'FASTDDS_DEFAULT_PROFILES_FILE': 'fastdds3.xml'}
_LAST_RCLPY_OF_JAZZY = 7
_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_CHOICES = (
    'FASTDDS_BUILTIN_TRANSPORTS', _RANGE, 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS',
    'ROS_DISCOVERY_SERVER')
# What `setup.bash` of an installed ROS 2 sets by default: it was not chosen.
_SET_BY_ROS = _RANGE, 'SUBNET'


def ros_environment() -> dict[str, str]:
    """Return the environment for ROS processes: they find each other on this machine.

    A user who has set anything about discovery keeps those settings.
    """
    environment = dict(os.environ) | blas_threads.ENVIRONMENT
    settings = {item for item in environment.items() if item[0] in (*_PROFILES, *_CHOICES)}
    if settings - {_SET_BY_ROS}:
        return environment
    # With SUBNET, also by default, ROS tells the network of them whatever the profile says.
    return environment | dict([profile()]) | {_RANGE: 'SYSTEM_DEFAULT'}


def profile() -> tuple[str, str]:
    """Return the variable that names the settings of the installed Fast DDS, and their file."""
    import importlib.metadata  # it takes a while, and processes of a graph do without
    found = [distribution.version for name in ('rclpy', 'ros-rclpy')
             for distribution in importlib.metadata.distributions(name=name)]
    is_of_jazzy = not found or int(found[0].partition('.')[0]) <= _LAST_RCLPY_OF_JAZZY
    variable, name = list(_PROFILES.items())[not is_of_jazzy]
    return variable, str(config_directory() / name)
