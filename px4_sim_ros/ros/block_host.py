"""The blocks of a process: one runner, behind whose port are the nodes that are their faces."""
from __future__ import annotations

import typing

from px4_sim_ros.messages.publications import Publications
from px4_sim_ros.model.instances import kind_and_index
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step.graph import ABSENCE, NODES, Graph
from px4_sim_ros.step.runner import Output, Runner

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.block_node import BlockNode
    from px4_sim_ros.ros.manager import ManagerNode

_Publish = typing.Callable[[bytes], None]


class BlockHost:
    """Hands values over within the process, and publishes what others subscribe to.

    A message is made only for a topic that somebody subscribes to.
    """

    def __init__(self) -> None:
        """Begin without nodes."""
        self.runner = Runner(port=self)
        self.nodes: dict[str, BlockNode] = {}      # in the order of the graph table
        self._manager: ManagerNode | None = None
        self._placed: set[str] = set()
        self._publications: Publications | None = None
        self._wanted: dict[str, _Publish] = {}     # topics with a subscriber
        self._last: dict[str, Output] = {}         # of each block

    def add(self, nodes: typing.Iterable[BlockNode], manager: ManagerNode | None) -> None:
        """Take the nodes of the process.

        :param manager: drives the clock, if it is in this process
        """
        kinds = list(NODES)
        self.nodes = {node.get_name(): node for node in sorted(
            nodes, key=lambda node: kinds.index(kind_and_index(node.get_name())[0]))}
        self._manager = manager
        self.runner.clock = manager

    @property
    def is_shared(self) -> bool:
        """Whether the process has several blocks."""
        return len(self.nodes) > 1

    def configure(self, graph: Graph, world: WorldParameters) -> None:
        """Prepare for the topics of a graph."""
        if self._publications is None or not self._placed:
            self._publications = Publications(graph, world, self._wanted)

    def place(self, node: BlockNode) -> None:
        """Let a block take part in the steps, from time 0 on."""
        self._placed.add(node.get_name())
        self._place()

    def remove(self, node: BlockNode) -> None:
        """Let a block take part no more; the next step of the others is their first."""
        self._placed.discard(node.get_name())
        self._place()

    def _place(self) -> None:
        self._last.clear()
        self.runner.place(
            [node.slot for name, node in self.nodes.items() if name in self._placed],
            self._manager.remote_command if self._manager is not None else None)

    # The port.

    def refresh(self) -> None:
        """See which topics somebody subscribes to."""
        faces = [*self.nodes.values(), *([self._manager] if self._manager is not None else [])]
        self._wanted.clear()
        for node in faces:
            for name, publisher in node.step_publishers.items():
                if publisher.handle.get_subscription_count():
                    self._wanted[name] = publisher.handle.publish_raw

    def send(self, outputs: typing.Sequence[Output]) -> None:
        """Publish outputs for those who subscribe to them."""
        if self._wanted:
            for output in outputs:
                self._last[output.block] = output
                self._publish(output)

    def _publish(self, output: Output) -> None:
        for topic, data in self._publications.of(output):
            if topic == ABSENCE:
                self.nodes[output.block].step_publishers[ABSENCE].handle.publish_raw(data)
            else:
                self._wanted[topic](data)

    def repeat(self, block: str) -> None:
        """Publish again what a block has put out last."""
        if block in self._last:
            self._publish(self._last[block])
