# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is due to whom at a time.

It follows from the periods alone, so that nobody ever waits for a value that will not come.
"""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import Graph, NodeSpec, Topic


class Input(typing.NamedTuple):
    """A topic that a block uses."""

    topic: Topic
    period_us: int
    delay_us: int          # how much older its value is than the time of the step
    is_held: bool          # the last value is used while no other is due

    def is_due(self, time_us: int, begin_us: int = 0) -> bool:
        """Return whether a value belongs to the step that ends at a time.

        :param begin_us: up to which time nothing was published
        """
        stamp_us = time_us - self.delay_us
        return stamp_us > begin_us and is_due(stamp_us, self.period_us)


def inputs_of(spec: NodeSpec, graph: Graph, world: WorldParameters) -> tuple[Input, ...]:
    """Return what a node of the graph uses."""
    return tuple(
        Input(topic, topic.period_us(world.step_us, world.periods_us),
              world.step_us if topic.kind in spec.previous else 0, topic.kind in spec.held)
        for topic in map(graph.topics.__getitem__, spec.inputs))


def period_of(spec: NodeSpec, world: WorldParameters) -> int:
    """Return how often a node acts: a sensor with the period of its kind, others each step."""
    return world.period_us(spec.name) if spec.model else world.step_us
