# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenario files: what happens in a flight, and when, and what has to hold meanwhile."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.faults.action import AUTOPILOT, Action, Subject
from px4_sim_ros.model.faults.actions import (
    WHERE_LISTED,
    action_text,
    name_of,
    own_action,
    read_action,
)
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.model.own_blocks import Entry, read_entries
from px4_sim_ros.model.parameters import dict_of, list_of, mapping_of, number
from px4_sim_ros.model.scenario.condition import Between, Condition, Is, read_condition
from px4_sim_ros.model.scenario.expectation import Expectation, read_expectation, time_us
from px4_sim_ros.model.scenario.situation import CLEARANCE, CONTACT
from px4_sim_ros.model.timebase import US_PER_S

_EVENT_KEYS = 'name', 'at_s', 'when', 'for_s', 'refused'
_KEYS = ('vehicle', 'mission', 'seed', 'scene', 'place', 'weather', 'set', 'px4', 'blocks',
         'actions', 'events', 'expect', 'end')


@dataclasses.dataclass(frozen=True)
class Event:
    """An action, and when it begins and ends."""

    name: str
    action: Action
    at_us: int | None = None           # simulated time
    when: Condition | None = None      # or once this holds
    for_us: int | None = None          # how long it lasts; None: to the end, or until it is cleared
    refused: bool = False              # the autopilot is expected to refuse it

    @property
    def text(self) -> str:
        """What it does, for the user."""
        return f'{self.name}: {action_text(self.action)}'

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the content of a file; an action of the user's has the name of its class."""
        found: dict[str, typing.Any] = {'name': self.name}
        if self.at_us is not None:
            found['at_s'] = self.at_us / US_PER_S
        if self.when is not None:
            found['when'] = self.when.to_mapping()
        if self.for_us is not None:
            found['for_s'] = self.for_us / US_PER_S
        if self.refused:
            found['refused'] = True
        return found | {name_of(self.action): {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in dataclasses.asdict(self.action).items()
            if key not in self.action.DEFAULTS or value != self.action.DEFAULTS[key]}}


@dataclasses.dataclass(frozen=True)
class End:
    """What ends the flight, if not the mission."""

    at_us: int | None = None
    when: Condition | None = None


