# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is flown: parameters, vehicles, missions, scenarios, scenes, fleets, and their files."""
