# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Analysis of recordings: comparison, events, sensor errors, integrator study."""
