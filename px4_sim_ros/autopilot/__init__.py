# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A small flight controller that stands in for PX4 where there is none.

It uses the same link and the same commands as PX4, and nothing but its sensors. It is no
model of PX4: no failsafes, no parameters over MAVLink, one estimator with fixed gains.
"""
