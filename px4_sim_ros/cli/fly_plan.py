# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `fly` is asked to fly: whatever can be wrong with it is refused before anything starts."""
from __future__ import annotations

import argparse
import pathlib
import typing

from px4_sim_ros.flight import fleet_plan, remapping, settings
from px4_sim_ros.flight.embedded import check_embedded
from px4_sim_ros.flight.fleet import FleetOptions, laid_over
from px4_sim_ros.flight.flight_plan import FlightPlan
from px4_sim_ros.flight.px4 import Px4, world_parameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.mission import Hold
from px4_sim_ros.process import domain_claim
from px4_sim_ros.recording.bag.folder import new_folder
from px4_sim_ros.spec import node_overrides
from px4_sim_ros.spec.configuration import (
    Configuration,
    checked_scenario,
    load_configuration,
    profile_parameters,
)
from px4_sim_ros.spec.fleets import Fleet
from px4_sim_ros.spec.resources import named_file, named_files
from px4_sim_ros.spec.run_parameters import RecorderParameters
from px4_sim_ros.spec.vehicles_and_missions import flown_mission
from px4_sim_ros.viewing.rerun_target import RerunTarget

# Of a flight without a wish, which is also as fast as possible.
MISSION = 'square'
_LONG_HOLD_S = 120.0             # of hover, which a plausible pack lasts for


def prepared(
    options: argparse.Namespace, bag: str | pathlib.Path | None, fleet: Fleet | None,
    instance: int,
) -> tuple[FlightPlan, Configuration]:
    """Return what is to be flown, and the parameters of the vehicle, of several the first.

    :param bag: where it is recorded; None unless the parameters ask for a recording
    :param instance: of one vehicle unless parameters or options say otherwise
    :raises ParameterError: something is wrong
    """
    if fleet is None:
        configuration = _configuration(options, bag, instance)
        return _plan(options, configuration), configuration
    vehicles = fleet_plan.plans(fleet, options.autopilot, FleetOptions(
        options.params_file, _overrides(options, bag),
        lambda autopilot: laid_over(
            _base(autopilot, options), profile_parameters(options.profile))),
        lambda: Px4.find(options.px4_dir, options.px4_schedule))
    for vehicle in vehicles:
        _check_vehicle(vehicle.configuration, vehicle.autopilot)
    first = vehicles[0].configuration
    own_classes = node_overrides.parse(options.node, first.graph.nodes)
    if options.mode != 'core':
        domain_claim.check_unclaimed()
    return fleet_plan.flight_plan(fleet, options.mode, vehicles, own_classes), first


def _configuration(
    options: argparse.Namespace, bag: str | pathlib.Path | None, instance: int,
) -> Configuration:
    """Return the parameters of the flight.

    :param bag: where it is recorded; None unless the parameters ask for a recording
    :param instance: unless parameters or options say otherwise
    :raises ParameterError: one of them is wrong, or there is such a recording already
    """
    configuration = load_configuration(
        options.params_file, _overrides(options, bag), options.namespace,
        base=laid_over(_base(options.autopilot, options),
                       {'hil_bridge': {'instance': instance}},
                       profile_parameters(options.profile)))
    _check_vehicle(configuration, options.autopilot)
    return configuration


def _check_vehicle(configuration: Configuration, autopilot: str) -> None:
    """Check that an autopilot can fly a vehicle, and that it can be recorded if it is to be.

    :raises ParameterError: it cannot
    """
    if autopilot == 'embedded':
        check_embedded(configuration)
    if 'recorder' in configuration.nodes:
        new_folder(configuration.of_node('recorder', RecorderParameters).folder)


def remarks(configurations: typing.Iterable[Configuration]) -> list[str]:
    """Return what is implausible in vehicle files that do not come along, and in missions."""
    come_along = named_files('vehicles').values()
    flown = list({(c.world.vehicle, c.world.mission): c for c in configurations}.values())
    own = {c.world.vehicle: c for c in flown
           if named_file('vehicles', c.world.vehicle) not in come_along}
    long = [c for c in flown if _held_s(c) > _LONG_HOLD_S]
    if not own and not long:
        return []
    # It takes a while, and what comes along is plausible.
    from px4_sim_ros.cli.check_vehicle import examined, hover_figures
    found = [f'vehicle {c.vehicle.name}: implausible: {sentence}'
             for c in own.values() for sentence in examined(c)[1]]
    for c in long:
        endurance_s = hover_figures(c).endurance_s
        if endurance_s is not None and endurance_s < _held_s(c):
            remark = (f'vehicle {c.vehicle.name}: its battery lasts for {endurance_s:.0f} s of'
                      f' hover, and the mission holds for {_held_s(c):g} s')
            found.append(remark)
    return found


def _held_s(configuration: Configuration) -> float:
    """Return how long a mission holds a multirotor in the air, in all."""
    mission = flown_mission(configuration.world)
    if mission is None or not configuration.vehicle.is_multirotor:
        return 0.0
    return sum(item.duration_s for item in mission.items if isinstance(item, Hold))


def _plan(options: argparse.Namespace, configuration: Configuration) -> FlightPlan:
    """Return what is to be flown.

    :raises ParameterError: an option is wrong
    """
    mission = flown_mission(configuration.world)
    if mission is not None:
        vehicle = configuration.vehicle
        mission.check_fits(f'vehicle {vehicle.name}', vehicle.drives)
    scenario = checked_scenario(configuration)
    own_classes = node_overrides.parse(options.node, configuration.graph.nodes)
    if options.mode == 'core':
        for name, value in (('remap', ''.join(options.remap[:1])),
                            ('namespace', options.namespace)):
            if value:
                raise ParameterError(f'{name} {value!r}: mode core has no topics; fly in mode'
                                     ' composed or separate')
    remapping.check(options.remap, configuration.graph)
    _check_viewer(options)
    if options.mode != 'core':
        domain_claim.check_unclaimed()
    px4 = Px4.find(options.px4_dir, options.px4_schedule) if options.autopilot == 'px4' else None
    return FlightPlan(options.mode, options.autopilot, px4, mission, own_classes,
                      options.remap, options.viewer, options.namespace, scenario)


def _base(autopilot: str, options: argparse.Namespace) -> settings.Settings:
    """Return what holds unless parameters or options say otherwise."""
    # The mission ends a flight, so that it ends with a step that is always the same.
    base: settings.Settings = {'manager': {'speed_factor': 0.0}, 'pilot': {'at_end': 'hold'}}
    if autopilot == 'px4':
        base |= world_parameters(Px4.find(options.px4_dir, options.px4_schedule))
    return base if autopilot == 'none' else laid_over(base, {'': {'mission': MISSION}})


def _check_viewer(options: argparse.Namespace) -> None:
    """Check that the flight can be shown, if that is wanted.

    :raises ParameterError: it cannot, and why
    """
    if options.viewer is None:
        return
    if options.mode == 'core':
        raise ParameterError(f'viewer {options.viewer!r}: mode core has no topics to look at;'
                             ' --record the flight and look at the recording with `view`')
    RerunTarget(options.viewer)


def _overrides(
    options: argparse.Namespace, bag: str | pathlib.Path | None,
) -> settings.Settings:
    found = settings.settings(options)
    for node, name in (('', 'seed'), ('', 'mission'), ('', 'scenario'), ('manager', 'speed_factor'),
                       ('hil_bridge', 'instance')):
        value = getattr(options, name)
        if value is not None:
            found.setdefault(node, {})[name] = value
    if bag is not None:
        found['']['recorder'] = True
        found.setdefault('recorder', {})['folder'] = str(new_folder(bag))
    return found
