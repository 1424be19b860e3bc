"""Modes `composed` and `separate`: the node graph in processes of its own, seen from outside."""
from __future__ import annotations

import os
import pathlib
import sys
import threading
import time
import typing

import rclpy
import rclpy.node
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from px4_sim_ros.config.resources import PACKAGE
from px4_sim_ros.messages import codecs
from px4_sim_ros.messages.diagnostics import values_of
from px4_sim_ros.ros import own_nodes, qos
from px4_sim_ros.ros.pilot_publisher import PilotVoice
from px4_sim_ros.ros.polling import PollingNode
from px4_sim_ros.ros.status_client import StatusClient
from px4_sim_ros.ros.world import make_executor
from px4_sim_ros.run.flight_record import WorldStatus
from px4_sim_ros.run.processes import Child, ros_environment
from px4_sim_ros.step import graph
from px4_sim_ros.viewing.rerun_target import NODE as VIEWER_NODE

_POSE = graph.TOPICS['ground_truth/pose']
_SPIN_S = 0.05
_STOP_TIMEOUT_S = 10.0
_SEEN_TIMEOUT_S = 30.0


class _Monitor(PollingNode, rclpy.node.Node):
    """Looks on at poses, which come many times a second, when it has nothing else to do."""

    beside = frozenset({_POSE.publisher})


class WorldError(RuntimeError):
    """A process of the world has ended when it should not."""


def start_graph(
    process_groups: typing.Iterable[list[str]], parameter_files: typing.Sequence[pathlib.Path],
    own: typing.Sequence[str] = (),
) -> list[tuple[list[str], Child]]:
    """Start the processes of a graph; return them with the nodes that each of them runs.

    :param parameter_files: later ones win
    :param own: classes in place of those of the graph, each `NAME=MODULE:CLASS`
    """
    arguments = ['--ros-args', '--log-level', 'warn']
    for path in parameter_files:
        arguments += ['--params-file', str(path)]
    return [
        (names, Child(f"world ({', '.join(names)})",
                      [sys.executable, '-m', 'px4_sim_ros.ros.world', *names,
                       *own_nodes.arguments(own, names), *arguments],
                      environment=os.environ | ros_environment()))
        for names in process_groups]


