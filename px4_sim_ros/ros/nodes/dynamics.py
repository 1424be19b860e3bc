# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `dynamics`: as the first that waits for the clock it is the one to miss the manager.

It keeps the fingerprint of the flight when its mission is over and time runs on.
"""
from __future__ import annotations

import collections
import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from px4_sim_ros.jit.code_cache import MOTION
from px4_sim_ros.messages import event_messages
from px4_sim_ros.messages.run_status import RunStatus
from px4_sim_ros.model.body.scene_contact import Touch
from px4_sim_ros.model.scenario.happening import Happening
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.framework import qos, status_client
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.framework.session import create_wall_timer
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.spec.compile_ahead import compile_motion, not_compiled
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.dynamics_block import DynamicsBlock
from px4_sim_ros.step.graph import Graph
from px4_sim_ros.step.presence import Change
from px4_sim_ros.step.repeatability import FINGERPRINT, FLOWN, OVER_US

# The manager publishes its status twice a second of wall time, also when time is paused.
_SILENT_S = 1.5
_LOOK_S = 0.25
# A look that comes later did not listen meanwhile: the machine stood, or this process.
_LISTENED_S = 2.0 * _LOOK_S


class Silence:
    """How long the listener has heard nothing."""

    def __init__(self, now_s: float) -> None:
        self._looked_s, self._lasts_s = now_s, 0.0

    def end(self, now_s: float) -> None:
        """Take in that something was heard."""
        self._looked_s, self._lasts_s = now_s, 0.0

    def is_long(self, now_s: float) -> bool:
        """Return whether it has lasted too long by now; to be asked often."""
        self._lasts_s += min(now_s - self._looked_s, _LISTENED_S)
        self._looked_s = now_s
        return self._lasts_s > _SILENT_S


class ManagerWatch:
    """Reports once when the manager falls silent, and when it is back."""

    def __init__(
        self, node: Node, last_step_us: typing.Callable[[], int], *, of_fleet: bool = False,
    ) -> None:
        self._node = node
        self._last_step_us = last_step_us
        self._missed = False
        self._silence = Silence(time.monotonic())
        self._client = StatusClient(node, self._on_status, of_fleet=of_fleet)
        self._timer = create_wall_timer(node, _LOOK_S, self._look)

    def _on_status(self, status: RunStatus) -> None:
        self._silence.end(time.monotonic())
        if self._missed:
            self._missed = False
            self._node.get_logger().info('manager is back')

    def _look(self) -> None:
        if self._silence.is_long(time.monotonic()) and self._client.count and not self._missed:
            self._missed = True
            self._node.get_logger().error(
                f'manager has been silent for {_SILENT_S:g} s; its last /clock was'
                f' t = {seconds_text(self._last_step_us())}')


# The pilot may be in another process, whose word takes a while: seconds of wall time.
_STEPS_REMEMBERED = 10_000


class DynamicsNode(BlockNode):
    """The face of the block that moves the vehicle."""

    def __init__(self, *arguments: typing.Any) -> None:
        # Before it appears: from then on it is asked, and has to answer.
        if MOTION in not_compiled():
            compile_motion()
        super().__init__(*arguments)
        self._over_us: int | None = None       # when the mission was over
        self._flown: str | None = None         # the fingerprint of then
        self._pilot_events: Subscription | None = None
        self._changes: Subscription | None = None
        self._touches: Publisher | None = None
        self._watch = ManagerWatch(
            self, lambda: self.slot.last_us if self.slot else 0, of_fleet=bool(self.vehicle))

    def configure(self, configuration: NodeConfiguration, nodes: Graph) -> None:
        """Make the block; listen to the pilot of the vehicle if it is in another process."""
        super().configure(configuration, nodes)
        if self.block is not None and self.block.configuration.scene is not None and isinstance(
                self.block, DynamicsBlock):
            self.block.on_touch = self._say_touch
            self._touches = self._touches or self.create_publisher(
                DiagnosticStatus, side_topics.TOUCHES.name, qos.LATCHED_LOG)
        if self.vehicle and self._changes is None:
            self._changes = status_client.hear(self, self._on_change)
        is_here = any(node.spec.name == 'pilot' and node.vehicle == self.vehicle
                      for node in self._host.nodes.values())
        if 'pilot' not in nodes.nodes or is_here or not isinstance(self.block, DynamicsBlock):
            return
        self.block.past_fingerprints = collections.deque(maxlen=_STEPS_REMEMBERED)
        if self._pilot_events is None:
            self._pilot_events = self.create_subscription(
                DiagnosticStatus, side_topics.PILOT_EVENTS.name, self._on_pilot_event,
                qos.LATCHED_LOG)

    def _say_touch(self, touch: Touch) -> None:
        assert self._touches is not None, 'there is a scene'
        self._touches.publish(
            event_messages.happening_message(Happening(touch.time_us, touch.text)))
        self.publish_line(touch.time_us, touch.text)

    def _on_change(self, change: Change, run: int) -> None:
        """Let the vehicle join or leave as the manager was asked to."""
        if change.vehicle != self.vehicle or not change.by_hand:
            return
        self._over_us = self._flown = None
        if not self._host.has_clock:       # or the manager has done it
            self._host.runner.change(change)
            self._host.go_on()

    def activate(self) -> None:
        """Begin with the state of time 0."""
        self._over_us = self._flown = None
        super().activate()

    def _on_pilot_event(self, message: DiagnosticStatus) -> None:
        over_us = event_messages.over_us(message)
        if over_us is not None and self._run_world and not self._run_world.has_scenario:
            self.freeze_fingerprint(over_us)

    def freeze_fingerprint(self, over_us: int) -> None:
        """Let the fingerprint be that of the flight up to a time.

        That of a pilot in another process may be to come.
        """
        self._over_us = over_us
        self._find_flown()

    def _find_flown(self) -> None:
        if self._over_us is None or self._flown is not None or self.block is None:
            return
        past = getattr(self.block, 'past_fingerprints', None)
        # A class of the user's may have none.
        self._flown = getattr(self.block, FINGERPRINT, '') if past is None else dict(past).get(
            self._over_us)

    def status(self) -> tuple[int, str, typing.Mapping[str, object]]:
        """Return the report of the block."""
        level, sentence, values = super().status()
        self._find_flown()
        if self._flown is not None and FINGERPRINT in values:
            values = {**values, FINGERPRINT: self._flown, FLOWN: True, OVER_US: self._over_us}
        return level, sentence, values
