# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a run: the defaults in `config/simulation.yaml`, then what the user gives."""
from __future__ import annotations

import dataclasses
import functools
import pathlib
import typing

from px4_sim_ros.model.errors import ParameterError, check_installed, shown, within
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.model.own_blocks import Entry, to_text
from px4_sim_ros.model.parameters import Parameters, unknown_key_error
from px4_sim_ros.model.timebase import instance_name
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.spec.files import Files, load_vehicle, settings_of
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.spec.parameter_files import (
    FlatParameters,
    absolute,
    check_sections,
    default_parameters,
    flat_values,
    nested,
    node_hint,
    sections_of,
    select,
    write_parameters,
)
from px4_sim_ros.spec.resources import named_file
from px4_sim_ros.spec.run_parameters import RecorderParameters, recorded
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph_vehicles import WORLD_NODES

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scenario.scenario import Scenario
    from px4_sim_ros.model.scene.scene import Scene

# Its parameters are read first.
_FIRST = 'manager'
# Where all parameters are, which are too many for a sentence.
_PAGE = 'docs/reference.md'
# Of a pitot tube: the nose of a vehicle that stands on its tail is up.
_NOSE_UP_DEG = [0.0, -90.0, 0.0]

_OwnParameters = typing.TypeVar('_OwnParameters', bound=Parameters)


@dataclasses.dataclass(frozen=True)
class NodeConfiguration:
    """The validated parameters of one node."""

    world: WorldParameters
    own: Parameters


class Texts(typing.NamedTuple):
    """The texts of the files of a run; '' for none."""

    vehicle: str = ''
    mission: str = ''
    scenario: str = ''
    scene: str = ''


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The validated parameters of all nodes, and what the files describe that they name."""

    world: WorldParameters
    vehicle: Vehicle
    nodes: dict[str, Parameters]
    mission: Mission | None = None         # None: there is no pilot
    scenario: Scenario | None = None
    scene: Scene | None = None
    texts: Texts = Texts()

    @functools.cached_property
    def graph(self) -> graph.Graph:
        """The nodes and topics."""
        return graph.of_world(self.world)

    def of_node(self, name: str, kind: type[_OwnParameters]) -> _OwnParameters:
        """Return the parameters of a node."""
        parameters = self.nodes[name]
        assert isinstance(parameters, kind), name
        return parameters

    def with_node(self, name: str, parameters: Parameters) -> Configuration:
        """Return the same with other parameters of a node."""
        return dataclasses.replace(self, nodes=self.nodes | {name: parameters})


def node_configuration(node: str, values: FlatParameters) -> NodeConfiguration:
    """Build a node's parameters from flat values."""
    parameters_class = graph.load(graph.spec_of(node).parameters)
    own_names = parameters_class.infos()
    known = default_parameters(node)
    for key in values:
        if key not in known:
            raise unknown_key_error(node, key, known, _PAGE)
    own = {k: v for k, v in values.items() if k in own_names}
    shared = {k: v for k, v in values.items() if k not in own_names}
    # Shared parameters are validated under the first node's name.
    world = WorldParameters.from_mapping('' if node == _FIRST else node, nested(shared))
    if world.periods_us['imu'] != world.step_us:
        raise ParameterError(
            f"periods_us.imu = {world.periods_us['imu']}: must equal step_us = {world.step_us},"
            ' because the first IMU drives the lockstep; for finer motion raise dynamics.substeps')
    world.check_periods()
    _check_instances(node, world)
    _check_joins(node, world)
    parameters = parameters_class.from_mapping(node, own)
    parameters.check_step(world.step_us)
    return NodeConfiguration(world, parameters)


