"""The node `recorder`: writes every message of the run into a bag, as it came."""
from __future__ import annotations

import functools
import pathlib
import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from px4_sim_ros import graph
from px4_sim_ros.core.parameters import ParameterError, sentence
from px4_sim_ros.core.timebase import seconds_text
from px4_sim_ros.nodes import qos
from px4_sim_ros.nodes.base import LoopNode
from px4_sim_ros.nodes.diagnostics import ERROR, OK, Status, status_message
from px4_sim_ros.nodes.message_types import message_class
from px4_sim_ros.nodes.recorder_watch import TOPIC, WINDOW_STEPS
from px4_sim_ros.nodes.wall_timer import create_wall_timer
from px4_sim_ros.recording import schema
from px4_sim_ros.recording.bag_writer import BagWriter, check_new_folder, make_folder
from px4_sim_ros.recording.message_definitions import trimmed
from px4_sim_ros.recording.run_description import BagError, RunDescription

_ACKNOWLEDGED_STEPS = 16
# Acknowledges the last steps before a pause or the end.
_ACKNOWLEDGED_S = 0.05


class RecorderNode(LoopNode):
    """Joins the messages of each step as others do, and writes them in the order of time.

    Nobody waits for it within a step. It says on `recording/status` up to which time all is
    recorded, or why it has ended; the manager stays within a window of that.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._writer: BagWriter | None = None
        self._problem = ''
        self._recordings = 0           # how many have begun: a reset begins another one
        self._folder = pathlib.Path()
        self._acknowledged_us = 0
        self._beside: list[typing.Any] = []
        self._status_publisher = self.create_publisher(DiagnosticStatus, TOPIC, qos.LATCHED)
        self._timer = create_wall_timer(self, _ACKNOWLEDGED_S, self._acknowledge)

    @property
    def ahead_us(self) -> int:
        """The order between topics is nobody's: some are ahead of others by up to the window."""
        return WINDOW_STEPS * self.configuration.world.step_us

    def configure(self) -> None:
        """Read how the run was set up, and see that there is no such bag yet."""
        own = self.configuration.own
        try:
            self._run = RunDescription.read(own.run_file)
        except BagError as error:
            raise ParameterError(f'recorder.run_file: {error}') from error
        check_new_folder(self._next_folder())
        for topic in schema.BESIDE.values():
            # The base listens to that one.
            if topic.name != graph.ABSENCE and not self._beside_is_there(topic.name):
                self._beside.append(self.create_subscription(
                    message_class(topic.type), topic.name,
                    functools.partial(self._on_beside, topic.name),
                    qos.LATCHED_LOG if topic.latched else qos.DIAGNOSTICS, raw=True))

    def _beside_is_there(self, name: str) -> bool:
        return any(s.topic_name.endswith(name) for s in self._beside)

    def activate(self) -> None:
        """Begin a bag."""
        self._folder = make_folder(self._next_folder())
        self._recordings += 1
        self._problem, self._acknowledged_us = '', 0
        self._writer = BagWriter(self._folder, self._run, self.configuration.own)
        self._announce()

    def deactivate(self) -> None:
        """Finish the bag."""
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        if self.inbox is not None and self.inbox.has_later():
            self.get_logger().error(
                f'the recording in {self._folder} ends at t = {seconds_text(self._last_step_us)},'
                f" because {', '.join(self.inbox.waits_for())} was lost")
        try:
            writer.close()
        except OSError as error:
            self._fail(error)

    def _next_folder(self) -> str:
        folder = self.configuration.own.folder
        return f'{folder}_{self._recordings + 1}' if self._recordings else folder

    def message(self, name: str, data: bytes) -> bytes:
        """Return the bytes as they are."""
        return data

    def step(self, time_us: int, inputs: dict[str, bytes]) -> None:
        """Write the messages of a time, in the order of the graph."""
        for name in self.spec.inputs:
            if name in inputs:
                self._write(name, time_us, inputs[name])
        if time_us - self._acknowledged_us >= _ACKNOWLEDGED_STEPS * self.period_us:
            self._acknowledge()

    def _on_beside(self, name: str, data: bytes) -> None:
        self._write(name, self._last_step_us, data)

    def _on_absence(self, header: Header) -> None:
        data = serialize_message(header)
        self._write(graph.ABSENCE, self._last_step_us, trimmed(data, 'std_msgs/msg/Header'))
        super()._on_absence(header)

    def _write(self, name: str, time_us: int, data: bytes) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(name, time_us, data)
        except OSError as error:
            self._writer = None
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._problem = (f'the recording in {self._folder} ends before'
                         f' t = {seconds_text(self._last_step_us)}: {sentence(error)}')
        self.get_logger().error(self._problem)
        self._announce()

    def _acknowledge(self) -> None:
        """Tell how far the recording is, if it is further than was told."""
        if self.active and not self._problem and self._acknowledged_us != self._last_step_us:
            self._announce()

    def _announce(self) -> None:
        self._acknowledged_us = self._last_step_us
        self._status_publisher.publish(status_message(self, self._recording_status()))

    def _recording_status(self) -> Status:
        return Status(
            self._last_step_us, ERROR if self._problem else OK,
            self._problem or f'recording into {self._folder}',
            {'recorded_us': self._last_step_us, 'folder': self._folder,
             'on_failure': self.configuration.own.on_failure})

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Return how far the recording is."""
        if self._writer is None and not self._problem:
            return super().status()
        status = self._recording_status()
        return status.level, status.sentence, status.values
