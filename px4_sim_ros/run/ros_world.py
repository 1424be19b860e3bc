"""Modes `composed` and `separate`: the node graph in processes of its own, seen from outside."""
from __future__ import annotations

import os
import pathlib
import sys
import threading
import time
import typing

from px4_sim_ros.config import node_overrides
from px4_sim_ros.config.ros_environment import ros_environment
from px4_sim_ros.mavlink.pilot_link import SetPoint
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.ros.flight_monitor import FlightMonitor
from px4_sim_ros.run import remapping
from px4_sim_ros.run.flight_record import GraphReports, WorldStatus
from px4_sim_ros.run.processes import Child
from px4_sim_ros.step import graph

_SPIN_S = 0.05
_STOP_TIMEOUT_S = 10.0
_STOP_SERVICE_TIMEOUT_S = 1.0
_SEEN_TIMEOUT_S = 30.0


class WorldError(RuntimeError):
    """A process of the world has ended when it should not."""


def start_graph(
    process_groups: typing.Iterable[list[str]], parameter_files: typing.Sequence[pathlib.Path],
    overrides: typing.Sequence[str] = (), remaps: typing.Sequence[str] = (),
) -> list[tuple[list[str], Child]]:
    """Start the processes of a graph; return them with the nodes that each of them runs.

    :param parameter_files: later ones win
    :param overrides: classes in place of those of the graph, each `NAME=MODULE:CLASS`
    :param remaps: remapping rules of ROS
    """
    arguments = ['--ros-args', '--log-level', 'warn', *remapping.ros_arguments(remaps)]
    for path in parameter_files:
        arguments += ['--params-file', str(path)]
    return [
        (names, Child(f"world ({', '.join(names)})",
                      [sys.executable, '-m', 'px4_sim_ros.ros.world', *names,
                       *node_overrides.arguments(overrides, names), *arguments],
                      environment=os.environ | ros_environment()))
        for names in process_groups]


class RosWorld:
    """Starts the graph, monitors it, and takes it down."""

    def __init__(
        self, mode: str, nodes: graph.Graph, parameter_files: typing.Sequence[pathlib.Path],
        on_position: typing.Callable[[Vector], None], *,
        optional: typing.Container[str] = (), overrides: typing.Sequence[str] = (),
        remaps: typing.Sequence[str] = (), viewer: Child | None = None,
    ) -> None:
        """Start the processes.

        :param parameter_files: later ones win
        :param on_position: called with true positions, at the display rate
        :param optional: nodes in processes of their own without which the others go on
        :param overrides: classes in place of those of the graph, each `NAME=MODULE:CLASS`
        :param remaps: remapping rules of ROS
        :param viewer: a process that is to see all of the flight
        """
        self._graph = nodes
        self._viewer = viewer
        self._reports = GraphReports()
        self._closed = False
        self._monitor = FlightMonitor(on_position, self._on_report)
        self.publish_event = self._monitor.pilot.publish_event
        self.publish_set_point: typing.Callable[[SetPoint], None] = (
            self._monitor.pilot.publish_set_point)
        children = start_graph(
            nodes.process_groups(mode), parameter_files, overrides, remaps)
        self._required = [child for names, child in children if names[0] not in optional]
        self._children = [child for _, child in children]

    @property
    def recording(self) -> str:
        """The folder of the recording that began last, '' for none."""
        return self._monitor.recording

    def wait_until_seen(self) -> None:
        """Wait until all subscriptions are matched.

        The first step is held until an autopilot connects: start one after this, and
        nothing of the flight is missed.

        :raises WorldError: a process has ended, or it takes too long
        """
        deadline_s = time.monotonic() + _SEEN_TIMEOUT_S
        while not self._monitor.is_matched(self._graph.nodes, viewer=self._viewer_runs()):
            self._spin(self._children)
            if time.monotonic() > deadline_s:
                raise WorldError(f'the node graph has not come up within {_SEEN_TIMEOUT_S:g} s')

    def _viewer_runs(self) -> bool:
        """Return whether there is a viewer; one that has ended has reported why."""
        return self._viewer is not None and self._viewer.exit_code is None

    def run(self, stop: threading.Event) -> None:
        """Monitor until `stop` is set, or the run begins again.

        :raises WorldError: a process has ended before
        """
        run = self._monitor.run
        while not stop.is_set() and self._monitor.run == run:
            # The end of an optional node is reported by the manager.
            self._spin(self._required)

    def _spin(self, needed: typing.Iterable[Child]) -> None:
        self._monitor.spin(_SPIN_S)
        for child in needed:
            if child.exit_code is not None:
                raise WorldError(f'{child.name} has ended with exit code {child.exit_code}')

    def check_end(self) -> None:
        """Check how the processes have ended.

        :raises WorldError: one has failed
        """
        for child in self._children:
            # One that had to be killed has reported nothing.
            if child.exit_code is not None and child.exit_code > 0:
                raise WorldError(f'{child.name} has ended with exit code {child.exit_code}')

    def status(self) -> WorldStatus:
        """Return the counters that the nodes have reported last."""
        return self._reports.status()

    def close(self) -> None:
        """Ask the manager to take the graph down, and end what does not; once."""
        if self._closed:
            return
        self._closed = True
        deadline_s = time.monotonic() + _STOP_TIMEOUT_S
        whole = all(child.exit_code is None for child in self._required)
        if whole and self._monitor.request_stop(_STOP_SERVICE_TIMEOUT_S):
            while (time.monotonic() < deadline_s
                   and any(child.exit_code is None for child in self._children)):
                self._monitor.spin(_SPIN_S)
        for child in self._children:
            child.stop()
        self._monitor.close()

    def _on_report(self, node: str, time_us: int, values: dict[str, str]) -> None:
        if node in self._graph.nodes and 'busy_s' in values:
            self._reports.add(node, time_us, values)
