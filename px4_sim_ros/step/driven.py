# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A runner whose inputs are given step by step: for studies, benchmarks and tests."""
from __future__ import annotations

import typing

from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.block import Block, Inputs
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import Graph
from px4_sim_ros.step.runner import Port, run_in_process
from px4_sim_ros.step.slot import Slot


class DrivenRunner:
    """Runs some blocks of a graph; what the others would put out is given."""

    def __init__(
        self, graph: Graph, world: WorldParameters, blocks: typing.Mapping[str, Block],
        port: Port | None = None,
    ) -> None:
        """Begin with the state of time 0.

        :param blocks: by name; those that are not there put out nothing
        """
        self._clock = LockstepClock(world.step_us, 0.0)
        self._runner = run_in_process(graph, world, blocks, self._clock, port)

    @property
    def time_us(self) -> int:
        """The time of the last step."""
        return self._clock.complete_us

    def step(self, given: Inputs) -> typing.Mapping[str, typing.Any]:
        """Take a step and return the last value of each topic.

        :param given: outputs of blocks that are not there, by topic; they hold until the next
        """
        self._runner.values.update(given)
        self._clock.step(1)
        while self._runner.run():
            pass
        self._runner.flush()
        return self._runner.values

    @property
    def slots(self) -> typing.Mapping[str, Slot]:
        """The places of the blocks, to stop and start them between steps."""
        return self._runner.slots

    def busy_s(self) -> dict[str, float]:
        """Return the wall time that each block took so far."""
        return self._runner.busy_s()
