# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Topics of the step under another name, to put a node of the user's between two of the graph."""
from __future__ import annotations

import argparse
import re
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean
from px4_sim_ros.spec.parameter_files import absolute
from px4_sim_ros.step.graph import Graph

_FORM = '[NODE:]TOPIC:=NAME'
_RULE = re.compile(r'(?:(?P<node>\w+):)?(?P<topic>[\w/]+):=(?P<name>[\w/~]+)')


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Describe the option `--remap`."""
    parser.add_argument(
        '--remap', action='append', default=[], metavar=_FORM,
        help='a remapping as ROS has it, for example imu:imu/data_raw:=imu/unfiltered; may be'
        ' repeated')


def check(rules: typing.Iterable[str], graph: Graph) -> None:
    """Check that rules are of the right form and for what there is."""
    for rule in rules:
        match = _RULE.fullmatch(rule)
        if match is None:
            raise ParameterError(f'remap {rule!r}: must be {_FORM}')
        node, topic = match['node'], match['topic']
        if node is not None and node not in graph.nodes:
            raise ParameterError(
                f'remap {rule!r}: there is no node {node}{did_you_mean(node, graph.nodes)};'
                f" there are {', '.join(graph.nodes)}")
        if topic not in graph.topics:
            raise ParameterError(
                f'remap {rule!r}: there is no topic {topic}{did_you_mean(topic, graph.topics)};'
                f" there are {', '.join(graph.topics)}")


def ros_arguments(rules: typing.Iterable[str], namespace: str = '') -> list[str]:
    """Return the rules, and the namespace of all nodes, as ROS arguments of a process."""
    own = [f'__ns:={absolute(namespace)}'] if namespace else []
    return [word for rule in [*own, *rules] for word in ('-r', rule)]
