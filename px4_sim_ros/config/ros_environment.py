# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The environment of ROS processes: how they discover each other, and with which threads."""
from __future__ import annotations

import os

from px4_sim_ros.config import one_thread
from px4_sim_ros.config.resources import config_directory

# What Fast DDS calls the file of its settings: to Jazzy, and since Kilted.
_PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'
_CHOICES = (
    'FASTDDS_BUILTIN_TRANSPORTS', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY',
    'ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER')


def ros_environment() -> dict[str, str]:
    """Return the environment for ROS processes: they find each other on this machine.

    A user who has set anything about discovery keeps those settings.
    """
    environment = dict(os.environ) | one_thread.ENVIRONMENT
    if any(name in environment for name in (*_PROFILES, *_CHOICES)):
        return environment
    profile = str(config_directory() / 'fastdds.xml')
    return dict.fromkeys(_PROFILES, profile) | environment
