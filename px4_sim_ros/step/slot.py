# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The place of a block in a runner."""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import is_due, next_due_us
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.graph import BRIDGE, CLOCK, Graph, NodeSpec, Topic

# What is due to whom at a time.
#
# It follows from the periods alone, so that no node waits for a value that will not come.


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
    """Return the inputs of a node of the graph."""
    return tuple(
        Input(topic, topic.period_us(world.step_us, world.periods_us),
              world.step_us if topic.kind in spec.previous else 0, topic.kind in spec.held)
        for topic in map(graph.topics.__getitem__, spec.inputs))


def period_of(spec: NodeSpec, world: WorldParameters) -> int:
    """Return how often a node acts: a sensor with the period of its kind, others each step."""
    return world.period_us(spec.name) if spec.model else world.step_us


NEVER_US = -1

# Stands for the measurement of a sensor that is stopped.
NO_MEASUREMENT = object()


class StampSynchronizer:
    """Collects the inputs of one block, for one time after the other.

    In lockstep no node is ahead: what belongs to another time than the next was repeated, or was
    left under way by the run before, and is dropped.
    """

    def __init__(self, inputs: typing.Sequence[Input], period_us: int) -> None:
        self._inputs = {i.topic.name: i for i in inputs}
        self._period_us = period_us
        self.reset()

    def reset(self, begin_us: int = 0) -> None:
        """Wait for the first time again: the first multiple of the period after `begin_us`."""
        self.last_us = dict.fromkeys(self._inputs, NEVER_US)   # the last stamp of each topic
        self._held: dict[str, typing.Any] = {}
        self._begin_us = begin_us
        self._wait_for(next_due_us(begin_us, self._period_us))

    def _wait_for(self, time_us: int) -> None:
        self.next_us = time_us
        self._found: dict[str, typing.Any] = {}
        self.lacking = {
            name for name, i in self._inputs.items() if i.is_due(time_us, self._begin_us)}

    def put(self, name: str, stamp_us: int, read: typing.Callable[[], typing.Any]) -> bool:
        """Take in what has come on a topic; return whether it was the last that was lacking.

        :param read: returns the value, or NO_MEASUREMENT; called only if it is used
        """
        time_us = stamp_us + self._inputs[name].delay_us
        if time_us > self.next_us:
            return False
        self.last_us[name] = max(stamp_us, self.last_us[name])
        if time_us != self.next_us or name not in self.lacking:
            return False
        self._found[name] = read()
        self.lacking.remove(name)
        return not self.lacking

    def take(self) -> dict[str, typing.Any]:
        """Return the values of the next time by topic, each whole, and wait for the one after."""
        parts: list[tuple[str, dict[str, typing.Any]]] = []
        values = self._held.copy()
        for name, value in self._found.items():
            if value is NO_MEASUREMENT:
                continue
            topic, _, _, is_held = self._inputs[name]
            if topic.part_of:
                parts.append((topic.part_of, value))
            else:
                values[name] = value
                if is_held:
                    self._held[name] = value
        for whole, fields in parts:
            if whole in values:
                values[whole] = values[whole]._replace(**fields)
        self._wait_for(self.next_us + self._period_us)
        return values


class BlockSlot:
    """The place of a block in the runner of its process."""

    def __init__(
        self, spec: NodeSpec, graph: Graph, world: WorldParameters,
        remote: typing.Container[str] = (),
    ) -> None:
        self.name = spec.name
        self.block: Block | None = None
        self.is_sensor = bool(spec.model)     # the others run while it is stopped
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
        """Take the block away; steps continue without a sensor, and wait for any other."""
        self.block = None
        if not self.is_sensor and self.last_us > 0:
            self.missed_steps, self.next_us = True, self.period_us