class RosWorld:
    """Starts the graph, watches it, and takes it down."""

    def __init__(
        self, mode: str, nodes: graph.Graph, parameter_files: typing.Sequence[pathlib.Path],
        on_position: typing.Callable[[tuple[float, float, float]], None],
        optional: typing.Container[str] = (), own: typing.Sequence[str] = (),
        viewer: Child | None = None,
    ) -> None:
        """Start the processes.

        :param parameter_files: later ones win
        :param on_position: called with true positions, at the display rate
        :param optional: nodes in processes of their own without which the others go on
        :param own: classes in place of those of the graph, each `NAME=MODULE:CLASS`
        :param viewer: a process that looks on, and is to see all
        """
        self._graph = nodes
        self._viewer = viewer
        self._status = WorldStatus()
        self._closed = False
        self._on_position = on_position
        # The monitor must find the nodes where they are.
        os.environ.update(ros_environment())
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._node = _Monitor('flight_monitor')
        # The default executor would be woken by what it is not to look at.
        self._executor = make_executor()
        self._executor.add_node(self._node)
        self._pose = self._node.hear(
            PoseStamped, _POSE.name, _POSE.publisher, self._on_pose, qos.LOOP)
        self._read_pose = codecs.decoder(
            _POSE, lambda data: deserialize_message(data, PoseStamped))
        self._diagnostics = self._node.create_subscription(
            DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.DIAGNOSTICS)
        self._watch = StatusClient(self._node)
        self.recording = ''        # the folder of the recording that began last
        self._recording_status = self._node.create_subscription(
            DiagnosticStatus, 'recording/status', self._on_recording, qos.LATCHED)
        voice = PilotVoice(self._node)
        self.say, self.show_set_point = voice.say, voice.show
        self._stop_client = self._node.create_client(Trigger, 'sim/stop')
        children = start_graph(nodes.process_groups(mode), parameter_files, own)
        self._children = [child for names, child in children if names[0] not in optional]
        self._optional_children = [child for names, child in children if names[0] in optional]

    def wait_until_seen(self) -> None:
        """Wait until the topics that are watched are matched.

        The first step is held until an autopilot connects: start one after this, and
        nothing of the flight is missed.

        :raises WorldError: a process has ended, or it takes too long
        """
        deadline_s = time.monotonic() + _SEEN_TIMEOUT_S
        while not (
                self._pose.get_publisher_count() and self._watch.run and self._all_report()
                and self._viewer_listens()):
            self._spin(self._children + self._optional_children)
            if time.monotonic() > deadline_s:
                raise WorldError(f'the node graph has not come up within {_SEEN_TIMEOUT_S:g} s')

    def _all_report(self) -> bool:
        reporting = self._node.get_publishers_info_by_topic('/diagnostics')
        names = {info.node_name for info in reporting}
        matched = self._diagnostics.get_publisher_count() >= len(reporting)
        return matched and names.issuperset(self._graph.nodes)

    def _viewer_listens(self) -> bool:
        """Return whether the viewer is there; one that has ended has said why."""
        if self._viewer is None or self._viewer.exit_code is not None:
            return True
        listening = self._node.get_subscriptions_info_by_topic(_POSE.name)
        return any(info.node_name == VIEWER_NODE for info in listening)

    def run(self, stop: threading.Event) -> None:
        """Watch until `stop` is set, or the run begins again.

        :raises WorldError: a process has ended before
        """
        run = self._watch.run
        while not stop.is_set() and self._watch.run == run:
            # The manager reports it when an optional node has ended.
            self._spin(self._children)

    def _spin(self, needed: typing.Iterable[Child]) -> None:
        while self._node.look():
            pass
        self._executor.spin_once(timeout_sec=_SPIN_S)
        for child in needed:
            if child.exit_code is not None:
                raise WorldError(f'{child.name} has ended with exit code {child.exit_code}')

    def check_end(self) -> None:
        """See how the processes have ended.

        :raises WorldError: one tells of a failure
        """
        for child in [*self._children, *self._optional_children]:
            # One that had to be killed has said nothing.
            if child.exit_code is not None and child.exit_code > 0:
                raise WorldError(f'{child.name} has ended with exit code {child.exit_code}')

    def status(self) -> WorldStatus:
        """Return what the manager and the bridge have said last."""
        return self._status

    def close(self) -> None:
        """Ask the manager to take the graph down, and end what does not; once."""
        if self._closed:
            return
        self._closed = True
        deadline_s = time.monotonic() + _STOP_TIMEOUT_S
        children = [*self._children, *self._optional_children]
        whole = all(child.exit_code is None for child in self._children)
        if whole and self._stop_client.wait_for_service(timeout_sec=1.0):
            self._stop_client.call_async(Trigger.Request())
            while (time.monotonic() < deadline_s
                   and any(child.exit_code is None for child in children)):
                self._executor.spin_once(timeout_sec=_SPIN_S)
        for child in children:
            child.stop()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()

    def _on_recording(self, message: DiagnosticStatus) -> None:
        self.recording = values_of(message)['folder']

    def _on_pose(self, data: bytes) -> None:
        self._on_position(self._read_pose(data).position_enu)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = values_of(status)
            part = status.name.removeprefix('/')
            if status.hardware_id != PACKAGE or part not in self._graph.nodes:
                continue
            if 'busy_s' not in values:
                continue
            self._status.busy_s[part] = float(values['busy_s'])
            if part == 'manager':
                self._status.paced_s = float(values['paced_s'])
                self._status.sim_time_s = float(values['sim_time_s'])
                self._status.wall_time_s = float(values['wall_time_s'])
                self._status.steps = int(values['steps'])
            elif part == 'hil_bridge' and 'replies' in values:
                self._status.link = values
