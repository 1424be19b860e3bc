# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The face of a block in ROS: parameters, lifecycle, publishers, status."""
from __future__ import annotations

import contextlib
import functools
import typing

from rclpy.lifecycle import LifecyclePublisher
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import Header

from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.diagnostics import OK, WARN
from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.endpoints import NodeStatus, connections_of
from px4_sim_ros.ros.framework.graph_node import GraphNode
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.step import graph
from px4_sim_ros.step.block import Block, BlockConfiguration
from px4_sim_ros.step.slot import NO_MEASUREMENT, BlockSlot


class BlockNode(GraphNode):
    """A managed node whose block the runner of the process steps.

    Inputs from blocks of the process are handed over by value. Only those from elsewhere have
    subscriptions: of a block in another process, or of a node that a remapping puts between.

    A sensor that was active once takes part in every step until it is shut down. Stopped, it
    says for each time at which it would have measured that there is no measurement: so no node
    waits for it, and all agree on the step at which it stops and starts.
    """

    def __init__(
        self, name: str, host: BlockHost, own_class: str = '', vehicle: str = '',
    ) -> None:
        self.block: Block | None = None
        self.slot: BlockSlot | None = None
        self.step_publishers: dict[str, Publisher] = {}
        self._lifecycle_publishers: dict[str, LifecyclePublisher] = {}     # among them
        self._step_subscriptions: dict[str, Subscription] = {}
        self._host, self._own_class = host, own_class
        self._by_value: list[str] = []
        super().__init__(name, vehicle)
        if self.spec.model:
            # No lifecycle publisher: it is used when the node is not active.
            self.step_publishers[graph.ABSENCE] = self.create_publisher(
                Header, graph.ABSENCE, qos.LOOP)
        self._run_world: WorldParameters | None = None       # of the run that it takes part in

    # Lifecycle.

    def configure(self, configuration: NodeConfiguration, nodes: graph.Graph) -> None:
        """Make the block, which checks what can be wrong, and the endpoints of its topics."""
        world = configuration.world
        if self._run_world is not None and world != self._run_world:
            raise ParameterError(
                f'{self.spec.name}: parameters that all nodes share cannot change within a run')
        name, files = self.spec.name, self._host.files[self.vehicle]
        block: Block = graph.block_class(self.spec, self._own_class)(BlockConfiguration(
            name, nodes, world, files.vehicle(world.vehicle), configuration.own,
            files.mission(world.mission, world.scenario) if name == 'pilot' else None,
            files.scenario(world.scenario) if name == 'scenario' else None,
            files.scene(world.scene)))
        block.shares_process = self._host.is_shared
        block.log = self._log
        self.block, self._graph = block, nodes
        self._host.configure(nodes, world, self.vehicle)
        for topic in nodes.outputs(self.spec.name):
            self._lifecycle_publishers[topic.name] = self.create_lifecycle_publisher(
                message_class(topic.type), topic.name, qos.LOOP)
        self.step_publishers |= self._lifecycle_publishers
        if self._run_world is None:
            remote = self._remote_inputs(nodes)
            self.slot = BlockSlot(self.spec, nodes, world, remote)
            self._subscribe(remote)
            self._by_value = [name for name in self.spec.inputs if name not in remote]

    def _remote_inputs(self, nodes: graph.Graph) -> list[str]:
        """Return the inputs that are not handed over: all parts of a value come the same way."""
        topics = [nodes.topics[name] for name in self.spec.inputs]
        values = {topic.value for topic in topics if not self._host.hands_over(
            topic, self.resolve_topic_name(topic.name), self.vehicle)}
        return [topic.name for topic in topics if topic.value in values]

    def _subscribe(self, remote: typing.Sequence[str]) -> None:
        # Those that are there stay, to the end: they are matched with all, and the executor may
        # not see one that is made in place of another.
        topics = self._graph.topics
        if set(self._step_subscriptions) - {graph.ABSENCE} == set(remote):
            return
        self._unsubscribe()
        for name in remote:
            kind = message_class(topics[name].type)
            read = codecs.decoder(
                topics[name], functools.partial(deserialize_message, message_type=kind))
            self._step_subscriptions[name] = self.create_subscription(
                kind, name, functools.partial(self._on_message, name, read), qos.LOOP, raw=True)
        if any(topics[name].publisher in self._graph.sensors for name in remote):
            self._step_subscriptions[graph.ABSENCE] = self.create_subscription(
                Header, graph.ABSENCE, self._on_absence, qos.LOOP)

    def _unsubscribe(self) -> None:
        for subscription in self._step_subscriptions.values():
            self.destroy_subscription(subscription)
        self._step_subscriptions.clear()

    def activate(self) -> None:
        """Let the block take part in the steps, from the state of time 0 on in a new run."""
        assert self.block is not None and self.slot is not None, 'it is configured'
        with contextlib.ExitStack() as after_failure:
            after_failure.callback(self.block.close)
            if self._run_world is None:
                self.block.reset()
                self._host.place(self.slot, self.vehicle)
                self._run_world = self.block.configuration.world
            else:
                self.block.resume(self.slot.last_us)
            after_failure.pop_all()
        self.slot.block = self.block

    def deactivate(self) -> None:
        """Stop the block; all but a sensor need a new run to continue."""
        if self.slot is not None:
            self.slot.stop()
        if self.block is not None:
            self.block.abort()

    def release(self) -> None:
        """Let the block give back all that it has; the slot of a sensor stays in the run."""
        if self.block is not None:
            self.block.close()
            self.block = None
        for name, publisher in self._lifecycle_publishers.items():
            del self.step_publishers[name]
            self.destroy_lifecycle_publisher(publisher)
        self._lifecycle_publishers.clear()
        self._host.refresh()
        if self.finished:
            self._unsubscribe()

    def forget(self) -> None:
        """Begin at time 0 with the next activation."""
        self._run_world = None
        self._host.remove(self.spec.name, self.vehicle)

    def freeze_fingerprint(self, over_us: int) -> None:
        """Record that the mission of its vehicle was over at a simulated time."""

    # The step.

    def _on_message(
        self, name: str, read: typing.Callable[[bytes], typing.Any], data: bytes,
    ) -> None:
        self._put(name, serialised_stamp_us(data), functools.partial(read, data))

    def _put(self, name: str, stamp_us: int, read: typing.Callable[[], typing.Any]) -> None:
        if self.slot is not None and self.slot.synchronizer is not None and (
                self.slot.synchronizer.put(name, stamp_us, read)):
            self._host.go_on()

    def _on_absence(self, header: Header) -> None:
        """Record that a sensor has no measurement at a time."""
        for topic in self._graph.outputs(header.frame_id):
            if topic.name in self._step_subscriptions:
                self._put(topic.name, stamp_us(header.stamp), lambda: NO_MEASUREMENT)

    def repeat(self) -> None:
        """Publish again what the last step has published."""
        self._host.repeat(self.spec.name, self.vehicle)

    def _log(self, is_warning: bool, sentence: str) -> None:
        # Each on a line of its own: rclpy refuses another severity from the same one.
        if is_warning:
            self.get_logger().warning(sentence)
        else:
            self.get_logger().info(sentence)

    # What is reported.

    def progress(self) -> tuple[int, dict[str, object]]:
        """Return the time of the last step, and counters."""
        if self.slot is None:
            return 0, {'steps': 0, 'busy_s': f'{0.0:.6f}'}
        return self.slot.last_us, {
            'steps': self.slot.steps, 'busy_s': f'{self.slot.busy_s:.6f}'}

    def status(self) -> tuple[int, str, typing.Mapping[str, object]]:
        found = self.block.status() if self.block is not None else None
        if found is None:
            return super().status()
        return (WARN if found.is_warning else OK,
                found.sentence or super().status()[1], found.values)

    def waits_for(self) -> tuple[int, dict[str, int]]:
        """Return the time of the block's next step, and what it lacks."""
        if self._run_world is None:
            return super().waits_for()
        return self._host.runner.waits_for(self.spec.name, self.vehicle)

    def lockstep_status(self) -> NodeStatus:
        """Return the inputs that the block waits for, and the node's peers."""
        next_us, waits_for = self.waits_for()
        status = NodeStatus(
            waits_for_us=next_us, waits_for=waits_for,
            holds=self.block.holds() if self.block is not None else '',
            by_value=self._by_value,
            **connections_of(self, self.step_publishers, self._step_subscriptions))
        # A subscriber that is reported as matched gets the first message.
        self._host.refresh()
        return status
