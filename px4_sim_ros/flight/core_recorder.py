# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Records a run in mode `core` as the node `recorder` records the graph."""
from __future__ import annotations

import sys
import typing

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Log
from std_msgs.msg import String

from px4_sim_ros.flight.record import WorldStatus
from px4_sim_ros.link.xrce.block import TopicListener
from px4_sim_ros.link.xrce.session import Topic
from px4_sim_ros.messages import autopilot
from px4_sim_ros.messages.cdr import serialised
from px4_sim_ros.messages.codec import Encoder
from px4_sim_ros.messages.diagnostics import OK, WARN, diagnostic_status
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.messages.stamps import set_stamp, stamp_us
from px4_sim_ros.model.errors import sentence
from px4_sim_ros.model.telemetry import AutopilotStatus, Estimate, SetPoint, TelemetryListener
from px4_sim_ros.process.new_folder import make_folder
from px4_sim_ros.recording.bag.fleet_description import FleetDescription
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.recording.bag.step_bag import StepWriter
from px4_sim_ros.recording.bag.step_rows import Members
from px4_sim_ros.recording.bag.writer import BagWriter
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.spec.run_parameters import RecorderParameters
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.block import BlockStatus
from px4_sim_ros.step.graph import qualified
from px4_sim_ros.step.lane import Output
from px4_sim_ros.step.presence import PresenceSchedule
from px4_sim_ros.step.runner import ALL_NODES


class CoreRecorder:
    """Writes what the nodes would have published."""

    def __init__(
        self, configuration: Configuration, run: RunDescription | FleetDescription,
    ) -> None:
        """Begin a bag.

        :raises OSError: nothing can be written there
        """
        parameters = configuration.of_node('recorder', RecorderParameters)
        self._ends_run = parameters.on_failure == 'fail'
        folder = make_folder(parameters.folder)
        try:
            writer = BagWriter(folder, run, parameters)
        except OSError as error:
            raise OSError(
                error.errno, f'no recording can begin in {folder}: {sentence(error)}') from error
        self._steps = StepWriter(
            writer, configuration.graph, configuration.world, self._give_up,
            {vehicle: (its.graph, its.world) for vehicle, its in run.members.items()}
            if isinstance(run, FleetDescription) else None,
            PresenceSchedule({name: its.presence for name, its in run.members.items()}))
        self._events: list[Log] = []         # of the step under way

    heard = ALL_NODES

    @property
    def problem(self) -> str:
        """Why the recording has ended too early, '' when it has not."""
        return self._steps.problem

    def send(self, outputs: typing.Sequence[Output]) -> None:
        """Write the steps that are complete; what belongs to the next waits for its end."""
        self._steps.send(outputs)
        self._write_events()

    def rows_possible(self, members: Members, first_us: int, step_us: int, count: int) -> int:
        """Return how many of steps `send_rows` can write, from the first of them on."""
        return self._steps.rows_possible(members, first_us, step_us, count)

    def send_rows(
        self, members: Members, first_us: int, step_us: int, count: int, first_row: int,
    ) -> None:
        """Write steps that are complete, of which all numbers are in rows."""
        self._steps.send_rows(members, first_us, step_us, count, first_row)
        self._write_events()

    def add_side(self, topic: str, text: str, vehicle: str = '') -> None:
        """Write a text that a block publishes on a side topic."""
        self._write_beside(qualified(vehicle, topic), serialised(String(data=text)))

    def telemetry(self, vehicle: str) -> TelemetryListener:
        """Return the writer of what the autopilot of a vehicle reports of itself."""
        return _Telemetry(self._write_beside, vehicle)

    def of_px4(self, definitions: Px4Definitions) -> TopicListener:
        """Return the writer of a PX4's own topics."""
        def add(time_us: int, topic: Topic, data: bytes) -> None:
            self._steps.add(
                Message(topic.name, time_us, data), topic.type, definitions.text(topic.type))

        return add

    def add_status(
        self, status: WorldStatus, blocks: typing.Mapping[str, BlockStatus | None],
        vehicle: str = '',
    ) -> None:
        """Record the counters, and what blocks report; once a simulated second is enough."""
        manager = BlockStatus(False, '', {
            'steps': status.steps, 'sim_time_s': f'{status.sim_time_s:.6f}',
            'wall_time_s': f'{status.wall_time_s:.6f}',
            'real_time_factor': f'{status.real_time_factor():.3f}',
            'paced_s': f'{status.paced_s:.6f}'})
        for name, found in {'manager': manager, **blocks}.items():
            if found is not None:
                self._add_diagnostics(
                    qualified(vehicle, name), found, status.busy_s.get(name, 0.0))

    def _add_diagnostics(self, name: str, found: BlockStatus, busy_s: float) -> None:
        values = {**found.values, 'busy_s': f'{busy_s:.6f}'}
        message = DiagnosticArray(status=[diagnostic_status(
            f'/{name}', WARN if found.is_warning else OK, found.sentence, values, PACKAGE)])
        set_stamp(message.header.stamp, self._steps.complete_us)
        self._write_beside(side_topics.DIAGNOSTICS.name, serialised(message))

    def add_event(
        self, time_us: int, text: str, who: str = 'pilot', vehicle: str = '',
    ) -> None:
        """Record an event of the pilot, or of another one, with the step of its time."""
        # As loggers of ROS have it.
        self._events.append(autopilot.line(
            time_us, qualified(vehicle, who).replace('/', '.'), text))

    def close(self) -> None:
        """Finish the bag; a second time nothing happens.

        :raises OSError: its end cannot be written, and that ends the run
        """
        self._write_events(is_last=True)
        self._steps.close()

    def _write_events(self, *, is_last: bool = False) -> None:
        while self._events and (
                is_last or stamp_us(self._events[0].stamp) <= self._steps.complete_us):
            self._write_beside(side_topics.LOG.name, serialised(self._events.pop(0)))

    def _write_beside(self, topic: str, data: bytes) -> None:
        self._steps.write([Message(topic, self._steps.complete_us, data)])

    def _give_up(self, error: OSError) -> None:
        """After a failure continue without a recording, or not at all."""
        if self._ends_run:
            raise OSError(error.errno, self.problem) from error
        print(f'fly: {self.problem}', file=sys.stderr, flush=True)


class _Telemetry:
    """Writes what an autopilot says of itself, as the node `pilot` publishes it."""

    def __init__(
        self, write: typing.Callable[[str, bytes], None], vehicle: str,
    ) -> None:
        self._write = write
        self._estimates, self._set_points, self._statuses = (
            qualified(vehicle, topic.name) for topic in (
                side_topics.ESTIMATE, side_topics.SET_POINT, side_topics.AUTOPILOT_STATUS))
        self._encode_estimate = Encoder(autopilot.ESTIMATE)

    def on_estimate(self, estimate: Estimate) -> None:
        self._write(self._estimates, self._encode_estimate(estimate.time_us, estimate))

    def on_set_point(self, set_point: SetPoint) -> None:
        self._write(self._set_points, serialised(autopilot.set_point_message(set_point)))

    def on_status(self, status: AutopilotStatus) -> None:
        self._write(self._statuses, serialised(autopilot.status_message(status)))

    def on_text(self, time_us: int, text: str) -> None:
        self._write(side_topics.LOG.name, serialised(autopilot.text_message(time_us, text)))