def load_configuration(
    params_file: str | pathlib.Path | None, overrides: typing.Mapping[str, FlatParameters],
    namespace: str = '', base: typing.Mapping[str, FlatParameters] | None = None,
    vehicle: Vehicle | None = None, lays_scenario: bool = True, files: Files | None = None,
) -> Configuration:
    """Build the parameters of a whole run.

    :param params_file: a ROS 2 parameter file, or None
    :param overrides: laid over all; by node name, `''` meaning every node
    :param base: laid over the defaults and under the file, in the same form
    :param vehicle: in the place of the one that the parameters name
    :param lays_scenario: whether what its scenario sets is laid over `base`, and under the file;
        a run that was recorded has it already
    :param files: reads the files that the parameters name; several vehicles share it
    """
    check_installed('pygeomag')    # the world of each run has a magnetic field
    files = files or Files()
    given = sections_of(params_file) if params_file is not None else {}
    laid: dict[str, FlatParameters] = {}
    added: set[str] = set()        # nodes of blocks whose rows are made here

    def of_file_for(node: str) -> FlatParameters:
        return select(given, f'{absolute(namespace)}/{node}')

    def configured(node: str) -> NodeConfiguration:
        values = default_parameters(node)
        for layer in of_vehicle, base or {}, laid:
            values |= layer.get('', {}) | layer.get(node, {})
        if node in ('pilot', 'px4_topics') and 'hil_bridge' in names:
            values |= {'instance': flat_values(configured('hil_bridge').own)['instance']}
        over = overrides.get('', {}) | overrides.get(node, {})
        of_file = of_file_for(node)
        if node in added:              # its row has them
            values, of_file, over = (
                {key: value for key, value in layer.items() if key in default_parameters(node)}
                for layer in (values, of_file, over))
        try:
            return node_configuration(node, values | of_file | over)
        except ParameterError as error:
            node_configuration(node, values | over)        # wrong without the file as well
            raise ParameterError(f'parameter file {params_file}: {error}') from error

    with within(f'parameter file {params_file}'):
        _check_shared_names(select(given, absolute(namespace)))
    _check_shared_names(overrides.get('', {}))
    of_vehicle: dict[str, FlatParameters] = {}
    named = configured(_FIRST).world.scenario
    blocks: dict[str, tuple[Entry, ...]] = {}          # by the name of their file
    if lays_scenario and (scenario := files.scenario(named)) is not None:
        blocks[files.owner('scenarios', named)] = scenario.blocks
        laid |= settings_of(scenario)
        _check_alone(files, named, {node: values for node, values in laid.items()
                                    if not node or graph.is_node(node)})
    is_of_file = vehicle is None
    owner = 'vehicle'
    if vehicle is None:
        name = configured(_FIRST).world.vehicle
        vehicle, owner = files.vehicle(name), files.owner('vehicles', name)
    of_vehicle |= _settings_of(vehicle)
    # Those of a recording are there without their classes, which are imported when they run.
    blocks = {owner: vehicle.blocks} | blocks
    if any(blocks.values()) and 'blocks' not in (base or {}).get('', {}):
        rows = rows_of(blocks, lambda name: {
            key: value for layer in (laid.get(name, {}), of_file_for(name), overrides.get(name, {}))
            for key, value in layer.items() if key not in default_parameters(name)})
        added |= {row.name for row in rows}
        of_vehicle[''] |= {'blocks': to_text(rows)}
    world = configured(_FIRST).world
    names = graph.of_world(world).nodes
    check_sections(params_file, given, [f'{absolute(namespace)}/{node}' for node in names])
    if laid:
        with within(files.owner('scenarios', named)):
            check_nodes(laid, names)
    check_nodes(overrides, names)
    nodes = {node: configured(node) for node in names}
    for name, configuration in nodes.items():
        _check_shared(name, configuration.world, world)
    found = Configuration(
        world, vehicle,
        {name: configuration.own for name, configuration in nodes.items()},
        files.mission(world.mission, world.scenario) if 'pilot' in nodes else None,
        files.scenario(world.scenario) if 'scenario' in nodes else None,
        files.scene(world.scene),
        Texts(files.text('vehicles', world.vehicle) if is_of_file else '',
              files.mission_text(world.mission, world.scenario) if 'pilot' in nodes else '',
              files.text('scenarios', world.scenario) if 'scenario' in nodes else '',
              files.scene_text(world.scene)))
    if 'recorder' in nodes:
        recorded(found.graph, found.of_node('recorder', RecorderParameters))
    return found


