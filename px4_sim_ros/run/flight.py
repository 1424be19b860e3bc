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
from px4_sim_ros.model.scenario.happening import Happening, Verdicts
from px4_sim_ros.model.scenario.scenario import Scenario
from px4_sim_ros.run.autopilots import start_autopilot
from px4_sim_ros.run.flight_record import FlightRecord, WorldStatus
from px4_sim_ros.run.processes import Child, stop_all
from px4_sim_ros.run.px4 import Px4

MODES = ('core', 'composed', 'separate')
AUTOPILOTS = ('embedded', 'px4', 'none')
_WATCH_S = 0.2
# Of wall time. PX4 connects within some seconds, also on a machine that is busy.
_CONNECTED_TIMEOUT_S = 60.0


class VehiclePlan(typing.NamedTuple):
    """What one vehicle of several flies."""

    namespace: str
    configuration: Configuration
    autopilot: str                           # of AUTOPILOTS
    px4: Px4 | None                          # None unless it is the autopilot
    mission: Mission | None                  # None: until the end is asked for

    @property
    def hil(self) -> HilParameters:
        """The parameters of the link to its autopilot."""
        return self.configuration.of_node('hil_bridge', HilParameters)


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
    fleet: str = ''                          # its name; '': one vehicle, and no fleet
    others: tuple[VehiclePlan, ...] = ()     # the further vehicles of the world
    near_miss_m: float = 0.0                 # for `Encounters`

    def vehicles(self, configuration: Configuration) -> tuple[VehiclePlan, ...]:
        """Return all vehicles of the world.

        :param configuration: of the first one
        """
        return (VehiclePlan(self.namespace, configuration, self.autopilot, self.px4, self.mission),
                *self.others)


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

    def status(self, namespace: str | None = None) -> WorldStatus:
        """Return its counters, with those of a vehicle: the first one if not said."""


class FlightWatch:
    """What pilot and scenario of a vehicle report, up to the end of its flight."""

    def __init__(
        self, on_event: typing.Callable[[Event | Happening], None], *, has_scenario: bool,
        on_over: typing.Callable[[], None] = lambda: None,
    ) -> None:
        """Begin.

        :param on_event: called with each event
        :param has_scenario: whether it is a scenario that ends the flight, not the mission
        :param on_over: called at the end
        """
        self._on_event, self._has_scenario = on_event, has_scenario
        self._on_over = on_over
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
                self.end()

    def follow(self, happening: Happening | Verdicts) -> None:
        """Take in what the scenario has done, or the verdicts at its end."""
        if isinstance(happening, Happening):
            self._on_event(happening)
        else:
            self.verdicts = happening
            self.end()

    def end(self) -> None:
        """End the flight; a second time nothing happens."""
        self.over.set()
        self._on_over()


class StartedAutopilot:
    """An autopilot, from its start to its end; without one the world waits for the user's own."""

    def __init__(
        self, vehicle: VehiclePlan, world: World, flight: FlightWatch,
        on_gone: typing.Callable[[], None],
    ) -> None:
        """Start it.

        :param flight: is ended when it ends, or does not come: nothing would fly the mission
        :param on_gone: called then
        """
        self._vehicle, self._world, self._flight = vehicle, world, flight
        self._on_gone = on_gone
        self._is_missing = False
        self._autopilot: Child | None = None
        with contextlib.ExitStack() as stack:
            if vehicle.autopilot != 'none':
                world_ = vehicle.configuration.world
                self._autopilot = start_autopilot(
                    vehicle.px4, world_.vehicle, vehicle.hil.instance, world_.scenario)
                stack.callback(self._autopilot.stop)
            watch = threading.Thread(target=self._watch, name='watch')
            watch.start()
            stack.callback(watch.join)
            stack.callback(flight.end)
            self._started = stack.pop_all()

    @property
    def processes(self) -> list[Child]:
        """Its process, if it has one of ours."""
        return [] if self._autopilot is None else [self._autopilot]

    def end(self) -> None:
        """End it; a second time nothing happens."""
        self._started.close()

    def _watch(self) -> None:
        deadline_s = time.monotonic() + _CONNECTED_TIMEOUT_S
        while self._autopilot is not None and not self._flight.over.wait(_WATCH_S):
            if time.monotonic() > deadline_s:       # it is looked once
                self._is_missing, deadline_s = not self._is_connected(), math.inf
            if self._is_missing or self._autopilot.exit_code is not None:
                self._flight.end()
                self._on_gone()

    def _is_connected(self) -> bool:
        status = self._world.status(self._vehicle.namespace)
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


