"""The node `recorder`: writes every message of the run into a bag, as it came."""
from __future__ import annotations

import copy
import itertools
import pathlib
import time
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import Header

from px4_sim_ros.messages.stamps import serialised_stamp_us, stamp_us
from px4_sim_ros.model.parameters import ParameterError
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.bag_folder import make_folder, new_folder
from px4_sim_ros.recording.bag.bag_reader import Message
from px4_sim_ros.recording.bag.bag_thread import BagThread
from px4_sim_ros.recording.bag.bag_writer import BagWriter
from px4_sim_ros.recording.bag.collector import ReorderBuffer
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.base import LoopNode
from px4_sim_ros.ros.diagnostics import ERROR, OK, Status, status_message
from px4_sim_ros.ros.message_types import message_class
from px4_sim_ros.ros.polling import taken
from px4_sim_ros.ros.recorder_watch import TOPIC, WINDOW_STEPS
from px4_sim_ros.ros.wall_timer import create_wall_timer
from px4_sim_ros.step import graph

# Of wall time. Less than the world needs for the steps that it may be ahead.
_WAKE_S = 0.025


class RecorderNode(LoopNode):
    """Listens to all topics; nobody waits for it within a step.

    Its thread takes the messages from their subscriptions now and then: a call of the executor
    for each message would cost several times as much. On `recording/status` it tells up to which
    time all is recorded, or why it has ended; the manager stays within a window of that.
    """

    def __init__(self, name: str) -> None:
        self._beside: dict[str, Subscription] = {}
        self._absences: Subscription | None = None
        super().__init__(name)
        self._bag: BagThread | None = None
        self._recordings = 0           # how many have begun: a reset begins another one
        self._folder = pathlib.Path()
        self._reported = ''            # the last problem that was told
        self.exit_code = 0
        self._status_publisher = self.create_publisher(DiagnosticStatus, TOPIC, qos.LATCHED)
        self._timer = create_wall_timer(self, _WAKE_S, self._wake)

    @property
    def subscriptions(self) -> typing.Iterator[Subscription]:
        """Those that the executor looks after."""
        taken_by_thread = [*getattr(self, '_inputs', {}).values(), *self._beside.values()]
        return (s for s in super().subscriptions if s not in taken_by_thread)

    def configure(self) -> None:
        """Read how the run was set up, and see that there is no such bag yet."""
        try:
            self._run = RunDescription.read(self.configuration.own.run_file)
        except BagError as error:
            raise ParameterError(f'recorder.run_file: {error}') from error
        new_folder(self._next_folder())

    def activate(self) -> None:
        """Begin a bag."""
        self._discard()
        self._folder = make_folder(self._next_folder())
        writer = BagWriter(self._folder, self._run, self.configuration.own)
        self._recordings += 1
        self._bag = BagThread(writer, self._gather, self._announce)
        # The manager has to know of it before anything can go wrong.
        self._tell(self._bag)

    def deactivate(self) -> None:
        """Finish the bag."""
        if self._bag is not None:
            bag, self._bag = self._bag, None
            bag.close()
            self._report(bag)

    def _next_folder(self) -> str:
        """Return where the next bag goes: after a reset beside the one before."""
        folder = self.configuration.own.folder
        if not self._recordings:
            return folder
        return next(name for i in itertools.count(2)
                    if not pathlib.Path(name := f'{folder}_{i}').exists())

    # Listening.

    def _join(self) -> None:
        super()._join()
        world = self.configuration.world
        self.inbox = ReorderBuffer(
            {name: topic.period_us(world.step_us, world.periods_us)
             for name, topic in self.graph.topics.items()},
            world.step_us, WINDOW_STEPS * world.step_us)

    def _listen(self) -> None:
        super()._listen()
        for name, topic in schema.SIDE_TOPICS.items():
            if name not in {graph.ABSENCE, *self._beside}:
                self._beside[name] = self.create_subscription(
                    message_class(topic.type), name, lambda message: None,
                    qos.LATCHED_LOG if topic.latched else qos.LOOP, raw=True)
        if self._inputs[graph.ABSENCE] is not self._absences:
            self.destroy_subscription(self._inputs[graph.ABSENCE])
            self._absences = self.create_subscription(
                Header, graph.ABSENCE, lambda header: None, absence_qos(len(self.graph.sensors)))
            self._inputs[graph.ABSENCE] = self._absences

    def _wake(self) -> None:
        if self._bag is not None:
            self._bag.wake()

    def _discard(self) -> None:
        """Forget what the run before has left; what is latched is of this one as well."""
        passing = [subscription for name, subscription in self._beside.items()
                   if not schema.SIDE_TOPICS[name].latched]
        for subscription in [*self._inputs.values(), *passing]:
            for _ in taken(subscription):
                pass

    def _gather(self) -> list[Message]:
        """Return the messages of all steps that are whole by now.

        :raises LostError: a message was lost
        """
        collector = self.inbox
        for name, subscription in self._beside.items():
            for data in taken(subscription):
                collector.add_side_message(name, data)
        for name, subscription in self._inputs.items():
            for data in taken(subscription):
                if name == graph.ABSENCE:
                    self._add_absence(data)
                else:
                    collector.add(name, serialised_stamp_us(data), data)
        messages = collector.take()
        self._last_step_us = collector.complete_us
        return messages

    def _add_absence(self, data: bytes) -> None:
        header = deserialize_message(data, Header)
        absent = [topic.name for topic in self.graph.outputs(header.frame_id)]
        self.inbox.add_no_measurement(graph.ABSENCE, stamp_us(header.stamp), data, absent)

    # What is told.

    def _announce(self) -> None:
        """Tell how far the recording is, or why it has ended; in the thread."""
        bag = self._bag
        if bag is None:
            return       # the end of the bag is the end of the run
        self._busy_s = time.thread_time()
        self._steps = self._last_step_us // self.period_us
        self._report(bag)
        self._tell(bag)

    def _report(self, bag: BagThread) -> None:
        """Say once why the recording has ended too early, if it has."""
        if bag.problem and bag.problem != self._reported:
            self._reported = bag.problem
            self.get_logger().error(bag.problem)
            if self.configuration.own.on_failure == 'fail':
                self.exit_code = 1

    def _tell(self, bag: BagThread) -> None:
        self._status_publisher.publish(status_message(self, self._recording_status(bag)))

    def _recording_status(self, bag: BagThread) -> Status:
        return Status(
            self._last_step_us, ERROR if bag.problem else OK,
            bag.problem or f'recording into {self._folder}',
            {'recorded_us': self._last_step_us, 'flushed_us': bag.flushed_us,
             'folder': self._folder, 'on_failure': self.configuration.own.on_failure})

    def holds(self) -> str:
        """Return that it is writing: what it lacks may have come already."""
        return 'it is writing' if self._bag is not None and self._bag.is_writing else ''

    def status(self) -> tuple[bytes, str, dict[str, object]]:
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
