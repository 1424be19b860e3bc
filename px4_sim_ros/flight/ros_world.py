# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Modes `composed` and `separate`: the node graph in processes of its own, seen from outside."""
from __future__ import annotations

import contextlib
import os
import pathlib
import threading
import time
import typing

from px4_sim_ros.flight.record import GraphReports, WorldStatus
from px4_sim_ros.model.encounters import Encounter, Nearest
from px4_sim_ros.process import domain_claim
from px4_sim_ros.process.children import Child, own_module, stop_all
from px4_sim_ros.ros.tools.flight_monitor import FlightMonitor, Listener
from px4_sim_ros.spec import node_overrides, remapping
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.step.graph_vehicles import (
    WORLD_NODES,
    GraphVehicle,
    managed,
    own_name,
    process_groups,
)

_SPIN_S = 0.05
_STOP_TIMEOUT_S = 10.0
_STOP_SERVICE_TIMEOUT_S = 1.0
_LAST_WORDS_S = 2.0
_SEEN_TIMEOUT_S = 30.0
# For each further vehicle: its nodes are brought up and taken down one after the other.
_MORE_S = 2.0


class WorldError(RuntimeError):
    """A process of the world has ended when it should not."""


def start_graph(
    stack: contextlib.ExitStack, process_groups: typing.Sequence[list[str]],
    params_file: pathlib.Path, own_classes: typing.Mapping[str, str] | None = None,
    remaps: typing.Sequence[str] = (), namespace: str = '', run: pathlib.Path | None = None,
    is_fleet: bool = False,
) -> list[tuple[list[str], Child]]:
    """Start the processes of a graph; return them with the nodes that each of them runs."""
    of_all = ['--run', str(run)] if run else []
    of_all += ['--ros-args', '--log-level', 'warn', *remapping.ros_arguments(remaps, namespace),
               '--params-file', str(params_file)]
    environment = os.environ | ros_environment()
    started: list[tuple[list[str], Child]] = []
    stack.callback(lambda: stop_all([child for _, child in started]))
    for names in process_groups:
        name = f"world ({', '.join(names)})"
        arguments = [*names, *node_overrides.arguments(
            own_classes or {}, own_classes or () if is_fleet else names), *of_all]
        started.append((names, Child(
            name, own_module('px4_sim_ros.ros.world', *arguments), environment=environment)))
    return started


