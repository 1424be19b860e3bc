# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `recorder`: writes every message of the run into a bag, as it came."""
from __future__ import annotations

import copy
import functools
import itertools
import pathlib
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import Header

from px4_sim_ros.link.xrce.block import TopicsParameters
from px4_sim_ros.messages import px4_records
from px4_sim_ros.messages.diagnostics import ERROR, OK
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.model.errors import within
from px4_sim_ros.process.new_folder import make_folder, new_folder
from px4_sim_ros.recording.bag.fleet_description import FleetDescription, read_run_file
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.step_bag import StepBag
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.recording.bag.writer_thread import BagThread, ReorderBuffer
from px4_sim_ros.ros.framework import qos, status_client
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.diagnostics import Status, status_message
from px4_sim_ros.ros.framework.endpoints import NodeStatus, connections_of
from px4_sim_ros.ros.framework.graph_node import GraphNode
from px4_sim_ros.ros.framework.polling import PollingNode, taken
from px4_sim_ros.ros.framework.session import create_wall_timer, message_class
from px4_sim_ros.ros.manager.recorder_watch import WINDOW_STEPS
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.spec.run_parameters import RecorderParameters
from px4_sim_ros.step import graph, side_topics
from px4_sim_ros.step.graph_vehicles import GraphVehicle
from px4_sim_ros.step.presence import Change, Presence

# Of wall time. Less than the world needs for the steps that it may be ahead.
_WAKE_S = 0.025


