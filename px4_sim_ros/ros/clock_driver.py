# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The clock of the runner in the manager's process, with its topics for other processes."""
from __future__ import annotations

import time
import typing

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.block_host import BlockHost
from px4_sim_ros.ros.endpoints import connections_of
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import CLOCK, COMMAND
from px4_sim_ros.step.members import Member
from px4_sim_ros.step.schedule import Input
from px4_sim_ros.step.synchronizer import StampSynchronizer


class ClockDriver:
    """Lets the runner begin a step when the clock allows it."""

    def __init__(
        self, node: Node, host: BlockHost, clock: LockstepClock,
        on_complete: typing.Callable[[], None],
    ) -> None:
        """Begin without endpoints.

        :param host: of the blocks of this process; its runner calls `begin` and `complete`
        :param on_complete: called after each step
        """
        self._node, self._host, self.clock, self._on_complete = node, host, clock, on_complete
        self.publishers: dict[str, Publisher] = {}
        self._subscriptions: dict[str, Subscription] = {}      # by vehicle
        self.commands: dict[str, StampSynchronizer] = {}
        """By vehicle what collects the command that ends a step, if another process sends it."""

    def open(self, members: typing.Sequence[Member]) -> None:
        """Make the endpoints."""
        # The clock is of no vehicle; all have the same.
        self._host.configure(members[0].graph, members[0].world)
        self.publishers[CLOCK] = self._node.create_publisher(Clock, CLOCK, qos.LOOP)
        for member in members:
            name = member.full(COMMAND)
            if not self._host.hands_over(
                    member.graph.topics[COMMAND], self._node.resolve_topic_name(name),
                    member.vehicle):
                self._subscribe(member, name)
        self._host.arrange()

    def _subscribe(self, member: Member, name: str) -> None:
        topic, step_us = member.graph.topics[COMMAND], self.clock.step_us
        command = StampSynchronizer([Input(topic, step_us, 0, False)], step_us)

        def on_command(data: bytes) -> None:
            command.put(COMMAND, serialised_stamp_us(data), lambda: data)
            self._host.go_on()

        self.commands[member.vehicle] = command
        self._subscriptions[member.vehicle] = self._node.create_subscription(
            JointState, name, on_command, qos.LOOP, raw=True)

    def connections(self, vehicle: str) -> dict[str, typing.Any]:
        """Return the fields of a `NodeStatus` about the endpoints for a vehicle."""
        its = self._subscriptions.get(vehicle)
        connections = connections_of(
            self._node, self.publishers, {} if its is None else {COMMAND: its}, vehicle)
        # Whoever is reported as matched gets the first message.
        self._host.refresh()
        return connections

    @property
    def awaited(self) -> list[str]:
        """The vehicles whose part of the step under way is not complete."""
        return self._host.runner.awaited

    def rewind(self) -> None:
        """Let the runner of this process begin at time 0: it may have no block that would."""
        self._host.begin_anew()

    def republish(self) -> None:
        """Publish the time of this step again: somebody has not got it."""
        self._host.repeat('manager')

    # The clock, as the runner sees it.

    @property
    def speed_factor(self) -> float:
        """Simulated over wall time; 0 is as fast as possible."""
        return self.clock.speed_factor

    def begin(self) -> int | None:
        """Return the time of the step that begins now; None while none may begin."""
        return self.clock.begin()

    def complete(self, time_us: int) -> None:
        """Take note that a step is complete."""
        started_s = time.monotonic()
        if self.clock.complete(time_us):
            self._on_complete()
        self.clock.busy_s += time.monotonic() - started_s
