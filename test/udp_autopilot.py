# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot for the pilot to talk to: MAVLink over UDP without any flight behind it.

It is at once where it was commanded to be, and its clock is as fast as the test likes.
"""
from __future__ import annotations

import math
import select
import socket
import threading
import typing

from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import HOST

from px4_sim_ros.link.pilot.link import pilot_port

# Lausanne, 400 m above mean sea level.
HOME = (46.5197, 6.6323, 400.0)
DISARM_DELAY_S = 2.0
_PAUSE_S = 0.002                  # wall time for the pilot to answer in one tick
_EQUATOR_M, _ECCENTRICITY_2 = 6378137.0, 6.69437999014e-3        # WGS-84


def metres_per_degree() -> tuple[float, float]:
    """Return the lengths of a degree of latitude and longitude at HOME and its altitude."""
    sine = math.sin(math.radians(HOME[0]))
    w = 1.0 - _ECCENTRICITY_2 * sine * sine
    north = _EQUATOR_M * (1.0 - _ECCENTRICITY_2) / w ** 1.5 + HOME[2]
    east = (_EQUATOR_M / math.sqrt(w) + HOME[2]) * math.cos(math.radians(HOME[0]))
    return math.radians(north), math.radians(east)


def _waiting_bytes(port: int) -> int:
    """Return how much has come for a UDP port of this machine that was not read."""
    with open('/proc/net/udp', encoding='ascii') as table:
        next(table)
        for row in table:
            _, local, _, _, queues, *_ = row.split()
            if int(local.rpartition(':')[2], 16) == port:
                return int(queues.rpartition(':')[2], 16)
    return 0


class UdpAutopilot:
    """Sends telemetry tick by tick and carries out what it accepts."""

    def __init__(self, instance: int) -> None:
        self.system_id = instance + 1
        self.tick_s = 0.1
        # As a PX4 from instance 10 on it sends to whoever has sent to it.
        self._pilot_port = pilot_port(instance)
        self._pilot = None if instance > 9 else (HOST, self._pilot_port)
        self._mav = mavlink.MAVLink(None, srcSystem=self.system_id, srcComponent=1)
        self._mav.robust_parsing = True
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, 14580 + instance))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._landed_s: float | None = None
        self.time_s = 0.0
        self.place = [3.0, -2.0, 0.5]            # north, east, up from its own origin
        self.start = tuple(self.place)
        self.heading_deg = 0.0                   # clockwise from north
        self.ready = True
        self.armed = False
        self.mode = 0, 0                         # PX4's main and sub-mode
        self.in_failsafe = False
        self.text = ''
        self.vehicle_type = mavlink.MAV_TYPE_QUADROTOR
        # What came, in order: (time, message), and the commands alone.
        self.received: list[tuple[float, typing.Any]] = []
        self.commands: list[typing.Any] = []
        # For a test to replace: the result of a command, what happens before each telemetry, and at
        # each message that is no command.
        self.result: typing.Callable[[typing.Any], int] = lambda message: 0
        self.on_tick: typing.Callable[[], None] = lambda: None
        self.on_message: typing.Callable[[typing.Any], None] = lambda message: None

    def begin(self) -> None:
        """Run in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and free the port."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def count(self, kind: str) -> int:
        """Return how many messages of a kind came from the pilot."""
        return sum(message.get_type() == kind for _, message in self.received)

    def _run(self) -> None:
        while not self._stop.is_set():
            # A pilot that a busy machine delays would lose telemetry, and repeat its commands.
            if _waiting_bytes(self._pilot_port):
                self.serve(_PAUSE_S)
                continue
            self.time_s += self.tick_s
            self.tell()
            self.serve(_PAUSE_S)

    def tell(self) -> None:
        """Send its telemetry."""
        if self._landed_s is not None and self.time_s - self._landed_s > DISARM_DELAY_S:
            self.armed, self._landed_s = False, None
        self.on_tick()
        self.say(*self._telemetry())

    def serve(self, pause_s: float) -> None:
        """Carry out what comes, until nothing has come for a while."""
        while select.select([self._socket], [], [], pause_s)[0]:
            data, self._pilot = self._socket.recvfrom(65536)
            for message in self._mav.parse_buffer(data) or ():
                kind = message.get_type()
                if kind == 'BAD_DATA':                  # the byte by which it is found
                    continue
                self.received.append((self.time_s, message))
                if kind.startswith('COMMAND'):
                    self._carry_out(message)
                    continue
                self.on_message(message)

    def _carry_out(self, message: typing.Any) -> None:
        self.commands.append(message)
        result = self.result(message)
        if result == mavlink.MAV_RESULT_ACCEPTED:
            self._obey(message)
        self.say(self._mav.command_ack_encode(message.command, result))

    def _obey(self, message: typing.Any) -> None:
        if message.command == mavlink.MAV_CMD_NAV_TAKEOFF:
            self.place = [*self.start[:2], self.start[2] + message.param7 - HOME[2]]
        elif message.command == mavlink.MAV_CMD_COMPONENT_ARM_DISARM:
            self.armed = True
        elif message.command == mavlink.MAV_CMD_DO_SET_MODE:
            self.mode = int(message.param2), int(message.param3)
        elif message.command == mavlink.MAV_CMD_DO_REPOSITION:
            north, east = metres_per_degree()
            self.place = [
                self.start[0] + north * (message.x * 1e-7 - HOME[0]),
                self.start[1] + east * (message.y * 1e-7 - HOME[1]),
                self.start[2] + message.z - HOME[2]]
        elif message.command == mavlink.MAV_CMD_NAV_LAND:
            self.place = [*self.place[:2], self.start[2]]
            self._landed_s = self.time_s

    def _telemetry(self) -> list[mavlink.MAVLink_message]:
        mav, time_ms = self._mav, round(self.time_s * 1000)
        north, east, up = self.place
        degree_north, degree_east = metres_per_degree()
        in_air = up > self.start[2]
        main, sub = self.mode
        prearm = mavlink.MAV_SYS_STATUS_PREARM_CHECK
        messages = [
            mav.heartbeat_encode(
                self.vehicle_type, mavlink.MAV_AUTOPILOT_PX4, 128 if self.armed else 0,
                main << 16 | sub << 24,
                mavlink.MAV_STATE_CRITICAL if self.in_failsafe else mavlink.MAV_STATE_ACTIVE),
            mav.sys_status_encode(
                prearm, prearm, prearm if self.ready else 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            mav.extended_sys_state_encode(
                0, mavlink.MAV_LANDED_STATE_IN_AIR if in_air else
                mavlink.MAV_LANDED_STATE_ON_GROUND),
            mav.global_position_int_encode(
                time_ms,
                round((HOME[0] + (north - self.start[0]) / degree_north) * 1e7),
                round((HOME[1] + (east - self.start[1]) / degree_east) * 1e7),
                round((HOME[2] + up - self.start[2]) * 1000), 0, 0, 0, 0,
                round(self.heading_deg * 100)),
            mav.attitude_quaternion_encode(time_ms, 1, 0, 0, 0, 0, 0, 0),
            mav.local_position_ned_encode(time_ms, north, east, -up, 0, 0, 0),
        ]
        if self.text:
            messages.append(mav.statustext_encode(4, self.text.encode()))
        return messages

    def say(self, *messages: mavlink.MAVLink_message) -> None:
        """Send messages in one datagram, so that none of them gets lost alone."""
        self.send(b''.join(m.pack(self._mav) for m in messages))

    def send(self, data: bytes) -> None:
        """Send any bytes to the pilot, if it is known where that is."""
        if self._pilot is not None:
            self._socket.sendto(data, self._pilot)
