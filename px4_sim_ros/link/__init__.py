# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The link to an autopilot: ports, and fields and frames of MAVLink."""
