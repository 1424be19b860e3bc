# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world of several vehicles in each mode, and who looks at how near they come."""
from __future__ import annotations

import pathlib
import typing

from px4_sim_ros.config.configuration import Configuration, write_fleet_configuration
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.run.flight_record import FlightRecord

if typing.TYPE_CHECKING:
    from px4_sim_ros.recording.bag.fleet_description import FleetDescription
    from px4_sim_ros.run.core_recorder import CoreRecorder
    from px4_sim_ros.run.core_world import CoreWorld
    from px4_sim_ros.run.flight_plan import FlightPlan, World
    from px4_sim_ros.run.flight_watch import FlightWatch
    from px4_sim_ros.run.ros_world import RosWorld

_OnEvent = typing.Callable[[typing.Any], None]


class Lookout:
    """Tells the records of the vehicles where these are, and how near they come."""

    def __init__(self, plan: FlightPlan, record: FlightRecord, on_event: _OnEvent) -> None:
        self._record, self._on_event = record, on_event
        self._records = {plan.namespace: record, **record.others}
        self._places: dict[int, dict[str, Vector]] = {}     # by time, while one is missing
        self._last_us: dict[str, int] = {}                  # of each vehicle
        self.note: typing.Callable[[str], None] = lambda text: None

    def observe(self, time_us: int, places_enu: typing.Mapping[str, Vector]) -> None:
        """Take in where all vehicles are at a time, by namespace."""
        for namespace, its in self._records.items():
            its.add_truth(places_enu[namespace])
        if self._record.encounters is None:
            return
        for encounter in self._record.encounters.step(
                time_us, [places_enu[namespace] for namespace in self._records]):
            self._record.met.append(encounter)
            self.note(encounter.text)
            self._on_event(encounter)

    def add(self, namespace: str, time_us: int, position_enu: Vector) -> None:
        """Take in where one vehicle is; all are looked at when all of a time are there."""
        if time_us <= self._last_us.get(namespace, 0):
            self._places.clear()           # the run has begun again
            self._last_us.clear()
        self._last_us[namespace] = time_us
        places = self._places.setdefault(time_us, {})
        places[namespace] = position_enu
        if len(places) == len(self._records):
            self.observe(time_us, places)
            # What is missing of an earlier time was lost.
            self._places = {t: its for t, its in self._places.items() if t > time_us}


def make(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path, record: FlightRecord,
    flights: typing.Mapping[str, FlightWatch], on_event: _OnEvent,
) -> World:
    """Return the world of the vehicles of a plan; each tells its flight what it does.

    :param configuration: of the first vehicle, with the recorder of all
    :param folder: for files of the run
    :param record: of the first vehicle, with those of the others
    """
    lookout = Lookout(plan, record, on_event)
    if plan.mode == 'core':
        return _core(plan, configuration, flights, lookout)
    return _graph(plan, configuration, folder, flights, lookout)


def _core(
    plan: FlightPlan, configuration: Configuration, flights: typing.Mapping[str, FlightWatch],
    lookout: Lookout,
) -> CoreWorld:
    from px4_sim_ros.run.core_vehicle import VehicleSetup
    from px4_sim_ros.run.core_world import CoreWorld

    def observe(time_us: int, values: typing.Mapping[str, typing.Any]) -> None:
        lookout.observe(time_us, {
            namespace: world.values(namespace)['ground_truth/odom'].position_enu
            for namespace in flights})

    first, *others = (
        VehicleSetup(vehicle.configuration, vehicle.namespace, plan.own_classes,
                     flights[vehicle.namespace].take, flights[vehicle.namespace].follow)
        for vehicle in plan.vehicles(configuration))
    world = CoreWorld(
        first.configuration, observe, _recorder(plan, configuration), first.own_classes,
        first.on_pilot, first.on_scenario, namespace=first.namespace, others=others)
    lookout.note = world.note
    return world


def _recorder(plan: FlightPlan, configuration: Configuration) -> CoreRecorder | None:
    if 'recorder' not in configuration.nodes:
        return None
    from px4_sim_ros.run.core_recorder import CoreRecorder
    return CoreRecorder(configuration, describe(plan, configuration))


def _graph(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path,
    flights: typing.Mapping[str, FlightWatch], lookout: Lookout,
) -> RosWorld:
    from px4_sim_ros.ros.flight_monitor import Listener
    from px4_sim_ros.run.flight_plan import optional_nodes
    from px4_sim_ros.run.ros_world import RosWorld

    def listener(namespace: str) -> Listener:
        return Listener(
            lambda time_us, position_enu: lookout.add(namespace, time_us, position_enu),
            flights[namespace].take, flights[namespace].follow)

    description = describe(plan, configuration)
    parameters, fleet = write_files(plan, configuration, description, folder)
    return RosWorld(
        plan.mode, description.vehicles, parameters,
        {namespace: listener(namespace) for namespace in flights}, fleet=fleet,
        optional=optional_nodes(configuration), own_classes=plan.own_classes)


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
    return FleetDescription({
        vehicle.namespace: RunDescription.of(
            vehicle.configuration, mode=plan.mode, autopilot=vehicle.autopilot,
            namespace=vehicle.namespace, own_classes=plan.own_classes)
        for vehicle in plan.vehicles(configuration)}, plan.near_miss_m)
