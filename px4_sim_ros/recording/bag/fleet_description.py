# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The description that the bag of several vehicles carries: that of each, as if it were alone."""
from __future__ import annotations

import dataclasses
import pathlib
import typing

import yaml

from px4_sim_ros.model.encounters import Encounters, reach_m
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.run_description import (
    BagError,
    RunDescription,
    unreadable,
    with_run_file,
)
from px4_sim_ros.spec.configuration import Configuration, write_configuration
from px4_sim_ros.spec.resources import DUMPER, parse_yaml, read_text
from px4_sim_ros.step.graph_vehicles import GraphVehicle

if typing.TYPE_CHECKING:       # a process of the graph only reads
    from px4_sim_ros.spec.flight_spec import FlightSpec

_VEHICLES = 'vehicles'


@dataclasses.dataclass(frozen=True)
class FleetDescription:
    """The configuration of a run of several vehicles."""

    members: dict[str, RunDescription]     # by namespace
    near_miss_m: float

    @property
    def _first(self) -> RunDescription:
        return next(iter(self.members.values()))

    @property
    def schema_version(self) -> int:
        """Of the contract of the recording."""
        return schema.VERSION

    @property
    def mode(self) -> str:
        return self._first.mode

    @property
    def autopilot(self) -> str:
        """Those that fly the vehicles."""
        return ', '.join(dict.fromkeys(run.autopilot for run in self.members.values()))

    @property
    def world(self) -> WorldParameters:
        """What all vehicles share; the seed is that of the world."""
        return self._first.world

    @property
    def vehicles(self) -> list[GraphVehicle]:
        return vehicles_of(self)

    @property
    def core_instance(self) -> int:
        """The instance whose core all autopilots and the step are on, if they share one."""
        return int(self._first.parameters['hil_bridge']['instance'])

    def encounters(self) -> Encounters:
        """Return the observer of encounters between the vehicles."""
        return Encounters({name: reach_m(run.recorded_vehicle)
                           for name, run in self.members.items()}, self.near_miss_m)

    def to_yaml(self) -> str:
        """Return the text that a bag carries."""
        return yaml.dump({
            'schema_version': self.schema_version, 'near_miss_m': self.near_miss_m,
            _VEHICLES: [run.to_mapping() for run in self.members.values()],
        }, Dumper=DUMPER, sort_keys=False, allow_unicode=True)


def read_description(
    bag: str | pathlib.Path, text: str | bytes,
) -> RunDescription | FleetDescription:
    """Read the text that a bag carries.

    :raises BagError: it is damaged, or of another version
    """
    try:
        content = parse_yaml(text, f'bag {bag}: its description of the run cannot be read')
    except ParameterError as error:
        raise BagError(str(error)) from error
    if not isinstance(content, dict) or _VEHICLES not in content:
        return RunDescription.from_content(bag, content)
    try:
        runs = [RunDescription.from_content(bag, one) for one in content[_VEHICLES]]
        return FleetDescription(
            {run.namespace: run for run in runs}, float(content['near_miss_m']))
    except BagError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(bag, error) from error


def read_run_file(path: str | pathlib.Path) -> RunDescription | FleetDescription:
    """Read a file that holds the text that a bag is to carry.

    :raises BagError: it is missing or damaged
    """
    return read_description(path, read_text(path, 'run file'))


def read_fleet_file(path: str | pathlib.Path) -> FleetDescription:
    """Read a file that describes several vehicles.

    :raises BagError: it is missing, damaged, or describes one alone
    """
    found = read_run_file(path)
    if not isinstance(found, FleetDescription):
        raise BagError(f'run file {path}: describes one vehicle alone')
    return found


def vehicles_of(description: RunDescription | FleetDescription) -> list[GraphVehicle]:
    """Return the vehicles of a run with their graphs; one alone has no name."""
    return [GraphVehicle(name, run.graph, run.world, run.presence)
            for name, run in description.members.items()]


def describe(spec: FlightSpec) -> RunDescription | FleetDescription:
    """Return the description of a flight that its recording carries."""
    from px4_sim_ros.px4.sitl import described
    # One build flies all of them, and reading it takes a while.
    px4s = {px4: described(px4) for px4 in {vehicle.px4 for vehicle in spec.vehicles}}
    runs = {vehicle.name: RunDescription.of(
        vehicle.configuration, mode=spec.mode, autopilot=vehicle.autopilot,
        namespace=vehicle.namespace, own_classes=spec.own_classes, presence=vehicle.presence,
        px4=px4s[vehicle.px4]) for vehicle in spec.vehicles}
    return FleetDescription(runs, spec.near_miss_m) if spec.fleet else runs['']


def write_run_files(
    description: RunDescription | FleetDescription,
    configurations: typing.Mapping[str, Configuration], folder: pathlib.Path,
) -> tuple[pathlib.Path, pathlib.Path]:
    """Write what the processes of a graph read."""
    path = folder / 'run.yaml'
    path.write_text(description.to_yaml(), encoding='utf-8')
    first, configuration = next(iter(configurations.items()))
    if 'recorder' in configuration.nodes:
        configurations = {**configurations, first: with_run_file(configuration, path)}
    return write_configuration(folder, configurations), path
