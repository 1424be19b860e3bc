# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the outputs of PX4 are while it answers no step.

PX4 in lockstep sends motor commands when its rate controller has run, and then only. In
TERMINATION, or without a gyro, none runs. On a flight controller the output drivers run
by themselves, every 50 ms (`MixingOutput::update` in PX4's src/lib/mixer_module): they hold the
last values, until PX4 is terminated, killed or disarmed. Then they put out the disarmed ones.

Whether it is, PX4 says in its HEARTBEAT, which it sends at once when it is asked for.
"""
from __future__ import annotations

import enum
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.server import HilServer
from px4_sim_ros.px4.boot_watch import process_at, rests

# Simulated time from one update of a flight controller's outputs to the next one.
_OUTPUT_PERIOD_US = 50_000

Ask = typing.Callable[[], mavlink.MAVLink_heartbeat_message | None]
"""Returns a new HEARTBEAT of PX4, None if there is no PX4 that answers."""


class Outputs(enum.Enum):
    """What the outputs are."""

    HELD = 'held'
    DISARMED = 'disarmed'
    TERMINATED = 'terminated'      # disarmed, and that for good


class Silence:
    """Finds out whether PX4 will answer a step, and what its outputs are if not."""

    def __init__(self, server: HilServer, ask: Ask) -> None:
        self._server, self._ask = server, ask
        self.begin_connection()

    def begin_connection(self) -> None:
        """Know nothing of the autopilot."""
        self._process: int | None = None
        self._is_local = True                    # as far as is known
        self._asked_us: int | None = None        # simulated time
        self._outputs: Outputs | None = None     # None: it does not tell

    def rests(self) -> bool:
        """Return whether a PX4 has done all it does in this step.

        One that does not tell its outputs may be no PX4.
        """
        if self._asked_us is not None and self._outputs is None:
            return False
        if self._process is None and self._is_local:
            peer = self._server.peer
            self._process = process_at(peer) if peer is not None else None
            self._is_local = self._process is not None
        return self._process is not None and self._server.is_delivered and rests(self._process)

    def outputs(self, time_us: int) -> Outputs | None:
        """Return the outputs in a step without an answer; None if they are not known."""
        if self._asked_us is None or (
                self._outputs is not None and time_us - self._asked_us >= _OUTPUT_PERIOD_US):
            self._asked_us, self._outputs = time_us, _outputs_of(self._ask())
        return self._outputs


def _outputs_of(heartbeat: mavlink.MAVLink_heartbeat_message | None) -> Outputs | None:
    if heartbeat is None:
        return None
    if heartbeat.system_status == mavlink.MAV_STATE_FLIGHT_TERMINATION:
        return Outputs.TERMINATED
    is_armed = heartbeat.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED
    return Outputs.HELD if is_armed else Outputs.DISARMED