def check_nodes(
    settings: typing.Mapping[str, FlatParameters], names: typing.Collection[str],
) -> None:
    """Check that settings are for nodes of a run."""
    for node in settings:
        if node and not graph.is_node(node) and node not in names:
            raise ParameterError(f'there is no node {node}{node_hint(node, names)}')
        if node and node not in names:
            raise ParameterError(f'{node}: there is no such node in this run; {_how_to_add(node)}')


def _check_alone(
    files: Files, scenario: str, settings: typing.Mapping[str, FlatParameters],
) -> None:
    """Check what a scenario sets, so that an error in it names its file."""
    with within(files.owner('scenarios', scenario)):
        load_configuration(None, settings, lays_scenario=False, files=files)


def check_flown(configuration: Configuration) -> None:
    """Check that mission and scenario fit the vehicle."""
    vehicle = configuration.vehicle
    if configuration.mission is not None:
        mission = configuration.mission
        mission.check_fits(f'vehicle {vehicle.name}', vehicle.drives)
        mission.check_near(configuration.world.local_frame(), f'mission {mission.name}')
    scenario = configuration.scenario
    if scenario is not None:
        from px4_sim_ros.model.faults.action import Subject
        scenario.check(Subject.of(configuration), f'scenario {scenario.name}')


def vehicle_parameters(name: str, node: str) -> FlatParameters:
    """Return a node's parameters that the file of a vehicle sets, over their defaults."""
    settings = _settings_of(load_vehicle(name))
    return settings.get('', {}) | settings.get(node, {})


def _settings_of(vehicle: Vehicle) -> dict[str, FlatParameters]:
    """Return the parameters of a vehicle's file by node, `''` meaning every node."""
    known = default_parameters(_FIRST)
    for kind in vehicle.sensors:
        if f'instances.{kind}' not in known:
            raise unknown_key_error(
                f'vehicle {vehicle.name}: sensors', kind,
                [name.partition('.')[2] for name in known if name.startswith('instances.')])
    shared: FlatParameters = {
        f'instances.{kind}': count for kind, count in vehicle.sensors.items()}
    found: dict[str, FlatParameters] = {'': shared}
    if vehicle.stands_on_its_tail:
        found['airspeed'] = {'mounting_deg': _NOSE_UP_DEG}
    if vehicle.stepping is not None:
        step_us = vehicle.stepping.step_us
        shared |= {'step_us': step_us, 'periods_us.imu': step_us}
        found['dynamics'] = {'substeps': vehicle.stepping.substeps}
    return found


def profile_parameters(name: str) -> dict[str, FlatParameters]:
    """Return how good the sensors are, by node; '' gives the defaults.

    :param name: of a file in `config/profiles`, or its path
    """
    if not name:
        return {}
    path = named_file('profiles', name)
    sections = sections_of(path)
    kinds = [kind for kind, spec in graph.NODES.items() if spec.model]
    check_sections(path, sections, [f'/{kind}' for kind in kinds])
    return {instance_name(kind, i): select(sections, f'/{kind}')
            for kind in kinds for i in range(graph.NODES[kind].instances)}


def write_configuration(
    folder: pathlib.Path, vehicles: typing.Mapping[str, Configuration],
) -> pathlib.Path:
    """Write all parameters of all nodes into one file for ROS, and return its path."""
    parameters: dict[str, FlatParameters] = {}
    for vehicle, configuration in vehicles.items():
        for node, values in flat_parameters(configuration).items():
            name = node if node in WORLD_NODES else graph.qualified(vehicle, node)
            parameters.setdefault(name, values)
    path = folder / 'parameters.yaml'
    write_parameters(path, parameters)
    return path


