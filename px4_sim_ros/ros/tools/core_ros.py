# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The place in ROS of a flight in mode `core`, which has no nodes: PX4's topics, and the time."""
from __future__ import annotations

import contextlib
import time

from rosgraph_msgs.msg import Clock

from px4_sim_ros.messages.cdr import serialised
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.process import domain_claim
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.framework.px4_gateway import REFRESHED_EVERY_S, Px4Gateway
from px4_sim_ros.ros.framework.session import ros_session
from px4_sim_ros.step.graph import CLOCK, TOPICS_OF_PX4


class CoreRos:
    """A node that is asked in each step, and never spins."""

    def __init__(self) -> None:
        """Join ROS.

        :raises ParameterError: there is a graph in this ROS domain already
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(domain_claim.claim_start())
            stack.enter_context(domain_claim.claim(domain_claim.CLOCK))
            stack.enter_context(ros_session())
            self._node = PollingNode(TOPICS_OF_PX4)
            stack.callback(self._node.destroy_node)
            self._clock = self._node.create_publisher(Clock, CLOCK, qos.LOOP)
            self._message = Clock()
            self._time_us, self._looked_s, self._is_heard = 0, 0.0, False
            self._begun = stack.pop_all()

    def gateway(self, definitions: Px4Definitions) -> Px4Gateway:
        """Return the connection of a vehicle's block with ROS."""
        return Px4Gateway(self._node, definitions, self._publish_time, self._publish)

    def _publish_time(self, time_us: int) -> None:
        if time_us <= self._time_us:           # of several vehicles the first does it
            return
        self._time_us = time_us
        now_s = time.monotonic()
        if now_s - self._looked_s > REFRESHED_EVERY_S:
            self._looked_s, self._is_heard = now_s, self._clock.get_subscription_count() > 0
        if self._is_heard:
            self._publish()

    def _publish(self) -> None:
        set_stamp(self._message.clock, self._time_us)
        self._clock.handle.publish_raw(serialised(self._message))

    def close(self) -> None:
        self._begun.close()
