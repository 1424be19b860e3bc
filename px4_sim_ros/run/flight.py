# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight in any mode: a world, an autopilot and a pilot, started and ended in order."""
from __future__ import annotations

import contextlib
import math
import os
import pathlib
import threading
import time
import typing

from px4_sim_ros.config import signals
from px4_sim_ros.config.child_prefix import own_module
from px4_sim_ros.config.compile_ahead import compile_ahead
from px4_sim_ros.config.configuration import Configuration, write_configuration
from px4_sim_ros.config.recording import RecorderParameters
from px4_sim_ros.config.ros_environment import ros_environment
from px4_sim_ros.mavlink.link_state import HilParameters
from px4_sim_ros.mavlink.pilot_events import Event, MissionError
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.model.scenario.course import Happening
from px4_sim_ros.model.scenario.expectation import Verdicts
from px4_sim_ros.model.scenario.scenario import Scenario
from px4_sim_ros.run.autopilots import start_autopilot
from px4_sim_ros.run.flight_record import FlightRecord, WorldStatus
from px4_sim_ros.run.processes import Child
from px4_sim_ros.run.px4 import Px4

MODES = ('core', 'composed', 'separate')
AUTOPILOTS = ('embedded', 'px4', 'none')
_WATCH_S = 0.2
# Of wall time. PX4 connects within some seconds, also on a machine that is busy.
_CONNECTED_TIMEOUT_S = 60.0


class FlightPlan(typing.NamedTuple):
    """What is flown, and how."""

    mode: str                                # of MODES
    autopilot: str                           # of AUTOPILOTS
    px4: Px4 | None                          # None unless it is the autopilot
    mission: Mission | None                  # None: until the end is asked for
    own_classes: typing.Mapping[str, str]    # `module:Class` by name, in place of the graph's
    remaps: typing.Sequence[str]             # remapping rules of ROS
    viewer: str | None                       # as RerunTarget takes it
    namespace: str = ''                      # of all nodes
    scenario: Scenario | None = None         # None: the mission ends the flight


class World(typing.Protocol):
    """The simulated scene in one of the modes."""

    @property
    def recording(self) -> str:
        """The folder of the recording, '' for none."""

    @property
    def recording_problem(self) -> str:
        """Why the recording has ended too early, '' when it has not."""

    def wait_until_seen(self) -> None:
        """Wait until nothing of a flight is missed."""

    @property
    def was_stopped(self) -> bool:
        """Whether somebody has asked for the end of the run."""

    def run(self, stop: threading.Event) -> bool:
        """Step until `stop` is set or the run ends; return whether it begins again."""

    def close(self) -> None:
        """End it; a second time nothing happens."""

    def check_end(self) -> None:
        """Check how it has ended."""

    def status(self) -> WorldStatus:
        """Return its counters."""


class FlightWatch:
    """What pilot and scenario of a world report, up to the end of the flight."""

    def __init__(
        self, on_event: typing.Callable[[Event | Happening], None], *, has_scenario: bool,
    ) -> None:
        """Begin.

        :param on_event: called with each event
        :param has_scenario: whether it is a scenario that ends the flight, not the mission
        """
        self._on_event, self._has_scenario = on_event, has_scenario
        self.reset()

    def reset(self) -> None:
        """Begin again: the mission does, too."""
        self.over = threading.Event()
        self.flown, self.failure = False, ''
        self.verdicts: Verdicts | None = None      # None: the scenario is not over

    @property
    def is_flown(self) -> bool:
        """Whether the scenario has come to its end, or without one the mission."""
        return self.verdicts is not None if self._has_scenario else self.flown

    def take(self, event: Event | str) -> None:
        """Take in an event, or why the mission was not flown to its end, '' if it was."""
        if isinstance(event, Event):
            self._on_event(event)
        else:
            self.flown, self.failure = not event, event
            if not self._has_scenario:
                self.over.set()

    def follow(self, happening: Happening | Verdicts) -> None:
        """Take in what the scenario has done, or the verdicts at its end."""
        if isinstance(happening, Happening):
            self._on_event(happening)
        else:
            self.verdicts = happening
            self.over.set()


class StartedAutopilot:
    """An autopilot, from its start to its end; without one the world waits for the user's own."""

    def __init__(
        self, plan: FlightPlan, configuration: Configuration, world: World,
        over: threading.Event,
    ) -> None:
        """Start it.

        :param over: is set when it ends, or does not come: nothing would fly the mission
        """
        self._over, self._world = over, world
        self._is_missing = False
        self._autopilot: Child | None = None
        with contextlib.ExitStack() as stack:
            if plan.autopilot != 'none':
                self._autopilot = start_autopilot(
                    plan.px4, configuration.world.vehicle,
                    configuration.of_node('hil_bridge', HilParameters).instance,
                    configuration.world.scenario)
                stack.callback(self._autopilot.stop)
            watch = threading.Thread(target=self._watch, name='watch')
            watch.start()
            stack.callback(watch.join)
            stack.callback(over.set)
            self._started = stack.pop_all()

    def end(self) -> None:
        """End it; a second time nothing happens."""
        self._started.close()

    def _watch(self) -> None:
        deadline_s = time.monotonic() + _CONNECTED_TIMEOUT_S
        while self._autopilot is not None and not self._over.wait(_WATCH_S):
            if time.monotonic() > deadline_s:       # it is looked once
                self._is_missing, deadline_s = not self._is_connected(), math.inf
            if self._is_missing or self._autopilot.exit_code is not None:
                self._over.set()

    def _is_connected(self) -> bool:
        status = self._world.status()
        return bool(status.steps) or status.link.get('state', 'WAITING') != 'WAITING'

    def check_flown(self, watch: FlightWatch, scenario: Scenario | None) -> None:
        """Check that the mission was flown, or the scenario to its own end.

        :raises MissionError: it was not, and why
        """
        if watch.failure and (scenario is None or scenario.end is None):
            raise MissionError(watch.failure)
        if self._is_missing and self._autopilot is not None:
            raise MissionError(
                f'{self._autopilot.name} has not connected within {_CONNECTED_TIMEOUT_S:g} s')
        if not watch.is_flown and self._autopilot is not None:
            raise MissionError(
                f'{self._autopilot.name} has ended with exit code {self._autopilot.exit_code}')


