# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenarios, by their names in `config/scenarios` or by paths, and what they set."""
from __future__ import annotations

import typing

from px4_sim_ros.spec.parameter_files import FlatParameters
from px4_sim_ros.spec.resources import named_file, parse_yaml, read_yaml

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scenario.scenario import Scenario

NONE = 'none'
"""The parameter `scenario` of a run without one."""

IN_SCENARIO = 'scenario'
"""The parameter `mission` of a run whose mission stands in its scenario."""


def load_scenario(name: str) -> Scenario:
    """Read a scenario by its name in `config/scenarios`, or by its path.

    :raises ParameterError: the file is missing, is no YAML, or something in it is wrong
    """
    # A process without a scenario does without actions, conditions and MAVLink's words.
    from px4_sim_ros.link.pilot import scenario_mavlink
    from px4_sim_ros.model.scenario.scenario import Scenario
    path = named_file('scenarios', name)
    owner = f'scenario file {path}'
    scenario = Scenario.from_mapping(owner, path.stem, read_yaml(path, 'scenario file'))
    scenario_mavlink.check(scenario, owner)
    return scenario


def read_event(text: str) -> typing.Any:
    """Return what a text says about an event, as YAML.

    :raises ParameterError: it is no YAML
    """
    return parse_yaml(text, f'fault {text!r}')


def scenario_of(node: str, name: str) -> Scenario | None:
    """Return what a node runs: only the node of that name runs any."""
    return load_scenario(name) if node == 'scenario' else None


def scenario_text(name: str) -> str:
    """Return the text of a scenario's file, '' for none."""
    return '' if name == NONE else named_file('scenarios', name).read_text(encoding='utf-8')


def settings_of(name: str) -> dict[str, FlatParameters]:
    """Return the parameters that a scenario sets, by node, '' meaning every node.

    :raises ParameterError: as `load_scenario`
    """
    if name == NONE:
        return {}
    scenario = load_scenario(name)
    found = {node: dict(values) for node, values in scenario.settings.items()}
    shared = found.setdefault('', {})
    if scenario.mission is not None:
        shared['mission'] = IN_SCENARIO
    from px4_sim_ros.model.faults.action import WIND
    if any(event.action.block == WIND for event in scenario.events) and 'wind' not in shared:
        shared['wind'] = 'constant'
        found[WIND] = {'speed_m_s': 0.0}
    return found
