# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What viewers show of a vehicle and its flight; it needs neither running nodes nor a window."""
