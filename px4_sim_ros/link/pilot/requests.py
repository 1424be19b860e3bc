# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a scenario asks of the autopilot, and what the autopilot answers.

A command is answered by COMMAND_ACK. PARAM_SET is answered by PARAM_VALUE if it was taken; PX4 up
to 1.16 answers one that was refused with nothing, later ones with PARAM_ERROR. So the value is
asked for as well: it has the type, with which PARAM_SET is sent again if it was another one.
"""
from __future__ import annotations

import dataclasses
import struct

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import (
    INT32_MAX,
    INT32_MIN,
    enum_name,
    packed_parameter,
    parameter_value,
)
from px4_sim_ros.link.pilot.link import PilotLink
from px4_sim_ros.link.pilot.scenario_mavlink import command_of
from px4_sim_ros.model.faults.action import Fault
from px4_sim_ros.model.faults.autopilot import (
    INT32,
    AutopilotParameter,
    Command,
    Mode,
    Px4Failure,
)
from px4_sim_ros.model.scenario.situation import Answer
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.px4.console import Console
from px4_sim_ros.px4.modes import mode_of

_ANSWER_US = 5 * US_PER_S
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
_INT32, _REAL32 = mavlink.MAV_PARAM_TYPE_INT32, mavlink.MAV_PARAM_TYPE_REAL32
# Those of MAVLink's MAV_PARAM_ERROR that pymavlink has no names for yet.
_TYPE_MISMATCH = 7
_PARAMETER_ERRORS = {
    number: entry.name for number, entry in mavlink.enums['MAV_PARAM_ERROR'].items()
} | {6: 'MAV_PARAM_ERROR_TYPE_UNSUPPORTED', 8: 'MAV_PARAM_ERROR_READ_FAIL'}


@dataclasses.dataclass
class _Request:
    """What an event asks."""

    event: str
    until_us: int                          # when it is given up
    printed: int                           # bytes of the console before it
    command: int | None = None             # MAV_CMD
    mode: str = ''                         # that it sets
    is_accepted: bool = False              # so says one COMMAND_ACK
    parameter: AutopilotParameter | None = None
    kind: int = _REAL32                    # MAV_PARAM_TYPE with which it was set last
    value: float | None = None             # that the autopilot has reported since


class Requests:
    """Asks one autopilot, and collects its answers by event."""

    def __init__(self, link: PilotLink, console: Console) -> None:
        self._link, self._console = link, console
        self._waiting: list[_Request] = []
        self._answers: list[Answer] = []

    @property
    def are_open(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self._waiting or self._answers)

    def ask(self, fault: Fault, time_us: int) -> None:
        """Send what an action that has just begun asks for, if it does."""
        link, action = self._link, fault.action
        if not isinstance(action, Command | Mode | Px4Failure | AutopilotParameter):
            return
        request = _Request(
            fault.name, time_us + _ANSWER_US, self._console.size() if link.is_px4 else 0)
        if link.is_cut:
            self._answers.append(Answer(fault.name, 'link_lost is in force: it was not sent'))
            return
        self._waiting.append(request)
        if isinstance(action, AutopilotParameter):
            request.parameter = action
            self._set(request, action, _INT32 if action.type == INT32 else _REAL32)
        else:
            message = command_of(link.mav, link.system_id, action)
            request.command = message.command
            if message.command == mavlink.MAV_CMD_DO_SET_MODE:
                request.mode = mode_of(message.param2, message.param3)
            link.send(message)

    def _set(self, request: _Request, parameter: AutopilotParameter, kind: int) -> None:
        """Set a parameter, if one of this type can have the value, and ask for its value."""
        link, value = self._link, parameter.value
        request.kind = kind
        if kind == _INT32:
            if not value.is_integer() or not INT32_MIN <= value <= INT32_MAX:
                self._close(request, 'it is of type INT32, a whole number')
                return
            value = int(value)
        name = parameter.name.encode()
        link.send(link.mav.param_set_encode(
            link.system_id, _AUTOPILOT, name, *packed_parameter(value)))
        link.send(link.mav.param_request_read_encode(link.system_id, _AUTOPILOT, name, -1))

    def look(self, time_us: int, *, stands_still: bool) -> None:
        """Take in what has come, and give up what has not.

        :param stands_still: no time passes for the autopilot
        """
        answers = self._link.answers
        while answers:
            message = answers.popleft()
            if message.get_type() == 'COMMAND_ACK':
                self._take_result(message.command, message.result)
            elif message.get_type() == 'PARAM_VALUE':
                self._take_value(message)
            else:
                self._take_error(message)
        for request in list(self._waiting):
            if request.is_accepted and self._link.mode == request.mode:
                self._close(request)
            elif stands_still:
                request.until_us = time_us + _ANSWER_US
            elif time_us >= request.until_us:
                self._close(request, _silence(request))

    def _take_result(self, command: int, result: int) -> None:
        request = next((r for r in self._waiting if r.command == command), None)
        if request is None:
            return                       # the pilot's own
        if result == mavlink.MAV_RESULT_ACCEPTED:
            # PX4's receiver says that it has got a mode, then its commander whether it has it.
            if request.is_accepted or not request.mode:
                self._close(request)
            request.is_accepted = True
        elif result != mavlink.MAV_RESULT_IN_PROGRESS:
            self._close(request, enum_name('MAV_RESULT', result))

    def _take_value(self, message: mavlink.MAVLink_message) -> None:
        kind, value = message.param_type, parameter_value(message)
        request = self._set_first(message.param_id)
        if request is None or request.parameter is None:
            return
        if value == _rounded(request.parameter.value, kind):
            self._close(request)
        elif kind != request.kind:
            self._set(request, request.parameter, kind)
        else:
            request.value = value

    def _take_error(self, message: mavlink.MAVLink_message) -> None:
        # After that of a type comes the value, which has the right one.
        if message.error != _TYPE_MISMATCH and (
                request := self._set_first(message.param_id)) is not None:
            self._close(request, _PARAMETER_ERRORS.get(
                message.error, f'MAV_PARAM_ERROR {message.error}'))

    def _set_first(self, name: str) -> _Request | None:
        """Return the first that waits for a parameter."""
        return next((r for r in self._waiting if r.parameter and r.parameter.name == name), None)

    def _close(self, request: _Request, refusal: str = '') -> None:
        self._waiting.remove(request)
        if refusal and self._link.is_px4 and (words := self._console.words(request.printed)):
            refusal = f'{refusal}; the console of PX4 has: {words}'
        self._answers.append(Answer(request.event, refusal))

    def answers(self) -> tuple[Answer, ...]:
        """Return the answers since the last call."""
        found, self._answers = tuple(self._answers), []
        return found


def _rounded(value: float, kind: int) -> float:
    """Return a value as the autopilot can hold it."""
    return struct.unpack('<f', struct.pack('<f', value))[0] if kind == _REAL32 else value


def _silence(request: _Request) -> str:
    """Return the meaning of a missing answer."""
    limit = f'within {_ANSWER_US // US_PER_S} s'
    if request.is_accepted:
        return f'the autopilot is not in mode {request.mode} {limit}'
    if request.parameter is None:
        return f'no COMMAND_ACK {limit}'
    if request.value is not None:
        return f'the autopilot keeps {request.value:g}'
    return f'no PARAM_VALUE {limit}: the autopilot does not know it'
