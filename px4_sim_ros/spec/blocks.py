# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks from the configuration of a run."""
from __future__ import annotations

import sys
import typing

from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step.block import Block, BlockConfiguration
from px4_sim_ros.step.graph import block_class


def block_configuration(configuration: Configuration, name: str) -> BlockConfiguration[Parameters]:
    """Return the configuration of a block of the graph."""
    return BlockConfiguration(
        name, configuration.graph, configuration.world, configuration.vehicle,
        configuration.of_node(name, Parameters),
        configuration.mission if name == 'pilot' else None,
        configuration.scenario if name == 'scenario' else None, configuration.scene)


def make_blocks(
    configuration: Configuration, own_classes: typing.Mapping[str, str] | None = None,
    vehicle: str = '', **there: Block,
) -> dict[str, Block]:
    """Return all blocks of the graph, by name."""
    own_classes = own_classes or {}
    return {name: there.get(name) or _make_block(
        configuration, name, own_classes.get(name, ''), vehicle)
        for name in configuration.graph.blocks}


def _make_block(configuration: Configuration, name: str, own_class: str, vehicle: str) -> Block:
    """Return a block; what it warns of is printed."""
    def print_warning(is_warning: bool, sentence: str) -> None:
        if is_warning:
            print(f'{vehicle}: {sentence}' if vehicle else sentence, file=sys.stderr, flush=True)

    own = block_class(configuration.graph.nodes[name], own_class)
    block: Block = own(block_configuration(configuration, name))
    block.log = print_warning
    return block
