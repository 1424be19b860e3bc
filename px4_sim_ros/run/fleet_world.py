# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world of several vehicles in mode `core`, and who looks at how near they come."""
from __future__ import annotations

import typing

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.model.encounters import Encounter
from px4_sim_ros.run.core_vehicle import VehicleSetup
from px4_sim_ros.run.core_world import CoreWorld
from px4_sim_ros.run.flight_record import FlightRecord

if typing.TYPE_CHECKING:
    from px4_sim_ros.run.core_recorder import CoreRecorder
    from px4_sim_ros.run.flight import FlightPlan, FlightWatch


def make_fleet_world(
    plan: FlightPlan, configuration: Configuration, record: FlightRecord,
    flights: typing.Mapping[str, FlightWatch],
    on_event: typing.Callable[[typing.Any], None],
) -> CoreWorld:
    """Return the world of the vehicles of a plan; each tells its flight what it does.

    :param configuration: of the first vehicle, with the recorder of all
    :param record: of the first vehicle, with those of the others
    """
    vehicles = plan.vehicles(configuration)
    records = {plan.namespace: record, **record.others}

    def observe(time_us: int, values: typing.Mapping[str, typing.Any]) -> None:
        positions = []
        for namespace, its in records.items():
            position_enu = world.values(namespace)['ground_truth/odom'].position_enu
            its.add_truth(position_enu)
            positions.append(position_enu)
        if record.encounters is not None:
            for encounter in record.encounters.step(time_us, positions):
                note(encounter)

    def note(encounter: Encounter) -> None:
        record.met.append(encounter)
        world.note(encounter.text)
        on_event(encounter)

    first, *others = (
        VehicleSetup(vehicle.configuration, vehicle.namespace, plan.own_classes,
                     flights[vehicle.namespace].take, flights[vehicle.namespace].follow)
        for vehicle in vehicles)
    world = CoreWorld(
        first.configuration, observe, _recorder(plan, configuration), first.own_classes,
        first.on_pilot, first.on_scenario, namespace=first.namespace, others=others)
    return world


def _recorder(plan: FlightPlan, configuration: Configuration) -> CoreRecorder | None:
    if 'recorder' not in configuration.nodes:
        return None
    from px4_sim_ros.recording.bag.fleet_description import FleetDescription
    from px4_sim_ros.recording.bag.run_description import RunDescription
    from px4_sim_ros.run.core_recorder import CoreRecorder
    return CoreRecorder(configuration, FleetDescription({
        vehicle.namespace: RunDescription.of(
            vehicle.configuration, mode=plan.mode, autopilot=vehicle.autopilot,
            namespace=vehicle.namespace, own_classes=plan.own_classes)
        for vehicle in plan.vehicles(configuration)}, plan.near_miss_m))
