# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compilation: machine code that is kept and loaded without the compiler."""
