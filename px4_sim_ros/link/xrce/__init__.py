# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PX4's own ROS 2 topics: the agent's side of its uXRCE-DDS client, in the thread of the step."""
