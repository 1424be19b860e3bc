# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run: PX4 and other processes, the hosts of the graph, launch."""
