# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fly a recording again: its commands in the place of the bridge, and a comparison at the end."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from px4_sim_ros.launching.actions import replay_actions
from px4_sim_ros.launching.arguments import REPLAY_ARGUMENTS


def generate_launch_description():
    """Declare the arguments; everything else follows from them when the launch starts."""
    return LaunchDescription([
        *(DeclareLaunchArgument(
            name, default_value=argument.default, description=argument.description,
            choices=argument.choices or None)
          for name, argument in REPLAY_ARGUMENTS.items()),
        OpaqueFunction(function=replay_actions),
    ])
