# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What stands in the world: its ground and objects, and what rays meet of it."""
