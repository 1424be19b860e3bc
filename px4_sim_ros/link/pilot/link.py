# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pilot's end of ordinary MAVLink over UDP, and the state that the autopilot last sent."""
from __future__ import annotations

import collections
import contextlib
import ctypes
import math
import select
import socket
import struct
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fast_frames import FrameReader, frames_of
from px4_sim_ros.link.fields import heartbeat, packed
from px4_sim_ros.link.ports import LOCAL, bound_socket
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.frames import (
    Vector,
    frd_to_flu,
    ned_to_enu,
    quaternion_ned_frd_to_enu_flu,
    vector,
)
from px4_sim_ros.model.telemetry import Estimate, SetPoint, TelemetryListener
from px4_sim_ros.px4.modes import mode_name

# Lets the kernel drop the datagrams that the pilot would not read, before they cost anything.
#
# PX4 sends eight times as many messages to a companion computer as a pilot looks at, each in a
# datagram of its own. The filter is a program of the classic BPF (Linux' socket filters:
# https://docs.kernel.org/networking/filter.html), whose data begin with the header of UDP.

_SO_ATTACH_FILTER = 26
_UDP_HEADER_BYTES = 8
_FRAME_BYTES = 12                 # of MAVLink 2 around the payload, not signed
# Codes of instructions: load a byte, two, four or the length; add; swap; mask; jump; return.
_LOAD_BYTE, _LOAD_HALF, _LOAD_WORD, _LOAD_LENGTH = 0x30, 0x28, 0x20, 0x80
_ADD, _TO_X, _AND, _JUMP_EQUAL, _JUMP_EQUAL_X, _RETURN = 0x04, 0x07, 0x54, 0x15, 0x1d, 0x06
_ALL = 0xffff


