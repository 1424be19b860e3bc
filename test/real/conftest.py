# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tests of real flights import what stands beside them."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
