# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The embedded autopilot in the process of the world: the same bytes, without a connection.

To start a process for each of many short flights would take longer than to fly them.
"""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.autopilot.answer import address
from px4_sim_ros.autopilot.process import Autopilot
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.hil.burst_code import HERE, InProcess
from px4_sim_ros.link.hil.server import HilServer


class DirectServer(HilServer):
    """Hands frames to an autopilot as a call, and keeps what it answers.

    The autopilot sees what it would see in a process of its own: commands that were sent before a
    step reach it before the step.
    """

    def __init__(self, make: typing.Callable[[], Autopilot]) -> None:
        self._make = make
        self._begin()
        self.count = lambda trouble, sentence: None

    def _begin(self) -> None:
        self._autopilot = self._make()
        self._answers = b''
        self._has_reply = False            # that is no frame yet
        self._said_us = -1                 # when it has sent telemetry last
        self._is_open = True
        self._in_process = _in_process(self._autopilot)

    @property
    def connected(self) -> bool:
        """Whether the autopilot is there: until it is closed."""
        return self._is_open

    def accept(self, timeout_s: float = 0.0) -> bool:
        """Return that the autopilot is there: a new one, if that before was retired."""
        if not self._is_open:
            self._begin()
        return True

    def send(self, data: bytes) -> None:
        """Let the autopilot carry out commands that have come, and answer."""
        self._autopilot.interface.receive()
        self._answers += self._autopilot.answer(data)

    def receive(self, timeout_s: float) -> bytes:
        """Return the answers of the autopilot."""
        answers, self._answers = self._answers, b''
        if self._has_reply:
            self._has_reply = False
            answers += self._autopilot.reply()
        return answers

    @property
    def in_process(self) -> InProcess:
        """Where compiled code finds the autopilot."""
        return self._in_process

    def begin_steps(self, time_us: int) -> tuple[int, float] | None:
        """Let the autopilot carry out commands; return when it sends telemetry."""
        if not self._is_open or not (self._has_reply or self._answers):
            return None
        self._autopilot.interface.receive()
        return HERE, self._autopilot.interface.due_us(time_us)

    def send_telemetry(self, time_us: int) -> float:
        """Let the autopilot send the telemetry of a time; return when it does next."""
        self._said_us = time_us
        self._autopilot.interface.telemetry(time_us)
        return self._autopilot.interface.due_us(time_us)

    def take_steps(self, time_us: int, *, is_sent: bool) -> None:
        """Let the autopilot send the telemetry of a time, unless it has."""
        self._answers, self._has_reply = b'', is_sent
        if is_sent and time_us > self._said_us:
            self.send_telemetry(time_us)

    def retire_client(self) -> None:
        """End the autopilot."""
        self.close()
        self._answers, self._has_reply = b'', False

    def close(self) -> None:
        """Free the ports of the autopilot; a second time nothing happens."""
        if self._is_open:
            self._is_open = False
            self._autopilot.interface.close()


def _in_process(autopilot: Autopilot) -> InProcess:
    memory, constants = autopilot.records
    force = memory['specific_force_m_s2']
    return InProcess(
        memory['time_us'],
        # The rates are behind it.
        np.lib.stride_tricks.as_strided(force, (6,), (force.itemsize,)),
        memory['field_t'][0], memory['pressure_pa'], memory['controls'][0],
        memory['reply_armed'], address(), memory.ctypes.data, constants.ctypes.data)


class DirectBridge(HilBlock):
    """The bridge to an embedded autopilot in this process."""

    has_autopilot = True

    def open_server(self) -> HilServer:
        """Return the link to a new autopilot.

        :raises PortTakenError: the port of its commands is in use
        """
        instance, vehicle = self.configuration.parameters.instance, self.configuration.vehicle
        return DirectServer(lambda: Autopilot(instance, vehicle))
