# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `pilot`: publishes what the pilot does, and the set points of the autopilot."""
from __future__ import annotations

import math
import typing

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PointStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Joy

from px4_sim_ros.link.pilot.block import PilotBlock, PilotParameters
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.link.pilot.sticks import joy_axes
from px4_sim_ros.messages import autopilot
from px4_sim_ros.messages.codec import Encoder
from px4_sim_ros.messages.event_messages import event_message, over_message
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.autopilot import Sticks
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import Graph


class PilotNode(BlockNode):
    """The face of the block that flies a mission."""

    def __init__(self, *arguments: typing.Any) -> None:
        super().__init__(*arguments)
        self._events = self.create_publisher(
            DiagnosticStatus, side_topics.PILOT_EVENTS.name, qos.LATCHED_LOG)
        self._set_points = self.create_publisher(
            PointStamped, side_topics.SET_POINT.name, qos.LATCHED)
        self._estimates = self.create_publisher(
            Odometry, side_topics.ESTIMATE.name, qos.LOOP)
        self._encode_estimate = Encoder(autopilot.ESTIMATE)
        self._statuses = self.create_publisher(
            DiagnosticArray, side_topics.AUTOPILOT_STATUS.name, qos.LATCHED_LOG)
        self.create_subscription(Joy, side_topics.JOY.name, self._on_joy, qos.LATEST)

    def configure(self, configuration: NodeConfiguration, nodes: Graph) -> None:
        """Make the block, whose events are published."""
        super().configure(configuration, nodes)
        assert isinstance(self.block, PilotBlock), 'an own class is one, too'
        assert isinstance(configuration.own, PilotParameters), 'they are those of the node'
        self._refused_sticks = ''
        self._joy_axes = joy_axes('pilot.joy_axes', configuration.own.joy_axes)
        self.block.on_event = self._publish_event
        self.block.telemetry = self
        self.block.on_over = self._publish_over

    def _on_joy(self, message: Joy) -> None:
        """Hold the sticks as a person does."""
        if not isinstance(self.block, PilotBlock):
            return
        try:
            self.block.take_sticks(sticks_of(message, self._joy_axes))
        except ParameterError as error:
            if str(error) != self._refused_sticks:      # not as often as it comes
                self._refused_sticks = str(error)
                self.get_logger().warning(self._refused_sticks)

    def _publish_over(self, failure: str) -> None:
        assert isinstance(self.block, PilotBlock) and self.block.over_us is not None, 'it is over'
        if not self.block.configuration.world.has_scenario:       # that ends the flight, later
            self._host.freeze_fingerprint(self.vehicle, self.block.over_us)
        self._events.publish(over_message(failure, self.block.over_us))

    def _publish_event(self, event: Event) -> None:
        self._events.publish(event_message(event))
        self.publish_line(round(event.time_s * US_PER_S), event.text)
        self.get_logger().print(event.text)

    # What the autopilot says of itself.

    def on_estimate(self, estimate: Estimate) -> None:
        """Publish an estimate if it has a subscriber."""
        if self._estimates.get_subscription_count():
            self._estimates.publish(self._encode_estimate(estimate.time_us, estimate))

    def on_set_point(self, set_point: SetPoint) -> None:
        self._set_points.publish(autopilot.set_point_message(set_point))

    def on_status(self, status: AutopilotStatus) -> None:
        """Publish mode and flags."""
        self._statuses.publish(autopilot.status_message(status))

    def on_text(self, time_us: int, text: str) -> None:
        """Publish a text among the lines of the log."""
        self.publish_line(time_us, text, autopilot.AUTOPILOT)


def sticks_of(message: Joy, axes: typing.Sequence[int]) -> Sticks:
    """Return where the sticks are; left and up are above 0 in a Joy."""
    values = message.axes
    if len(values) <= max(axes):
        raise ParameterError(f'joy: a message has {len(values)} axes, and pilot.joy_axes asks for'
                             f' axis {max(axes)}')
    found = [min(1.0, max(-1.0, values[i])) for i in axes]
    if not all(math.isfinite(values[i]) for i in axes):
        raise ParameterError('joy: an axis is no number')
    roll, pitch, yaw, throttle = found
    return Sticks(-roll, pitch, -yaw, (1.0 + throttle) / 2.0)
