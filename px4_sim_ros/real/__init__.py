# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Real flights: read, flown through the model, and what the model's parameters are by them."""
