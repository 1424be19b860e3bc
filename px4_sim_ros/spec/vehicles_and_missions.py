# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles and missions, by their names in `config` or by paths."""
from __future__ import annotations

import yaml

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.spec.resources import named_file, read_yaml
from px4_sim_ros.spec.scenarios import IN_SCENARIO, load_scenario

NO_MISSION = 'none'


def load_mission(name: str) -> Mission:
    """Read a mission by its name in `config/missions`, or by its path.

    :raises ParameterError: the file is missing, is no YAML, or an item in it is wrong
    """
    path = named_file('missions', name)
    return Mission.from_mapping(f'mission file {path}', read_yaml(path, 'mission file'))


def mission_of(node: str, world: WorldParameters) -> Mission | None:
    """Return what a node flies: only the pilot flies anything.

    :raises ParameterError: as `load_mission`
    """
    return flown_mission(world) if node == 'pilot' else None


def flown_mission(world: WorldParameters) -> Mission | None:
    """Return the mission of a run, None if there is none; it may stand in the scenario.

    :raises ParameterError: as `load_mission`
    """
    if world.mission == NO_MISSION:
        return None
    if world.mission == IN_SCENARIO:
        return load_scenario(world.scenario).mission
    return load_mission(world.mission)


def load_vehicle(name: str) -> Vehicle:
    """Read a vehicle by its name in `config/vehicles`, or by its path.

    :raises ParameterError: the file is missing, is no YAML, or a value in it is wrong
    """
    path = named_file('vehicles', name)
    return Vehicle.from_mapping(f'vehicle file {path}', read_yaml(path, 'vehicle file'))


def vehicle_text(name: str) -> str:
    """Return the text of a vehicle's file.

    :raises ParameterError: the file cannot be read
    """
    return _text('vehicles', name)


def mission_text(name: str) -> str:
    """Return the text of a mission's file.

    :raises ParameterError: the file cannot be read
    """
    return _text('missions', name)


def flown_mission_text(world: WorldParameters) -> str:
    """Return the mission of a run as the text of a file; '' for none.

    :raises ParameterError: its file cannot be read
    """
    if world.mission == IN_SCENARIO:
        mission = flown_mission(world)
        return '' if mission is None else yaml.dump(mission.to_mapping(), sort_keys=False)
    return '' if world.mission == NO_MISSION else mission_text(world.mission)


def _text(kind: str, name: str) -> str:
    path = named_file(kind, name)
    try:
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise ParameterError(f'{kind} {path}: {error.strerror}') from error
