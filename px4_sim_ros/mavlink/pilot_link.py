# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pilot's end of ordinary MAVLink over UDP, and the state that the autopilot last sent."""
from __future__ import annotations

import collections
import contextlib
import math
import select
import socket
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.mavlink.fast_frames import frames_of
from px4_sim_ros.mavlink.hil_fields import heartbeat, packed
from px4_sim_ros.mavlink.ports import bound_udp_socket
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.frames import Vector, ned_to_enu

# Of PX4 instance 0; each further instance has the next port.
PILOT_PORT = 14540

_HEARTBEAT_S = 1.0               # simulated time
# Wall time. At full speed PX4 sends several datagrams a millisecond: to wake up for each would
# take the core from the simulator.
_REST_S = 0.002
_LONGEST_WAIT_S = 0.2
_MOST_AT_ONCE = 1000           # datagrams, so that a flood does not block the pilot
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
# Few of the hundreds of messages a second of simulated time matter to a flight: those of `_take`.
_IN_FLIGHT = frozenset(message.id for message in (
    mavlink.MAVLink_local_position_ned_message, mavlink.MAVLink_system_time_message,
    mavlink.MAVLink_position_target_local_ned_message, mavlink.MAVLink_heartbeat_message,
    mavlink.MAVLink_sys_status_message, mavlink.MAVLink_extended_sys_state_message,
    mavlink.MAVLink_command_ack_message, mavlink.MAVLink_statustext_message))
# Where, and at what time, a flight begins; there may be no position yet.
_BEFORE_FLIGHT = _IN_FLIGHT | {
    mavlink.MAVLink_attitude_message.id, mavlink.MAVLink_global_position_int_message.id}


class SetPoint(typing.NamedTuple):
    """Where an autopilot wants to be, by its own estimate of where it is; time is its own."""

    time_us: int
    position_enu: Vector


class PilotLink:
    """Sends to one autopilot and keeps what it has sent last."""

    def __init__(self, instance: int, show: typing.Callable[[SetPoint], None]) -> None:
        """Bind the port.

        :param show: called with each set point that the autopilot sends
        :raises PortTakenError: the port is taken
        """
        self._show = show
        self.system_id = instance + 1
        self.port = PILOT_PORT + instance
        self.mav = mavlink.MAVLink(
            None, srcSystem=245, srcComponent=mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
        self.mav.robust_parsing = True
        self._socket = bound_udp_socket(self.port)
        self._buffer = memoryview(bytearray(65536))
        self._received: collections.deque[bytes] = collections.deque()     # and not parsed yet
        self._address: tuple[str, int] | None = None
        self._received_s = time.monotonic()
        self._next_heartbeat_s = 0.0
        self.is_in_flight = False        # then some messages are left out
        # What the autopilot has sent last.
        self.time_s = 0.0
        self.position_enu: Vector | None = None
        self.velocity_enu: Vector = (0.0, 0.0, 0.0)
        self.geodetic: GeodeticPosition | None = None
        self.armed = False
        self.ready = False
        self.on_ground = True
        self.acknowledged: tuple[int, int] | None = None       # command and its result
        self.text = ''

    @property
    def silent_s(self) -> float:
        """Wall time since the last datagram, or since the port was bound."""
        return time.monotonic() - self._received_s

    def close(self) -> None:
        """Free the port."""
        self._socket.close()

    def send(self, message: mavlink.MAVLink_message) -> None:
        """Send a message, if the autopilot's address is known yet."""
        self._send(packed(self.mav, message))

    def _send(self, frame: bytes) -> None:
        if self._address is not None:
            self._socket.sendto(frame, self._address)

    def receive(self) -> None:
        """Take in one datagram, or nothing if none comes for a while."""
        if not self._received:
            self._fetch()
        if not self._received:
            return
        for message in self.mav.parse_buffer(self._received.popleft()) or ():
            if message.get_srcSystem() == self.system_id:
                self._take(message)
        if self.time_s >= self._next_heartbeat_s:
            self._next_heartbeat_s = self.time_s + _HEARTBEAT_S
            self._send(heartbeat(self.mav, mavlink.MAV_TYPE_ONBOARD_CONTROLLER))

    def _fetch(self) -> None:
        """Rest, then take in all datagrams that have come; wait if there is none."""
        time.sleep(_REST_S)
        if not select.select([self._socket], [], [], _LONGEST_WAIT_S)[0]:
            return
        self._received_s = time.monotonic()
        wanted = _IN_FLIGHT if self.is_in_flight else _BEFORE_FLIGHT
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_AT_ONCE):
                size, self._address = self._socket.recvfrom_into(
                    self._buffer, 0, socket.MSG_DONTWAIT)
                data = frames_of(bytes(self._buffer[:size]), wanted)
                if data:
                    self._received.append(data)

    def _take(self, message: mavlink.MAVLink_message) -> None:
        kind = message.get_type()
        # SYSTEM_TIME goes on without a position.
        if kind in ('LOCAL_POSITION_NED', 'ATTITUDE', 'GLOBAL_POSITION_INT', 'SYSTEM_TIME'):
            self.time_s = max(self.time_s, message.time_boot_ms * 1e-3)
        if kind == 'LOCAL_POSITION_NED':
            self.position_enu = ned_to_enu((message.x, message.y, message.z))
            self.velocity_enu = ned_to_enu((message.vx, message.vy, message.vz))
        elif kind == 'POSITION_TARGET_LOCAL_NED':
            place = ned_to_enu((message.x, message.y, message.z))
            if all(map(math.isfinite, place)):       # an axis that is not held has no number
                self._show(SetPoint(message.time_boot_ms * 1000, place))
        elif kind == 'GLOBAL_POSITION_INT':
            # The altitude is above mean sea level; as an origin only differences matter.
            self.geodetic = GeodeticPosition(
                message.lat * 1e-7, message.lon * 1e-7, message.alt * 1e-3)
        elif kind == 'HEARTBEAT' and message.get_srcComponent() == _AUTOPILOT:
            self.armed = bool(message.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
        elif kind == 'SYS_STATUS':
            self.ready = bool(
                message.onboard_control_sensors_health & mavlink.MAV_SYS_STATUS_PREARM_CHECK)
        elif kind == 'EXTENDED_SYS_STATE':
            self.on_ground = message.landed_state == mavlink.MAV_LANDED_STATE_ON_GROUND
        elif kind == 'COMMAND_ACK':
            self.acknowledged = message.command, message.result
        elif kind == 'STATUSTEXT':
            self.text = message.text
