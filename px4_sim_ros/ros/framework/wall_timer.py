# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Timers of wall time: what has to happen also while simulated time stands still."""
from __future__ import annotations

import typing

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer


def create_wall_timer(node: Node, period_s: float, callback: typing.Callable[[], None]) -> Timer:
    """Return a timer that a change of the system's time does not disturb."""
    return node.create_timer(
        period_s, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))
