# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Events of pilot, scenario, encounters and vehicles as DiagnosticStatus messages."""
from __future__ import annotations

import json
import typing

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.messages.diagnostics import ERROR, OK, WARN, diagnostic_status, values_of
from px4_sim_ros.model.encounters import Encounter, Nearest
from px4_sim_ros.model.scenario.happening import Happening, Verdict, Verdicts
from px4_sim_ros.step.presence import Change
from px4_sim_ros.step.repeatability import OVER_US

# A vehicle joins the world or leaves it.

_CHANGE, _RUN = 'change', 'run'


def change_message(change: Change, run: int) -> DiagnosticStatus:
    return diagnostic_status(change.vehicle, OK, change.text, {
        _CHANGE: json.dumps(change), _RUN: str(run)})


def read_change(message: DiagnosticStatus) -> tuple[Change, int]:
    values = values_of(message)
    return Change(*json.loads(values[_CHANGE])), int(values[_RUN])


# Vehicles of a fleet: each time two come near, and at last the least distance of each pair.

_ENCOUNTERS = 'encounters'
_ENCOUNTER, _NEAREST = 'encounter', 'nearest'


def encounter_message(encounter: Encounter) -> DiagnosticStatus:
    """Return the message of two vehicles that have come near each other."""
    return diagnostic_status(
        _ENCOUNTERS, WARN, encounter.text, {_ENCOUNTER: json.dumps(encounter)})


def nearest_message(pairs: list[Nearest]) -> DiagnosticStatus:
    """Return the message that the run is over, with the least distances of pairs."""
    return diagnostic_status(_ENCOUNTERS, OK, '', {_NEAREST: json.dumps(pairs)})


def read_encounter(message: DiagnosticStatus) -> Encounter | list[Nearest]:
    """Return who has come near whom, or at the end the least distances of pairs."""
    values = values_of(message)
    if _NEAREST in values:
        return [Nearest(*plain) for plain in json.loads(values[_NEAREST])]
    return Encounter(*json.loads(values[_ENCOUNTER]))


# A scenario: its actions, and at last its verdicts.

_SCENARIO = 'scenario'
_TIME, _RESTARTS, _VERDICTS = 'time_us', 'restarts', 'verdicts'


def happening_message(happening: Happening) -> DiagnosticStatus:
    """Return the message of something that a scenario has done."""
    return diagnostic_status(_SCENARIO, OK, happening.text, {
        _TIME: str(happening.time_us), **({_RESTARTS: 'true'} if happening.restarts else {})})


def scenario_over_message(verdicts: Verdicts) -> DiagnosticStatus:
    """Return the message that a scenario is over, with what has become of the expectations."""
    failed = [verdict.text for verdict in verdicts if not verdict.holds]
    return diagnostic_status(_SCENARIO, ERROR if failed else OK, '; '.join(failed), {
        _VERDICTS: json.dumps([verdict._asdict() for verdict in verdicts])})


def read_scenario(message: DiagnosticStatus) -> Happening | Verdicts:
    """Return the events, or the verdicts at the end."""
    values = values_of(message)
    if _VERDICTS in values:
        return tuple(Verdict(**plain) for plain in json.loads(values[_VERDICTS]))
    return Happening(int(values[_TIME]), message.message, _RESTARTS in values)


# The pilot: its text, time and target; the last message says that the mission is over.

_NAME = 'pilot'
_TARGET = 'target_east_m', 'target_north_m', 'target_up_m'
_PLACE = 'place_east_m', 'place_north_m', 'place_up_m'


def event_message(event: Event) -> DiagnosticStatus:
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


def read_pilot_event(message: DiagnosticStatus) -> Event | str:
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