class RecorderNode(PollingNode, GraphNode):
    """Records all topics; no step waits for it.

    Where all of the step comes from blocks of its process it gets that by value. Otherwise it
    subscribes, and its thread takes the messages from their subscriptions now and then: a call of
    the executor for each message would cost several times as much. On `recording/status` it
    reports up to which time all is recorded, or why it has ended; while it subscribes, the manager
    stays within a window of that.
    """

    def __init__(self, name: str, host: BlockHost, *_: object) -> None:
        self._host, self._gets_values = host, False
        self._step_subscriptions: dict[str, Subscription] = {}
        self._side_subscriptions: dict[str, Subscription] = {}
        self._px4_subscriptions: dict[str, Subscription] = {}      # by vehicle
        self._of_px4: list[Message] = []        # of steps that are not complete
        self._known_definitions: dict[str, Px4Definitions] = {}
        self._members: list[GraphVehicle] = []        # the vehicles; one alone has no name
        self._changes: Subscription | None = None
        self._absences: dict[str, GraphVehicle] = {}  # by the topic on which its sensors say that
        super().__init__(name)
        self._collector: ReorderBuffer | None = None       # while it takes part in the steps
        self._bag: BagThread | StepBag | None = None
        self._recordings = 0           # how many have begun: a reset begins another one
        self._folder = pathlib.Path()
        self._reported = ''            # the last problem that was reported
        self._last_step_us, self._busy_s = 0, 0.0
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, side_topics.RECORDING_STATUS.name, qos.LATCHED)
        self._timer = create_wall_timer(self, _WAKE_S, self._wake)

    def configure(self, configuration: NodeConfiguration, nodes: graph.Graph) -> None:
        """Read how the run was set up, see that there is no such bag yet, and subscribe."""
        assert isinstance(configuration.own, RecorderParameters)
        self._own, self._world, self._graph = configuration.own, configuration.world, nodes
        with within('recorder.run_file'):
            self._run = read_run_file(self._own.run_file)
        self._members = (self._run.vehicles if isinstance(self._run, FleetDescription)
                         else [GraphVehicle('', nodes, configuration.world)])
        new_folder(self._next_folder())
        self._gets_values = all(
            self._host.hands_over(
                topic, self.resolve_topic_name(member.full(topic.name)), member.vehicle)
            for member in self._members for topic in member.graph.topics.values())
        self._subscribe()
        self._subscribe_beside()
        self._subscribe_to_px4()
        if self._members[0].vehicle and not self._gets_values and self._changes is None:
            self._changes = status_client.hear(self, self._on_change)

    def _on_change(self, change: Change, run: int) -> None:
        """Expect the messages of a vehicle that was added or removed by hand."""
        collector = self._collector
        if not change.by_hand or collector is None:
            return
        presence = Presence(change.time_us) if change.joins else Presence(0, change.time_us)
        for name in self._topics():
            if name.startswith(f'{change.vehicle}/'):
                collector.change(name, presence)

    def activate(self) -> None:
        """Begin a bag."""
        self._last_step_us, self._busy_s = 0, 0.0
        self._discard()
        self._folder = make_folder(self._next_folder())
        writer = BagWriter(self._folder, self._run, self._own)
        self._recordings += 1
        self._bag = self._begin(writer)
        # The manager has to know of it before anything can fail.
        self._publish_status(self._bag)

    def _begin(self, writer: BagWriter) -> BagThread | StepBag:
        world = self._world
        if self._gets_values:
            self._host.recording = StepBag(
                writer, self._graph, world, self._gather_beside, self._announce, {
                    its.vehicle: (its.graph, its.world) for its in self._members if its.vehicle},
                self._host.runner.presences)
            return self._host.recording
        self._collector = ReorderBuffer(
            {name: topic.period_us(world.step_us, world.periods_us)
             for name, topic in self._topics().items()},
            world.step_us, WINDOW_STEPS * world.step_us, {
                its.full(name): its.presence for its in self._members
                for name in its.graph.topics if its.full(name) != graph.CLOCK})
        self._of_px4.clear()
        return BagThread(writer, functools.partial(self._gather, writer), self._announce)

    def deactivate(self) -> None:
        """Finish the bag."""
        self._host.recording = None
        if self._bag is not None:
            bag, self._bag = self._bag, None
            bag.close()
            self._report(bag)
            if bag.problem:
                self._publish_status(bag)
        self._collector = None

    def release(self) -> None:
        """Subscribe no more, at the end."""
        if self.finished:
            for subscription in self._step_subscriptions.values():
                self.destroy_subscription(subscription)
            self._step_subscriptions.clear()

    def _next_folder(self) -> str:
        """Return where the next bag goes: after a reset beside the one before."""
        folder = self._own.folder
        if not self._recordings:
            return folder
        return next(name for i in itertools.count(2)
                    if not pathlib.Path(name := f'{folder}_{i}').exists())

    # Subscriptions.

    def _topics(self) -> dict[str, graph.Topic]:
        """Return the topics of the step of all vehicles."""
        return {its.full(name): topic for its in self._members
                for name, topic in its.graph.topics.items()}

    def _subscribe(self) -> None:
        topics = {} if self._gets_values else self._topics()
        self._absences = {
            its.full(graph.ABSENCE): its for its in self._members} if topics else {}
        names = {*topics, *self._absences}
        if set(self._step_subscriptions) == names:
            return       # those that are there stay: they are matched with all
        for subscription in self._step_subscriptions.values():
            self.destroy_subscription(subscription)
        self._step_subscriptions = {
            name: self.create_polled_subscription(message_class(topic.type), name, qos.LOOP)
            for name, topic in topics.items()}
        for name, its in self._absences.items():
            self._step_subscriptions[name] = self.create_polled_subscription(
                Header, name, absence_qos(len(its.graph.sensors)))

    def _subscribe_beside(self) -> None:
        for member in self._members:
            for name, topic in side_topics.RECORDED.items():
                name = member.full(name)
                if topic is side_topics.NO_MEASUREMENT or name in self._side_subscriptions:
                    continue
                # That of a fleet is that of each vehicle.
                of_world = topic is side_topics.RUN_STATUS
                self._side_subscriptions[name] = self.create_polled_subscription(
                    message_class(topic.type), topic.name if of_world else name,
                    qos.LATCHED_LOG if topic.latched else qos.LOOP)

    def _subscribe_to_px4(self) -> None:
        """Subscribe to PX4's own topics, as far as they come from other processes."""
        for member in () if self._gets_values else self._members:
            if graph.TOPICS_OF_PX4 in member.graph.nodes and (
                    member.vehicle not in self._px4_subscriptions):
                self._px4_subscriptions[member.vehicle] = self.create_polled_subscription(
                    message_class(px4_records.TYPE), member.full(px4_records.TOPIC),
                    qos.DEEP_LATCHED)

    def _take_of_px4(self, writer: BagWriter, complete_us: int) -> list[Message]:
        """Return the messages of PX4's own topics of the steps that are complete."""
        for vehicle, subscription in self._px4_subscriptions.items():
            for data in taken(subscription):
                time_us, topic, kind, content = px4_records.Px4Record.unpacked(data)
                if topic not in writer.channels:
                    writer.add_topic(topic, kind, self._definitions(vehicle).text(kind))
                self._of_px4.append(Message(topic, time_us, content))
        complete = [m for m in self._of_px4 if m.time_us <= complete_us]
        self._of_px4 = [m for m in self._of_px4 if m.time_us > complete_us]
        return complete

    def _definitions(self, vehicle: str) -> Px4Definitions:
        if vehicle not in self._known_definitions:
            topics = self._run.members[vehicle].configuration({}).of_node(
                graph.TOPICS_OF_PX4, TopicsParameters)
            self._known_definitions[vehicle] = Px4Definitions(topics.messages)
        return self._known_definitions[vehicle]

    def _wake(self) -> None:
        if self._bag is not None:
            self._bag.wake()

    def _discard(self) -> None:
        """Forget what the run before has left; what is latched is of this one as well."""
        passing = [self._side_subscriptions[side_topics.DIAGNOSTICS.name]]
        passing += self._px4_subscriptions.values()
        for subscription in [*self._step_subscriptions.values(), *passing]:
            for _ in taken(subscription):
                pass

    def _gather_beside(self, complete_us: int) -> list[Message]:
        """Return the messages beside the steps; they get the time of the last complete step."""
        self._last_step_us = complete_us
        return [Message(name, complete_us, data)
                for name, subscription in self._side_subscriptions.items()
                for data in taken(subscription)]

    def _gather(self, writer: BagWriter) -> list[Message]:
        """Return the messages of all steps that are whole by now."""
        collector = self._collector
        if collector is None:
            return []       # the run is over
        for name, subscription in self._side_subscriptions.items():
            for data in taken(subscription):
                collector.add_side_message(name, data)
        for name, subscription in self._step_subscriptions.items():
            for data in taken(subscription):
                if name in self._absences:
                    self._add_absence(collector, name, data)
                else:
                    collector.add(name, serialised_stamp_us(data), data)
        messages = collector.take()
        self._last_step_us = collector.complete_us
        if self._px4_subscriptions:
            messages += self._take_of_px4(writer, collector.complete_us)
            messages.sort(key=lambda message: message.time_us)
        return messages

    def _add_absence(self, collector: ReorderBuffer, name: str, data: bytes) -> None:
        header, its = deserialize_message(data, Header), self._absences[name]
        absent = [its.full(topic.name) for topic in its.graph.outputs(header.frame_id)]
        collector.add_no_measurement(name, stamp_us(header.stamp), data, absent)

    # What is reported.

    def _announce(self) -> None:
        """Report how far the recording is, or why it has ended; in the thread, if it has one."""
        bag = self._bag
        if bag is None:
            return       # the end of the bag is the end of the run
        self._busy_s = bag.busy_s
        self._report(bag)
        self._publish_status(bag)

    def _report(self, bag: BagThread | StepBag) -> None:
        """Log once why the recording has ended too early, if it has."""
        if bag.problem and bag.problem != self._reported:
            self._reported = bag.problem
            self.get_logger().error(bag.problem)
            if self._own.on_failure == 'fail':
                self.exit_code = 1

    def _publish_status(self, bag: BagThread | StepBag) -> None:
        self._status_publisher.publish(status_message(self, self._recording_status(bag)))

    def _recording_status(self, bag: BagThread | StepBag) -> Status:
        return Status(
            self._last_step_us, ERROR if bag.problem else OK,
            bag.problem or f'recording into {self._folder}',
            {'recorded_us': self._last_step_us, 'flushed_us': bag.flushed_us,
             'window_us': 0 if self._gets_values else WINDOW_STEPS * self._world.step_us,
             'folder': self._folder, 'on_failure': self._own.on_failure})

    def waits_for(self) -> tuple[int, dict[str, int]]:
        """Return the time of the next step that it records, and what it lacks."""
        collector = self._collector
        return (collector.next_us, collector.waits_for()) if collector else super().waits_for()

    def lockstep_status(self) -> NodeStatus:
        """Return the topics that it waits for; while it writes, they may have come already."""
        bag = self._bag
        next_us, waits_for = self.waits_for()
        return NodeStatus(
            waits_for_us=next_us, waits_for=waits_for,
            holds='it is writing' if bag is not None and bag.is_writing else '',
            by_value=list(self._topics()) if self._gets_values else [],
            **connections_of(self, {}, self._step_subscriptions))

    def progress(self) -> tuple[int, dict[str, object]]:
        """Return the time of the last step that is recorded, and counters."""
        steps = self._last_step_us // self._world.step_us if self._bag is not None else 0
        return self._last_step_us, {'steps': steps, 'busy_s': f'{self._busy_s:.6f}'}

    def status(self) -> tuple[int, str, typing.Mapping[str, object]]:
        """Return how far the recording is."""
        if self._bag is None:
            return super().status()
        status = self._recording_status(self._bag)
        return status.level, status.sentence, status.values


def absence_qos(sensors: int) -> QoSProfile:
    """Return a profile for the topic that all sensors share: each may be a window ahead."""
    profile = copy.copy(qos.LOOP)
    profile.depth *= max(sensors, 1)
    return profile
