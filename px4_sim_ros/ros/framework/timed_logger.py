# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes log has the simulated time in front, and as its stamp on `/rosout`.

ROS itself stamps by the wall clock, so it publishes none of it.
"""
from __future__ import annotations

import typing

from rcl_interfaces.msg import Log
from rclpy.publisher import Publisher

from px4_sim_ros.messages.autopilot import line
from px4_sim_ros.model.errors import printable
from px4_sim_ros.model.timebase import timed


class TimedLogger:
    """A node's logger whose sentences have the simulated time."""

    def __init__(
        self, logger: typing.Any, time_us: typing.Callable[[], int], publisher: Publisher | None,
    ) -> None:
        """Wrap a logger of rclpy.

        :param time_us: returns the simulated time
        :param publisher: of `/rosout`; None while the node has none
        """
        self._logger, self._time_us, self._publisher = logger, time_us, publisher

    # Each on a line of its own: rclpy refuses another severity from the same one.

    def info(self, text: str) -> None:
        """Log what is as it should be."""
        self._logger.info(self._line(text, Log.INFO))

    def warning(self, text: str) -> None:
        """Log what the user should know."""
        self._logger.warning(self._line(text, Log.WARN))

    def error(self, text: str) -> None:
        """Log what has failed."""
        self._logger.error(self._line(text, Log.ERROR))

    def print(self, text: str) -> None:
        """Log what is published already, at the level INFO."""
        self._logger.info(printable(timed(text, self._time_us())))

    def _line(self, text: str, level: int) -> str:
        """Return a sentence as it is logged; publish it if the logger logs it."""
        time_us = self._time_us()
        text = printable(timed(text, time_us))
        if self._publisher is not None and self._logger.is_enabled_for(level):
            self._publisher.publish(line(time_us, self._logger.name, text, level))
        return text

    def __getattr__(self, name: str) -> typing.Any:
        """Return all else that a logger has."""
        return getattr(self._logger, name)
