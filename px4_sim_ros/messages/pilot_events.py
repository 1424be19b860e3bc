# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the pilot reports, as a DiagnosticStatus: its text, its time and where the vehicle is sent.

The last one says that the mission is over.
"""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.messages.diagnostic_status import diagnostic_status
from px4_sim_ros.messages.diagnostics import ERROR, OK, values_of
from px4_sim_ros.step.repeatability import OVER_US

_NAME = 'pilot'
_TARGET = 'target_east_m', 'target_north_m', 'target_up_m'
_PLACE = 'place_east_m', 'place_north_m', 'place_up_m'


def event_message(event: Event) -> DiagnosticStatus:
    """Return the message of an event."""
    values = {'time_s': repr(event.time_s)}
    for keys, vector in ((_TARGET, event.target_enu), (_PLACE, event.place_enu)):
        if vector is not None:
            values |= {key: repr(float(part)) for key, part in zip(keys, vector)}
    return diagnostic_status(_NAME, OK, event.text, values)


def over_message(failure: str, over_us: int) -> DiagnosticStatus:
    """Return the message that a mission is over.

    :param over_us: the simulated time of that
    :param failure: why it was not flown to its end, '' if it was
    """
    return diagnostic_status(_NAME, ERROR if failure else OK, failure, {OVER_US: str(over_us)})


def read(message: DiagnosticStatus) -> Event | str:
    """Return an event, or as a text how the mission has ended, '' for well."""
    values = values_of(message)
    if OVER_US in values:
        return str(message.message)
    target, place = (typing.cast(
        'tuple[float, float, float]', tuple(float(values[key]) for key in keys)
    ) if keys[0] in values else None for keys in (_TARGET, _PLACE))
    return Event(message.message, float(values['time_s']), target, place_enu=place)


def over_us(message: DiagnosticStatus) -> int | None:
    """Return the simulated time at which a mission was over, None if that is not the message."""
    values = values_of(message)
    return int(values[OVER_US]) if OVER_US in values else None
