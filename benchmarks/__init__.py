# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark: the cost of a step, its parts, and how near it is to the ceiling."""
