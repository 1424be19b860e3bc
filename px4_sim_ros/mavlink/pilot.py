"""A pilot that flies a mission over ordinary MAVLink, with PX4 or the embedded autopilot.

It sits where a companion computer does (UDP 14540 + instance) and keeps time by the
autopilot's clock, so that it flies the same at every speed of the simulation.
"""
from __future__ import annotations

import collections
import contextlib
import math
import select
import socket
import threading
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.mavlink.fast_frames import frames_of
from px4_sim_ros.mavlink.hil_fields import packed
from px4_sim_ros.mavlink.mission import GoTo, Hold, Item, Land, Mission, TakeOff
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame, load_proj
from px4_sim_ros.model.frames import Vector, ned_to_enu

FIRST_PORT = 14540

_SILENCE_LIMIT_S = 60.0          # wall time without any message
_READY_LIMIT_S = 120.0           # the others are simulated times
_ITEM_LIMIT_S = 180.0
_COMMAND_RETRY_S = 1.0
_HEARTBEAT_S = 1.0
_ARRIVED_DISTANCE_M = 0.4
_ARRIVED_SPEED_M_S = 0.3
_SETTLE_S = 1.0
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
# Wall time. At full speed PX4 sends several datagrams a millisecond: to wake up for each would
# take the core from who simulates.
_REST_S = 0.002
_LONGEST_WAIT_S = 0.2
_MOST_AT_ONCE = 1000           # datagrams, so that a flood holds nobody up
# Few of the hundreds of messages a second of simulated time matter to a flight: those of `_take`.
_HEARD = frozenset(message.id for message in (
    mavlink.MAVLink_local_position_ned_message, mavlink.MAVLink_system_time_message,
    mavlink.MAVLink_position_target_local_ned_message, mavlink.MAVLink_heartbeat_message,
    mavlink.MAVLink_sys_status_message, mavlink.MAVLink_extended_sys_state_message,
    mavlink.MAVLink_command_ack_message, mavlink.MAVLink_statustext_message))
# Where, and at what time, a flight begins; there may be no position yet.
_HEARD_BEFORE = _HEARD | {
    mavlink.MAVLink_attitude_message.id, mavlink.MAVLink_global_position_int_message.id}


class MissionError(RuntimeError):
    """The mission could not be flown; the text says what was missing."""


class Stopped(Exception):
    """The pilot was told to stop."""


class Event(typing.NamedTuple):
    """Something that the pilot has achieved; times are the autopilot's."""

    text: str
    time_s: float
    target_enu: Vector | None = None      # where it has to be, from the place of take-off


Report = typing.Callable[[Event], None]


class SetPoint(typing.NamedTuple):
    """Where an autopilot wants to be, by its own estimate of where it is; time is its own."""

    time_us: int
    position_enu: Vector


def _nobody(set_point: SetPoint) -> None:
    """Show a set point to nobody."""


