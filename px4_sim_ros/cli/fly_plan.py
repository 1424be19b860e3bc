# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `fly` is asked to fly: whatever can be wrong with it is refused before anything starts."""
from __future__ import annotations

import argparse
import pathlib
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.mission import Hold
from px4_sim_ros.process import domain_claim
from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.px4.sitl import no_priority
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.fleets import FIRST_INSTANCE, SPACING_M, Fleet, asked_instance, laid_over
from px4_sim_ros.spec.flight_spec import (
    BY_HAND,
    MISSIONS,
    OF_ONE_FLIGHT,
    FlightSpec,
    Options,
    VehicleSpec,
    flight_of,
)
from px4_sim_ros.spec.resources import named_file, named_files
from px4_sim_ros.step.graph import TOPICS_OF_PX4

_LONG_HOLD_S = 120.0             # of hover, which a plausible pack lasts for
# What is of one vehicle only, or not done for several yet.
_OF_ONE = 'namespace', 'scenario', 'remap'


def fleet_of(options: argparse.Namespace) -> Fleet | None:
    """Return the fleet that is to fly, None for one vehicle alone."""
    if options.spacing is not None and options.vehicles is None:
        raise ParameterError(f'spacing {options.spacing:g}: is only for --vehicles')
    if options.fleet is None and options.vehicles is None:
        return None
    for name in _OF_ONE:
        if value := getattr(options, name):
            raise ParameterError(f'{name} {value!r}: is for one vehicle alone')
    if options.fleet is not None:
        return Fleet.load(options.fleet)
    spacing_m = SPACING_M if options.spacing is None else options.spacing
    if not 0.0 < spacing_m <= 100.0:
        raise ParameterError(
            f'spacing {spacing_m:g}: must be greater than 0 and at most 100 m')
    first = options.instance
    if first is None:
        first = asked_instance(settings.settings(options))
    return Fleet.of_number(
        options.vehicles, spacing_m, FIRST_INSTANCE if first is None else first)


def spec_of(
    options: argparse.Namespace, bag: str | pathlib.Path | None, fleet: Fleet | None,
    instance: int,
) -> FlightSpec:
    base = laid_over(
        OF_ONE_FLIGHT, {'hil_bridge': {'instance': instance}} if fleet is None else {},
        BY_HAND if options.mode != 'core' and options.speed_factor else {})
    found = flight_of(Options(
        options.mode, options.autopilot, options.px4_dir, options.px4_schedule,
        options.params_file, _overrides(options, bag), base,
        MISSIONS, options.profile, options.namespace, options.node,
        options.remap, options.agent), fleet)
    if options.mode != 'core' or TOPICS_OF_PX4 in found.configuration.nodes:
        domain_claim.check_unclaimed()
    return found


def settled_schedule(options: argparse.Namespace, spec: FlightSpec) -> list[str]:
    """Note which schedule PX4 has where none is asked for; return why a flight will not repeat."""
    px4 = next((vehicle.px4 for vehicle in spec.vehicles if vehicle.px4 is not None), None)
    if px4 is None or options.px4_schedule is not None:
        return []
    options.px4_schedule, options.px4_dir = px4.schedule, options.px4_dir or str(px4.build)
    return [] if px4.repeats else [f'this flight will not repeat bit for bit: {no_priority()}']


def remarks(configurations: typing.Iterable[Configuration]) -> list[str]:
    """Return the warnings about vehicle files of the user and missions."""
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


def left_out(vehicles: typing.Iterable[VehicleSpec]) -> list[str]:
    """Return a sentence for each plan of which the embedded autopilot leaves something out."""
    plans = {vehicle.mission.name: vehicle.mission.plan for vehicle in vehicles
             if vehicle.autopilot == 'embedded' and vehicle.mission}
    return [f'mission {name}: the embedded autopilot leaves out {plan.left_out}'
            for name, plan in plans.items() if plan and plan.left_out]


def _held_s(configuration: Configuration) -> float:
    """Return how long a mission holds a multirotor in the air, in all."""
    if configuration.mission is None or not configuration.vehicle.is_multirotor:
        return 0.0
    return sum(item.duration_s for item in configuration.mission.items if isinstance(item, Hold))


def _overrides(
    options: argparse.Namespace, bag: str | pathlib.Path | None,
) -> settings.Settings:
    found = settings.settings(options)
    for node, name in (('', 'seed'), ('', 'mission'), ('', 'scenario'), ('manager', 'speed_factor'),
                       ('hil_bridge', 'instance')):
        value = getattr(options, name)
        if value is not None:
            found.setdefault(node, {})[name] = value
    if options.px4_topics is not None:
        found.setdefault('', {})['px4_topics'] = True
        if options.px4_topics:
            found.setdefault(TOPICS_OF_PX4, {})['awaited'] = ' '.join(options.px4_topics.split(','))
    if bag is not None:
        found['']['recorder'] = True
        found.setdefault('recorder', {})['folder'] = str(new_folder(bag))
    return found


# What is asked of a flight, and does not change it, is left out.
_ONCE = ('mode', 'autopilot', 'px4_dir', 'px4_schedule', 'scenario', 'scene', 'mission', 'seed',
         'vehicle', 'wind', 'profile', 'params_file')
_REPEATED = 'set', 'node', 'remap'


def words_of(options: argparse.Namespace) -> list[str]:
    """Return the command `fly` with all that the flight depends on."""
    found = ['fly']
    for name in _ONCE:
        value = getattr(options, name)
        is_of_px4 = name.startswith('px4')
        if value not in (None, '') and (not is_of_px4 or options.autopilot == 'px4'):
            found += [_option(name), str(value)]
    if options.px4_topics is not None:
        found += [_option('px4_topics'), *filter(None, [options.px4_topics])]
    if options.agent:
        found.append('--agent')
    for name in _REPEATED:
        for value in getattr(options, name) or ():
            found += [_option(name), str(value)]
    return found


def _option(name: str) -> str:
    return '--' + name.replace('_', '-')
