# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes log has the simulated time in front: ROS itself stamps it by the wall clock."""
from __future__ import annotations

import typing

from px4_sim_ros.model.errors import printable
from px4_sim_ros.model.timebase import timed


class TimedLogger:
    """A node's logger whose sentences have the simulated time."""

    def __init__(self, logger: typing.Any, time_us: typing.Callable[[], int]) -> None:
        """Wrap a logger of rclpy.

        :param time_us: returns the simulated time
        """
        self._logger, self._time_us = logger, time_us

    # Each on a line of its own: rclpy refuses another severity from the same one.

    def info(self, text: str) -> None:
        """Log what is as it should be."""
        self._logger.info(self._line(text))

    def warning(self, text: str) -> None:
        """Log what the user should know."""
        self._logger.warning(self._line(text))

    def error(self, text: str) -> None:
        """Log what has failed."""
        self._logger.error(self._line(text))

    def _line(self, text: str) -> str:
        return printable(timed(text, self._time_us()))

    def __getattr__(self, name: str) -> typing.Any:
        """Return all else that a logger has."""
        return getattr(self._logger, name)
