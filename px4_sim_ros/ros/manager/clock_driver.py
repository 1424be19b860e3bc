# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The clock of the runner in the manager's process, with its topics for other processes."""
from __future__ import annotations

import functools
import time
import typing

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock

from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.endpoints import connections_of
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import CLOCK, COMMAND, Topic
from px4_sim_ros.step.graph_vehicles import GraphVehicle
from px4_sim_ros.step.runner import Exchange
from px4_sim_ros.step.slot import StampSynchronizer, inputs_of


class ClockDriver:
    """Lets the runner begin a step when the clock allows it."""

    def __init__(
        self, node: Node, host: BlockHost, clock: LockstepClock,
        on_complete: typing.Callable[[], None],
    ) -> None:
        self._node, self._host, self.clock, self._on_complete = node, host, clock, on_complete
        self.publishers: dict[str, Publisher] = {}
        self._vehicles: list[str] = []
        self._subscriptions: dict[str, dict[str, Subscription]] = {}      # by vehicle and topic
        self.commands: dict[str, StampSynchronizer] = {}
        """By vehicle what collects the command that ends a step, if another process sends it."""

    def open(self, members: typing.Sequence[GraphVehicle]) -> None:
        first = members[0]
        # The clock is of no vehicle; all have the same.
        self._host.configure(first.graph, first.world)
        self._host.runner.exchange = Exchange.of(first.graph, first.world)
        for member in members:
            self._vehicles.append(member.vehicle)
            self._host.configure(member.graph, member.world, member.vehicle)
            for topic in member.graph.outputs('manager'):
                name = member.full(topic.name)
                if name not in self.publishers:
                    self.publishers[name] = self._node.create_publisher(
                        message_class(topic.type), name, qos.LOOP)
            self._subscribe(member)
        self._host.arrange()

    def _subscribe(self, member: GraphVehicle) -> None:
        """Subscribe to what ends a step, as far as it comes from elsewhere."""
        remote = [i for i in inputs_of(
            member.graph.nodes['manager'], member.graph, member.world)
            if not self._host.hands_over(i.topic, self._node.resolve_topic_name(
                member.full(i.topic.name)), member.vehicle)]
        if not remote:
            return
        command = StampSynchronizer(remote, self.clock.step_us)
        self.commands[member.vehicle] = command
        self._subscriptions[member.vehicle] = {
            i.topic.name: self._node.create_subscription(
                message_class(i.topic.type), member.full(i.topic.name),
                self._callback(command, i.topic), qos.LOOP, raw=True) for i in remote}

    def _callback(
        self, command: StampSynchronizer, topic: Topic,
    ) -> typing.Callable[[bytes], None]:
        # Of a command only its arrival counts here.
        read = (lambda data: data) if topic.name == COMMAND else codecs.decoder(
            topic, functools.partial(deserialize_message, message_type=message_class(topic.type)))

        def on_message(data: bytes) -> None:
            command.put(topic.name, serialised_stamp_us(data), lambda: read(data))
            self._host.go_on()

        return on_message

    def connections(self, vehicle: str) -> dict[str, typing.Any]:
        """Return the fields of a `NodeStatus` about the endpoints for a vehicle."""
        publishers = {_own(vehicle, name): publisher
                      for name, publisher in self.publishers.items()
                      if _own(vehicle, name)}
        connections = connections_of(
            self._node, publishers, self._subscriptions.get(vehicle, {}), vehicle)
        # A subscriber that is reported as matched gets the first message.
        self._host.refresh()
        return connections

    def subscribes(self, vehicle: str) -> list[str]:
        """Return the topics of a vehicle that come from elsewhere."""
        return list(self._subscriptions.get(vehicle, ()))

    def awaits(self, vehicle: str) -> str:
        """Return the topic that keeps the step of a vehicle from being complete."""
        command = self.commands.get(vehicle)
        lacking = {COMMAND} if command is None else command.lacking
        return COMMAND if COMMAND in lacking else next(iter(lacking), COMMAND)

    @property
    def awaited(self) -> list[str]:
        """The vehicles whose part of the step under way is not complete."""
        return self._host.runner.awaited

    def rewind(self) -> None:
        """Let the runner of this process begin at time 0: it may have no block that would."""
        self._host.begin_anew()
        # Timers of nodes with use_sim_time begin again at 0, and not at the end of the first step.
        self.publishers[CLOCK].publish(Clock())

    def republish(self) -> None:
        """Publish the time of this step again: a node lacks it."""
        for vehicle in dict.fromkeys(('', *self._vehicles)):
            self._host.repeat('manager', vehicle)

    # The clock, as the runner sees it.

    @property
    def speed_factor(self) -> float:
        """Simulated over wall time; 0 is as fast as possible."""
        return self.clock.speed_factor

    @property
    def latest_us(self) -> int:
        """The time up to which steps may follow the one that is under way at once."""
        return self.clock.latest_us

    def run_ahead(self, steps: int) -> None:
        """Record that the step under way is complete, and so many have begun since."""
        self.clock.run_ahead(steps)
        self._on_complete()

    def begin(self) -> int | None:
        """Return the time of the step that begins now; None while none may begin."""
        return self.clock.begin()

    def complete(self, time_us: int) -> None:
        """Record that a step is complete."""
        started_s = time.monotonic()
        if self.clock.complete(time_us):
            self._on_complete()
        self.clock.busy_s += time.monotonic() - started_s


def _own(vehicle: str, name: str) -> str:
    """Return the name of a topic in the graph of a vehicle, '' if it is of another one."""
    if name.startswith('/'):
        return name
    before, _, own = name.rpartition('/')
    return own if before == vehicle else ''
