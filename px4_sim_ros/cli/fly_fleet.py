# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Options of `fly` for several vehicles, and what they come to."""
from __future__ import annotations

import argparse
import typing

from px4_sim_ros.flight import settings
from px4_sim_ros.flight.fleet import asked_instance
from px4_sim_ros.flight.fleet_record import FleetRecord
from px4_sim_ros.flight.flight_plan import VehiclePlan
from px4_sim_ros.flight.flight_record import FlightRecord
from px4_sim_ros.link.hil.link_state import TROUBLES, HilParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.fleets import FIRST_INSTANCE, MOST_VEHICLES, SPACING_M, Fleet

# What is of one vehicle only, or not done for several yet.
_OF_ONE = 'namespace', 'viewer', 'scenario', 'remap'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    several = parser.add_mutually_exclusive_group()
    several.add_argument('--fleet', metavar='FLEET', help='fly several vehicles in one world, in'
                         ' one lockstep: name in config/fleets, or a path')
    several.add_argument('--vehicles', type=_count, metavar='N', help='the same with N vehicles'
                         ' that are alike: px4_1 is instance 1 of PX4, and so on, or from'
                         ' --instance on')
    parser.add_argument('--spacing', type=float, metavar='M', help='how far they are apart at'
                        f' first; {SPACING_M:g} m by default')


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_VEHICLES:
        raise argparse.ArgumentTypeError(
            f'{text!r}: must be a whole number, at least 1 and at most {MOST_VEHICLES}')
    return int(text)


def fleet_of(options: argparse.Namespace) -> Fleet | None:
    """Return the fleet that is to fly, None for one vehicle alone.

    :raises ParameterError: its file is wrong, or an option is not for a fleet
    """
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


def prepare_record(record: FlightRecord, vehicles: list[VehiclePlan]) -> None:
    """Let the record of the first vehicle have those of the others."""
    _expect(record, vehicles[0])
    for vehicle in vehicles[1:]:
        its = record.others[vehicle.namespace] = FlightRecord()
        _expect(its, vehicle)
        its.autopilot, its.shares_core = vehicle.autopilot, vehicle.hil.shares_core


def _expect(record: FlightRecord, vehicle: VehiclePlan) -> None:
    record.joins_us = vehicle.presence.joins_us
    record.reset()


def fleet_record(record: FlightRecord, vehicles: typing.Sequence[VehiclePlan]) -> FleetRecord:
    """Return the records of all vehicles, with what each of them is."""
    return FleetRecord(vehicles[0].namespace, record, {
        vehicle.namespace: _head(vehicle.configuration, vehicle) for vehicle in vehicles},
        vehicles[0].configuration.world.step_us)


def _head(configuration: Configuration, vehicle: VehiclePlan) -> dict[str, typing.Any]:
    return {'vehicle': configuration.vehicle.name, 'autopilot': vehicle.autopilot,
            'mission': vehicle.mission.name if vehicle.mission else 'none',
            'instance': configuration.of_node('hil_bridge', HilParameters).instance,
            'seed': configuration.world.seed}


def print_vehicle(summary: dict[str, typing.Any]) -> None:
    """Print a line about a vehicle, and one for each thing that its scenario expects."""
    if summary['joined_s'] is None:
        print(f"{summary['namespace']:28} {summary['vehicle']}: in reserve, it has not joined")
        return
    how = 'landed' if summary['landed'] else summary['failure'] or 'not landed'
    for key, verb in ('left_s', 'left'), ('joined_s', 'joined'):
        if summary[key]:
            how = f'{verb} at {summary[key]:g} s, {how}'
    off = summary['position_error_at_landing_m']
    troubles = [f'{name} {summary[name]}' for name in TROUBLES
                if name == 'misses' or summary[name]]
    if summary.get('log_lost_s'):
        troubles.append(f"log_lost_s {summary['log_lost_s']:g}")
    print(f"{summary['namespace']:28} {summary['vehicle']}, {summary['mission']},"
          f" {summary['autopilot']}: {how}{f', off by {off:g} m' if off is not None else ''},"
          f" {', '.join(troubles)}, fingerprint {summary['fingerprint']}")
    for verdict in summary.get('expectations', ()):
        print(f"{'':28} expected {verdict['text']}")
