# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The actions of the launch file for several vehicles, from its arguments."""
from __future__ import annotations

import pathlib
import typing

from launch.launch_context import LaunchContext
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node

from px4_sim_ros.flight.fleet import FleetOptions
from px4_sim_ros.flight.fleet_plan import flight_plan, plans
from px4_sim_ros.flight.fleet_world import describe, write_files
from px4_sim_ros.flight.flight_plan import VehiclePlan, optional_nodes
from px4_sim_ros.launching.actions import (
    autopilot_arguments,
    base_parameters,
    begin,
    bounded,
    essential,
    overriding,
    px4_of,
    surroundings,
)
from px4_sim_ros.launching.arguments import FLEET_ARGUMENTS
from px4_sim_ros.launching.viewers import check_fleet_viewers, fleet_viewers
from px4_sim_ros.recording.bag.fleet_description import FleetDescription
from px4_sim_ros.spec import node_overrides
from px4_sim_ros.spec.fleets import Fleet
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step.members import process_groups


def fleet_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return all actions of a launch.

    :raises ParameterError: one sentence about the argument, parameter or file that is wrong
    """
    given = {name: context.launch_configurations[name] for name in FLEET_ARGUMENTS}
    check_fleet_viewers(given)
    fleet = Fleet.load(given['fleet'])
    vehicles = plans(fleet, given['autopilot'], FleetOptions(
        pathlib.Path(given['params_file']) if given['params_file'] else None, overriding(given),
        lambda autopilot: base_parameters(given, autopilot)),
        lambda: px4_of(given))
    first = vehicles[0].configuration
    own_classes = node_overrides.parse(
        given['nodes'].split(',') if given['nodes'] else (), first.graph.nodes)
    plan = flight_plan(fleet, given['mode'], vehicles, own_classes)
    begun = begin(context, vehicles)
    if begun is None:
        return []
    folder, claim = begun
    description = describe(plan, first)
    parameters, file = write_files(plan, first, description, pathlib.Path(folder.name))
    return [
        *surroundings(claim),
        *_world(given, description, parameters, file, optional_nodes(first),
                node_overrides.arguments(own_classes, own_classes)),
        *(action for vehicle in vehicles if vehicle.autopilot != 'none'
          for action in _autopilot(given, vehicle)),
        *fleet_viewers(given, {v.namespace: v.configuration for v in vehicles}, file,
                        bounded(given)),
    ]


def _world(
    given: typing.Mapping[str, str], description: FleetDescription, parameters: pathlib.Path,
    file: pathlib.Path, optional: typing.Container[str], own_classes: typing.Sequence[str],
) -> list[LaunchDescriptionEntity]:
    """Return the processes of the graph.

    :param given: the arguments
    :param file: that describes the vehicles
    :param optional: nodes without which the launch goes on
    """
    actions: list[LaunchDescriptionEntity] = []
    for names in process_groups(description.vehicles, given['mode']):
        node = Node(
            package=PACKAGE, executable='world',
            arguments=[*names, '--fleet', str(file), *own_classes],
            exec_name=names[0] if len(names) == 1 else 'world', parameters=[str(parameters)],
            output='screen', **bounded(given))
        actions += [node] if names[0] in optional else essential(node)
    return actions


def _autopilot(
    given: typing.Mapping[str, str], vehicle: VehiclePlan,
) -> list[LaunchDescriptionEntity]:
    """Return what runs the autopilot of a vehicle; it is restarted with the world."""
    world = vehicle.configuration.world
    node = Node(
        package=PACKAGE, executable='autopilot_supervisor', namespace=vehicle.namespace,
        arguments=[*autopilot_arguments(vehicle.px4, vehicle.hil.instance, world), '--of-fleet',
                   *['--begins-again'] * (vehicle.hil.on_waiting == 'begin_again'),
                   *['--joins'] * (vehicle.presence.joins_us != 0)],
        exec_name=f"{'px4' if vehicle.px4 else 'autopilot'}_{vehicle.namespace}",
        output='screen', **bounded(given))
    # The others fly on without it, if its entry says so.
    return [node] if vehicle.hil.on_waiting == 'hold_first' else essential(node)
