# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What each vehicle of a fleet flies."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.flight.fleet import FleetOptions, check_starts, configurations
from px4_sim_ros.flight.flight_plan import FlightPlan, VehiclePlan
from px4_sim_ros.flight.px4 import Px4
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.configuration import Configuration, checked_scenario
from px4_sim_ros.spec.fleets import Fleet, check_presences
from px4_sim_ros.spec.vehicles_and_missions import flown_mission

if typing.TYPE_CHECKING:       # a flight without one does without all of its actions
    from px4_sim_ros.model.scenario.scenario import Scenario


def plans(
    fleet: Fleet, autopilot: str, options: FleetOptions,
    px4: typing.Callable[[], Px4],
) -> list[VehiclePlan]:
    """Return what each vehicle of a fleet flies.

    :param autopilot: of those of which the fleet does not say it
    :param px4: finds the PX4 that was built
    :raises ParameterError: something is wrong, and in which vehicle
    """
    members = configurations(fleet, autopilot, options)
    step_us = members[0][1].world.step_us
    presences = {vehicle.namespace: vehicle.presence(step_us) for vehicle, _ in members}
    check_presences(f'fleet {fleet.name}', presences)
    check_starts({vehicle.namespace: its for vehicle, its in members
                  if presences[vehicle.namespace].has(step_us)})
    built = px4() if any(vehicle.autopilot == 'px4' for vehicle, _ in members) else None
    if built is not None and built.repeats:
        # All are on the core that the step is on.
        first = members[0][1].of_node('hil_bridge', HilParameters).instance
        built = dataclasses.replace(built, core_instance=first)
    return [VehiclePlan(vehicle.namespace, its, vehicle.autopilot,
                        built if vehicle.autopilot == 'px4' else None, flown_mission(its.world),
                        _scenario(fleet, vehicle.namespace, its), presences[vehicle.namespace])
            for vehicle, its in members]


def _scenario(fleet: Fleet, namespace: str, configuration: Configuration) -> Scenario | None:
    try:
        return checked_scenario(configuration)
    except ParameterError as error:
        raise ParameterError(f'fleet {fleet.name}: {namespace}: {error}') from error


def flight_plan(
    fleet: Fleet, mode: str, vehicles: typing.Sequence[VehiclePlan],
    own_classes: typing.Mapping[str, str],
) -> FlightPlan:
    """Return the flight of a fleet.

    :param mode: of MODES
    :param own_classes: `module:Class` by name, in place of the blocks of each vehicle
    """
    first, *others = vehicles
    return FlightPlan(
        mode, first.autopilot, first.px4, first.mission, own_classes, (), None, first.namespace,
        first.scenario,
        fleet=fleet.name, others=tuple(others), near_miss_m=fleet.near_miss_m,
        presence=first.presence)
