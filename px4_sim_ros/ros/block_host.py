# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The blocks of a process: one runner, behind whose port are the nodes that are their faces."""
from __future__ import annotations

import time
import typing

from rclpy.node import Node

from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.model.timebase import kind_and_index
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import ABSENCE, NODES, Graph, Topic, spec_of
from px4_sim_ros.step.lane import Output
from px4_sim_ros.step.runner import Runner
from px4_sim_ros.step.slot import Slot

if typing.TYPE_CHECKING:
    from px4_sim_ros.recording.bag.step_bag import StepBag
    from px4_sim_ros.ros.block_node import BlockNode
    from px4_sim_ros.ros.clock_driver import ClockDriver

_Publish = typing.Callable[[bytes], None]

# Of wall time. Services, timers and parameters wait so long at most while steps go on.
_ELSE_EVERY_S = 0.01


class BlockHost:
    """Hands values over within the process, and publishes what others subscribe to.

    A message is made only for a topic that somebody subscribes to.
    """

    def __init__(self) -> None:
        """Begin without nodes."""
        self.runner = Runner(port=self)
        self.nodes: dict[str, BlockNode] = {}      # in the order of the graph table
        self._driver: ClockDriver | None = None
        self._placed: dict[str, Slot] = {}         # that take part in the steps
        self._publications: Publications | None = None    # none: no node was configured
        self._wanted: dict[str, _Publish] = {}     # topics with a subscriber
        self._last: dict[str, Output] = {}         # of each block
        self.recording: StepBag | None = None      # what records the steps by value

    def add(self, nodes: typing.Iterable[BlockNode], driver: ClockDriver | None = None) -> None:
        """Take the nodes of the process.

        :param driver: of the clock, if the manager is in this process
        """
        kinds = list(NODES)
        self.nodes = {node.get_name(): node for node in sorted(
            nodes, key=lambda node: kinds.index(kind_and_index(node.get_name())[0]))}
        self._driver = driver
        self.runner.clock = driver

    @property
    def is_shared(self) -> bool:
        """Whether the process has several blocks, not counting those that go with another."""
        return sum(not spec_of(name).beside for name in self.nodes) > 1

    def hands_over(self, topic: Topic, subscriber: Node) -> bool:
        """Return whether a node of this process gets a topic by value.

        It does not if a remapping puts somebody else between publisher and subscriber.
        """
        if topic.publisher == 'manager':
            return self._driver is not None
        publisher = self.nodes.get(topic.publisher)
        return publisher is not None and (
            publisher.resolve_topic_name(topic.name) == subscriber.resolve_topic_name(topic.name))

    def configure(self, graph: Graph, world: WorldParameters) -> None:
        """Prepare for the topics of a graph."""
        if not self._placed:
            self._publications = Publications(graph, world, self._wanted)

    def place(self, slot: Slot) -> None:
        """Let a block take part in the steps, from time 0 on."""
        self._placed[slot.name] = slot
        self.arrange()

    def remove(self, name: str) -> None:
        """Let a block take part no more; the next step of the others is their first."""
        self._placed.pop(name, None)
        self.arrange()

    def arrange(self) -> None:
        """Begin a new run with the blocks that take part."""
        self._last.clear()
        self.runner.place(
            [self._placed[name] for name in self.nodes if name in self._placed],
            self._driver.command if self._driver is not None else None)

    def go_on(self) -> bool:
        """Go on with the steps for a while; return whether there is more to do just now.

        Whoever brings an input from elsewhere calls it within the callback, since the way back
        through the executor takes as long as a short step. What it leaves is done by the
        `StepExecutor`, which calls it in each turn.
        """
        run, until_s = self.runner.run, time.monotonic() + _ELSE_EVERY_S
        while run():
            # If a step was sent, all else is done while the autopilot works.
            if time.monotonic() > until_s:
                return True
        return False

    # The port.

    @property
    def is_used(self) -> bool:
        """Whether somebody subscribes to a topic, or records the steps."""
        return bool(self._wanted) or self.recording is not None

    def refresh(self) -> None:
        """See which topics somebody subscribes to."""
        publishers = [node.step_publishers for node in self.nodes.values()]
        if self._driver is not None:
            publishers.append(self._driver.publishers)
        self._wanted.clear()
        for its in publishers:
            for name, publisher in its.items():
                if publisher.handle.get_subscription_count():
                    self._wanted[name] = publisher.handle.publish_raw

    def send(self, outputs: typing.Sequence[Output]) -> None:
        """Publish outputs for those who subscribe to them."""
        started_s = time.monotonic()
        for output in outputs:
            self._last[output.block] = output
            if self._wanted:
                self._publish(output)
        if self._driver is not None:
            # No block's time, so it is that of the manager, which has none.
            self._driver.clock.busy_s += time.monotonic() - started_s
        if self.recording is not None:
            self.recording.send(outputs)

    def _publish(self, output: Output) -> None:
        assert self._publications is not None, 'who puts something out is configured'
        for topic, data in self._publications.of(output):
            if topic == ABSENCE:
                self.nodes[output.block].step_publishers[ABSENCE].handle.publish_raw(data)
            else:
                self._wanted[topic](data)

    def repeat(self, block: str) -> None:
        """Publish again what a block has put out last."""
        if block in self._last:
            self._publish(self._last[block])
