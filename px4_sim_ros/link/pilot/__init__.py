# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A pilot that commands an autopilot over ordinary MAVLink."""
