# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world around a PX4 autopilot, as ROS 2 nodes in lockstep."""
__version__ = '0.1.0'
PACKAGE = 'px4_sim_ros'
