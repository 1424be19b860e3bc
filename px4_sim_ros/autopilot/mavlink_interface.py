# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The autopilot's ordinary MAVLink interface: telemetry out, commands in, over UDP.

As PX4's "onboard" link: instance N listens on 14580+N and sends to the pilot's port. Rates are
paced in simulated time.
"""
from __future__ import annotations

import contextlib
import functools
import math

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.autopilot.commander import Commander, Mode
from px4_sim_ros.autopilot.estimator import Estimator
from px4_sim_ros.link.fast_frames import FramePacker
from px4_sim_ros.link.fields import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    INT32_MIN,
    float32,
    packed,
    saturated,
)
from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, pilot_port
from px4_sim_ros.link.ports import LOCAL, bound_socket
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.frames import enu_to_ned, flu_to_frd, quaternion_enu_flu_to_ned_frd
from px4_sim_ros.model.timebase import is_due, next_due_us
from px4_sim_ros.px4.modes import custom_mode

_HEARTBEAT_US, _STATE_US, _POSITION_US = 1_000_000, 200_000, 48_000
_IN_EACH_POSITION = (
    mavlink.MAVLink_local_position_ned_message, mavlink.MAVLink_global_position_int_message,
    mavlink.MAVLink_attitude_quaternion_message, mavlink.MAVLink_position_target_local_ned_message)
# A set point has no velocity, acceleration or yaw.
_POSITION_ONLY = sum(2**bit for bit in range(3, 12))
_UNKNOWN = 0xFFFF
# As PX4 would call them.
_MODES = {Mode.STANDBY: 'AUTO_READY', Mode.HOLD: 'AUTO_LOITER', Mode.LAND: 'AUTO_LAND',
          Mode.ATTITUDE: 'OFFBOARD', Mode.RATES: 'OFFBOARD'}
_PREARM = mavlink.MAV_SYS_STATUS_PREARM_CHECK

# An estimate may be any: of a vehicle that has fallen without an IMU.
_int16 = functools.partial(saturated, low=INT16_MIN, high=INT16_MAX)
_int32 = functools.partial(saturated, low=INT32_MIN, high=INT32_MAX)


class MavlinkInterface:
    """Sends the state of a commander and an estimator, and receives commands."""

    def __init__(self, instance: int, commander: Commander, estimator: Estimator) -> None:
        """Bind the port.

        :raises PortTakenError: the port is taken
        """
        self._commander = commander
        self._estimator = estimator
        self._pilot = (LOCAL, pilot_port(instance))
        self._mav = mavlink.MAVLink(
            None, srcSystem=instance + 1, srcComponent=mavlink.MAV_COMP_ID_AUTOPILOT1)
        self._mav.robust_parsing = True
        self._position, self._place, self._turn, self._target = (
            FramePacker(self._mav, message) for message in _IN_EACH_POSITION)
        self._time_us = 0
        self._has_refused_sticks = False
        self.socket = bound_socket('UDP', LOCAL, AUTOPILOT_PORT + instance)
        self.socket.setblocking(False)

    def close(self) -> None:
        """Free the port."""
        self.socket.close()

    def telemetry(self, time_us: int) -> None:
        """Send what is due at `time_us`."""
        self._time_us = time_us
        if is_due(time_us, _HEARTBEAT_US):
            self._send(self._heartbeat())
        if is_due(time_us, _STATE_US):
            self._send(self._system_status())
            self._send(self._landed_state())
        if is_due(time_us, _POSITION_US) and (frame := self._estimator.frame) is not None:
            self._send_frames(self._positions(frame))

    def due_us(self, time_us: int) -> int:
        """Return the first time after one at which telemetry is due."""
        # A heartbeat comes with a state.
        return min(next_due_us(time_us, _STATE_US), next_due_us(time_us, _POSITION_US))

    def receive(self) -> None:
        """Carry out the commands that have come in."""
        while True:
            try:
                data, _ = self.socket.recvfrom(65536)
            except BlockingIOError:
                return
            for message in self._mav.parse_buffer(data) or ():
                kind = message.get_type()
                if kind == 'COMMAND_LONG':
                    self._acknowledge(message, self._command_long(message))
                elif kind == 'COMMAND_INT':
                    self._acknowledge(message, self._command_int(message))
                else:
                    self._refuse(message)

    def _refuse(self, message: mavlink.MAVLink_message) -> None:
        """Refuse what only PX4 does; sticks, which come many times a second, once."""
        kind = message.get_type()
        if kind == 'PARAM_SET':
            self._say_refused('there are no parameters')
            self._send(self._mav.param_error_encode(
                message.get_srcSystem(), message.get_srcComponent(), message.param_id.encode(), -1,
                mavlink.MAV_PARAM_ERROR_DOES_NOT_EXIST))
        elif kind == 'MISSION_COUNT':
            self._say_refused('there is no navigator to upload to')
            self._send(self._mav.mission_ack_encode(0, 0, mavlink.MAV_MISSION_UNSUPPORTED))
        elif kind == 'MANUAL_CONTROL' and not self._has_refused_sticks:
            self._has_refused_sticks = True
            self._say_refused('there is no mode that is flown by sticks')

    def _say_refused(self, reason: str) -> None:
        self._send(self._mav.statustext_encode(
            mavlink.MAV_SEVERITY_WARNING, f'refused: {reason}'.encode()))

    def _command_long(self, m: mavlink.MAVLink_command_long_message) -> str | None:
        """Return '' when done, why not, or None for a command that is not known."""
        commander = self._commander
        if m.command == mavlink.MAV_CMD_NAV_TAKEOFF:
            if self._estimator.frame is None:
                return 'the estimator is not aligned yet'
            return commander.take_off(
                m.param7 - self._estimator.frame.origin.ellipsoid_altitude_m)
        if m.command == mavlink.MAV_CMD_COMPONENT_ARM_DISARM:
            return commander.arm() if m.param1 == 1.0 else commander.disarm()
        if m.command == mavlink.MAV_CMD_NAV_LAND:
            return commander.land()
        return None

    def _command_int(self, m: mavlink.MAVLink_command_int_message) -> str | None:
        if m.command != mavlink.MAV_CMD_DO_REPOSITION:
            return None
        if self._estimator.frame is None:
            return 'the estimator is not aligned yet'
        target = self._estimator.frame.to_local(GeodeticPosition(m.x * 1e-7, m.y * 1e-7, m.z))
        # MAVLink's yaw is clockwise from north, ours counter-clockwise from east.
        return self._commander.go_to(target, math.pi / 2 - m.param4, m.param1)

    def _acknowledge(self, message: mavlink.MAVLink_message, refusal: str | None) -> None:
        if refusal is None:
            result = mavlink.MAV_RESULT_UNSUPPORTED
        elif refusal:
            result = mavlink.MAV_RESULT_TEMPORARILY_REJECTED
            self._say_refused(refusal)
        else:
            result = mavlink.MAV_RESULT_ACCEPTED
        self._send(self._mav.command_ack_encode(
            message.command, result, 0, 0, message.get_srcSystem(), message.get_srcComponent()))

    def _heartbeat(self) -> mavlink.MAVLink_message:
        mode = mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
        if self._commander.armed:
            mode |= mavlink.MAV_MODE_FLAG_SAFETY_ARMED
        return self._mav.heartbeat_encode(
            mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_GENERIC, mode,
            custom_mode(_MODES[self._commander.mode]),
            mavlink.MAV_STATE_ACTIVE if self._commander.in_air else mavlink.MAV_STATE_STANDBY)

    def _system_status(self) -> mavlink.MAVLink_message:
        sensors = (
            mavlink.MAV_SYS_STATUS_SENSOR_3D_GYRO | mavlink.MAV_SYS_STATUS_SENSOR_3D_ACCEL
            | mavlink.MAV_SYS_STATUS_SENSOR_3D_MAG | mavlink.MAV_SYS_STATUS_SENSOR_GPS
            | mavlink.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE | _PREARM)
        health = sensors if self._estimator.aligned else sensors & ~_PREARM
        return self._mav.sys_status_encode(
            sensors, sensors, health, 0, _UNKNOWN, -1, -1, 0, 0, 0, 0, 0, 0)

    def _landed_state(self) -> mavlink.MAVLink_message:
        if not self._commander.in_air:
            state = mavlink.MAV_LANDED_STATE_ON_GROUND
        elif self._commander.mode is Mode.LAND:
            state = mavlink.MAV_LANDED_STATE_LANDING
        else:
            state = mavlink.MAV_LANDED_STATE_IN_AIR
        return self._mav.extended_sys_state_encode(mavlink.MAV_VTOL_STATE_UNDEFINED, state)

    def _positions(self, frame: LocalFrame) -> bytes:
        """Return the frames of the estimate and of the set point, for one datagram."""
        time_ms, estimate = self._time_us // 1000, self._estimator.now()
        north, east, down = enu_to_ned(estimate.position)
        vn, ve, vd = enu_to_ned(estimate.velocity)
        here = frame.to_geodetic(estimate.position)
        target = self._commander.set_point
        return b''.join((
            self._position.pack(
                time_ms, *map(float32, (north, east, down, vn, ve, vd))),
            self._place.pack(
                time_ms, _int32(here.latitude_deg * 1e7), _int32(here.longitude_deg * 1e7),
                _int32(here.ellipsoid_altitude_m * 1e3), _int32(-down * 1e3),
                _int16(vn * 1e2), _int16(ve * 1e2), _int16(vd * 1e2), _UNKNOWN),
            self._turn.pack(time_ms, *map(float32, (
                *quaternion_enu_flu_to_ned_frd(estimate.attitude), *flu_to_frd(estimate.rate))),
                0, 0, 0, 0),
            b'' if target is None else self._target.pack(
                time_ms, *map(float32, enu_to_ned(target)), 0, 0, 0, 0, 0, 0, 0, 0, _POSITION_ONLY,
                mavlink.MAV_FRAME_LOCAL_NED)))

    def _send(self, message: mavlink.MAVLink_message) -> None:
        self._send_frames(packed(self._mav, message))

    def _send_frames(self, frames: bytes) -> None:
        # A pilot need not listen on its port.
        with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
            self.socket.sendto(frames, self._pilot)
