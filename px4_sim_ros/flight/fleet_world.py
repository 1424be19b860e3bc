# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world of several vehicles in each mode, and who looks at how near they come."""
from __future__ import annotations

import contextlib
import pathlib
import typing

from px4_sim_ros.flight.fleet import reaches_m
from px4_sim_ros.flight.flight_record import FlightRecord
from px4_sim_ros.flight.px4 import described
from px4_sim_ros.model.encounters import Encounter, Encounters, Nearest
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.spec.configuration import Configuration, write_fleet_configuration

if typing.TYPE_CHECKING:
    from px4_sim_ros.flight.core_recorder import CoreRecorder
    from px4_sim_ros.flight.core_world import CoreWorld
    from px4_sim_ros.flight.flight_plan import FlightPlan, World
    from px4_sim_ros.flight.flight_watch import FlightWatch
    from px4_sim_ros.flight.ros_world import RosWorld
    from px4_sim_ros.recording.bag.fleet_description import FleetDescription

_OnEvent = typing.Callable[[typing.Any], None]


class Lookout:
    """Notes how near the vehicles come to each other, and tells it."""

    def __init__(self, record: FlightRecord, on_event: _OnEvent) -> None:
        """Begin with nothing.

        :param record: of the first vehicle
        """
        self._record, self._on_event = record, on_event

    def take(self, found: Encounter | list[Nearest]) -> None:
        """Take in that two have come near each other, or at the end the least distances."""
        if isinstance(found, list):
            self._record.nearest = found
        else:
            self._record.met.append(found)
            self._on_event(found)


def make(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path, record: FlightRecord,
    flights: typing.Mapping[str, FlightWatch], on_event: _OnEvent, stack: contextlib.ExitStack,
) -> World:
    """Return the world of the vehicles of a plan; each tells its flight what it does.

    :param configuration: of the first vehicle, with the recorder of all
    :param folder: for files of the run
    :param record: of the first vehicle, with those of the others
    :param stack: notes the least distances, after the end of the world
    """
    lookout = Lookout(record, on_event)
    if plan.mode == 'core':
        return _core(plan, configuration, flights, lookout, stack)
    return _graph(plan, configuration, folder, flights, lookout)


def _core(
    plan: FlightPlan, configuration: Configuration, flights: typing.Mapping[str, FlightWatch],
    lookout: Lookout, stack: contextlib.ExitStack,
) -> CoreWorld:
    from px4_sim_ros.flight.core_vehicle import VehicleSetup
    from px4_sim_ros.flight.core_world import CoreWorld

    vehicles = plan.vehicles(configuration)
    encounters = Encounters(
        reaches_m({v.namespace: v.configuration for v in vehicles}), plan.near_miss_m)
    stack.callback(lambda: lookout.take(encounters.nearest()))

    def observe(time_us: int, values: typing.Mapping[str, typing.Any]) -> None:
        places: list[Vector | None] = []
        for namespace in flights:
            values_there = world.values(namespace)
            places.append(None if values_there is None
                          else values_there['ground_truth/odom'].position_enu)
        for encounter in encounters.step(time_us, places):
            world.note(encounter.time_us, encounter.text)
            lookout.take(encounter)

    first, *others = (
        VehicleSetup(vehicle.configuration, vehicle.namespace, plan.own_classes,
                     flights[vehicle.namespace].take, flights[vehicle.namespace].follow,
                     vehicle.presence, flights[vehicle.namespace].attend)
        for vehicle in vehicles)
    world = CoreWorld(
        first.configuration, observe, _recorder(plan, configuration), first.own_classes,
        first.on_pilot, first.on_scenario, namespace=first.namespace, others=others)
    return world


def _recorder(plan: FlightPlan, configuration: Configuration) -> CoreRecorder | None:
    if 'recorder' not in configuration.nodes:
        return None
    from px4_sim_ros.flight.core_recorder import CoreRecorder
    return CoreRecorder(configuration, describe(plan, configuration))


def _graph(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path,
    flights: typing.Mapping[str, FlightWatch], lookout: Lookout,
) -> RosWorld:
    from px4_sim_ros.flight.flight_plan import optional_nodes
    from px4_sim_ros.flight.ros_world import RosWorld
    from px4_sim_ros.ros.tools.flight_monitor import Listener

    def listener(namespace: str) -> Listener:
        flight = flights[namespace]
        return Listener(None, flight.take, flight.follow, flight.attend)

    description = describe(plan, configuration)
    parameters, fleet = write_files(plan, configuration, description, folder)
    return RosWorld(
        plan.mode, description.vehicles, parameters,
        {namespace: listener(namespace) for namespace in flights}, fleet=fleet,
        optional=optional_nodes(configuration), own_classes=plan.own_classes,
        on_encounter=lookout.take)


def write_files(
    plan: FlightPlan, configuration: Configuration, description: FleetDescription,
    folder: pathlib.Path,
) -> tuple[pathlib.Path, pathlib.Path]:
    """Write what the processes of a graph read; return the files of parameters and vehicles."""
    from px4_sim_ros.recording.bag.run_description import with_run_file
    fleet = folder / 'fleet.yaml'
    fleet.write_text(description.to_yaml(), encoding='utf-8')
    if 'recorder' in configuration.nodes:
        configuration = with_run_file(configuration, description, folder)
    return write_fleet_configuration(folder, {
        vehicle.namespace: vehicle.configuration
        for vehicle in plan.vehicles(configuration)}), fleet


def describe(plan: FlightPlan, configuration: Configuration) -> FleetDescription:
    """Return the description of all vehicles of a plan, which a recording carries.

    :param configuration: of the first vehicle
    """
    from px4_sim_ros.recording.bag.fleet_description import FleetDescription
    from px4_sim_ros.recording.bag.run_description import RunDescription
    # One build flies all of them, and reading it takes a while.
    px4s = {px4: described(px4)
            for px4 in {vehicle.px4 for vehicle in plan.vehicles(configuration)}}
    return FleetDescription({
        vehicle.namespace: RunDescription.of(
            vehicle.configuration, mode=plan.mode, autopilot=vehicle.autopilot,
            namespace=vehicle.namespace, own_classes=plan.own_classes,
            presence=vehicle.presence,
            px4=px4s[vehicle.px4])
        for vehicle in plan.vehicles(configuration)}, plan.near_miss_m)
