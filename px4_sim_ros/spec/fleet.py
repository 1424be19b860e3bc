# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the vehicles of a fleet are configured with: each as one alone, in one world."""
from __future__ import annotations

import dataclasses
import itertools
import math
import pathlib
import typing

from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.encounters import reach_m
from px4_sim_ros.model.environment.wind import WindParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import unknown_key_error
from px4_sim_ros.model.random_streams import derived_seed
from px4_sim_ros.model.world import OF_VEHICLE, WorldParameters
from px4_sim_ros.spec.configuration import Configuration, check_nodes, load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.fleets import Fleet, FleetVehicle, VehicleEntry
from px4_sim_ros.spec.parameter_files import Settings, default_parameters

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
    """Return the instance from which on vehicles have theirs, None if none is given.

    :raises ParameterError: it is none
    """
    asked = overrides.get('hil_bridge', {}).get('instance')
    return None if asked is None else VehicleEntry.from_mapping(
        'hil_bridge', {'namespace': '', 'instance': asked}).instance


def configurations(
    fleet: Fleet, autopilot: str, params_file: str | pathlib.Path | None, overrides: Settings,
    base: typing.Callable[[str], Settings], files: Files,
) -> list[tuple[FleetVehicle, Configuration]]:
    """Return the vehicles with their parameters; all have the autopilot that flies them.

    The first one has the seed of the world, so that it flies as it would alone.

    :param autopilot: of those of which the fleet does not say it
    :param overrides: laid over all that is set for a vehicle
    :param base: returns what is under all else, by the autopilot
    :param files: reads what the parameters of all of them name
    :raises ParameterError: one is wrong, or what is of the world differs between vehicles
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
        try:
            configuration = load_configuration(
                params_file, laid_over(overrides, own), vehicle.namespace,
                base=laid_over(base(whose.autopilot), *(
                    {'': {'gravity_model': first.world.gravity_model}}
                    for _, first in found[:1]), fleet.settings, _GOES_ON), files=files)
            _check(configuration, found[0][1].world if found else configuration.world)
        except ParameterError as error:
            raise ParameterError(f'fleet {fleet.name}: {vehicle.namespace}: {error}') from error
        found.append((whose, configuration))
    _check_settings(fleet, {node for _, configuration in found for node in configuration.nodes})
    return found


def _check_settings(fleet: Fleet, names: set[str]) -> None:
    """Check that what a fleet sets is for a node of some vehicle; it need not be recorded.

    :param names: of the nodes of all vehicles
    :raises ParameterError: naming the node or the parameter that there is not
    """
    try:
        check_nodes(fleet.settings, names | {'recorder'})
        known = default_parameters('recorder')
        for key in fleet.settings.get('recorder', {}).keys() - known.keys():
            raise unknown_key_error('recorder', key, known)
    except ParameterError as error:
        raise ParameterError(f'fleet {fleet.name}: set: {error}') from error


def _field_seed(first: Configuration) -> int:
    """Return the seed of the field of turbulence that the first vehicle meets."""
    seed = first.of_node('wind', WindParameters).field_seed
    return first.world.seed if seed < 0 else seed


def reaches_m(vehicles: typing.Mapping[str, Configuration]) -> dict[str, float]:
    """Return the radii of the spheres that vehicles are for `Encounters`, by namespace."""
    return {name: reach_m(configuration.vehicle) for name, configuration in vehicles.items()}


def check_starts(vehicles: typing.Mapping[str, Configuration]) -> None:
    """Check that no vehicle begins within another one.

    :raises ParameterError: naming two, how far they are apart and what is allowed
    """
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
    """Check that a vehicle is in the world of the first one.

    :raises ParameterError: naming what differs
    """
    world = configuration.world
    for field in dataclasses.fields(world):
        mine, other = getattr(world, field.name), getattr(first, field.name)
        if field.name not in OF_VEHICLE and mine != other:
            what = 'it'
            if field.name == 'step_us':       # rovers need the longest one
                what = f'step_us and periods_us.imu to {max(mine, other)}'
            raise ParameterError(f'{field.name} = {mine!r}: is of the world, where it is'
                                 f' {other!r}; set {what} for all of the fleet')