class RosWorld:
    """Starts the graph, monitors it, and takes it down."""

    def __init__(
        self, mode: str, members: typing.Sequence[GraphVehicle], params_file: pathlib.Path,
        listeners: typing.Mapping[str, Listener], *, run: pathlib.Path | None = None,
        optional: typing.Container[str] = (),
        own_classes: typing.Mapping[str, str] | None = None,
        remaps: typing.Sequence[str] = (), namespace: str = '',
        on_report: typing.Callable[[str, int, dict[str, str]], None] = lambda *report: None,
        on_encounter: typing.Callable[[Encounter | list[Nearest]], None] = lambda found: None,
    ) -> None:
        """Start the processes.

        :param members: the vehicles; one alone has no name
        :param listeners: called with what each of them does
        :param run: the description of what is flown
        :param optional: nodes in processes of their own without which the others run
        :param own_classes: `module:Class` by name, in the place of those of the graph table
        :param remaps: remapping rules of ROS
        :param namespace: of all nodes
        :param on_report: called with the name of a node of the graph, the simulated time in us
            and the values of its diagnostics
        :param on_encounter: called when two vehicles come near each other, and at the end with
            the least distances
        """
        self._members = members
        self._more_s = _MORE_S * (len(members) - 1)
        self._observe = on_report
        self._reports = {member.vehicle: GraphReports() for member in members}
        self._closed = False
        self._is_ending = False        # the manager has taken the graph down before
        self._unasked_end = ''         # why it has, without a request
        self._is_over = False          # the manager, which is the last to end, has said so
        with domain_claim.claim_start() as stack:
            children = start_graph(
                stack, process_groups(members, mode), params_file, own_classes, remaps, namespace,
                run, is_fleet=bool(members[0].vehicle))
            # Before the first step, which is held until all of its subscriptions are matched.
            self._monitor = FlightMonitor(listeners, self._on_report, namespace, on_encounter)
            stack.callback(self._monitor.close)
            self._required = [child for names, child in children if names[0] not in optional]
            self._children = [child for _, child in children]
            self._manager = next(child for names, child in children if 'manager' in names)
            self._started = stack.pop_all()

    @property
    def recording(self) -> str:
        """The folder of the recording that began last, '' for none."""
        return self._monitor.recording

    @property
    def recording_problem(self) -> str:
        """Why the recording has ended too early, '' when it has not."""
        return self._monitor.recording_problem

    @property
    def was_stopped(self) -> bool:
        """Whether the end of the run was requested."""
        return self._ends() and not self._unasked_end

    def _ends(self) -> bool:
        """Return whether the manager takes the graph down, and not because this was closed."""
        if not (self._closed or self._is_ending):
            self._is_ending = self._monitor.is_stopping
            self._unasked_end = self._monitor.unasked_end
        return self._is_ending

    def wait_until_seen(self) -> None:
        """Wait until all subscriptions are matched.

        The first step is held until an autopilot connects: start one after this, and
        nothing of the flight is missed.

        :raises WorldError: a process has ended, or it takes too long
        """
        timeout_s = _SEEN_TIMEOUT_S + self._more_s
        deadline_s = time.monotonic() + timeout_s
        nodes = ['manager', *managed(self._members)]
        while not self._monitor.is_matched(nodes):
            self._spin(self._children)
            if all(child.exit_code is not None for child in self._required):
                return             # it was stopped before it was up
            if time.monotonic() > deadline_s:
                raise WorldError(f'the node graph has not come up within {timeout_s:g} s')

    def run(self, stop: threading.Event) -> bool:
        """Monitor until `stop` is set or the graph is taken down; return whether it begins again.

        :raises WorldError: a process has ended before
        """
        run = self._monitor.run
        while not (stop.is_set() or self._ends()):
            if self._monitor.run != run:
                return True
            # The end of an optional node is reported by the manager.
            self._spin(self._required)
        return False

    def _spin(self, needed: typing.Iterable[Child]) -> None:
        self._monitor.spin(_SPIN_S)
        for child in needed:
            # One that was stopped by the manager has ended well.
            if child.exit_code is not None and (child.exit_code or not self._hears_of_end()):
                raise self._error_of(child)

    def _error_of(self, child: Child) -> WorldError:
        """Return the error of a process that has ended; a recording that ends it says why."""
        why = self.recording_problem
        return WorldError(f"{child.end_sentence}{why and ': '}{why}")

    def _hears_of_end(self) -> bool:
        """Return whether the manager takes the graph down: on a busy machine it is heard late."""
        return self._hears(self._ends)

    def _hears(self, said: typing.Callable[[], bool]) -> bool:
        """Take in what nodes say until it is what is waited for, for a while; return whether."""
        deadline_s = time.monotonic() + _LAST_WORDS_S
        while not said() and time.monotonic() < deadline_s:
            self._monitor.spin(_SPIN_S)
        return said()

    def check_end(self) -> None:
        """Check how the processes have ended, and why.

        :raises WorldError: one has failed, or the graph has ended without a request
        """
        for child in self._children:
            # One that had to be killed has reported nothing.
            if child.exit_code is not None and child.exit_code > 0:
                raise self._error_of(child)
        if self._unasked_end:
            raise WorldError(f'the graph was taken down: {self._unasked_end}')

    def status(self, name: str | None = None) -> WorldStatus:
        """Return the counters that the nodes of a vehicle have reported last."""
        return self._reports[self._members[0].vehicle if name is None else name].status()

    def close(self) -> None:
        """Ask the manager to take the graph down, and end what does not; once."""
        if self._closed:
            return
        is_ending, self._closed = self._ends(), True
        with self._started:
            deadline_s = time.monotonic() + _STOP_TIMEOUT_S + self._more_s
            whole = all(child.exit_code is None for child in self._required)
            # Its answer may be lost.
            if is_ending or (whole and (self._monitor.request_stop(
                    _STOP_SERVICE_TIMEOUT_S + self._more_s) or self._monitor.is_stopping)):
                # It is the last to end; a node that is left then is one that hangs.
                while time.monotonic() < deadline_s and self._manager.exit_code is None:
                    self._monitor.take_rest(_SPIN_S)
                self._hear_last_words()

    def _hear_last_words(self) -> None:
        """Take in what nodes have said at their end: on a busy machine it is there after it."""
        self._hears(lambda: self._is_over or self._manager.exit_code != 0)
        self._monitor.take_rest()

    def _on_report(self, node: str, time_us: int, values: dict[str, str]) -> None:
        if 'busy_s' not in values:
            return
        self._is_over |= node == 'manager' and values.get('lifecycle') == 'finalized'
        for member in self._members:
            name = node if node in WORLD_NODES else own_name(member.vehicle, node)
            if name in member.graph.nodes:
                self._reports[member.vehicle].add(name, time_us, values)
                self._observe(node, time_us, values)
