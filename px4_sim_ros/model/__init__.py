# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world as mathematics: no ROS, no sockets, no wall clock."""