def accept_only(
    receiver: socket.socket, ids: typing.Collection[int], from_port: int | None = None,
) -> None:
    """Let the kernel drop datagrams that are one whole frame of MAVLink 2 of another message.

    Where it refuses a filter, all of them come.

    :param ids: of the messages that are wanted
    :param from_port: UDP port of the only sender who is wanted; None: all are
    """
    lines = _program(sorted(ids))
    if from_port is not None:
        lines = [(_LOAD_HALF, 0, 0, 0), (_JUMP_EQUAL, 1, 0, from_port), (_RETURN, 0, 0, 0), *lines]
    program = b''.join(struct.pack('HBBI', *line) for line in lines)
    code = ctypes.create_string_buffer(program)
    with contextlib.suppress(OSError):
        receiver.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack(
            'HL', len(program) // 8, ctypes.addressof(code)))


def _program(ids: typing.Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return instructions: a code, how far to jump if it is so and if not, and a number."""
    count, begin = len(ids), _UDP_HEADER_BYTES
    return [
        (_LOAD_BYTE, 0, 0, begin),
        (_JUMP_EQUAL, 0, count + 8, mavlink.PROTOCOL_MARKER_V2),
        (_LOAD_BYTE, 0, 0, begin + 1),                      # the length of the payload
        (_ADD, 0, 0, _UDP_HEADER_BYTES + _FRAME_BYTES),
        (_TO_X, 0, 0, 0),
        (_LOAD_LENGTH, 0, 0, 0),
        (_JUMP_EQUAL_X, 0, count + 3, 0),
        (_LOAD_WORD, 0, 0, begin + 6),                      # a byte, then the id
        (_AND, 0, 0, 0xffffff),
        *((_JUMP_EQUAL, count - i, 0, int.from_bytes(id_.to_bytes(3, 'little'), 'big'))
          for i, id_ in enumerate(ids)),
        (_RETURN, 0, 0, 0),
        (_RETURN, 0, 0, _ALL),
    ]


# Of the pilot and of PX4 instance 0, which talk; each further instance has the next ports.
PILOT_PORT, AUTOPILOT_PORT = 14540, 14580
INSTANCES_WITH_PILOT_PORT = 10
"""From this instance on PX4 sends to the port of the one before until it has heard from a pilot.

So its pilot may have any port; the next ones are those of ground stations and of autopilots.
"""
_LATER_PILOT_PORT = 14700

_HEARTBEAT_S = 1.0               # simulated time
# Wall time. At full speed PX4 sends several datagrams a millisecond: to wake up for each would
# take the core from the simulator.
_REST_S = 0.002
_LONGEST_WAIT_S = 0.2
_MOST_AT_ONCE = 1000           # datagrams, so that a flood does not block the pilot
_MOST_TEXTS = 100
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
_NO_ITEM = 0xFFFF                # of HIGH_LATENCY2: nothing new
# Few of the hundreds of messages a second of simulated time matter to a flight: those of `_take`.
_IN_FLIGHT = frozenset(message.id for message in (
    mavlink.MAVLink_local_position_ned_message, mavlink.MAVLink_system_time_message,
    mavlink.MAVLink_position_target_local_ned_message, mavlink.MAVLink_heartbeat_message,
    mavlink.MAVLink_sys_status_message, mavlink.MAVLink_extended_sys_state_message,
    mavlink.MAVLink_command_ack_message, mavlink.MAVLink_statustext_message,
    mavlink.MAVLink_mission_request_message, mavlink.MAVLink_mission_request_int_message,
    mavlink.MAVLink_mission_ack_message, mavlink.MAVLink_high_latency2_message,
    mavlink.MAVLink_param_value_message, mavlink.MAVLink_param_error_message))
# Where, and at what time, a flight begins; there may be no position yet.
_BEFORE_FLIGHT = _IN_FLIGHT | {
    mavlink.MAVLink_attitude_message.id, mavlink.MAVLink_global_position_int_message.id}


def pilot_port(instance: int) -> int:
    """Return the UDP port of an instance's pilot."""
    later = instance - INSTANCES_WITH_PILOT_PORT
    return PILOT_PORT + instance if later < 0 else _LATER_PILOT_PORT + later


class PilotLink:
    """Sends to one autopilot and keeps what it has sent last."""

    def __init__(
        self, instance: int, listener: TelemetryListener | None = None,
        system_type: int = mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
    ) -> None:
        """Bind the port."""
        self._listener, self._system_type = listener, system_type
        self.is_cut = False              # what is sent is lost
        self.system_id = instance + 1
        self.port, self.autopilot_port = pilot_port(instance), AUTOPILOT_PORT + instance
        self.mav = mavlink.MAVLink(
            None, srcSystem=245, srcComponent=mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
        self.mav.robust_parsing = True
        self._socket = bound_socket('UDP', LOCAL, self.port)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._buffer = memoryview(bytearray(65536))
        # The frames of each datagram that is not parsed yet.
        self._received: collections.deque[list[bytes]] = collections.deque()
        autopilot = LOCAL, self.autopilot_port
        self._only_from = autopilot
        # All later PX4s send to the last of these ports at first.
        self._is_shared_port = instance == INSTANCES_WITH_PILOT_PORT - 1
        self._own = bytes([self.system_id, _AUTOPILOT])        # as in the header of a frame
        self.ignored = 0                 # datagrams that were not from its autopilot
        self.remark = ''       # of the first of them
        self.has_to_ask = instance >= INSTANCES_WITH_PILOT_PORT
        # Of the autopilot; None until it has sent something, unless it has to be asked for that.
        self._address = autopilot if self.has_to_ask else None
        self._received_s = time.monotonic()
        self._next_heartbeat_s = 0.0
        # By the id in a frame: what reads it, and takes its values in the order of the wire.
        self._quick: dict[bytes, tuple[FrameReader, typing.Callable[..., None]]] = {
            message.id.to_bytes(3, 'little'): (FrameReader(message), take) for message, take in (
                (mavlink.MAVLink_local_position_ned_message, self._take_position),
                (mavlink.MAVLink_position_target_local_ned_message, self._take_target),
                (mavlink.MAVLink_attitude_quaternion_message, self._take_turn),
                (mavlink.MAVLink_sys_status_message, self._take_status),
                (mavlink.MAVLink_extended_sys_state_message, self._take_landed))}
        self._attitude: tuple[float, ...] | None = None       # quaternion and rate, NED and FRD
        self._set_point: Vector | None = None
        self.estimates = self.set_points = 0                   # that the listener has received
        self._want(_BEFORE_FLIGHT)
        self._has_simulated_time = False
        self.time_s = 0.0                # the autopilot's, unless `receive_all` gives another
        # What the autopilot has sent last.
        self.position_enu: Vector | None = None
        self.velocity_enu: Vector = (0.0, 0.0, 0.0)
        self.geodetic: GeodeticPosition | None = None
        self.armed = False
        self.ready = False
        self.on_ground = True
        self.acknowledged: tuple[int, int] | None = None       # command and its result
        self.refusal: tuple[int, int] | None = None            # command and result, the last
        self.is_px4 = False
        self.text = ''
        self.stranger: int | None = None   # another system whose HEARTBEAT the autopilot passes on
        self.mode = ''
        self.failsafe = False
        # Since they were taken last.
        self.texts: collections.deque[str] = collections.deque(maxlen=_MOST_TEXTS)
        self.answers: collections.deque[mavlink.MAVLink_message] = collections.deque(
            maxlen=_MOST_TEXTS)                   # to what was asked
        self.vehicle_type = 0
        self.heading_deg = 0.0                      # clockwise from north
        # Of what is uploaded: its MAV_MISSION_TYPE, and the item or the result.
        self.item_wanted: tuple[int, int] | None = None
        self.mission_result: tuple[int, int] | None = None
        self.item_current: int | None = None        # the one that is flown, from 0 on

    def forget(self) -> None:
        """Forget how the autopilot is: it has lost its power, and its motors theirs."""
        self.armed = self.ready = self.failsafe = False
        self.mode = ''

    def begin_flight(self) -> None:
        """Leave out what matters only before a flight."""
        self._want(_IN_FLIGHT)

    def _want(self, ids: frozenset[int]) -> None:
        if self._listener is not None:
            ids |= {mavlink.MAVLink_attitude_quaternion_message.id}
        self._wanted = ids
        accept_only(self._socket, ids, self._only_from[1] if self._is_shared_port else None)

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
        if self._address is not None and not self.is_cut:
            self._socket.sendto(frame, self._address)

    def wake_receiver(self) -> None:
        """Send a byte that means nothing, also over a link that is cut.

        PX4 looks whether a ground station is lost when anything comes, or else by the wall clock:
        so that this is at a simulated time, something has to come in each step. From its sender
        PX4 also learns where to send to, if it has no port of its own for the pilot.
        """
        if self._address is not None:
            self._socket.sendto(b'\0', self._address)

    @property
    def number(self) -> int:
        """The number of its socket."""
        return self._socket.fileno()

    @property
    def has_come(self) -> bool:
        """Whether a datagram waits to be taken in."""
        return bool(self._poll.poll(0))

    def receive(self) -> None:
        """Take in one datagram, or nothing if none comes for a while."""
        if not self._received:
            self._fetch()
        if self._received:
            self._parse(self._received.popleft())

    def receive_all(self, time_s: float) -> None:
        """Take in all that has come by now, and do not wait.

        :param time_s: simulated time, which counts from then on
        """
        self._has_simulated_time, self.time_s = True, time_s
        self._take_datagrams()
        while self._received:
            self._parse(self._received.popleft())

    def discard(self) -> None:
        """Throw away what has come by now."""
        self._take_datagrams()
        self._received.clear()

    def _parse(self, frames: list[bytes]) -> None:
        for frame in frames:
            self._take_frame(frame)
        if self.time_s >= self._next_heartbeat_s:
            self._next_heartbeat_s = self.time_s + _HEARTBEAT_S
            self._send(heartbeat(self.mav, self._system_type))

    def _take_frame(self, data: bytes) -> None:
        # Most are one of these; pymavlink takes ten times as long.
        reader, take = self._quick.get(data[7:10], (None, None))
        if reader and take and (found := reader.read(data)) is not None:
            if data[5:7] == self._own:
                take(*found[1])
            return
        for message in self.mav.parse_buffer(data) or ():
            if message.get_srcSystem() == self.system_id:
                if message.get_srcComponent() == _AUTOPILOT:
                    self._take(message)
            elif message.get_type() == 'HEARTBEAT':
                self.stranger = message.get_srcSystem()

    def _fetch(self) -> None:
        """Rest, then take in all datagrams that have come; wait if there is none."""
        time.sleep(_REST_S)
        select.select([self._socket], [], [], _LONGEST_WAIT_S)
        self._take_datagrams()
        if self._received:
            self._received_s = time.monotonic()

    def _take_datagrams(self) -> None:
        """Take in what has come; if nothing has, let the autopilot know where to send to."""
        has_come = False
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_AT_ONCE):
                size, sender = self._socket.recvfrom_into(
                    self._buffer, 0, socket.MSG_DONTWAIT)
                if sender != self._only_from:
                    self._ignore(sender)
                    continue
                self._address, has_come = sender, True
                if frames := frames_of(bytes(self._buffer[:size]), self._wanted):
                    self._received.append(frames)
        if self.has_to_ask and not has_come:
            self.wake_receiver()

    def _ignore(self, sender: tuple[str, int]) -> None:
        self.ignored += 1
        if self.ignored == 1:
            (host, port), (own_host, own_port) = sender, self._only_from
            self.remark = (
                f'UDP port {self.port}: what comes from {host}:{port} is ignored; the autopilot of'
                f' this instance sends from {own_host}:{own_port}')

    def _take_time(self, time_boot_ms: int) -> None:
        if not self._has_simulated_time:
            self.time_s = max(self.time_s, time_boot_ms * 1e-3)

    def _take_position(
        self, time_boot_ms: int, x: float, y: float, z: float, vx: float, vy: float, vz: float,
    ) -> None:
        self._take_time(time_boot_ms)
        self.position_enu = ned_to_enu((x, y, z))
        self.velocity_enu = ned_to_enu((vx, vy, vz))
        if self._listener is not None and self._attitude is not None:
            self.estimates += 1
            w, i, j, k, *rate = self._attitude
            self._listener.on_estimate(Estimate(
                time_boot_ms * 1000, self.position_enu, self.velocity_enu,
                quaternion_ned_frd_to_enu_flu((w, i, j, k)), frd_to_flu(vector(rate))))

    def _take_turn(self, _time_boot_ms: int, *values: float) -> None:
        self._attitude = values[:7]

    def _take_status(self, _present: int, _enabled: int, health: int, *_: float) -> None:
        self.ready = bool(health & mavlink.MAV_SYS_STATUS_PREARM_CHECK)

    def _take_landed(self, _vtol_state: int, state: int) -> None:
        self.on_ground = state == mavlink.MAV_LANDED_STATE_ON_GROUND

    def _take_target(
        self, time_boot_ms: int, x: float, y: float, z: float, *_: float,
    ) -> None:
        place = ned_to_enu((x, y, z))
        # An axis that is not held has no number.
        if self._listener is not None and place != self._set_point and all(
                map(math.isfinite, place)):
            self._set_point = place
            self.set_points += 1
            self._listener.on_set_point(SetPoint(time_boot_ms * 1000, place))

    def _note_refusal(self, command: int, result: int) -> None:
        if result not in (mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_IN_PROGRESS):
            self.refusal = command, result
        elif self.refusal is not None and self.refusal[0] == command:
            self.refusal = None

    def _take(self, m: mavlink.MAVLink_message) -> None:
        kind = m.get_type()
        # SYSTEM_TIME comes without a position as well.
        if kind in ('ATTITUDE', 'GLOBAL_POSITION_INT', 'SYSTEM_TIME'):
            self._take_time(m.time_boot_ms)
        if kind == 'LOCAL_POSITION_NED':         # beside others in a datagram, or signed
            self._take_position(m.time_boot_ms, m.x, m.y, m.z, m.vx, m.vy, m.vz)
        elif kind == 'POSITION_TARGET_LOCAL_NED':
            self._take_target(m.time_boot_ms, m.x, m.y, m.z)
        elif kind == 'ATTITUDE_QUATERNION':
            self._take_turn(
                m.time_boot_ms, m.q1, m.q2, m.q3, m.q4, m.rollspeed, m.pitchspeed, m.yawspeed)
        elif kind == 'GLOBAL_POSITION_INT':
            # The altitude is above mean sea level; as an origin only differences matter.
            self.geodetic = GeodeticPosition(
                m.lat * 1e-7, m.lon * 1e-7, m.alt * 1e-3)
            self.heading_deg = m.hdg * 1e-2
        elif kind == 'HEARTBEAT':
            self.armed = bool(m.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
            self.mode = mode_name(m.custom_mode)
            self.failsafe = m.system_status >= mavlink.MAV_STATE_CRITICAL
            self.vehicle_type = m.type
            self.is_px4 = m.autopilot == mavlink.MAV_AUTOPILOT_PX4
        elif kind == 'SYS_STATUS':
            self._take_status(0, 0, m.onboard_control_sensors_health)
        elif kind == 'EXTENDED_SYS_STATE':
            self._take_landed(m.vtol_state, m.landed_state)
        elif kind == 'COMMAND_ACK':
            self.acknowledged = m.command, m.result
            self._note_refusal(m.command, m.result)
            self.answers.append(m)
        elif kind in ('PARAM_VALUE', 'PARAM_ERROR'):
            self.answers.append(m)
        elif kind in ('MISSION_REQUEST', 'MISSION_REQUEST_INT'):
            self.item_wanted = m.mission_type, m.seq
        elif kind == 'MISSION_ACK':
            self.mission_result = m.mission_type, m.type
        elif kind == 'HIGH_LATENCY2':
            if m.wp_num != _NO_ITEM:
                self.item_current = m.wp_num
        elif kind == 'STATUSTEXT':
            self.text = ''.join(filter(str.isprintable, m.text))      # of a terminal's codes
            self.texts.append(self.text)