def _end_all(autopilots: typing.Sequence[StartedAutopilot]) -> None:
    """End autopilots, all at once; a second time nothing happens."""
    stop_all([process for autopilot in autopilots for process in autopilot.processes])
    for autopilot in autopilots:
        autopilot.end()


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
    vehicles = plan.vehicles(configuration)
    records = {plan.namespace: record, **record.others}
    stop = threading.Event()

    def look() -> None:
        if all(flight.over.is_set() for flight in flights.values()):
            stop.set()

    def watch(vehicle: VehiclePlan) -> FlightWatch:
        def report(event: Event | Happening) -> None:
            records[vehicle.namespace].add_event(event)
            on_event(event._replace(text=f'{vehicle.namespace}: {event.text}')
                     if plan.fleet else event)

        return FlightWatch(report, has_scenario=plan.scenario is not None, on_over=look)

    flights: dict[str, FlightWatch] = {}
    flights |= {vehicle.namespace: watch(vehicle) for vehicle in vehicles}
    with contextlib.ExitStack() as stack:
        world = _make_world(plan, configuration, folder, record, flights, stack, on_event)

        def note_end() -> None:
            record.recording, record.recording_problem = world.recording, world.recording_problem
            for namespace, its in records.items():
                its.status, its.verdicts = world.status(namespace), flights[namespace].verdicts

        stack.callback(note_end)
        stack.callback(world.close)

        world.wait_until_seen()
        if any(vehicle.autopilot == 'none' for vehicle in vehicles):
            on_waiting()
        while True:
            autopilots: list[StartedAutopilot] = []
            if plan.fleet:
                # Before the world: a PX4 that has lost its link keeps its core from the others.
                stack.callback(_end_all, autopilots)
            # Whoever interrupts this finds all that was started: a pilot would be waited for.
            with signals.held_back():
                for vehicle in vehicles:
                    holds_all = vehicle.hil.on_waiting == 'hold'
                    autopilots.append(StartedAutopilot(
                        vehicle, world, flights[vehicle.namespace],
                        stop.set if holds_all else look))
                    if not plan.fleet:
                        stack.callback(autopilots[-1].end)
                        # Before it, so that nobody is missed, and the counters end with the flight.
                        stack.callback(world.close)
            try:
                begins_again = world.run(stop)
            except KeyboardInterrupt:
                if any(vehicle.mission is not None for vehicle in vehicles):
                    raise
                record.was_stopped = True        # there is no other end
                break
            over = {name for name, flight in flights.items() if flight.over.is_set()}
            record.was_stopped = world.was_stopped
            if not begins_again:
                break
            for autopilot in autopilots:
                autopilot.end()
            for flight in flights.values():
                flight.reset()
            stop.clear()
            record.reset()
            on_restart()
    # When a part of the world fails the autopilots end, too: the first cause comes first.
    world.check_end()
    if not record.was_stopped:
        _check_flown(plan, vehicles, autopilots, flights, records, over)


def _check_flown(
    plan: FlightPlan, vehicles: typing.Sequence[VehiclePlan],
    autopilots: typing.Sequence[StartedAutopilot], flights: typing.Mapping[str, FlightWatch],
    records: typing.Mapping[str, FlightRecord], over: typing.Container[str],
) -> None:
    """Note which vehicles have flown.

    :param over: the namespaces of those that were over before all was ended
    :raises MissionError: one has not, and why
    """
    failures = []
    for vehicle, autopilot in zip(vehicles, autopilots):
        flight, its = flights[vehicle.namespace], records[vehicle.namespace]
        was_over = vehicle.namespace in over
        if plan.fleet and vehicle.mission is not None and not was_over:
            its.failure = 'the flight has ended before its mission was flown'
            continue
        try:
            if vehicle.mission is not None or plan.scenario is not None or (
                    plan.fleet and was_over):
                autopilot.check_flown(flight, plan.scenario)
        except MissionError as error:
            if not plan.fleet:
                raise
            its.failure = str(error)
            failures.append(f'{vehicle.namespace}: {error}')
        else:
            its.mission_flown = flight.flown or vehicle.mission is None
    if failures:
        raise MissionError('; '.join(failures))


def _make_world(
    plan: FlightPlan, configuration: Configuration, folder: pathlib.Path, record: FlightRecord,
    flights: typing.Mapping[str, FlightWatch], stack: contextlib.ExitStack,
    on_event: typing.Callable[[Event | Happening], None],
) -> World:
    """Return the world of a mode; it is recorded if the configuration has a recorder.

    :param flights: are told what pilots and scenario report, by namespace
    :param stack: ends a viewer, if there is one, after the world
    """
    # Each mode loads what it needs: rclpy to record and to run a graph, Numba for `core`.
    run = None
    pilot = flights[plan.namespace]
    if 'recorder' in configuration.nodes:
        from px4_sim_ros.recording.bag.run_description import RunDescription, with_run_file
        run = RunDescription.of(
            configuration, mode=plan.mode, autopilot=plan.autopilot,
            namespace=plan.namespace, own_classes=plan.own_classes)
        configuration = with_run_file(configuration, run, folder)
    if plan.mode == 'core':
        from px4_sim_ros.run.core_world import CoreWorld
        if plan.fleet:
            from px4_sim_ros.run.fleet_world import make_fleet_world
            return make_fleet_world(plan, configuration, record, flights, on_event)
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
