# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Places in a scenario and in a vehicle by name: `events.lost.for_s`, `vehicle.body.mass_kg`."""
from __future__ import annotations

import copy
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean

# Of a scenario file, what is set by a name that may have dots in it, and need not be there.
_FREE = 'weather', 'place', 'set', 'px4'
_ALONE = 'vehicle', 'mission', 'seed'
_WITHIN = 'vehicle', 'mission', 'events', 'expect', 'end'
_FIRST = tuple(dict.fromkeys((*_ALONE, *_FREE, *_WITHIN)))

Content = dict[str, typing.Any]


def with_value(
    owner: str, scenario: Content, vehicle: Content, name: str, value: typing.Any,
) -> tuple[Content, Content]:
    """Return a scenario and the file of its vehicle with another value at a place."""
    first, dot, rest = name.partition('.')
    if first not in _FIRST:
        raise ParameterError(f'{owner}: {first!r} is no part of a scenario'
                             f'{did_you_mean(first, _FIRST)}; there are {", ".join(_FIRST)}')
    if not dot and first in _ALONE:
        return {**scenario, first: value}, vehicle
    if not dot:
        raise ParameterError(f'{owner}: must name a value within {first}')
    if first in _FREE:
        return {**scenario, first: {**(scenario.get(first) or {}), rest: value}}, vehicle
    if first == 'vehicle':
        return scenario, _within(owner, 'vehicle', vehicle, rest.split('.'), value)
    if first not in _WITHIN or not isinstance(scenario.get(first), (dict, list)):
        raise ParameterError(f'{owner}: there is no {first} in the scenario with a value'
                             f' {rest} that could vary')
    return {**scenario, first: _within(
        owner, first, scenario[first], rest.split('.'), value)}, vehicle


def _within(
    owner: str, place: str, content: typing.Any, words: typing.Sequence[str], value: typing.Any,
) -> typing.Any:
    """Return content with another value behind some keys; the others stay as they are."""
    keys = _keys(content)
    word, *rest = words
    if word not in keys:
        hint = did_you_mean(word, keys) or (f"; there are {', '.join(keys)}" if keys else '')
        raise ParameterError(f'{owner}: there is no {word} in {place}{hint}')
    new = copy.copy(content)
    key = keys[word]
    new[key] = _within(owner, f'{place}.{word}', content[key], rest, value) if rest else value
    return new


def _keys(content: typing.Any) -> dict[str, typing.Any]:
    """Return the places below this one, by name; entries of lists count from 1."""
    if isinstance(content, dict):
        return {str(key): key for key in content}
    if isinstance(content, list):
        return {str(entry.get('name', i)) if isinstance(entry, dict) else str(i): i - 1
                for i, entry in enumerate(content, 1)}
    return {}
