# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The simulator's battery for PX4, which ignores batteries on the simulator link.

BATTERY_STATUS goes over an ordinary MAVLink link, as that of a smart battery would: to PX4's
onboard link for a payload. PX4 takes batteries of its own system only, and of other
components than itself. With SIM_BAT_ENABLE 0 it has no other.
"""
from __future__ import annotations

import contextlib

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.mavlink.hil_fields import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    UINT16_MAX,
    packed,
    saturated,
)
from px4_sim_ros.mavlink.ports import LOCAL, bound_socket
from px4_sim_ros.model.inputs import BatteryStatus

# PX4's payload link of instance 0; each further instance has the next port.
PAYLOAD_PORT = 14280
_PERIOD_US = 500_000
_MOST_CELLS = 10
_UNKNOWN = -1


class BatteryLink:
    """Sends the state of the battery to PX4 twice a second of simulated time."""

    def __init__(self, instance: int, cells: int, host: str = LOCAL) -> None:
        """Open a socket; PX4 need not listen yet.

        :param cells: in series; their voltage is taken to be equal
        :param host: the address of this machine that it sends from
        """
        self._port = PAYLOAD_PORT + instance
        self._sent_us = -_PERIOD_US
        self._cells = min(cells, _MOST_CELLS)
        self._mav = mavlink.MAVLink(
            None, srcSystem=instance + 1, srcComponent=mavlink.MAV_COMP_ID_BATTERY)
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
        self._sent_us = status.time_us
        with contextlib.suppress(OSError):      # PX4 gets the next one
            self._socket.sendto(self.frame(status), (host, self._port))

    def frame(self, status: BatteryStatus) -> bytes:
        """Return a BATTERY_STATUS."""
        cell_mv = saturated(status.voltage_v / self._cells * 1e3, 0, UINT16_MAX - 1)
        used_ah = status.capacity_ah - status.charge_ah
        return packed(self._mav, self._mav.battery_status_encode(
            0, mavlink.MAV_BATTERY_FUNCTION_ALL, mavlink.MAV_BATTERY_TYPE_LIPO,
            INT16_MAX,                                  # temperature: unknown
            [cell_mv] * self._cells + [UINT16_MAX] * (_MOST_CELLS - self._cells),
            saturated(status.current_a * 1e2, INT16_MIN, INT16_MAX),
            saturated(used_ah * 1e3, 0, INT32_MAX),
            _UNKNOWN,                                   # energy
            saturated(status.state_of_charge * 1e2, 0, 100)))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
