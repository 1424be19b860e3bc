# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Campaign files: what is flown many times, what varies in it, how often, and with which seed."""
from __future__ import annotations

import copy
import dataclasses
import functools
import pathlib
import typing

from px4_sim_ros.campaign import inputs
from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.parameters import Parameters, dict_of, mapping_of, parameter
from px4_sim_ros.spec.files import NONE, load_mission
from px4_sim_ros.spec.own_blocks import found_anywhere
from px4_sim_ros.spec.resources import named_file, read_yaml

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


_FLOWN = 'scenario', 'mission'
VEHICLES = 'vehicle_files'
"""Of a campaign that has begun: the content of vehicle files by name, as they were then."""
_DEFAULT_VEHICLE = 'iris'
_LANDED = {'eventually': {'flown': True}}


@dataclasses.dataclass(frozen=True)
class Settings(Parameters):
    """What a campaign file says in single values."""

    autopilot: str = parameter('who flies', choices=('embedded', 'px4'), default='embedded')
    sampling: str = parameter('how the runs are spread over what varies',
                              choices=inputs.SAMPLINGS, default=inputs.RANDOM)
    runs: int = parameter('how many flights', minimum=1, maximum=1_000_000, default=100)
    seed: int = parameter('of all draws', minimum=0, default=1)
    noise: str = parameter('whether each run has noise of its own, or all that of the seed of the'
                           ' scenario', choices=('each', 'same'), default='each')
    keep_failed: int = parameter(
        'recordings of runs that have failed', minimum=0, default=5)
    keep_every: int = parameter(
        'a recording of each run of which the number is a multiple of this; 0: of none',
        minimum=0, default=0)
    record_topics: str = parameter('`recorder.topics` of recordings', default='')
    record_every: int = parameter('`recorder.every` of recordings', minimum=1, default=1)
    limit_s: float = parameter(
        'wall time of a flight that is taken to hang', 's', above=0, default=600.0)
    at_least: float = parameter(
        'share of the runs that has to hold, with a confidence of 95 %; 0: none', minimum=0,
        maximum=0.9999, default=0.0)

    @property
    def recorder(self) -> dict[str, typing.Any]:
        return {'topics': self.record_topics, 'every': self.record_every}


_KEYS = (*_FLOWN, 'vary', *Settings.infos())


class Run(typing.NamedTuple):
    """A flight of a campaign."""

    number: int                              # from 1 on
    inputs: dict[str, inputs.Value]          # by name
    seed: int | None                         # of the noise; None: that of the scenario
    scenario: Content                 # content of its file; its vehicle is that of `vehicle`
    vehicle: Content                  # content of its file
    is_own_vehicle: bool                     # no file has it: something in it varies

    @property
    def own_vehicle(self) -> Content | None:
        """Content of the vehicle's file, None if the scenario names one that there is."""
        return self.vehicle if self.is_own_vehicle else None


