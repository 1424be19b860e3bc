# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark: what a step costs, where, and how near to the ceiling that is."""
