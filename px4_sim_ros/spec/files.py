# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles, missions, scenarios and scenes, by their names in `config` or by paths."""
from __future__ import annotations

import dataclasses
import pathlib
import typing

import yaml

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.own_blocks import in_folder
from px4_sim_ros.spec.resources import DUMPER, named_file, parse_json, parse_yaml, read_text

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.mission import Mission
    from px4_sim_ros.model.scenario.scenario import Scenario
    from px4_sim_ros.model.scene.scene import Scene
    from px4_sim_ros.spec.parameter_files import FlatParameters

NONE = 'none'
"""The parameters `scenario`, `mission` and `scene` of a run without one."""

IN_SCENARIO = 'scenario'
"""The parameter `mission` of a run whose mission stands in its scenario."""

Kind = typing.Literal['vehicles', 'missions', 'scenarios', 'scenes']
_WORLDS = '.sdf', '.world'
"""How files end that are worlds of Gazebo, and are read as scenes."""
_Make = typing.Callable[[str, str, typing.Any], typing.Any]


class Files:
    """The named files of a flight; each is read once, and texts that are given replace files."""

    def __init__(
        self, given: typing.Mapping[tuple[Kind, str], str] | None = None, whose: str = '',
    ) -> None:
        self._texts, self._whose = dict(given or {}), whose
        self._given = frozenset(self._texts)
        self._objects: dict[tuple[Kind, str], typing.Any] = {}

    def vehicle(self, name: str) -> Vehicle:
        """Return a vehicle."""
        found: Vehicle = self._with_blocks(
            'vehicles', name, lambda owner, _, content: Vehicle.from_mapping(owner, content))
        return found

    def mission(self, name: str, scenario: str = NONE) -> Mission | None:
        """Return a mission; None for `none`.

        :param scenario: the name of the scenario in which it may stand
        """
        if name == NONE:
            return None
        if name == IN_SCENARIO:
            found = self.scenario(scenario)
            return None if found is None else found.mission
        return typing.cast('Mission', self._object('missions', name, _read_mission))

    def scenario(self, name: str) -> Scenario | None:
        """Return a scenario; None for `none`."""
        return None if name == NONE else self._with_blocks('scenarios', name, _read_scenario)

    def scene(self, name: str) -> Scene | None:
        """Return a scene; None for `none`."""
        return None if name == NONE else typing.cast('Scene', self._object(
            'scenes', name, lambda *content: _read_scene(self._folder(name), *content)))

    def _folder(self, scene: str) -> pathlib.Path | None:
        """Return the folder in which a scene names files; None: its text stands alone."""
        return None if ('scenes', scene) in self._given else named_file('scenes', scene).parent

    def _with_blocks(self, kind: Kind, name: str, make: _Make) -> typing.Any:
        """Return an object with blocks of the user's, whose files are looked for beside its own."""
        def make_with_blocks(*content: typing.Any) -> typing.Any:
            found = make(*content)
            try:
                folder = named_file(kind, name).parent
            except ParameterError:             # it is no file, or is no longer there
                folder = pathlib.Path()
            return dataclasses.replace(found, blocks=in_folder(found.blocks, folder))

        return self._object(kind, name, make_with_blocks)

    def text(self, kind: Kind, name: str) -> str:
        """Return the text of a file, '' for `none`."""
        if name == NONE:
            return ''
        if (kind, name) not in self._texts:
            self._content(kind, name)
        return self._texts[kind, name]

    def mission_text(self, name: str, scenario: str) -> str:
        """Return the mission as the text of a file of its own, '' for `none`."""
        if name != IN_SCENARIO:
            return self.text('missions', name)
        mission = self.mission(name, scenario)
        return '' if mission is None else yaml.dump(mission.to_mapping(), sort_keys=False)

    def scene_text(self, name: str) -> str:
        """Return the text of a scene that needs no other files, '' for `none`."""
        scene = self.scene(name)
        if scene is None or not (scene.has_arrays or name.endswith(_WORLDS)):
            return self.text('scenes', name)
        return yaml.dump(scene.to_mapping(), Dumper=DUMPER, sort_keys=False, width=1 << 20)

    def owner(self, kind: Kind, name: str) -> str:
        """Return the name of a file in error sentences."""
        what = kind.removesuffix('s')
        if (kind, name) in self._given:
            return f'{what} {name}{self._whose}'
        return f'{what} file {named_file(kind, name)}'

    def _object(self, kind: Kind, name: str, make: _Make) -> typing.Any:
        """Return the object that a file describes, made once."""
        if (kind, name) not in self._objects:
            self._objects[kind, name] = make(*self._content(kind, name))
        return self._objects[kind, name]

    def _content(self, kind: Kind, name: str) -> tuple[str, str, typing.Any]:
        owner = self.owner(kind, name)
        is_plan = kind == 'missions' and name.endswith('.plan')
        if (kind, name) in self._given:
            given = self._texts[kind, name]
            return owner, pathlib.Path(name).stem, (
                parse_json(given, owner) if is_plan else parse_yaml(given, owner))
        path = named_file(kind, name)
        text = read_text(path, f"{kind.removesuffix('s')} file")
        if kind == 'scenes' and name.endswith(_WORLDS):
            from px4_sim_ros.spec.sdf_world import scene_content
            return owner, path.stem, scene_content(text, owner, path.parent)
        content = parse_json(text, owner) if is_plan else parse_yaml(text, owner, str(path))
        self._texts[kind, name] = text
        return owner, path.stem, content


