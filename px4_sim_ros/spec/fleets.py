# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fleets: which vehicles fly in one world, by a name in `config/fleets`, by a path or by number."""
from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import pathlib
import re
import typing

from px4_sim_ros.link.hil.line import AUTOPILOTS
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.encounters import reach_m
from px4_sim_ros.model.environment.wind import WindParameters
from px4_sim_ros.model.errors import ParameterError, shown, within
from px4_sim_ros.model.parameters import (
    Parameters,
    dict_of,
    mapping_of,
    parameter,
    unknown_key_error,
)
from px4_sim_ros.model.random_streams import derived_seed
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.model.world import OF_VEHICLE, WorldParameters
from px4_sim_ros.spec.configuration import Configuration, check_nodes, load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.parameter_files import Settings, default_parameters, node_and_key
from px4_sim_ros.spec.resources import named_file, read_yaml
from px4_sim_ros.step.presence import Presence

MOST_VEHICLES = 100
"""As many as there are instances."""
FIRST_INSTANCE = 1
"""PX4 puts no namespace before the topics of instance 0, and /px4_1 before those of instance 1."""
SPACING_M = 3.0
NEAR_MISS_M = 1.0

_WHEN_GONE = {'hold': 'hold', 'go_on': 'hold_first', 'begin_again': 'begin_again'}
_OF_WORLD = {'manager', 'recorder'}
_NAMESPACE = re.compile(r'[A-Za-z_]\w*', re.ASCII)
_NAMED_BY_PX4 = re.compile(r'px4_(0|[1-9][0-9]?)')


@dataclasses.dataclass(frozen=True)
class Start(Parameters):
    """Where a vehicle stands at first."""

    east_m: float = parameter(
        'from home', 'm', minimum=-10_000, maximum=10_000, default=0.0)
    north_m: float = parameter(
        'from home', 'm', minimum=-10_000, maximum=10_000, default=0.0)
    heading_deg: float = parameter(
        'clockwise from north', 'deg', minimum=0, maximum=360, default=90.0)


@dataclasses.dataclass(frozen=True)
class VehicleEntry(Parameters):
    """What an entry says of a vehicle in words and numbers; '' is what all of the fleet have."""

    namespace: str = parameter('of its nodes, topics and frames')
    vehicle: str = parameter('name of a file in config/vehicles, or a path', default='')
    mission: str = parameter(
        'name of a file in config/missions, or a path; none: it is flown by others', default='')
    scenario: str = parameter(
        'name of a file in config/scenarios, or a path: what happens to it, and what has to hold',
        default='')
    autopilot: str = parameter('who flies it', choices=AUTOPILOTS, default='')
    instance: int = parameter('of PX4, which gives the ports', minimum=0, maximum=99, default=-1)
    seed: int = parameter(
        'of its random streams', minimum=0, maximum=2**31 - 1, default=-1)
    when_gone: str = parameter(
        'what becomes of the world when its autopilot has gone', choices=tuple(_WHEN_GONE),
        default='hold')
    joins_at_s: float = parameter(
        'simulated time at which it stands where it starts', 's', minimum=0, maximum=1_000_000,
        default=0.0)
    leaves_at_s: float = parameter(
        'simulated time up to which it is there', 's', above=0, maximum=1_000_000,
        default=math.inf)
    in_reserve: bool = parameter('it joins by hand', default=False)


