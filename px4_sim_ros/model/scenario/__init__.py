# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what happens in a flight, and when, and what has to hold meanwhile."""
