"""What nodes say about themselves on `/diagnostics`, once a second of wall time."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from px4_sim_ros.convert.stamps import set_stamp
from px4_sim_ros.nodes import qos
from px4_sim_ros.resources import PACKAGE

PERIOD_S = 1.0
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Status(typing.NamedTuple):
    """What a node says about itself at a simulated time."""

    time_us: int
    level: bytes
    sentence: str
    values: dict[str, object]


class Diagnostics:
    """Publishes the status of one node."""

    def __init__(self, node: Node, status: typing.Callable[[], Status]) -> None:
        """Begin; the publisher lives as long as the node.

        A subscriber forgets what it has not read yet when a publisher goes away, and the
        last words are the most interesting ones.
        """
        self._node = node
        self._status = status
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', qos.DIAGNOSTICS)
        # Wall time: simulated time may stand still.
        self._timer = node.create_timer(
            PERIOD_S, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def stop(self) -> None:
        """Publish a last time."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None
            self.publish()

    def publish(self) -> None:
        """Publish now."""
        status = self._status()
        name = f'{self._node.get_namespace().rstrip("/")}/{self._node.get_name()}'
        message = DiagnosticArray(status=[DiagnosticStatus(
            level=status.level, name=name, hardware_id=PACKAGE, message=status.sentence,
            values=[KeyValue(key=k, value=str(v)) for k, v in status.values.items()])])
        set_stamp(message.header.stamp, status.time_us)
        self._publisher.publish(message)
