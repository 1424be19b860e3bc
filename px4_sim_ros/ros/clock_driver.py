"""Takes the steps of the graph: publishes /clock and waits for the command that ends a step."""
from __future__ import annotations

import typing

from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.ros import qos
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import LockstepClock

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager import ManagerNode

CLOCK = '/clock'


class ClockDriver:
    """Drives a clock with the topics of the graph."""

    def __init__(
        self, node: ManagerNode, clock: LockstepClock, on_complete: typing.Callable[[], None],
    ) -> None:
        """Begin without endpoints.

        :param on_complete: called after each step, when the next one has begun if it may
        """
        self._node, self.clock, self._on_complete = node, clock, on_complete
        self._encode = codecs.encoder(graph.TOPICS[CLOCK])
        self.publishers: dict[str, Publisher] = {}
        self.subscriptions: dict[str, Subscription] = {}

    def open(self, nodes: graph.Graph) -> None:
        """Make the endpoints."""
        publisher = self._node.create_publisher(Clock, CLOCK, qos.LOOP)
        self.publishers[CLOCK] = publisher
        self._publish_bytes = publisher.handle.publish_raw
        self.subscriptions[graph.COMMAND] = self._node.hear(
            JointState, graph.COMMAND, nodes.topics[graph.COMMAND].publisher, self._on_command,
            qos.LOOP)

    def go_on(self) -> None:
        """Begin the next step if the clock allows it; to be called when it may."""
        time_us = self.clock.begin()
        if time_us is not None:
            self._publish(time_us)
            self.clock.published()

    def republish(self) -> None:
        """Publish the time of this step again: somebody has not got it."""
        self._publish(self.clock.time_us)

    def _publish(self, time_us: int) -> None:
        self._publish_bytes(self._encode(time_us, None))

    def _on_command(self, data: bytes) -> None:
        """The step is complete when its command has come."""
        if self.clock.complete(serialised_stamp_us(data)):
            self.go_on()
            self._on_complete()
