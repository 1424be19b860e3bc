# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a run: schema, loading, vehicles, missions, resources."""