@dataclasses.dataclass(frozen=True)
class FleetVehicle:
    """A vehicle of a fleet: what is set for it, beyond what is set for all."""

    namespace: str
    autopilot: str             # '': that of the run
    instance: int | None       # None: the next one that is free
    seed: int | None           # None: one that follows from that of the world
    settings: Settings
    joins_at_s: float | None = 0.0     # None: by hand
    leaves_at_s: float = math.inf
    seed_name: str = ''        # from which its seed follows; '': from its namespace

    def presence(self, step_us: int) -> Presence:
        """Return from when to when it is to be in the world, to the nearest step."""
        def at_step(time_s: float) -> int:
            return round(time_s * US_PER_S / step_us) * step_us

        return Presence(None if self.joins_at_s is None else at_step(self.joins_at_s),
                        None if math.isinf(self.leaves_at_s) else at_step(self.leaves_at_s))


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The vehicles of a world, and what is set for all of it."""

    name: str
    vehicles: tuple[FleetVehicle, ...]
    settings: Settings = dataclasses.field(default_factory=dict)
    near_miss_m: float = NEAR_MISS_M

    @classmethod
    def of_number(
        cls, count: int, spacing_m: float, first_instance: int = FIRST_INSTANCE,
    ) -> Fleet:
        """Return vehicles that are alike, in rows of a square, the first one at home.

        Each has the name below which PX4 of its instance has its topics. Their seeds are the same
        from each first instance on.
        """
        if first_instance + count > MOST_VEHICLES:
            raise ParameterError(
                f'vehicles {count}: px4_{MOST_VEHICLES} has no instance; instances end at'
                f' {MOST_VEHICLES - 1}, and --instance sets the first, which is {first_instance}')
        columns = math.ceil(math.sqrt(count))
        return cls(f'{count} vehicles', tuple(dataclasses.replace(
            _vehicle('vehicles', {'namespace': f'px4_{first_instance + i}', 'start': {
                'east_m': i % columns * spacing_m, 'north_m': i // columns * spacing_m}}),
            seed_name=f'px4_{FIRST_INSTANCE + i}') for i in range(count)))

    @classmethod
    def load(cls, name: str) -> Fleet:
        """Read a fleet by its name in `config/fleets`, or by its path."""
        path = named_file('fleets', name)
        owner = f'fleet file {path}'
        content = read_yaml(path, 'fleet file')
        if not isinstance(content, dict) or not isinstance(content.get('vehicles'), list):
            raise ParameterError(f'{owner}: must hold a list of vehicles')
        mapping_of(owner, 'fleet', content, ('vehicles', 'set', 'near_miss_m'))
        if not 1 <= len(content['vehicles']) <= MOST_VEHICLES:
            raise ParameterError(f"{owner}: vehicles: {len(content['vehicles'])} of them; must be"
                                 f' at least 1 and at most {MOST_VEHICLES}')
        vehicles = tuple(_vehicle(f'{owner}: vehicles[{i}]', entry)
                         for i, entry in enumerate(content['vehicles']))
        _check_unique(owner, 'namespace', [v.namespace for v in vehicles])
        _check_unique(owner, 'instance', [
            v.instance for v in vehicles if v.instance is not None])
        distance = _Distance.from_mapping(owner, {
            key: content[key] for key in ('near_miss_m',) if key in content})
        return cls(path.stem, vehicles, _settings(owner, content.get('set', {})),
                   distance.near_miss_m)


@dataclasses.dataclass(frozen=True)
class _Distance(Parameters):
    near_miss_m: float = parameter(
        'vehicles nearer to each other than this have nearly met', 'm', minimum=0,
        maximum=1000, default=NEAR_MISS_M)


def _vehicle(owner: str, entry: typing.Any) -> FleetVehicle:
    """Read an entry."""
    said = VehicleEntry.from_mapping(owner, {
        key: value for key, value in dict_of(owner, entry).items() if key not in ('start', 'set')})
    if not _NAMESPACE.fullmatch(said.namespace):
        raise ParameterError(f'{owner}.namespace = {shown(said.namespace)}: must be a name of ROS'
                             ' without slashes, such as px4_1')
    start = Start.from_mapping(f'{owner}.start', entry.get('start', {}))
    found = _settings(owner, entry.get('set', {}))
    for node in sorted(_OF_WORLD & found.keys()):
        raise ParameterError(f'{owner}.set: {node} is of the world; set it for all of the fleet')
    for key in 'vehicle', 'mission', 'scenario':
        if value := getattr(said, key):
            found.setdefault('', {})[key] = value
    found.setdefault('dynamics', {}).update(
        (f'start_{key}', value) for key, value in dataclasses.asdict(start).items())
    found.setdefault('hil_bridge', {})['on_waiting'] = _WHEN_GONE[said.when_gone]
    _check_times(owner, said, entry)
    named = _NAMED_BY_PX4.fullmatch(said.namespace)
    return FleetVehicle(
        said.namespace, said.autopilot,
        said.instance if 'instance' in entry else int(named[1]) if named else None,
        said.seed if 'seed' in entry else None, found,
        None if said.in_reserve else said.joins_at_s, said.leaves_at_s)


def _check_times(owner: str, said: VehicleEntry, entry: typing.Container[str]) -> None:
    """Check that a vehicle leaves after it has joined."""
    for key in 'joins_at_s', 'leaves_at_s':
        if said.in_reserve and key in entry:
            raise ParameterError(f'{owner}.{key} = {getattr(said, key):g}: is not for a vehicle in'
                                 ' reserve, which joins and leaves by hand')
    if said.leaves_at_s <= said.joins_at_s:
        raise ParameterError(f'{owner}.leaves_at_s = {said.leaves_at_s:g}: must be greater than'
                             f' joins_at_s, which is {said.joins_at_s:g} s')


def check_presences(owner: str, presences: typing.Mapping[str, Presence]) -> None:
    """Check that there is a vehicle in the world at each time, up to the last one that leaves."""
    until_us: float = 0.0
    planned = [(its.joins_us, its.leaves_us, name) for name, its in presences.items()
               if its.joins_us is not None]
    for joins_us, leaves_us, name in sorted(planned, key=lambda its: its[0]):
        if leaves_us is not None and leaves_us <= joins_us:
            raise ParameterError(
                f'{owner}: {name} joins and leaves at t = {seconds_text(joins_us)}, to the nearest'
                ' step; it has to stay for one step at least')
        if joins_us > until_us:
            raise ParameterError(
                f'{owner}: no vehicle is in the world at t = {seconds_text(round(until_us))},'
                f' before {name} joins it at t = {seconds_text(joins_us)}')
        until_us = max(until_us, math.inf if leaves_us is None else leaves_us)
    if not planned:
        raise ParameterError(f'{owner}: all vehicles are in reserve; one at least has to be there'
                             ' from the beginning')


def _settings(owner: str, content: typing.Any) -> Settings:
    """Return parameters by node from their names with the node before them."""
    found: Settings = {}
    for name, value in dict_of(f'{owner}.set', content).items():
        node, key = node_and_key(f'{owner}.set.{name}', str(name))
        found.setdefault(node, {})[key] = value
    return found


def _check_unique(owner: str, key: str, values: typing.Iterable[object]) -> None:
    """Check that no two vehicles share what makes them two."""
    for value, count in collections.Counter(values).items():
        if count > 1:
            raise ParameterError(f'{owner}: {key} = {shown(value)}: {count} vehicles have it; each'
                                 ' needs one of its own')


_LAST_INSTANCE = typing.cast(int, HilParameters.infos()['instance']['maximum'])

# What is over for one does not hold the world: others fly on.
_GOES_ON: Settings = {'pilot': {'at_end': 'go_on'}, 'scenario': {'at_end': 'go_on'}}


def laid_over(*layers: typing.Mapping[str, typing.Mapping[str, typing.Any]]) -> Settings:
    """Return parameters by node, later layers winning."""
    found: Settings = {}
    for layer in layers:
        for node, values in layer.items():
            found.setdefault(node, {}).update(values)
    return found


def asked_instance(overrides: Settings) -> int | None:
    """Return the instance from which on vehicles have theirs, None if none is given."""
    asked = overrides.get('hil_bridge', {}).get('instance')
    return None if asked is None else VehicleEntry.from_mapping(
        'hil_bridge', {'namespace': '', 'instance': asked}).instance


def configurations(
    fleet: Fleet, autopilot: str, params_file: str | pathlib.Path | None, overrides: Settings,
    base: typing.Callable[[str], Settings], files: Files,
) -> list[tuple[FleetVehicle, Configuration]]:
    """Return the vehicles with their parameters; all have the autopilot that flies them.

    :param autopilot: of those of which the fleet does not say it
    :param overrides: laid over all that is set for a vehicle
    :param base: returns what is under all else, by the autopilot
    :param files: reads what the parameters of all of them name
    """
    found: list[tuple[FleetVehicle, Configuration]] = []
    taken = {vehicle.instance for vehicle in fleet.vehicles}
    asked = asked_instance(overrides)
    for vehicle in fleet.vehicles:
        own = laid_over(vehicle.settings)
        own.setdefault('', {})
        if vehicle.seed is not None:
            own['']['seed'] = vehicle.seed
        elif found:
            own['']['seed'] = derived_seed(
                found[0][1].world.seed, vehicle.seed_name or vehicle.namespace)
        instance = vehicle.instance
        if instance is None:
            first = asked
            if first is None:
                first = found[0][1].of_node('hil_bridge', HilParameters).instance if found else 0
            instance = next((i for i in range(first, _LAST_INSTANCE + 1) if i not in taken), None)
            if instance is None:
                raise ParameterError(
                    f'fleet {fleet.name}: {vehicle.namespace}: there is no instance left for it'
                    f' from {first} on; instances end at {_LAST_INSTANCE}')
            taken.add(instance)
        own['hil_bridge']['instance'] = instance
        if found and found[0][1].world.wind == 'field':
            # One field for all; who has set another one finds it in the first vehicle.
            own['wind'] = {'field_seed': _field_seed(found[0][1])} | own.get('wind', {})
        whose = dataclasses.replace(vehicle, autopilot=vehicle.autopilot or autopilot)
        with within(f'fleet {fleet.name}: {vehicle.namespace}'):
            configuration = load_configuration(
                params_file, laid_over(overrides, own), vehicle.namespace,
                base=laid_over(base(whose.autopilot), *(
                    {'': {'gravity_model': first.world.gravity_model}}
                    for _, first in found[:1]), fleet.settings, _GOES_ON), files=files)
            _check(configuration, found[0][1].world if found else configuration.world)
        found.append((whose, configuration))
    _check_settings(fleet, {node for _, configuration in found for node in configuration.nodes})
    return found


def _check_settings(fleet: Fleet, names: set[str]) -> None:
    """Check that what a fleet sets is for a node of some vehicle; it need not be recorded."""
    with within(f'fleet {fleet.name}: set'):
        check_nodes(fleet.settings, names | {'recorder'})
        known = default_parameters('recorder')
        for key in fleet.settings.get('recorder', {}).keys() - known.keys():
            raise unknown_key_error('recorder', key, known)


def _field_seed(first: Configuration) -> int:
    """Return the seed of the field of turbulence that the first vehicle meets."""
    seed = first.of_node('wind', WindParameters).field_seed
    return first.world.seed if seed < 0 else seed


def reaches_m(vehicles: typing.Mapping[str, Configuration]) -> dict[str, float]:
    """Return the radii of the spheres that vehicles are for `Encounters`, by namespace."""
    return {name: reach_m(configuration.vehicle) for name, configuration in vehicles.items()}


def check_starts(vehicles: typing.Mapping[str, Configuration]) -> None:
    """Check that no vehicle begins within another one."""
    starts = {}
    for name, configuration in vehicles.items():
        dynamics = configuration.of_node('dynamics', DynamicsParameters)
        starts[name] = dynamics.start_east_m, dynamics.start_north_m
    reaches = reaches_m(vehicles)
    for one, other in itertools.combinations(starts, 2):
        distance_m = math.dist(starts[one], starts[other])
        if distance_m <= reaches[one] + reaches[other]:
            raise ParameterError(
                f'{one} and {other} start {distance_m:g} m apart: must be more than'
                f' {reaches[one] + reaches[other]:.2f} m, or they begin within each other')


def _check(configuration: Configuration, first: WorldParameters) -> None:
    """Check that a vehicle is in the world of the first one."""
    world = configuration.world
    for field in dataclasses.fields(world):
        mine, other = getattr(world, field.name), getattr(first, field.name)
        if field.name not in OF_VEHICLE and mine != other:
            what = 'it'
            if field.name == 'step_us':       # rovers need the longest one
                what = f'step_us and periods_us.imu to {max(mine, other)}'
            raise ParameterError(f'{field.name} = {shown(mine)}: is of the world, where it is'
                                 f' {other!r}; set {what} for all of the fleet')
