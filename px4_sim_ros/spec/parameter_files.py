# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Parameter files of ROS 2: reading their sections, laying them over each other, writing them."""
from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import typing

import yaml

from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.model.own_blocks import NAME
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.spec.resources import DUMPER, config_directory, read_yaml
from px4_sim_ros.step import graph

# Nested names are joined with dots, as ROS has them.
FlatParameters = dict[str, typing.Any]


def default_parameters(node: str) -> FlatParameters:
    """Return the default parameters of a node, nested names joined with dots.

    A further instance has those of the first, unless the file says otherwise.
    """
    sections = _default_sections()
    return select(sections, f'/{graph.spec_of(node).kind}') | select(sections, f'/{node}')


class _Dumper(DUMPER):  # type: ignore[misc]
    """Writes YAML that ROS reads: each value where it belongs."""

    def ignore_aliases(self, data: typing.Any) -> bool:
        return True


def write_parameters(
    path: str | pathlib.Path, parameters: typing.Mapping[str, FlatParameters],
) -> None:
    """Write a ROS 2 parameter file."""
    content = {
        f'/**/{node}' if node else '/**': {'ros__parameters': values}
        for node, values in parameters.items() if values}
    with open(path, 'w', encoding='utf-8') as file:
        yaml.dump(content, file, _Dumper)


def flat_values(parameters: Parameters) -> FlatParameters:
    """Return parameters as plain values that YAML can hold, nested names joined with dots."""
    return {key: list(value) if isinstance(value, tuple) else value
            for key, value in flattened(dataclasses.asdict(parameters)).items()}


def absolute(namespace: str) -> str:
    """Return a namespace with a slash before it; '' for none."""
    return '/' + namespace.strip('/') if namespace.strip('/') else ''


@functools.cache
def _default_sections() -> dict[str, typing.Any]:
    return sections_of(config_directory() / 'simulation.yaml')


def select(sections: typing.Mapping[str, typing.Any], node_path: str) -> FlatParameters:
    """Return a node's parameters from the sections of a file, flat; later ones override."""
    values: FlatParameters = {}
    for pattern, section in sections.items():
        if _matches(pattern, node_path):
            values |= flattened(section)
    return values


def sections_of(path: str | pathlib.Path) -> dict[str, typing.Any]:
    """Return the sections of a parameter file by the pattern that heads them."""
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
        groups = [values, *(value for value in values.values() if isinstance(value, dict))]
        for name in (name for group in groups for name, value in group.items() if value == {}):
            raise ParameterError(f'parameter file {path}: section {pattern!r}: {name}: is empty')
        # What every ROS node has is no parameter of this package.
        sections[str(pattern)] = {k: v for k, v in values.items() if k != 'use_sim_time'}
    return sections


def check_sections(
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
    return _expression(pattern).fullmatch(node_path) is not None


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    expression = re.escape('/' + pattern.lstrip('/'))
    return re.compile(expression.replace(r'/\*\*', r'(?:/\w+)*').replace(r'\*', r'\w+'))


def flattened(values: typing.Mapping[str, typing.Any], prefix: str = '') -> FlatParameters:
    """Return values with nested names joined by dots."""
    found: FlatParameters = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= flattened(value, f'{prefix}{key}.')
        else:
            found[f'{prefix}{key}'] = value
    return found


def nested(values: FlatParameters) -> dict[str, typing.Any]:
    """Return values with names that have dots in mappings of their own."""
    found: dict[str, typing.Any] = {}
    for key, value in values.items():
        group, dot, name = key.partition('.')
        if dot:
            found.setdefault(group, {})[name] = value
        else:
            found[key] = value
    return found


Settings = dict[str, FlatParameters]      # by node, `''` meaning every node


def node_and_key(owner: str, name: str) -> tuple[str, str]:
    """Return node and parameter of a name such as `wind.speed_m_s`; '' is the node of all.

    A node that is none of the graph's may be a block that is added, which files say: a wrong name
    is refused where it is used.
    """
    node, dot, key = name.partition('.')
    if not dot or node in groups():
        return '', name
    if not graph.is_node(node) and not NAME.fullmatch(node):
        raise ParameterError(f'{owner}: there is no node {node}{node_hint(node)}')
    return node, key


def groups() -> list[str]:
    """Return the parameters of all nodes that are mappings."""
    return [name for name, info in WorldParameters.infos().items()
            if info['type'].startswith('dict')]


def node_hint(node: str, names: typing.Iterable[str] = ()) -> str:
    """Return the end of a sentence about a node that there is not.

    :param names: of nodes that there are
    """
    return did_you_mean(node, [*graph.NODES, *names, *groups()]) or (
        f"; nodes are {', '.join(graph.NODES)}")