def flat_parameters(configuration: Configuration) -> dict[str, FlatParameters]:
    """Return all parameters of all nodes, by node, as plain values that YAML can hold."""
    world = flat_values(configuration.world)
    return {node: world | flat_values(own) for node, own in configuration.nodes.items()}


def _check_shared_names(keys: typing.Iterable[str]) -> None:
    """Check that all nodes have the parameters that were given for all."""
    shared, known = WorldParameters.infos(), default_parameters(_FIRST)
    key = next((key for key in keys if key not in known or key.partition('.')[0] not in shared), '')
    if not key:
        return
    owners = [f'{kind}.{key}' for kind, spec in graph.NODES.items()
              if key in graph.load(spec.parameters).infos()]
    if owners:
        raise ParameterError(
            f"{key}: not all nodes have this parameter; did you mean {' or '.join(owners)}?")
    raise unknown_key_error(
        '', key, (name for name in known if name.partition('.')[0] in shared), _PAGE)


def _check_shared(node: str, world: WorldParameters, reference: WorldParameters) -> None:
    for field in dataclasses.fields(world):
        mine, other = getattr(world, field.name), getattr(reference, field.name)
        if mine != other:
            raise ParameterError(
                f'{node}.{field.name} = {shown(mine)}: all nodes share this parameter and manager'
                f' has {shown(other)}; set it under /** in the parameter file')


def _check_instances(node: str, world: WorldParameters) -> None:
    for kind, count in world.instances.items():
        spec = graph.NODES[kind]
        least = 0 if spec.optional else 1
        if not least <= count <= spec.instances:
            raise ParameterError(
                f'instances.{kind} = {count}: must be at least {least} and at most'
                f' {spec.instances}')
    if node not in graph.of_world(world).nodes:
        kind = graph.spec_of(node).kind
        asks = _asked_for_by(kind)
        raise ParameterError(
            f'{asks} = {world.instances[kind]}: {node} needs more of them'
            if kind in world.instances
            else f'{asks} = {getattr(world, asks)}: there is no node {node}')


def _asked_for_by(kind: str) -> str:
    """Return the shared parameter that says how many nodes of a kind there are."""
    others = {'wind': 'wind', 'recorder': 'recorder', 'player': 'commands',
              'hil_bridge': 'commands', 'pilot': 'mission', 'scenario': 'scenario',
              'scenario_player': 'scenario', 'wake_player': 'downwash',
              'px4_topics': 'px4_topics'}
    return others.get(kind, f'instances.{kind}')


def _how_to_add(node: str) -> str:
    """Return the end of a sentence about a node that is missing: what adds it."""
    spec = graph.spec_of(node)
    options = {'wind': '--wind constant', 'recorder': '--record DIR',
               'pilot': '--mission square', 'px4_topics': '--px4-topics'}
    if spec.model and spec.kind not in options:
        names = [instance_name(spec.kind, i) for i in range(spec.instances)]
        options[spec.kind] = f'--set instances.{spec.kind}={names.index(node) + 1}'
    if spec.kind in options:
        return f'add it with {options[spec.kind]}'
    return f'the parameter {_asked_for_by(spec.kind)} adds it'


def _check_joins(node: str, world: WorldParameters) -> None:
    """Check that a sensor can hold what comes at another pace than its own.

    It takes part in the steps of its own period, so it would miss what comes between them.
    """
    nodes = graph.of_world(world)
    spec = nodes.nodes[node]
    if not spec.model:
        return
    own_us = world.period_us(node)
    what = f'periods_us.{spec.kind}' if spec.kind in graph.NODES else f'block {node}: period_us'
    for name in spec.inputs:
        topic = nodes.topics[name]
        period_us = topic.period_us(world.step_us, world.periods_us)
        if own_us % period_us and period_us % own_us:
            raise ParameterError(
                f'{what} = {own_us}: must be a multiple or a divisor of'
                f' periods_us.{topic.period} = {period_us}, because {node} joins {name}')
