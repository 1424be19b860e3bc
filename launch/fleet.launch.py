# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fly several vehicles in one world: their nodes, their autopilots, and pilots if wanted."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from px4_sim_ros.launching.actions import fleet_actions
from px4_sim_ros.launching.arguments import FLEET_ARGUMENTS


def generate_launch_description():
    """Declare the arguments; everything else follows from them when the launch starts."""
    return LaunchDescription([
        *(DeclareLaunchArgument(
            name, default_value=argument.default, description=argument.description,
            choices=argument.choices or None)
          for name, argument in FLEET_ARGUMENTS.items()),
        OpaqueFunction(function=fleet_actions),
    ])
