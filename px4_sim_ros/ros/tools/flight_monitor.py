# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `flight_monitor`: what a flight in a graph reports, seen from outside the graph."""
from __future__ import annotations

import collections
import contextlib
import functools
import typing

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger

from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.messages import codecs, event_messages
from px4_sim_ros.messages.diagnostics import node_name, values_of
from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.encounters import Encounter, Nearest
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scenario.happening import Happening, Verdicts
from px4_sim_ros.process import leaving, signals
from px4_sim_ros.ros.framework import qos, status_client
from px4_sim_ros.ros.framework.polling import PollingNode, taken
from px4_sim_ros.ros.framework.session import make_executor, ros_session
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.spec.resources import PACKAGE
from px4_sim_ros.step import graph, side_topics
from px4_sim_ros.step.graph import qualified
from px4_sim_ros.step.presence import Change

_POSE = graph.TOPICS['ground_truth/pose']


class Listener(typing.NamedTuple):
    """The receivers of what a vehicle does."""

    on_position: typing.Callable[[int, Vector], None] | None = None
    """Called with true positions in m, ENU, at the display rate, after the simulated time in us."""
    on_pilot: typing.Callable[[Event | str], None] = lambda event: None
    """Called with what the pilot has achieved, and with how its mission has ended: why it was not
    flown, '' if it was."""
    on_scenario: typing.Callable[[Happening | Verdicts], None] = lambda happening: None
    """Called with what the scenario does, and with the verdicts at its end."""
    on_change: typing.Callable[[Change], None] = lambda change: None
    """Called when the vehicle joins the world of several, or has left it."""


