# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The place of a block in a runner."""
from __future__ import annotations

import typing

from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.graph import BRIDGE, CLOCK, Graph, NodeSpec
from px4_sim_ros.step.schedule import inputs_of, period_of
from px4_sim_ros.step.synchronizer import StampSynchronizer


class Slot:
    """The place of a block in the runner of its process."""

    def __init__(
        self, spec: NodeSpec, graph: Graph, world: WorldParameters,
        remote: typing.Container[str] = (),
    ) -> None:
        """Begin without a block: it is stopped.

        :param remote: the inputs that come through the port
        """
        self.name = spec.name
        self.block: Block | None = None
        self.is_sensor = bool(spec.model)     # the others go on while it is stopped
        self.is_beside_bridge = BRIDGE in (spec.name, spec.beside)
        self.period_us = period_of(spec, world)
        self.inputs = inputs_of(spec, graph, world)
        self.outputs = tuple(t.name for t in graph.outputs(spec.name) if not t.part_of)
        remote_inputs = [i for i in self.inputs if i.topic.name in remote]
        self.synchronizer = (
            StampSynchronizer(remote_inputs, self.period_us) if remote_inputs else None)
        self.local = tuple(
            i for i in self.inputs if i not in remote_inputs and i.topic.name != CLOCK)
        self.reset()

    def reset(self, begin_us: int = 0) -> None:
        """Forget the run.

        :param begin_us: up to which time its vehicle was not there
        """
        self.skipped = begin_us // self.period_us      # times at which it would have acted
        self.busy_s = 0.0                     # wall time in the block
        self.last_us = self.skipped * self.period_us   # when it has acted last
        self.next_us = self.last_us + self.period_us   # and when it acts next
        self.missed_steps = False             # it was stopped for a while; a new run ends that
        if self.synchronizer is not None:
            self.synchronizer.reset(begin_us)

    @property
    def steps(self) -> int:
        """How many steps it has taken."""
        return self.last_us // self.period_us - self.skipped

    def stop(self) -> None:
        """Take the block away; the steps go on without a sensor, and wait for any other."""
        self.block = None
        if not self.is_sensor and self.last_us > 0:
            self.missed_steps, self.next_us = True, self.period_us
