# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `px4_topics`: PX4's own topics as topics of ROS."""
from __future__ import annotations

import typing

from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.xrce.block import Px4TopicsBlock, TopicsParameters
from px4_sim_ros.link.xrce.session import Topic
from px4_sim_ros.messages import px4_records
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.framework.px4_gateway import Px4Gateway
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step.graph import BRIDGE, Graph, qualified

RECORDER = 'recorder'


class Px4TopicsNode(PollingNode, BlockNode):
    """The face of the block that speaks with PX4's client."""

    def __init__(self, *arguments: typing.Any) -> None:
        super().__init__(*arguments)
        self._gateway: Px4Gateway | None = None
        self._records = self.create_publisher(
            message_class(px4_records.TYPE), px4_records.TOPIC, qos.DEEP_LATCHED)

    def configure(self, configuration: NodeConfiguration, nodes: Graph) -> None:
        """Make the block, and what joins it with ROS."""
        super().configure(configuration, nodes)
        assert isinstance(self.block, Px4TopicsBlock), 'an own class is one, too'
        own = configuration.own
        assert isinstance(own, TopicsParameters), 'they are those of the node'
        self._definitions = Px4Definitions(own.messages)
        self._gateway = Px4Gateway(
            self, self._definitions, repeat_time=lambda: self._host.repeat('manager'))
        self.block.ros, self.block.record = self._gateway, self._record

    def activate(self) -> None:
        """Take part in the steps, and hear of each reply of PX4."""
        super().activate()
        bridge = self._host.nodes[qualified(self.vehicle, BRIDGE)].block
        assert isinstance(bridge, HilBlock) and isinstance(self.block, Px4TopicsBlock), 'they are'
        bridge.hearer = self.block

    def release(self) -> None:
        """Let all of PX4's topics go."""
        super().release()
        if self._gateway is not None:
            self._gateway.close()
            self._gateway = None

    def _record(self, time_us: int, topic: Topic, data: bytes) -> None:
        bag = self._host.recording
        if bag is None and RECORDER in self._graph.nodes:      # in another process
            self._records.handle.publish_raw(
                px4_records.Px4Record(time_us, *topic, data).packed())
        elif bag is not None:
            bag.add(Message(topic.name, time_us, data), topic.type,
                    self._definitions.text(topic.type))
