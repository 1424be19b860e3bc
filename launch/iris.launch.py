# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fly an Iris: the world, an autopilot, and a pilot if one is wanted."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from px4_sim_ros.launching.actions import actions
from px4_sim_ros.launching.arguments import ARGUMENTS


def generate_launch_description():
    """Declare the arguments; everything else follows from them when the launch starts."""
    return LaunchDescription([
        *(DeclareLaunchArgument(
            name, default_value=argument.default, description=argument.description,
            choices=argument.choices or None)
          for name, argument in ARGUMENTS.items()),
        OpaqueFunction(function=actions, kwargs={'vehicle': 'iris'}),
    ])