@dataclasses.dataclass(frozen=True)
class Scenario:
    """What a scenario file says."""

    name: str
    events: tuple[Event, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    end: End | None = None             # None: the mission's
    mission: Mission | None = None     # that stands in the file; None: one by its name, or none
    settings: typing.Mapping[str, typing.Mapping[str, typing.Any]] = dataclasses.field(
        default_factory=dict)
    """Parameters by node, '' meaning all nodes: vehicle, place, weather, seed and mission."""
    px4_parameters: typing.Mapping[str, float] = dataclasses.field(default_factory=dict)
    blocks: tuple[Entry, ...] = ()     # of the user's, that are added to the step

    def check(self, subject: Subject, file: str) -> None:
        """Check that all actions fit the vehicle and the nodes of the run.

        :param file: for error sentences
        :raises ParameterError: naming the event and what is allowed
        """
        if AUTOPILOT not in subject.blocks and self.end is None:
            raise ParameterError(f'{file}: end: missing; there is no mission that ends the flight')
        if AUTOPILOT not in subject.blocks and self.end is not None and self.end.at_us is None:
            raise ParameterError(f'{file}: end.at_s: missing; there is no mission, so the flight'
                                 ' would not end if what it waits for does not come')
        for event in self.events:
            event.action.check(f'{file}: event {event.name}', subject)
        asked = {leaf.quantity for condition in self._conditions() for leaf in condition.leaves()
                 if isinstance(leaf, (Between, Is))}
        for name in (CLEARANCE, CONTACT):
            if name in asked and not (subject.has_scene or (
                    name == CONTACT and subject.collides)):
                raise ParameterError(f'{file}: {name}: there is no scene; name one, as in'
                                     ' scene: street')

    def _conditions(self) -> typing.Iterator[Condition]:
        found = [event.when for event in self.events]
        found.append(None if self.end is None else self.end.when)
        for its in self.expectations:
            found += its.condition, its.after, its.until
        return filter(None, found)

    @classmethod
    def from_mapping(cls, owner: str, name: str, content: typing.Any) -> Scenario:
        """Build a scenario from the content of its file.

        :param owner: what to call the file in an error sentence
        :raises ParameterError: naming the place in it and what is allowed
        """
        content = mapping_of(owner, 'scenario', content, _KEYS)
        own = {str(key): own_action(f'{owner}: actions.{key}', path)
               for key, path in _mapping(f'{owner}: actions', content.get('actions')).items()}
        entries = _list(f'{owner}: events', content.get('events'))
        names = _names(owner, entries)
        settings, mission = _settings(owner, name, content)
        return cls(
            name,
            tuple(_event(f'{owner}: events[{i}]', event_name, entry, names, own)
                  for i, (event_name, entry) in enumerate(zip(names, entries))),
            tuple(read_expectation(f'{owner}: expect[{i}]', entry, names) for i, entry in
                  enumerate(_list(f'{owner}: expect', content.get('expect')))),
            _end(f'{owner}: end', content.get('end'), names), mission, settings,
            {str(key): number(f'{owner}: px4.{key}', value) for key, value in
             _mapping(f'{owner}: px4', content.get('px4')).items()},
            read_entries(f'{owner}: blocks', content.get('blocks', [])))


def _mapping(owner: str, content: typing.Any) -> dict[typing.Any, typing.Any]:
    return {} if content is None else dict_of(owner, content)


def _list(owner: str, content: typing.Any) -> list[typing.Any]:
    return [] if content is None else list_of(owner, content)


def _names(owner: str, entries: list[typing.Any]) -> list[str]:
    """Return the names of the events; one without has its number, from 1 on."""
    names: list[str] = []
    for i, entry in enumerate(entries):
        name = entry.get('name', str(i + 1)) if isinstance(entry, dict) else str(i + 1)
        check_name(f'{owner}: events[{i}]', name, names)
        names.append(name)
    return names


def check_name(owner: str, name: typing.Any, names: typing.Collection[str]) -> None:
    """Check the name of an event among those that there are."""
    if not isinstance(name, str) or not name or name in names:
        raise ParameterError(
            f'{owner}.name = {shown(name)}: must be a text that no other event has')


def _event(
    owner: str, name: str, entry: typing.Any, names: typing.Sequence[str],
    own: typing.Mapping[str, type[Action]],
) -> Event:
    kinds = [key for key in dict_of(owner, entry, ' of at_s or when, and an action')
             if key not in _EVENT_KEYS]
    if len(kinds) != 1:
        raise ParameterError(f'{owner} = {shown(entry)}: must hold one action; {WHERE_LISTED}')
    if ('at_s' in entry) == ('when' in entry):
        raise ParameterError(f'{owner}: must hold either at_s or when')
    action = read_action(owner, kinds[0], entry[kinds[0]], own)
    target = getattr(action, 'event', None)
    if target is not None and target not in names:
        raise ParameterError(f'{owner}.{kinds[0]}.event = {shown(target)}: there is no such event')
    if action.INSTANT and 'for_s' in entry:
        raise ParameterError(f'{owner}.for_s: {kinds[0]} is done at once')
    refused = entry.get('refused', False)
    check_refused(f'{owner}.refused', action, refused)
    others = [other for other in names if other != name]
    return Event(
        name, action,
        time_us(f'{owner}.at_s', entry['at_s']) if 'at_s' in entry else None,
        read_condition(f'{owner}.when', entry['when'], others) if 'when' in entry else None,
        time_us(f'{owner}.for_s', entry['for_s']) if 'for_s' in entry else None, refused)


def check_refused(owner: str, action: Action, refused: typing.Any) -> None:
    """Check that an action can be refused, if that is expected.

    :param owner: what to call it in an error sentence
    :raises ParameterError: it asks nothing of the autopilot
    """
    if not isinstance(refused, bool):
        raise ParameterError(f'{owner} = {shown(refused)}: must be true or false')
    if refused and not action.IS_ANSWERED:
        raise ParameterError(f'{owner}: only a command, mode, parameter or px4_failure can be'
                             ' refused by the autopilot')


def read_now(owner: str, name: str, entry: typing.Any, names: typing.Collection[str]) -> Event:
    """Return an event that is given in a flight; without a time it begins at once.

    :param names: of the events that there are
    :raises ParameterError: naming the place and what is allowed
    """
    if isinstance(entry, dict) and not {'at_s', 'when'} & set(entry):
        entry = {'at_s': 0, **entry}
    return _event(owner, name, entry, [*names, name], {})


def _end(owner: str, content: typing.Any, names: typing.Container[str]) -> End | None:
    if content is None:
        return None
    if not isinstance(content, dict) or not content or not set(content) <= {'at_s', 'when'}:
        raise ParameterError(f'{owner} = {shown(content)}: must be a mapping of at_s, or when, or'
                             ' both')
    return End(
        time_us(f'{owner}.at_s', content['at_s']) if 'at_s' in content else None,
        read_condition(f'{owner}.when', content['when'], names) if 'when' in content else None)


_Settings = dict[str, dict[str, typing.Any]]


def _settings(owner: str, name: str, content: typing.Any) -> tuple[_Settings, Mission | None]:
    """Return the parameters that a file sets, by node, and the mission if it is in the file."""
    shared: dict[str, typing.Any] = {
        key: content[key] for key in ('vehicle', 'seed', 'scene', 'mission')
        if key in content}
    mission = None
    if isinstance(shared.get('mission'), Mission):         # of a plan
        mission = shared.pop('mission')
    elif isinstance(shared.get('mission'), list):
        mission = Mission.from_mapping(
            f'{owner}: mission', {'name': name, 'items': shared.pop('mission')})
    for key in ('vehicle', 'mission', 'scene'):
        if not isinstance(shared.get(key, ''), str):
            raise ParameterError(f'{owner}: {key} = {shown(shared[key])}: must be a text')
    found: _Settings = {'': shared | _mapping(f'{owner}: place', content.get('place'))}
    weather = dict(_mapping(f'{owner}: weather', content.get('weather')))
    if weather:
        found['']['wind'] = weather.pop('wind', 'constant')
        found['wind'] = weather
    for key, value in _mapping(f'{owner}: set', content.get('set')).items():
        node, dot, parameter = str(key).partition('.')
        if not dot:
            raise ParameterError(f'{owner}: set.{key}: must be NODE.PARAMETER')
        found.setdefault(node, {})[parameter] = value
    return found, mission