def _read_mission(owner: str, name: str, content: typing.Any) -> Mission:
    if isinstance(content, dict) and 'fileType' in content:
        # It takes MAVLink's words.
        from px4_sim_ros.spec.plan_file import plan_mission
        return plan_mission(owner, name, content)
    from px4_sim_ros.model.mission import Mission
    return Mission.from_mapping(owner, content)


def _read_scenario(owner: str, name: str, content: typing.Any) -> Scenario:
    # A process without a scenario does without actions, conditions and MAVLink's words.
    from px4_sim_ros.link.pilot import scenario_mavlink
    from px4_sim_ros.model.scenario.scenario import Scenario
    if isinstance(content, dict) and isinstance(content.get('mission'), dict):
        mission = _read_mission(f'{owner}: mission', name, content['mission'])
        content = content | {'mission': mission}
    scenario = Scenario.from_mapping(owner, name, content)
    scenario_mavlink.check(scenario, owner)
    return scenario


def _read_scene(
    folder: pathlib.Path | None, owner: str, name: str, content: typing.Any,
) -> Scene:
    from px4_sim_ros.model.scene.scene import Scene
    from px4_sim_ros.spec.scene_data import with_data
    return Scene.from_mapping(owner, name, with_data(folder, owner, content))


def load_mission(name: str) -> Mission:
    """Read a mission by its name in `config/missions`, or by its path."""
    found = Files().mission(name)
    if found is None:
        raise ParameterError(f'mission {name}: must be one that is flown')
    return found


def load_vehicle(name: str) -> Vehicle:
    """Read a vehicle by its name in `config/vehicles`, or by its path."""
    return Files().vehicle(name)


def read_event(text: str) -> typing.Any:
    """Return the mapping of an event from its YAML text."""
    return parse_yaml(text, f'fault {text!r}')


def settings_of(scenario: Scenario) -> dict[str, FlatParameters]:
    """Return the parameters that a scenario sets, by node, '' meaning every node."""
    found = {node: dict(values) for node, values in scenario.settings.items()}
    shared = found.setdefault('', {})
    if scenario.mission is not None:
        shared['mission'] = IN_SCENARIO
    from px4_sim_ros.model.faults.action import WIND
    if any(event.action.block == WIND for event in scenario.events) and 'wind' not in shared:
        shared['wind'] = 'constant'
        found[WIND] = {'speed_m_s': 0.0}
    return found