class FlightMonitor:
    """Subscribes to position, diagnostics, pilot and recorder of a graph."""

    def __init__(
        self, listeners: typing.Mapping[str, Listener],
        on_report: typing.Callable[[str, int, dict[str, str]], None], namespace: str = '',
        on_encounter: typing.Callable[[Encounter | list[Nearest]], None] = lambda found: None,
    ) -> None:
        self._listeners, self._on_report = listeners, on_report
        # What has come: handed on outside the executor, which writes a traceback of any exception.
        self._arrived: collections.deque[typing.Callable[[], None]] = collections.deque()
        self._namespace = namespace
        self._joined = contextlib.ExitStack()
        self._joined.enter_context(ros_session())
        # Poses come many times a second: they are polled when there is nothing else to do.
        self._node = PollingNode('flight_monitor', namespace=namespace)
        self._joined.callback(leaving.at_the_end, self._node.destroy_node)
        # The default executor would be woken by what is polled.
        self._executor = make_executor()
        self._joined.callback(self._executor.shutdown)
        self._executor.add_node(self._node)
        self._poses = {
            vehicle: self._node.create_polled_subscription(
                PoseStamped, qualified(vehicle, _POSE.name), qos.LOOP)
            for vehicle, listener in listeners.items() if listener.on_position is not None}
        self._read_pose = codecs.decoder(
            _POSE, lambda data: deserialize_message(data, PoseStamped))
        self._hearers: dict[Subscription, typing.Callable[[typing.Any], None]] = {}
        self._diagnostics = self._hear(
            DiagnosticArray, side_topics.DIAGNOSTICS.name, self._on_diagnostics,
            qos.DEEP)      # the last words of all nodes come at once
        for vehicle, listener in listeners.items():
            self._listen(vehicle, listener)
        self._hear(
            DiagnosticStatus, side_topics.ENCOUNTERS.name,
            lambda message: on_encounter(event_messages.read_encounter(message)), qos.LATCHED_LOG)
        # One vehicle alone has no name, and neither joins nor leaves.
        self._changes = None if '' in listeners else status_client.hear(
            self._node, lambda change, run: self._arrived.append(
                functools.partial(listeners[change.vehicle].on_change, change)))
        self._watch = StatusClient(self._node)
        self.recording = ''        # the folder of the recording that began last
        self._recording_status = self._node.create_subscription(
            DiagnosticStatus, side_topics.RECORDING_STATUS.name, self._on_recording, qos.LATCHED)
        self._stop_client = self._node.create_client(Trigger, 'sim/stop')

    def _listen(self, vehicle: str, listener: Listener) -> None:
        for topic, tell in (
                (side_topics.PILOT_EVENTS,
                 lambda message: listener.on_pilot(event_messages.read_pilot_event(message))),
                (side_topics.SCENARIO_EVENTS,
                 lambda message: listener.on_scenario(event_messages.read_scenario(message))),
                (side_topics.TOUCHES,
                 lambda message: listener.on_scenario(event_messages.read_scenario(message)))):
            self._hear(DiagnosticStatus, qualified(vehicle, topic.name), tell, qos.LATCHED_LOG)

    def _hear(
        self, kind: type, topic: str, tell: typing.Callable[[typing.Any], None],
        profile: typing.Any,
    ) -> Subscription:
        """Subscribe; what comes is handed on at the end of a spin."""
        subscription = self._node.create_subscription(
            kind, topic, lambda message: self._arrived.append(functools.partial(tell, message)),
            profile)
        self._hearers[subscription] = tell
        return subscription

    def close(self) -> None:
        """Leave ROS."""
        self._joined.close()

    @property
    def run(self) -> int | None:
        """How many times the graph's time has begun at 0; None until the manager is known."""
        return self._watch.run

    @property
    def is_stopping(self) -> bool:
        """Whether the manager takes the graph down, or has."""
        self._watch.poll()
        return self._watch.last is not None and self._watch.last.state == RunState.STOPPING

    @property
    def unasked_end(self) -> str:
        """Why the manager takes the graph down, '' if that was asked for."""
        return '' if self._watch.last is None else self._watch.last.unasked

    @property
    def recording_problem(self) -> str:
        """Why the recording has ended too early, '' when it has not."""
        return '' if self._watch.last is None else self._watch.last.unrecorded

    def is_matched(self, nodes: typing.Iterable[str]) -> bool:
        """Return whether nothing of a flight is missed."""
        has_poses = all(pose.get_publisher_count() for pose in self._poses.values())
        return bool(has_poses and self.run and self._all_report(nodes))

    def _all_report(self, nodes: typing.Iterable[str]) -> bool:
        reporting = self._node.get_publishers_info_by_topic(side_topics.DIAGNOSTICS.name)
        names = {node_name(self._namespace, f"{info.node_namespace.rstrip('/')}/{info.node_name}")
                 for info in reporting}
        matched = self._diagnostics.get_publisher_count() >= len(reporting)
        return matched and names.issuperset(nodes)

    def spin(self, timeout_s: float) -> None:
        """Take in what has come, waiting for it up to a time."""
        for vehicle, subscription in self._poses.items():
            for data in taken(subscription):
                pose = self._read_pose(data)
                on_position = self._listeners[vehicle].on_position
                assert on_position is not None, 'only those that listen have a subscription'
                on_position(pose.time_us, pose.position_enu)
        with signals.held_back():
            self._executor.spin_once(timeout_sec=timeout_s)
        self._tell()

    def take_rest(self, timeout_s: float = 0.0) -> None:
        """Hand on all that has come, waiting for it up to a time.

        A spin may leave some for the next. What a process has said is gone soon after its end.
        """
        self.spin(timeout_s)
        for subscription, tell in self._hearers.items():
            for data in taken(subscription):
                tell(deserialize_message(data, subscription.msg_type))

    def _tell(self) -> None:
        while self._arrived:
            self._arrived.popleft()()

    def request_stop(self, timeout_s: float) -> bool:
        """Ask the manager to take the graph down; return whether it answers."""
        if not self._stop_client.wait_for_service(timeout_sec=timeout_s):
            return False
        answer = self._stop_client.call_async(Trigger.Request())
        self._executor.spin_until_future_complete(answer, timeout_s)
        self._tell()
        return answer.done()

    def _on_recording(self, message: DiagnosticStatus) -> None:
        self.recording = values_of(message)['folder']

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        time_us = stamp_us(message.header.stamp)
        for status in message.status:
            if status.hardware_id == PACKAGE:
                self._on_report(node_name(self._namespace, status.name), time_us, values_of(status))
