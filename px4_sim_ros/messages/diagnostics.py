# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a DiagnosticStatus is made, and what is in one, from a topic or from a bag."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from px4_sim_ros.step.graph_vehicles import WORLD_NODES

OK, WARN, ERROR = 0, 1, 2      # levels of a DiagnosticStatus, as numbers

# Those of several vehicles have no namespace, and are of each of them.
_OF_FLEET = tuple(f'/{name}' for name in WORLD_NODES)


def diagnostic_status(
    name: str, level: int, text: str, values: typing.Mapping[str, object], hardware_id: str = '',
) -> DiagnosticStatus:
    """Return a DiagnosticStatus of this name; values are written by `str`."""
    return DiagnosticStatus(
        level=bytes([level]), name=name, hardware_id=hardware_id, message=text,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])


def values_of(status: typing.Any) -> dict[str, str]:
    return {value.key: value.value for value in status.values}


def level_of(status: typing.Any) -> int:
    """Return the level of a DiagnosticStatus as a number."""
    level = status.level
    return level[0] if isinstance(level, bytes) else int(level)


def is_of(namespace: str, full_name: str) -> bool:
    """Return whether a node is of a graph; all are of one without a namespace."""
    return not namespace or node_name(namespace, full_name) != full_name


def node_name(namespace: str, full_name: str) -> str:
    """Return the name of a node in the graph; `full_name` itself when it is of no such graph."""
    if full_name in _OF_FLEET:
        return full_name[1:]
    namespace = namespace.strip('/')
    return full_name.removeprefix(f'/{namespace}/' if namespace else '/')
