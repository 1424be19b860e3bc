"""Blocks and their runner from the configuration of a run."""
from __future__ import annotations

import typing

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.step.block import Block, BlockConfiguration
from px4_sim_ros.step.graph import load
from px4_sim_ros.step.runner import Clock, Port, Runner
from px4_sim_ros.step.slot import Slot


def block_configuration(configuration: Configuration, name: str) -> BlockConfiguration[Parameters]:
    """Return what a block of the graph is configured with."""
    return BlockConfiguration(
        name, configuration.graph, configuration.world, configuration.vehicle,
        configuration.nodes[name])


def make_block(configuration: Configuration, name: str, own_class: str = '') -> Block:
    """Return a block of the graph.

    :param own_class: `module:Class` in the place of that of the graph table
    :raises ParameterError: a parameter is wrong, or a file that it names
    """
    block_class = load(own_class or configuration.graph.nodes[name].block)
    block: Block = block_class(block_configuration(configuration, name))
    return block


def run_in_process(
    configuration: Configuration, blocks: typing.Mapping[str, Block], clock: Clock,
    port: Port | None = None,
) -> Runner:
    """Return a runner that has all blocks of a graph, ready for the first step."""
    graph = configuration.graph
    slots = []
    for name in graph.blocks:
        slot = Slot(graph.nodes[name], graph, configuration.world)
        slot.block = blocks[name]
        slot.block.reset()
        slots.append(slot)
    runner = Runner(port, clock)
    runner.place(slots)
    return runner
