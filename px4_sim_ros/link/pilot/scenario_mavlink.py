# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a scenario says to the autopilot, as MAVLink messages."""
from __future__ import annotations

import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.faults.autopilot import (
    FAILURE_TYPES,
    FAILURE_UNITS,
    Command,
    Mode,
    Px4Failure,
)
from px4_sim_ros.model.scenario.condition import All, Condition, Is
from px4_sim_ros.px4.modes import MODES, mode_numbers

if typing.TYPE_CHECKING:       # a pilot without one does without all of its actions
    from px4_sim_ros.model.scenario.scenario import Event, Scenario

_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
_COMMANDS = {entry.name: number for number, entry in mavlink.enums['MAV_CMD'].items()
             if not entry.name.endswith('_ENUM_END')}


def _numbers(enum: str, names: typing.Iterable[str]) -> dict[str, int]:
    """Return the number of each entry of an enum of MAVLink by the end of its name."""
    numbers = {entry.name: number for number, entry in mavlink.enums[enum].items()}
    return {name: next(number for entry, number in numbers.items()
                       if entry.endswith(f'_{name.upper()}')) for name in names}


_UNITS = _numbers('FAILURE_UNIT', FAILURE_UNITS)
_TYPES = _numbers('FAILURE_TYPE', FAILURE_TYPES)


def command_of(
    mav: mavlink.MAVLink, system_id: int, action: Command | Mode | Px4Failure,
) -> mavlink.MAVLink_command_long_message:
    """Return the command that an action gives."""
    if isinstance(action, Command):
        params = (*action.params, *[0.0] * (7 - len(action.params)))
        return mav.command_long_encode(
            system_id, _AUTOPILOT, _COMMANDS[action.command], 0, *params)
    if isinstance(action, Mode):
        return mav.command_long_encode(
            system_id, _AUTOPILOT, mavlink.MAV_CMD_DO_SET_MODE, 0,
            mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, *mode_numbers(action.to), 0, 0, 0, 0)
    return mav.command_long_encode(
        system_id, _AUTOPILOT, mavlink.MAV_CMD_INJECT_FAILURE, 0, _UNITS[action.unit],
        _TYPES[action.type], action.instance, 0, 0, 0, 0)


def check(scenario: Scenario, owner: str) -> None:
    """Check that MAVLink has the commands, and PX4 the modes, of a scenario."""
    for event in scenario.events:
        check_event(event, f'{owner}: event {event.name}')
    for expectation in scenario.expectations:
        for condition in (expectation.condition, expectation.after, expectation.until):
            _check_condition(condition, owner)
    if scenario.end is not None:
        _check_condition(scenario.end.when, owner)


def check_event(event: Event, owner: str) -> None:
    """Check that MAVLink has the command, and PX4 the modes, of an event."""
    if isinstance(event.action, Command) and event.action.command not in _COMMANDS:
        command = event.action.command
        raise ParameterError(f'{owner}: command = {shown(command)}: is no'
                             f' MAV_CMD{did_you_mean(command, _COMMANDS)}')
    if isinstance(event.action, Mode):
        _check_mode(f'{owner}: to', event.action.to)
    _check_condition(event.when, owner)


def _check_condition(condition: Condition | None, owner: str) -> None:
    for part in condition.parts if isinstance(condition, All) else [condition]:
        if isinstance(part, Is) and isinstance(part.wanted, str):
            _check_mode(f'{owner}: mode', part.wanted)


def _check_mode(owner: str, name: str) -> None:
    if name not in MODES:
        raise ParameterError(f'{owner} = {shown(name)}: must be one of {", ".join(MODES)}')
