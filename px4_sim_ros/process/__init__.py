# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine: signals, children, locks, threads, whole files."""
