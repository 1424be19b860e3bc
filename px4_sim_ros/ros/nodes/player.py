# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `player`: the commands of a recording, and what its PX4 has said."""
from __future__ import annotations

import typing

from px4_sim_ros.link.xrce.session import Topic
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.recording.playback import PlaybackBlock
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.framework.px4_gateway import Px4Gateway
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step.graph import Graph


class PlayerNode(PollingNode, BlockNode):
    """The face of the block that plays a recording."""

    def __init__(self, *arguments: typing.Any) -> None:
        super().__init__(*arguments)
        self._gateway: Px4Gateway | None = None

    def configure(self, configuration: NodeConfiguration, nodes: Graph) -> None:
        """Make the block, and publish PX4's own topics with it if there were any."""
        super().configure(configuration, nodes)
        if configuration.world.px4_topics and isinstance(self.block, PlaybackBlock):
            self._definitions = Px4Definitions('')
            self._gateway = Px4Gateway(self, self._definitions)
            self.block.publish = self._publish

    def release(self) -> None:
        """Let the topics go."""
        super().release()
        if self._gateway is not None:
            self._gateway.close()
            self._gateway = None

    def _publish(self, topic: Topic, data: bytes, definition: str) -> None:
        assert self._gateway is not None, 'it is configured'
        self._definitions.know(topic.type, definition)
        self._gateway.announce(topic)
        self._gateway.refresh()
        self._gateway.publish(topic, data)
