# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Names of parameters with their node before them, such as `wind.speed_m_s`."""
from __future__ import annotations

from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.spec.parameter_files import FlatParameters
from px4_sim_ros.step import graph

Settings = dict[str, FlatParameters]      # by node, `''` meaning every node


def node_and_key(owner: str, name: str) -> tuple[str, str]:
    """Return node and parameter of a name such as `wind.speed_m_s`; '' is the node of all.

    :param owner: where the name stands, for the error sentence
    :raises ParameterError: there is no such node
    """
    node, dot, key = name.partition('.')
    if dot and graph.is_node(node):
        return node, key
    groups = [name for name, info in WorldParameters.infos().items()
              if info['type'].startswith('dict')]
    if dot and node not in groups:
        hint = did_you_mean(node, [*graph.NODES, *groups]) or (
            f"; nodes are {', '.join(graph.NODES)}")
        raise ParameterError(f'{owner}: there is no node {node}{hint}')
    return '', name      # of all nodes; a wrong name is refused where it is used
