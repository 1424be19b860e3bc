# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can be done to a flight: to motors, sensors, air, battery, body and autopilot."""
