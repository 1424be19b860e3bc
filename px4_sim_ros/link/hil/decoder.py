# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finds HIL_ACTUATOR_CONTROLS in the bytes of the autopilot, whatever else is in them."""
from __future__ import annotations

import math
import struct
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.jit.fast_namedtuple import quickly
from px4_sim_ros.link.fast_frames import FrameReader
from px4_sim_ros.link.hil.codec import ActuatorControls, ModeFlag
from px4_sim_ros.link.hil.link_state import Count

# As a plain number: operations on flags take a microsecond each.
_ARMED = int(ModeFlag.ARMED)

_controls_of = quickly(ActuatorControls)

# Of a payload: after the time and the flags, 16 floats of 32 bits.
_CONTROLS = slice(16, 80)
_BITS_OF_1 = int.from_bytes(struct.pack('<f', 1.0), 'little')
_SIGNS, _ALL_BUT_SIGNS, _UP_TO_SIGNS = (
    int.from_bytes(bits.to_bytes(4, 'little') * 16, 'little')
    for bits in (1 << 31, (1 << 31) - 1, (1 << 31) - 1 - _BITS_OF_1))


def _is_any_beyond_1(controls: bytes) -> bool:
    """Return whether a control is not within [-1, 1], or NaN.

    Without their signs 32-bit floats are in the order of their bits as whole numbers, and NaN is
    after all others. So all of them are compared at once, in half of the time of `min` and `max`:
    added to what is above 1, a number that is large enough overflows into the place of its sign.
    """
    signless = int.from_bytes(controls, 'little') & _ALL_BUT_SIGNS
    return signless + _UP_TO_SIGNS & _SIGNS != 0


class HilDecoder:
    """Finds the actuator controls in the bytes that an autopilot sends.

    The system that sends the first HEARTBEAT or HIL_ACTUATOR_CONTROLS of a connection is the
    autopilot; controls of others are ignored. Every oddity is counted.
    """

    def __init__(self, count: Count = lambda trouble, sentence: None) -> None:
        self._count = count
        self._controls_frames = FrameReader(mavlink.MAVLink_hil_actuator_controls_message)
        self.begin_connection()

    def begin_connection(self) -> None:
        """Forget the last autopilot and half a message of it; the counters go on."""
        self._mav = mavlink.MAVLink(None)
        # Without it a single wrong byte raises; with it the byte becomes BAD_DATA.
        self._mav.robust_parsing = True
        self.system: int | None = None
        """The system id of the autopilot, None before it has said something."""
        self.wants_truth = False

    def controls(self, data: bytes) -> list[ActuatorControls]:
        """Return the actuator controls completed by `data`; other messages are skipped."""
        if not self._mav.buf and (frame := self._controls_frames.payload(data)) is not None:
            system, payload = frame
            if system == self.system:
                values = self._controls_frames.values(payload)   # time, flags, controls, mode
                controls = values[2:18]
                if _is_any_beyond_1(payload[_CONTROLS]):
                    controls = self._all_limited(controls)
                return [_controls_of((values[0], values[18] & _ARMED != 0, controls))]
        found = []
        for message in self._mav.parse_buffer(data) or ():
            kind = message.get_type()
            if kind == 'HIL_ACTUATOR_CONTROLS':
                if self._is_from_autopilot(message):
                    found.append(ActuatorControls(
                        message.time_usec,
                        bool(message.mode & _ARMED),
                        self._all_limited(message.controls)))
            elif kind == 'HEARTBEAT' and self.system is None:
                self.system = message.get_srcSystem()
            elif kind == 'COMMAND_LONG' and (
                    message.command == mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
                    and message.param1 == mavlink.MAVLINK_MSG_ID_HIL_STATE_QUATERNION):
                self.wants_truth = message.param2 >= 0.0       # -1 is: no more
            self._count_odd(kind, message)
        # pymavlink frees its buffer only when that ends with a whole message.
        del self._mav.buf[:self._mav.buf_index]
        self._mav.buf_index = 0
        return found

    def _is_from_autopilot(self, message: mavlink.MAVLink_message) -> bool:
        system = message.get_srcSystem()
        if self.system is None:
            self.system = system
        if system == self.system:
            return True
        self._count('foreign_messages', f'controls from system {system} are ignored, and counted'
                    f' as foreign_messages: the autopilot is system {self.system}')
        return False

    def _count_odd(self, kind: str, message: mavlink.MAVLink_message) -> None:
        """Count what PX4 does not send."""
        if kind == 'BAD_DATA':
            self._count('bad_messages', f'{len(message.data)} bytes that are no MAVLink came in'
                        f' ({message.reason}); they are counted as bad_messages')
        elif kind.startswith('UNKNOWN_'):
            self._count('unknown_messages', f'message {kind.removeprefix("UNKNOWN_")} is none of'
                        ' the common dialect; such are counted as unknown_messages')
        elif message.get_msgbuf()[0] == mavlink.PROTOCOL_MARKER_V1:
            self._count('mavlink1_messages', f'{kind} came in as MAVLink 1; such messages are read,'
                        ' too, and counted as mavlink1_messages')

    def _all_limited(self, controls: typing.Iterable[float]) -> tuple[float, ...]:
        return tuple(self._limited(u) for u in controls)

    def _limited(self, control: float) -> float:
        """Return a control within [-1, 1]; NaN, which means "off", becomes 0."""
        if -1.0 <= control <= 1.0:
            return control
        self._count('limited_controls', f'a control of {control:g} came in; such are limited to'
                    ' -1 .. 1 (NaN, which means "off", to 0) and counted as limited_controls')
        return 0.0 if math.isnan(control) else math.copysign(1.0, control)
