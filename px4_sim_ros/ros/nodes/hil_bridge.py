# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `hil_bridge`: publishes the state of the link, and looks after it between steps."""
from __future__ import annotations

import typing

from std_msgs.msg import String

from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.hil.link_state import HilParameters, LinkState
from px4_sim_ros.messages.autopilot import link_text
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.framework.session import create_wall_timer
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import Graph, qualified

# Wall time between two looks at the link while no exchange is under way.
_IDLE_S = 0.02


class HilBridgeNode(BlockNode):
    """The face of the block that exchanges measurements for a command."""

    def __init__(self, *arguments: typing.Any) -> None:
        super().__init__(*arguments)
        self._state_publisher = self.create_publisher(
            String, side_topics.LINK_STATE.name, qos.LATCHED)
        # Nothing else would look at the link while no step is under way.
        self._idle_timer = create_wall_timer(self, _IDLE_S, self._idle)

    def configure(self, configuration: NodeConfiguration, nodes: Graph) -> None:
        """Make the block, whose link is reported on."""
        hil = typing.cast(HilParameters, configuration.own)
        if hil.on_waiting == 'begin_again' and (
                qualified(self.vehicle, 'dynamics') not in self._host.nodes):
            raise ParameterError(
                f'{self.spec.name}.on_waiting = \'begin_again\': is only for a vehicle whose nodes'
                ' are all in one process; fly in mode composed')
        super().configure(configuration, nodes)
        assert isinstance(self.block, HilBlock), 'an own class is one, too'
        self.block.on_state = self._publish_state
        self.block.is_alone = len(self._host.vehicles) == 1
        if self._host.shared_core is not None:
            self.block.shared_core = self._host.shared_core

    def _publish_state(self, state: LinkState, time_us: int) -> None:
        self._state_publisher.publish(String(data=state.value))
        self.publish_line(time_us, link_text(state.value))

    def _idle(self) -> None:
        if self.block is not None:
            self.block.idle()