@dataclasses.dataclass(frozen=True)
class Campaign:
    """What a campaign file says."""

    name: str
    owner: str                               # what to call it in an error sentence
    settings: Settings
    scenario: Content
    vary: tuple[inputs.Input, ...]
    vehicles: dict[str, Content]      # content of vehicle files by name

    @classmethod
    def load(cls, name: str) -> Campaign:
        """Read a campaign by its name in `config/campaigns`, or by its path."""
        path = named_file('campaigns', name)
        return cls.from_mapping(
            path.stem, f'campaign file {path}', read_yaml(path, 'campaign file'), path.parent)

    @classmethod
    def from_mapping(
        cls, name: str, owner: str, content: typing.Any, folder: pathlib.Path = pathlib.Path(),
    ) -> Campaign:
        """Build a campaign from the content of its file.

        :param folder: of that file, for the blocks of a scenario or vehicle that stands in it
        """
        content = mapping_of(owner, 'campaign', content, _KEYS, (VEHICLES,))
        if ('scenario' in content) == ('mission' in content):
            raise ParameterError(f'{owner}: must hold either scenario or mission')
        if not isinstance(content.get(VEHICLES, {}), dict):
            raise ParameterError(f'{owner}: {VEHICLES} = {shown(content[VEHICLES])}: must be a'
                                 ' mapping')
        settings = Settings.from_mapping(owner, {
            key: value for key, value in content.items() if key in Settings.infos()})
        scenario = _scenario(owner, content, folder)
        found = cls(name, owner, settings, scenario, _vary(owner, content.get('vary')), {
            vehicle: found_anywhere(f'{owner}: {VEHICLES}.{vehicle}', its, folder)
            for vehicle, its in content.get(VEHICLES, {}).items()})
        for vehicle in found._vehicle_names():
            if vehicle not in found.vehicles:
                found.vehicles[vehicle] = _content_of('vehicles', vehicle)
        return found

    def _vehicle_names(self) -> list[str]:
        values: list[inputs.Value] = []
        for found in self.vary:
            if found.name == 'vehicle':
                if not isinstance(found.distribution, (inputs.Choice, inputs.Table)):
                    raise ParameterError(
                        f'{self.owner}: vary.vehicle: must be a choice or a table of names')
                values += found.distribution.values
        for value in [*values, self.scenario['vehicle']]:
            if not isinstance(value, str):
                raise ParameterError(f'{self.owner}: vehicle = {shown(value)}: must be a text')
        return list(dict.fromkeys([*values, self.scenario['vehicle']]))

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return a content that means the same, whatever becomes of the files that it names."""
        return {
            **dataclasses.asdict(self.settings), 'scenario': self.scenario,
            'vary': {found.name: {type(found.distribution).__name__.lower(): _plain(
                found.distribution)} for found in self.vary},
            VEHICLES: self.vehicles}

    def with_settings(self, **changed: typing.Any) -> Campaign:
        """Return a campaign with other settings; what is None stays."""
        given = {key: value for key, value in changed.items() if value is not None}
        settings = Settings.from_mapping('campaign', dataclasses.asdict(self.settings) | given)
        return dataclasses.replace(self, settings=settings)

    @functools.cached_property
    def draws(self) -> list[dict[str, inputs.Value]]:
        """The inputs of all runs, those of run 1 first."""
        s = self.settings
        return inputs.draw(self.vary, s.sampling, s.seed, s.runs)

    def run(self, number: int) -> Run:
        s = self.settings
        return self.run_with(
            number, self.draws[number - 1],
            inputs.seed_of(s.seed, number) if s.noise == 'each' else None)

    def run_with(
        self, number: int, values: typing.Mapping[str, inputs.Value], seed: int | None = None,
    ) -> Run:
        """Return a run with certain values of its inputs.

        :param seed: of the noise, unless it is an input; None: that of the scenario
        """
        scenario = self.scenario if seed is None else {**self.scenario, 'seed': seed}
        if 'vehicle' in values:
            scenario = {**scenario, 'vehicle': values['vehicle']}
        vehicle = self.vehicles[scenario['vehicle']]
        is_own = False
        for name, value in values.items():
            is_own |= name.startswith('vehicle.')
            scenario, vehicle = with_value(
                f'{self.owner}: vary.{name}', scenario, vehicle, name, value)
        return Run(number, dict(values), scenario.get('seed'), scenario, vehicle, is_own)

    def extremes(self) -> typing.Iterator[tuple[str, inputs.Value]]:
        """Yield each input with the values that show whether all of its draws are allowed."""
        for found in self.vary:
            values = [run[found.name] for run in self.draws]
            if all(isinstance(value, (int, float)) for value in values):
                values = [min(values), max(values)]
            for value in {repr(value): value for value in values}.values():
                yield found.name, value


def _content_of(kind: str, name: str) -> typing.Any:
    path, what = named_file(kind, name), f'{kind.removesuffix("s")} file'
    return found_anywhere(f'{what} {path}', read_yaml(path, what), path.parent)


def _scenario(
    owner: str, content: typing.Mapping[str, typing.Any], folder: pathlib.Path,
) -> Content:
    """Return the scenario, in which the mission stands itself and the vehicle has a name."""
    if 'mission' in content:
        found: typing.Any = {'mission': content['mission']}
    elif isinstance(content['scenario'], str):
        found = _content_of('scenarios', content['scenario'])
    else:
        found = found_anywhere(f'{owner}: scenario', content['scenario'], folder)
    if not isinstance(found, dict):
        raise ParameterError(f'{owner}: scenario: must be a name in config/scenarios, a path, or'
                             ' what a scenario file holds')
    scenario: Content = {'vehicle': _DEFAULT_VEHICLE, 'mission': 'square', **found}
    if isinstance(scenario['mission'], str) and scenario['mission'] != NONE:
        mission = load_mission(scenario['mission']).to_mapping()
        scenario['mission'] = mission.get('items', mission)       # of a plan all
    # What is not expected cannot fail.
    if not scenario.get('expect') and not scenario.get('end'):
        scenario['expect'] = [_LANDED]
    return scenario


def _vary(owner: str, content: typing.Any) -> tuple[inputs.Input, ...]:
    if content is not None:
        dict_of(f'{owner}: vary', content, ' of what varies')
    found = tuple(inputs.Input(str(name), inputs.read_distribution(
        f'{owner}: vary.{name}', _read_table(f'{owner}: vary.{name}.table', value)))
        for name, value in (content or {}).items())
    tables = {one.name: len(one.distribution.values) for one in found
              if isinstance(one.distribution, inputs.Table)}
    if len(set(tables.values())) > 1:
        raise ParameterError(f'{owner}: vary: tables belong together, so they must be equally long;'
                             f" they have {', '.join(map(str, tables.values()))} values")
    return found


def _read_table(owner: str, content: typing.Any) -> typing.Any:
    if isinstance(content, dict) and isinstance(content.get('table'), dict):
        return {**content, 'table': inputs.read_column(owner, content['table'])}
    return content


def _plain(distribution: inputs.Distribution) -> typing.Any:
    """Return the input of `read_distribution`, as JSON can hold it."""
    values = {key: value for key, value in vars(distribution).items()
              if value is not None and not key.startswith('_')}
    if isinstance(distribution, inputs.Normal):
        return values
    if isinstance(distribution, inputs.Uniform):
        return [distribution.low, distribution.high]
    return list(values['values'])
