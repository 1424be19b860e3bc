"""The parameters of a run: the defaults in `config/simulation.yaml`, then what the user gives.

Files have the format of ROS 2 parameter files, so the same file serves `ros2 launch`,
`ros2 run`, and the modes that run without ROS.
"""
from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import typing

import yaml

from px4_sim_ros.config.resources import config_directory, named_file, read_yaml
from px4_sim_ros.mavlink.mission import Mission
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import Parameters, unknown_key_error
from px4_sim_ros.model.timebase import instance_name
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step import graph

FlatParameters = dict[str, typing.Any]
_OwnParameters = typing.TypeVar('_OwnParameters', bound=Parameters)


@dataclasses.dataclass(frozen=True)
class NodeConfiguration:
    """The validated parameters of one node."""

    world: WorldParameters
    own: Parameters


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The validated parameters of all nodes."""

    world: WorldParameters
    vehicle: Vehicle
    nodes: dict[str, Parameters]

    @functools.cached_property
    def graph(self) -> graph.Graph:
        """The nodes and topics."""
        return graph.of_instances(self.world.node_counts)

    def of_node(self, name: str, kind: type[_OwnParameters]) -> _OwnParameters:
        """Return the parameters of a node.

        :param kind: their class, as the graph table has it
        """
        parameters = self.nodes[name]
        assert isinstance(parameters, kind), name
        return parameters


def default_parameters(node: str) -> FlatParameters:
    """Return the default parameters of a node, nested names joined with dots.

    A further instance has those of the first, unless the file says otherwise.
    """
    sections = _default_sections()
    return _select(sections, f'/{graph.spec_of(node).kind}') | _select(sections, f'/{node}')


def node_configuration(node: str, values: FlatParameters) -> NodeConfiguration:
    """Build a node's parameters from flat values.

    :raises ParameterError: a value is missing, unknown or out of range
    """
    parameters_class = graph.load(graph.spec_of(node).parameters)
    own_names = parameters_class.infos()
    known = default_parameters(node)
    for key in values:
        if key not in known:
            raise unknown_key_error(node, key, known)
    own = {k: v for k, v in values.items() if k in own_names}
    shared = {k: v for k, v in values.items() if k not in own_names}
    world = WorldParameters.from_mapping(node, _nested(shared))
    world.check_periods()
    _check_instances(node, world)
    _check_joins(node, world)
    if world.periods_us['imu'] != world.step_us:
        raise ParameterError(
            f"periods_us.imu = {world.periods_us['imu']}: must equal step_us = {world.step_us},"
            ' because the first IMU drives the lockstep; for finer motion raise dynamics.substeps')
    parameters = parameters_class.from_mapping(node, own)
    parameters.check_step(world.step_us)
    return NodeConfiguration(world, parameters)


def load_configuration(
    params_file: str | pathlib.Path | None, overrides: typing.Mapping[str, FlatParameters],
    namespace: str = '', base: typing.Mapping[str, FlatParameters] | None = None,
    vehicle: Vehicle | None = None,
) -> Configuration:
    """Build the parameters of a whole run.

    :param params_file: a ROS 2 parameter file, or None
    :param overrides: laid over all; by node name, `''` meaning every node
    :param base: laid over the defaults and under the file, in the same form
    :param vehicle: in the place of the one that the parameters name
    :raises ParameterError: one sentence that names the parameter and what is allowed
    """
    given = _sections(params_file) if params_file is not None else {}

    def configured(node: str) -> NodeConfiguration:
        values = default_parameters(node) | (base or {}).get('', {}) | (base or {}).get(node, {})
        values |= _select(given, f'{_absolute(namespace)}/{node}')
        values |= overrides.get('', {})
        values |= overrides.get(node, {})
        return node_configuration(node, values)

    world = configured('manager').world
    names = graph.of_instances(world.node_counts).nodes
    _check_sections(params_file, given, [f'{_absolute(namespace)}/{node}' for node in names])
    for node in set(overrides) - set(names) - {''}:
        asks = _asked_for_by(graph.spec_of(node).kind)
        raise ParameterError(f'{node}: there is no such node in this run; {asks} asks for it')
    nodes = {node: configured(node) for node in names}
    for name, configuration in nodes.items():
        _check_shared(name, configuration.world, world)
    return Configuration(
        world, vehicle or load_vehicle(world.vehicle),
        {name: configuration.own for name, configuration in nodes.items()})


def profile_parameters(name: str) -> dict[str, FlatParameters]:
    """Return how good the sensors are, by node; '' gives the defaults.

    Further instances of a sensor are as good as the first.

    :param name: of a file in `config/profiles`, or its path
    :raises ParameterError: the file is missing, is no parameter file, or is for other nodes
    """
    if not name:
        return {}
    path = named_file('profiles', name)
    sections = _sections(path)
    kinds = [kind for kind, spec in graph.NODES.items() if spec.model]
    _check_sections(path, sections, [f'/{kind}' for kind in kinds])
    return {instance_name(kind, i): _select(sections, f'/{kind}')
            for kind in kinds for i in range(graph.NODES[kind].instances)}


class _Dumper(yaml.SafeDumper):
    """Writes YAML that ROS reads: each value where it belongs."""

    def ignore_aliases(self, data: typing.Any) -> bool:
        return True


def write_parameters(
    path: str | pathlib.Path, parameters: typing.Mapping[str, FlatParameters],
) -> None:
    """Write a ROS 2 parameter file.

    :param parameters: by node name, `''` meaning every node
    """
    content = {
        f'/**/{node}' if node else '/**': {'ros__parameters': values}
        for node, values in parameters.items() if values}
    with open(path, 'w', encoding='utf-8') as file:
        yaml.dump(content, file, _Dumper)


def write_configuration(folder: pathlib.Path, configuration: Configuration) -> pathlib.Path:
    """Write all parameters of all nodes into one file for ROS, and return its path.

    One file, because ROS lays several over each other in another order than ours, and does
    not read all that YAML allows.
    """
    path = folder / 'parameters.yaml'
    write_parameters(path, flat_parameters(configuration))
    return path


def flat_parameters(configuration: Configuration) -> dict[str, FlatParameters]:
    """Return all parameters of all nodes, by node, as plain values that YAML can hold."""
    world = flat_values(configuration.world)
    return {node: world | flat_values(own) for node, own in configuration.nodes.items()}


def flat_values(parameters: Parameters) -> FlatParameters:
    """Return parameters as plain values that YAML can hold, nested names joined with dots."""
    return {key: list(value) if isinstance(value, tuple) else value
            for key, value in _flat(dataclasses.asdict(parameters)).items()}


def load_mission(name: str) -> Mission:
    """Read a mission by its name in `config/missions`, or by its path.

    :raises ParameterError: the file is missing, is no YAML, or an item in it is wrong
    """
    path = named_file('missions', name)
    return Mission.from_mapping(f'mission file {path}', read_yaml(path, 'mission file'))


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


def _text(kind: str, name: str) -> str:
    path = named_file(kind, name)
    try:
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise ParameterError(f'{kind} {path}: {error.strerror}') from error


def _check_shared(node: str, world: WorldParameters, reference: WorldParameters) -> None:
    for field in dataclasses.fields(world):
        mine, other = getattr(world, field.name), getattr(reference, field.name)
        if mine != other:
            raise ParameterError(
                f'{node}.{field.name} = {mine!r}: all nodes share this parameter and manager has'
                f' {other!r}; set it under /** in the parameter file')


def _check_instances(node: str, world: WorldParameters) -> None:
    for kind, count in world.instances.items():
        spec = graph.NODES[kind]
        least = 0 if spec.optional else 1
        if not least <= count <= spec.instances:
            raise ParameterError(
                f'instances.{kind} = {count}: must be at least {least} and at most'
                f' {spec.instances}')
    if node not in graph.of_instances(world.node_counts).nodes:
        kind = graph.spec_of(node).kind
        asks = _asked_for_by(kind)
        raise ParameterError(
            f'{asks} = {world.instances[kind]}: {node} needs more of them'
            if kind in world.instances
            else f'{asks} = {getattr(world, asks)}: there is no node {node}')


def _asked_for_by(kind: str) -> str:
    """Return the shared parameter that says how many nodes of a kind there are."""
    others = {'wind': 'wind', 'recorder': 'recorder', 'player': 'commands',
              'hil_bridge': 'commands'}
    return others.get(kind, f'instances.{kind}')


def _check_joins(node: str, world: WorldParameters) -> None:
    """Check that a sensor can hold what comes at another pace than its own.

    It takes part in the steps of its own period, so it would miss what comes between them.
    """
    nodes = graph.of_instances(world.node_counts)
    spec = nodes.nodes[node]
    if not spec.model:
        return
    own_us = world.period_us(node)
    for name in spec.inputs:
        topic = nodes.topics[name]
        period_us = topic.period_us(world.step_us, world.periods_us)
        if own_us % period_us and period_us % own_us:
            raise ParameterError(
                f'periods_us.{spec.kind} = {own_us}: must be a multiple or a divisor of'
                f' periods_us.{topic.period} = {period_us}, because {node} joins {name}')


def _absolute(namespace: str) -> str:
    return '/' + namespace.strip('/') if namespace.strip('/') else ''


@functools.cache
def _default_sections() -> dict[str, typing.Any]:
    return _sections(config_directory() / 'simulation.yaml')


def _select(sections: typing.Mapping[str, typing.Any], node_path: str) -> FlatParameters:
    """Return what the sections of a file say about a node, flat, later ones winning."""
    values: FlatParameters = {}
    for pattern, section in sections.items():
        if _matches(pattern, node_path):
            values |= _flat(section)
    return values


def _sections(path: str | pathlib.Path) -> dict[str, typing.Any]:
    content = read_yaml(path, 'parameter file')
    if content is None:
        return {}
    sections = {}
    if not isinstance(content, dict):
        raise ParameterError(f'parameter file {path}: must be a mapping of node names')
    for pattern, section in content.items():
        if not isinstance(section, dict) or set(section) != {'ros__parameters'}:
            raise ParameterError(
                f'parameter file {path}: section {pattern!r} must hold ros__parameters and'
                ' nothing else')
        values = section['ros__parameters'] or {}
        if not isinstance(values, dict):
            raise ParameterError(
                f'parameter file {path}: section {pattern!r}: ros__parameters must be a mapping')
        # What every ROS node has is none of ours.
        sections[str(pattern)] = {k: v for k, v in values.items() if k != 'use_sim_time'}
    return sections


def _check_sections(
    path: str | pathlib.Path | None, sections: typing.Iterable[str], paths: list[str],
) -> None:
    """Refuse a section of a user's file that is for no node and would be ignored."""
    for pattern in sections:
        if not any(_matches(pattern, node_path) for node_path in paths):
            raise ParameterError(
                f'parameter file {path}: section {pattern!r} matches no node; nodes are'
                f" {', '.join(paths)}")


def _matches(pattern: str, node_path: str) -> bool:
    """Return whether a node name pattern of a parameter file names a node."""
    expression = re.escape('/' + pattern.lstrip('/'))
    expression = expression.replace(r'/\*\*', r'(?:/\w+)*').replace(r'\*', r'\w+')
    return re.fullmatch(expression, node_path) is not None


def _flat(values: typing.Mapping[str, typing.Any], prefix: str = '') -> FlatParameters:
    flat: FlatParameters = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f'{prefix}{key}.')
        else:
            flat[f'{prefix}{key}'] = value
    return flat


def _nested(flat: FlatParameters) -> dict[str, typing.Any]:
    nested: dict[str, typing.Any] = {}
    for key, value in flat.items():
        group, dot, name = key.partition('.')
        if dot:
            nested.setdefault(group, {})[name] = value
        else:
            nested[key] = value
    return nested
