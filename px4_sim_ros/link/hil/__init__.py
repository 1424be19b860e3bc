# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The HIL link: lockstep, frames and PX4's replies."""