class Pilot:
    """Commands one autopilot."""

    def __init__(
        self, instance: int, report: Report, stop: threading.Event,
        show: typing.Callable[[SetPoint], None] = _nobody,
    ) -> None:
        """Bind the port.

        :param report: called at each event
        :param stop: when set, `fly` raises `Stopped`
        :param show: called with each set point that the autopilot tells
        :raises OSError: the port is taken
        """
        self._report = report
        self._stop = stop
        self._show = show
        self._mav = mavlink.MAVLink(
            None, srcSystem=245, srcComponent=mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
        self._mav.robust_parsing = True
        self._system_id = instance + 1
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._port = FIRST_PORT + instance
        try:
            self._socket.bind(('127.0.0.1', self._port))
        except OSError as error:
            self._socket.close()
            raise OSError(
                error.errno, f'UDP port {self._port} is taken: {error.strerror}') from error
        self._buffer = memoryview(bytearray(65536))
        self._come: collections.deque[bytes] = collections.deque()     # what is to be read
        self._autopilot: tuple[str, int] | None = None
        self._heard_s = time.monotonic()
        self._next_heartbeat_s = 0.0
        load_proj()
        self._home: LocalFrame | None = None
        self._home_enu: Vector = (0.0, 0.0, 0.0)
        # What the autopilot has said last.
        self.time_s = 0.0
        self.position_enu: Vector | None = None
        self._velocity_enu: Vector = (0.0, 0.0, 0.0)
        self._global: GeodeticPosition | None = None
        self._armed = False
        self._ready = False
        self._on_ground = True
        self._ack: tuple[int, int] | None = None
        self._last_text = ''
        self._target: Vector | None = None       # where it was sent last

    def close(self) -> None:
        """Free the port."""
        self._socket.close()

    def fly(self, mission: Mission) -> None:
        """Fly a mission to its end.

        :raises MissionError: an item did not succeed in its time
        :raises Stopped: `stop` was set
        """
        self._await(lambda: self._ready and self.position_enu and self._global,
                    _READY_LIMIT_S, 'the autopilot is not ready to arm')
        self._home_enu = self.position_enu
        self._home = LocalFrame(self._global)
        self._report(Event('ready to fly', self.time_s))
        actions = {
            TakeOff: self._take_off, Hold: self._hold, GoTo: self._go_to, Land: self._land}
        for item in mission.items:
            actions[type(item)](item)

    def _take_off(self, item: TakeOff) -> None:
        altitude = self._home.origin.ellipsoid_altitude_m + item.up_m
        nan = math.nan
        self._command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, nan, nan, nan, altitude)
        self._command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1, 0, 0, 0, 0, 0, 0)
        self._await(lambda: self._armed, _ITEM_LIMIT_S, 'the autopilot has not armed')
        self._report(Event('armed', self.time_s))
        self._arrive((self._offset()[0], self._offset()[1], item.up_m), item)

    def _hold(self, item: Hold) -> None:
        end_s = self.time_s + item.duration_s
        self._await(lambda: self.time_s >= end_s, item.duration_s + 1.0, 'time stands still')
        self._report(Event(f'held for {item.duration_s:g} s', self.time_s, self._target))

    def _go_to(self, item: GoTo) -> None:
        target = item.east_m, item.north_m, item.up_m
        there = self._home.to_geodetic(target)
        self._command_int(
            mavlink.MAV_CMD_DO_REPOSITION, -1, mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0,
            math.nan, round(there.latitude_deg * 1e7), round(there.longitude_deg * 1e7),
            there.ellipsoid_altitude_m)
        self._arrive(target, item)

    def _land(self, item: Land) -> None:
        self._command(mavlink.MAV_CMD_NAV_LAND, 0, 0, 0, math.nan, math.nan, math.nan, 0)
        self._await(lambda: self._on_ground, _ITEM_LIMIT_S, 'the vehicle has not landed')
        self._report(Event('landed', self.time_s))
        self._await(lambda: not self._armed, _ITEM_LIMIT_S, 'the autopilot has not disarmed')
        self._report(Event('disarmed', self.time_s))

    def _offset(self) -> Vector:
        """Return the position relative to the place of take-off, ENU."""
        return tuple(a - b for a, b in zip(self.position_enu, self._home_enu))

    def _arrive(self, target: Vector, item: Item) -> None:
        """Wait until the vehicle has been still at a target for a while."""
        self._target = target
        arrived_s: float | None = None

        def settled() -> bool:
            nonlocal arrived_s
            there = (
                math.dist(self._offset(), target) < _ARRIVED_DISTANCE_M
                and math.hypot(*self._velocity_enu) < _ARRIVED_SPEED_M_S)
            if not there:
                arrived_s = None
            elif arrived_s is None:
                arrived_s = self.time_s
            return arrived_s is not None and self.time_s - arrived_s >= _SETTLE_S

        east, north, up = target
        place = f'{round(north)} m north, {round(east)} m east, {round(up)} m up'
        self._await(settled, _ITEM_LIMIT_S, f'the vehicle has not arrived at {place}')
        self._report(Event(f'arrived at {place}', self.time_s, target))

    def _command(self, command: int, *parameters: float) -> None:
        self._acknowledged(command, lambda: self._mav.command_long_encode(
            self._system_id, _AUTOPILOT, command, 0, *parameters))

    def _command_int(self, command: int, *parameters: float) -> None:
        self._acknowledged(command, lambda: self._mav.command_int_encode(
            self._system_id, _AUTOPILOT, mavlink.MAV_FRAME_GLOBAL, command, 0, 0, *parameters))

    def _acknowledged(
        self, command: int, message: typing.Callable[[], mavlink.MAVLink_message],
    ) -> None:
        """Send a command again and again until it is accepted."""
        name = mavlink.enums['MAV_CMD'][command].name
        self._ack = None
        next_s = self.time_s

        def accepted() -> bool:
            nonlocal next_s
            if self._ack == (command, mavlink.MAV_RESULT_ACCEPTED):
                return True
            if self.time_s >= next_s:
                next_s = self.time_s + _COMMAND_RETRY_S
                self._send(message())
            return False

        self._await(accepted, _ITEM_LIMIT_S, f'{name} was not accepted')

    def _await(self, condition: typing.Callable[[], object], limit_s: float, failure: str) -> None:
        """Receive until a condition holds, at most `limit_s` of simulated time."""
        end_s = self.time_s + limit_s if self.time_s else None
        while not condition():
            if end_s is None and self.time_s:
                end_s = self.time_s + limit_s
            # Time may jump from one message to the next: the condition has the first word.
            if end_s is not None and self.time_s > end_s:
                said = f'; its last words were "{self._last_text}"' if self._last_text else ''
                raise MissionError(f'{failure} after {limit_s:g} s of simulated time{said}')
            self._receive()

    def _receive(self) -> None:
        """Take in one datagram, or nothing if none comes for a while."""
        if not self._come:
            self._fetch()
        if not self._come:
            silent_s = time.monotonic() - self._heard_s
            if silent_s > _SILENCE_LIMIT_S:
                raise MissionError(
                    f'no MAVLink message on UDP port {self._port} for {silent_s:.0f} s')
            return
        for message in self._mav.parse_buffer(self._come.popleft()) or ():
            if message.get_srcSystem() == self._system_id:
                self._take(message)
        if self.time_s >= self._next_heartbeat_s:
            self._next_heartbeat_s = self.time_s + _HEARTBEAT_S
            self._send(self._mav.heartbeat_encode(
                mavlink.MAV_TYPE_ONBOARD_CONTROLLER, mavlink.MAV_AUTOPILOT_INVALID, 0, 0,
                mavlink.MAV_STATE_ACTIVE))

    def _fetch(self) -> None:
        """Rest, then take in all datagrams that have come; wait if there is none."""
        if self._stop.wait(_REST_S):
            raise Stopped
        if not select.select([self._socket], [], [], _LONGEST_WAIT_S)[0]:
            return
        self._heard_s = time.monotonic()
        heard = _HEARD if self._home else _HEARD_BEFORE
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_AT_ONCE):
                size, self._autopilot = self._socket.recvfrom_into(
                    self._buffer, 0, socket.MSG_DONTWAIT)
                data = frames_of(bytes(self._buffer[:size]), heard)
                if data:
                    self._come.append(data)

    def _take(self, message: typing.Any) -> None:
        kind = message.get_type()
        # SYSTEM_TIME goes on without a position.
        if kind in ('LOCAL_POSITION_NED', 'ATTITUDE', 'GLOBAL_POSITION_INT', 'SYSTEM_TIME'):
            self.time_s = max(self.time_s, message.time_boot_ms * 1e-3)
        if kind == 'LOCAL_POSITION_NED':
            self.position_enu = ned_to_enu((message.x, message.y, message.z))
            self._velocity_enu = ned_to_enu((message.vx, message.vy, message.vz))
        elif kind == 'POSITION_TARGET_LOCAL_NED':
            place = ned_to_enu((message.x, message.y, message.z))
            if all(map(math.isfinite, place)):       # an axis that is not held has no number
                self._show(SetPoint(message.time_boot_ms * 1000, place))
        elif kind == 'GLOBAL_POSITION_INT':
            # The altitude is above mean sea level; as an origin only differences matter.
            self._global = GeodeticPosition(
                message.lat * 1e-7, message.lon * 1e-7, message.alt * 1e-3)
        elif kind == 'HEARTBEAT' and message.get_srcComponent() == _AUTOPILOT:
            self._armed = bool(message.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
        elif kind == 'SYS_STATUS':
            self._ready = bool(
                message.onboard_control_sensors_health & mavlink.MAV_SYS_STATUS_PREARM_CHECK)
        elif kind == 'EXTENDED_SYS_STATE':
            self._on_ground = message.landed_state == mavlink.MAV_LANDED_STATE_ON_GROUND
        elif kind == 'COMMAND_ACK':
            self._ack = message.command, message.result
        elif kind == 'STATUSTEXT':
            self._last_text = message.text

    def _send(self, message: mavlink.MAVLink_message) -> None:
        if self._autopilot is not None:
            self._socket.sendto(packed(self._mav, message), self._autopilot)
