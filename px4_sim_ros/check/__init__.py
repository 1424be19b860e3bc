# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures that follow from a vehicle file, and whether they are plausible: `check-vehicle`."""
