# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which of the controls that come in answer which step.

Only controls with the time of a step that was sent, lately, and is not answered yet are a
reply, and only the first ones. A late one says that the autopilot is in step; its command is not
used. Controls with any other time change nothing.
"""
from __future__ import annotations

import collections
import math
import struct
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.jit.fast_namedtuple import fast_namedtuple
from px4_sim_ros.link.fast_frames import FrameReader
from px4_sim_ros.link.hil.codec import ActuatorControls, ModeFlag
from px4_sim_ros.link.hil.link_state import Count
from px4_sim_ros.model.timebase import seconds_text

# Finds HIL_ACTUATOR_CONTROLS in the bytes of the autopilot, whatever else is in them.

# As a plain number: operations on flags take a microsecond each.
_ARMED = int(ModeFlag.ARMED)

_controls_of = fast_namedtuple(ActuatorControls)

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
        """Forget the last autopilot and half a message of it; the counters stay."""
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
                        f' ({message.reason}); counted as bad_messages')
        elif kind.startswith('UNKNOWN_'):
            self._count('unknown_messages', f'message {kind.removeprefix("UNKNOWN_")} is none of'
                        ' the common dialect; counted as unknown_messages')
        elif message.get_msgbuf()[0] == mavlink.PROTOCOL_MARKER_V1:
            self._count('mavlink1_messages', f'{kind} came in as MAVLink 1; it is read, and counted'
                        ' as mavlink1_messages')

    def _all_limited(self, controls: typing.Iterable[float]) -> tuple[float, ...]:
        return tuple(self._limited(u) for u in controls)

    def _limited(self, control: float) -> float:
        """Return a control within [-1, 1]; NaN, which means "off", becomes 0."""
        if -1.0 <= control <= 1.0:
            return control
        self._count('limited_controls', f'a control of {control:g} came in; it is limited to'
                    ' -1 .. 1 (NaN, which means "off", to 0) and counted as limited_controls')
        return 0.0 if math.isnan(control) else math.copysign(1.0, control)


# How many steps a reply may be late.
STEPS_REMEMBERED = 250
# Stands for no time of a step.
NONE_US = -1


class ReplyMatcher:
    """Finds the reply to a step in the bytes that the autopilot sends, and counts the rest."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self.reset_counters()
        self.begin_connection()

    def reset_counters(self) -> None:
        self.decoder = HilDecoder(self._count)
        self.replies = 0                     # steps that were answered, in time or late

    def begin_connection(self) -> None:
        """Forget the steps and the autopilot of the last connection; the counters stay."""
        self.decoder.begin_connection()
        self._pending_us: collections.deque[int] = collections.deque(maxlen=STEPS_REMEMBERED)
        self.sent_us = NONE_US               # time of the last step sent
        self.answered_us = NONE_US           # newest step answered
        self.is_out_of_step = False          # controls came that were no reply
        # Of the first reply and of the last controls: the step, and the autopilot's own time.
        self._first_us = self._last_us = (NONE_US, NONE_US)

    @property
    def time_ratio(self) -> float | None:
        """Simulated time over the autopilot's own since its first reply, None if none passed."""
        sim_us, own_us = (last - first for first, last in zip(self._first_us, self._last_us))
        return sim_us / own_us if own_us else None

    def add_step(self, time_us: int) -> None:
        """Expect a reply to a step that has been sent."""
        self.sent_us = time_us
        self._pending_us.append(time_us)

    def take_replies(self, count: int, time_us: int) -> None:
        """Count replies that came in time, one to each step up to a time."""
        self.replies += count
        self.answered_us = time_us
        self._last_us = time_us, time_us
        self._pending_us.clear()

    def reply_to(self, time_us: int, data: bytes) -> ActuatorControls | None:
        reply = None
        for controls in self.decoder.controls(data):
            if not self._is_reply(controls.time_us):
                self._count(
                    'stale_replies', f'controls for t = {seconds_text(controls.time_us)} answer no'
                    ' step that waits for an answer; counted as stale_replies')
            elif controls.time_us == time_us:
                reply = controls
                if self._first_us[0] == NONE_US:
                    self._first_us = time_us, controls.time_us
            elif self._first_us[0] != NONE_US:         # before that it boots
                self._count(
                    'late_replies', f'the answer to t = {seconds_text(controls.time_us)} came after'
                    ' its step was over; counted as late_replies')
            if time_us != NONE_US != self._first_us[0]:
                self._last_us = time_us, controls.time_us
        return reply

    def _is_reply(self, time_us: int) -> bool:
        """Return whether a step was pending; then it, and those before it, no longer are."""
        pending_us = self._pending_us
        if time_us in pending_us:
            while pending_us.popleft() != time_us:
                pass
            self.answered_us = time_us
            self.replies += 1
            return True
        self.is_out_of_step = True
        return False