def conduct(
    plan: FlightPlan, configuration: Configuration, record: FlightRecord, folder: pathlib.Path,
    *, on_event: typing.Callable[[Event | Happening], None], on_restart: typing.Callable[[], None],
    on_waiting: typing.Callable[[], None],
) -> None:
    """Fly.

    Everything that is started here is ended here, whatever happens.

    :param record: collects what the summary needs, also when the flight fails
    :param folder: for files that are needed on the way
    :param on_event: called with each event of the pilot and of the scenario
    :param on_restart: called when the run was reset, and the flight begins again
    :param on_waiting: called when the world is there and waits for the user's own autopilot
    :raises RuntimeError: the mission was not flown, or a part of the world has failed
    :raises OSError: a port is taken, or nothing can be recorded
    """
    compile_ahead()
    def report(event: Event | Happening) -> None:
        record.add_event(event)
        on_event(event)

    pilot = FlightWatch(report, has_scenario=plan.scenario is not None)
    with contextlib.ExitStack() as stack:
        world = _make_world(plan, configuration, folder, record, pilot, stack)

        def note_end() -> None:
            record.status, record.recording = world.status(), world.recording
            record.recording_problem = world.recording_problem
            record.verdicts = pilot.verdicts

        stack.callback(note_end)
        stack.callback(world.close)

        world.wait_until_seen()
        if plan.autopilot == 'none':
            on_waiting()
        while True:
            # Whoever interrupts this finds all that was started: a pilot would be waited for.
            with signals.held_back():
                autopilot = StartedAutopilot(plan, configuration, world, pilot.over)
                stack.callback(autopilot.end)
                # Before it, so that nobody is missed, and the counters end with the flight.
                stack.callback(world.close)
            try:
                begins_again = world.run(pilot.over)
            except KeyboardInterrupt:
                if plan.mission is not None:
                    raise
                record.was_stopped = True        # there is no other end
                break
            record.was_stopped = world.was_stopped
            if not begins_again:
                break
            autopilot.end()
            pilot.reset()
            record.reset()
            on_restart()
    # When a part of the world fails the autopilot ends, too: the first cause comes first.
    world.check_end()
    if not record.was_stopped:
        if plan.mission is not None or plan.scenario is not None:
            autopilot.check_flown(pilot, plan.scenario)
        record.mission_flown = pilot.flown or plan.mission is None


def _make_world(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path, record: FlightRecord,
    pilot: FlightWatch, stack: contextlib.ExitStack,
) -> World:
    """Return the world of a mode; it is recorded if the configuration has a recorder.

    :param stack: ends a viewer, if there is one, after the world
    """
    # Each mode loads what it needs: rclpy to record and to run a graph, Numba for `core`.
    run = None
    if 'recorder' in configuration.nodes:
        from px4_sim_ros.recording.bag.run_description import RunDescription, with_run_file
        run = RunDescription.of(
            configuration, mode=plan.mode, autopilot=plan.autopilot,
            namespace=plan.namespace, own_classes=plan.own_classes)
        configuration = with_run_file(configuration, run, folder)
    if plan.mode == 'core':
        from px4_sim_ros.run.core_world import CoreWorld
        core_recorder = None
        if run is not None:
            from px4_sim_ros.run.core_recorder import CoreRecorder
            core_recorder = CoreRecorder(configuration, run)
        return CoreWorld(
            configuration, lambda time_us, values: record.add_truth(
                values['ground_truth/odom'].position_enu),
            core_recorder, plan.own_classes, pilot.take, pilot.follow)
    from px4_sim_ros.run.ros_world import RosWorld
    file = write_configuration(folder, configuration)
    viewer = None
    if plan.viewer is not None:
        viewer = _start_viewer(plan.viewer, file, plan.namespace)
        stack.callback(viewer.stop)
    return RosWorld(
        plan.mode, configuration.graph, file, record.add_truth,
        optional=optional_nodes(configuration), own_classes=plan.own_classes, remaps=plan.remaps,
        viewer=viewer, on_pilot=pilot.take, on_scenario=pilot.follow,
        namespace=plan.namespace)


def optional_nodes(configuration: Configuration) -> tuple[str, ...]:
    """Return the nodes in processes of their own without which a run goes on."""
    if 'recorder' not in configuration.nodes:
        return ()
    recorder = configuration.of_node('recorder', RecorderParameters)
    return ('recorder',) if recorder.on_failure == 'continue' else ()


def _start_viewer(viewer: str, params_file: pathlib.Path, namespace: str) -> Child:
    """Return a process that shows the graph with these parameters.

    :param viewer: as RerunTarget takes it
    """
    return Child('the viewer', own_module(
        'px4_sim_ros', 'view', '--viewer', viewer, '--params-file', str(params_file),
        '--namespace', namespace),
        environment=os.environ | ros_environment())
