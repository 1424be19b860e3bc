# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an autopilot says of itself, in ROS axes; times are simulated."""
from __future__ import annotations

import typing

from px4_sim_ros.model.frames import Quaternion, Vector


class SetPoint(typing.NamedTuple):
    """Where an autopilot wants to be, by its own estimate of where it is; time is its own."""

    time_us: int
    position_enu: Vector


class Estimate(typing.NamedTuple):
    """How an autopilot takes itself to move, from where its estimate has begun; time is its own."""

    time_us: int
    position_enu: Vector
    velocity_enu: Vector
    attitude: Quaternion               # body to world
    rate_flu: Vector


class AutopilotStatus(typing.NamedTuple):
    """Its mode and its flags, from this time on."""

    time_us: int
    mode: str                          # '' before it is known
    armed: bool
    landed: bool
    failsafe: bool

    @property
    def text(self) -> str:
        """What it says, for the user."""
        return ', '.join((
            self.mode or 'mode not known', 'armed' if self.armed else 'disarmed',
            'landed' if self.landed else 'in the air',
            *(('failsafe',) if self.failsafe else ())))


class TelemetryListener(typing.Protocol):
    """Receives the telemetry of an autopilot."""

    def on_estimate(self, estimate: Estimate) -> None:
        """Take in how it takes itself to move."""

    def on_set_point(self, set_point: SetPoint) -> None:
        """Take in where it wants to be."""

    def on_status(self, status: AutopilotStatus) -> None:
        """Take in its mode and flags, when they have changed."""

    def on_text(self, time_us: int, text: str) -> None:
        """Take in a text."""
