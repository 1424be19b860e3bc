# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""MAVLink: the HIL link to an autopilot, and a pilot that commands it."""
