# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The simulator's battery for PX4, which ignores batteries on the simulator link.

BATTERY_STATUS goes over an ordinary MAVLink link, as that of a smart battery would: to PX4's
onboard link for a payload. PX4 takes batteries of its own system only, and of other
components than itself. With SIM_BAT_ENABLE 0 it has no other.

There PX4 also says how it is while it answers no step: on the simulator link it does not.
"""
from __future__ import annotations

import contextlib
import select

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    UINT16_MAX,
    packed,
    saturated,
)
from px4_sim_ros.link.hil.server import Deadline
from px4_sim_ros.link.ports import LOCAL, bound_socket
from px4_sim_ros.model.timebase import US_PER_S, next_due_us
from px4_sim_ros.model.truth import BatteryStatus

# PX4's payload link of instance 0; each further instance has the next port.
PAYLOAD_PORT = 14280
_PERIOD_US = 500_000
_MOST_CELLS = 10
_S_PER_H = 3600.0
_UNKNOWN = -1
# Wall time that PX4 has for an answer; it takes a millisecond.
_ANSWER_S = 1.0
_MOST_BYTES = 65536


class BatteryLink:
    """Sends the state of the battery to PX4 twice a second of simulated time."""

    def __init__(self, instance: int, cells: int, host: str = LOCAL) -> None:
        """Open a socket; PX4 need not listen yet.

        :param cells: in series; their voltage is taken to be equal
        :param host: the address of this machine that it sends from
        """
        self._port = PAYLOAD_PORT + instance
        self._sent_us = -_PERIOD_US
        self._last: BatteryStatus | None = None
        self._used_ah = 0.0
        self._cells = min(cells, _MOST_CELLS)
        self._mav = mavlink.MAVLink(
            None, srcSystem=instance + 1, srcComponent=mavlink.MAV_COMP_ID_BATTERY)
        self._mav.robust_parsing = True
        self._socket = bound_socket('UDP', host, 0)
        self._socket.setblocking(False)

    def send(self, status: BatteryStatus | None, host: str | None) -> None:
        """Send a status, if it is time to.

        :param status: None when there is no battery
        :param host: where the autopilot is; None when there is none
        """
        if status is None or host is None:
            return
        # Time begins again with a reset.
        if 0 <= status.time_us - self._sent_us < _PERIOD_US:
            return
        self._follow(status)
        self._sent_us = status.time_us
        with contextlib.suppress(OSError):      # PX4 gets the next one
            self._socket.sendto(self.frame(status), (host, self._port))

    def next_us(self, time_us: int, period_us: int) -> int:
        """Return when a status of those that come with a period is sent first after a time."""
        # Time begins again with a reset.
        waits = time_us >= self._sent_us
        return next_due_us(
            max(time_us, self._sent_us + _PERIOD_US - 1) if waits else time_us, period_us)

    def heartbeat(self, host: str | None) -> mavlink.MAVLink_heartbeat_message | None:
        """Ask PX4 for a HEARTBEAT, and return it; None if none comes within a second.

        :param host: where the autopilot is; None when there is none
        """
        if host is None:
            return None
        px4 = host, self._port
        with contextlib.suppress(BlockingIOError):
            while self._socket.recv(_MOST_BYTES):      # what it has said before
                pass
        with contextlib.suppress(OSError):             # no network leads there
            self._socket.sendto(packed(self._mav, self._mav.command_long_encode(
                self._mav.srcSystem, mavlink.MAV_COMP_ID_AUTOPILOT1,
                mavlink.MAV_CMD_REQUEST_MESSAGE, 0,
                mavlink.MAVLINK_MSG_ID_HEARTBEAT, 0, 0, 0, 0, 0, 0)), px4)
            deadline = Deadline(_ANSWER_S)
            while select.select([self._socket], [], [], deadline.remaining_s)[0]:
                data, sender = self._socket.recvfrom(_MOST_BYTES)
                for message in self._mav.parse_buffer(data) or () if sender == px4 else ():
                    if message.get_type() == 'HEARTBEAT' and (
                            message.autopilot == mavlink.MAV_AUTOPILOT_PX4):
                        return message
        return None

    def _follow(self, status: BatteryStatus) -> None:
        """Add up what was consumed: a capacity that is lost was not."""
        last, self._last = self._last, status
        if last is None or status.time_us < last.time_us:
            self._used_ah = status.capacity_ah - status.charge_ah
        elif status.capacity_ah == last.capacity_ah:
            self._used_ah += last.charge_ah - status.charge_ah
        else:
            self._used_ah += 0.5 * (last.current_a + status.current_a) * (
                status.time_us - last.time_us) / (_S_PER_H * US_PER_S)

    def frame(self, status: BatteryStatus) -> bytes:
        cell_mv = saturated(status.voltage_v / self._cells * 1e3, 0, UINT16_MAX - 1)
        return packed(self._mav, self._mav.battery_status_encode(
            0, mavlink.MAV_BATTERY_FUNCTION_ALL, mavlink.MAV_BATTERY_TYPE_LIPO,
            INT16_MAX,                                  # temperature: unknown
            [cell_mv] * self._cells + [UINT16_MAX] * (_MOST_CELLS - self._cells),
            saturated(status.current_a * 1e2, INT16_MIN, INT16_MAX),
            saturated(self._used_ah * 1e3, 0, INT32_MAX),
            _UNKNOWN,                                   # energy
            saturated(status.state_of_charge * 1e2, 0, 100)))

    def close(self) -> None:
        self._socket.close()
