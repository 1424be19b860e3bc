# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of a test: actions, and what is expected. They are those of scenario files."""
from __future__ import annotations

import typing

from px4_sim_ros.model.faults.action import Action
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.model.scenario.expectation import Expectation, read_expectation


class _AnyEvent:
    """Conditions of a test may name events that come later."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)


ANY_EVENT = _AnyEvent()


def action(kind: str, **values: typing.Any) -> Action:
    """Return an action by the name that it has in a scenario file.

    :raises ParameterError: there is no such action, or a parameter is wrong
    """
    return read_action('action', kind, values, {})


def always(condition: dict[str, typing.Any], **when: typing.Any) -> Expectation:
    """Return the expectation that a condition holds all the time.

    :param condition: as in a scenario file, such as `{'height_m': {'above': 3}}`
    :param when: `from_s`, `after`, `within_s`, `until`, as there
    :raises ParameterError: naming the place and what is allowed
    """
    return _expectation('always', condition, when)


def never(condition: dict[str, typing.Any], **when: typing.Any) -> Expectation:
    """Return the expectation that a condition does not hold at any time; see `always`."""
    return _expectation('never', condition, when)


def eventually(condition: dict[str, typing.Any], **when: typing.Any) -> Expectation:
    """Return the expectation that a condition comes to hold; see `always`."""
    return _expectation('eventually', condition, when)


def _expectation(
    kind: str, condition: dict[str, typing.Any], when: dict[str, typing.Any],
) -> Expectation:
    return read_expectation('expectation', {kind: condition, **when}, ANY_EVENT)


class _On:
    """Something that actions are for, with their common parameters."""

    def __init__(self, prefix: str, **common: typing.Any) -> None:
        self._prefix, self._common = prefix, common

    def __getattr__(self, name: str) -> typing.Callable[..., Action]:
        """Return the maker of the action of a name: `off` of a motor is `motor_off`."""
        if name.startswith('_'):
            raise AttributeError(name)
        return lambda **values: action(f'{self._prefix}_{name}', **self._common, **values)


class _Motor(_On):
    def thrust(self, share: float) -> Action:
        """Return the action that leaves a share of the thrust."""
        return action('motor_thrust', **self._common, share=share)


def motor(number: int) -> _Motor:
    """Return a motor, from 1 on: `off()`, `stuck()`, `thrust(0.5)`, `slow(time_constant_s=0.2)`."""
    return _Motor('motor', motor=number)


def sensor(name: str) -> _On:
    """Return a sensor: `off()`, `frozen()`, `bias(value=...)`, and so on."""
    return _On('sensor', sensor=name)


def gps(name: str = 'gps') -> _On:
    """Return a receiver: `denied()`, `jammed(...)`, `spoofed(path=...)`."""
    return _On('gnss', sensor=name)


def battery() -> _On:
    """Return the battery: `cells(shorted=1, of=4)`, `capacity(share=0.5)`, and so on."""
    return _On('battery')


def push(*force_n: float) -> Action:
    """Return a force in N on the centre of mass: east, north, up."""
    return action('push', force_n=list(force_n))


def payload(mass_kg: float) -> Action:
    """Return a mass that is added; below 0 it is dropped."""
    return action('payload', mass_kg=mass_kg)


def gust(speed_m_s: float, from_deg: float, duration_s: float) -> Action:
    """Return one pulse of wind."""
    return action('gust', speed_m_s=speed_m_s, from_deg=from_deg, duration_s=duration_s)


def wind(speed_m_s: float, from_deg: float, **more: float) -> Action:
    """Return wind on top of what blows."""
    return action('wind', speed_m_s=speed_m_s, from_deg=from_deg, **more)


def command(name: str, *params: float | None) -> Action:
    """Return a MAVLink command; None stands for a parameter that is no number."""
    return action('command', command=name, params=list(params))


def parameter(name: str, value: float) -> Action:
    """Return that a parameter of the autopilot is set; a whole number is for one of type INT32."""
    return action('parameter', name=name, value=value)


def note(text: str) -> Action:
    """Return a text for the record."""
    return action('note', text=text)
