# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The base of all nodes: lifecycle, parameters, executor, quality of service."""
