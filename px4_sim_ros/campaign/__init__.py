# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Campaigns: many flights of one scenario with what varies in it, each of which can be reflown."""
