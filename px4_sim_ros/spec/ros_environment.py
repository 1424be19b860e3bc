# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The environment of ROS processes: how they discover each other, and with which threads."""
from __future__ import annotations

import os

from px4_sim_ros.process import blas_threads
from px4_sim_ros.spec.resources import config_directory

# What Fast DDS calls the file of its settings: to Jazzy, and since Kilted.
_PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'
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
    profile = str(config_directory() / 'fastdds.xml')
    # With SUBNET, also by default, ROS tells the network of them whatever the profile says.
    return environment | dict.fromkeys(_PROFILES, profile) | {_RANGE: 'SYSTEM_DEFAULT'}
