# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The manager: brings the graph up, drives its clock, supervises it, takes it down."""
