# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight in any mode: a world, an autopilot and a pilot, started and ended in order."""
from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import threading
import typing

from px4_sim_ros.flight.flight_plan import FlightPlan, VehiclePlan, World, optional_nodes
from px4_sim_ros.flight.flight_record import FlightRecord
from px4_sim_ros.flight.flight_watch import FlightWatch, StartedAutopilot
from px4_sim_ros.flight.px4 import described
from px4_sim_ros.link.pilot.events import Event, MissionError
from px4_sim_ros.model.scenario.happening import Happening
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process import signals
from px4_sim_ros.process.children import Child, own_module, stop_all
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.configuration import Configuration, write_configuration
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.step.members import Member


def _expect_ends(autopilots: typing.Sequence[StartedAutopilot]) -> None:
    """Let no autopilot come in the place of one that ends with the world."""
    for autopilot in autopilots:
        autopilot.expect_end()


def _end_all(autopilots: typing.Sequence[StartedAutopilot]) -> None:
    """End autopilots, all at once; a second time nothing happens."""
    _expect_ends(autopilots)
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

    def note_gone(vehicle: VehiclePlan) -> bool:
        goes_on = not stop.is_set()
        if vehicle.hil.on_waiting in ('hold', 'begin_again'):
            stop.set()       # nobody else goes on without it
        return goes_on

    def note_new(vehicle: VehiclePlan, reason: str) -> None:
        its = records[vehicle.namespace]
        its.begin_again()
        on_event(Happening(
            round(world.status(vehicle.namespace).sim_time_s * US_PER_S),
            f'{vehicle.namespace}: {reason}; it is started again, and so is its flight'))

    def watch(vehicle: VehiclePlan) -> FlightWatch:
        def report(event: Event | Happening) -> None:
            records[vehicle.namespace].add_event(event)
            on_event(event._replace(text=f'{vehicle.namespace}: {event.text}')
                     if plan.fleet else event)

        return FlightWatch(
            report, has_scenario=vehicle.scenario is not None, on_over=look,
            on_change=records[vehicle.namespace].attend,
            is_awaited=vehicle.presence.joins_us is not None)

    flights: dict[str, FlightWatch] = {}
    flights |= {vehicle.namespace: watch(vehicle) for vehicle in vehicles}
    with contextlib.ExitStack() as stack:
        world = _make_world(plan, configuration, folder, record, flights, stack, on_event)
        autopilots: list[StartedAutopilot] = []

        def note_end() -> None:
            record.recording, record.recording_problem = world.recording, world.recording_problem
            for namespace, its in records.items():
                its.status, its.verdicts = world.status(namespace), flights[namespace].verdicts
            for vehicle, autopilot in zip(vehicles, autopilots):
                records[vehicle.namespace].log_loss = autopilot.log_loss()

        stack.callback(note_end)
        stack.callback(world.close)

        world.wait_until_seen()
        if any(vehicle.autopilot == 'none' for vehicle in vehicles):
            on_waiting()
        while True:
            autopilots = []
            stack.callback(_end_all, autopilots)
            # Before them, so that nobody is missed, and the counters end with the flight.
            stack.callback(world.close)
            stack.callback(_expect_ends, autopilots)
            # Whoever interrupts this finds all that was started: a pilot would be waited for.
            with signals.held_back():
                for vehicle in vehicles:
                    autopilots.append(StartedAutopilot(
                        vehicle, world, flights[vehicle.namespace],
                        functools.partial(note_gone, vehicle),
                        functools.partial(note_new, vehicle), others=len(vehicles) - 1))
            try:
                begins_again = world.run(stop)
            except KeyboardInterrupt:
                if any(vehicle.mission is not None for vehicle in vehicles):
                    raise
                record.was_stopped = True        # there is no other end
                break
            record.was_stopped = world.was_stopped
            if not begins_again:
                break
            _end_all(autopilots)
            for flight in flights.values():
                flight.reset()
            stop.clear()
            for its in records.values():
                its.reset()
            on_restart()
    # When a part of the world fails the autopilots end, too: the first cause comes first.
    world.check_end()
    if not record.was_stopped:
        _check_flown(plan, vehicles, autopilots, flights, records)


def _check_flown(
    plan: FlightPlan, vehicles: typing.Sequence[VehiclePlan],
    autopilots: typing.Sequence[StartedAutopilot], flights: typing.Mapping[str, FlightWatch],
    records: typing.Mapping[str, FlightRecord],
) -> None:
    """Note which vehicles have flown.

    :raises MissionError: one has not, and why
    """
    failures = []
    for vehicle, autopilot in zip(vehicles, autopilots):
        flight, its = flights[vehicle.namespace], records[vehicle.namespace]
        if not its.stay.has_begun:
            continue
        try:
            if vehicle.mission is not None or vehicle.scenario is not None:
                autopilot.check_flown(flight, vehicle.scenario)
        except MissionError as error:
            if not plan.fleet:
                raise
            # Others have ended with the flight, which is no fault of theirs.
            is_cause = autopilot.has_failed or bool(flight.failure)
            its.failure = str(error) if is_cause else 'its flight was ended with that of another'
            if is_cause:
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
    if plan.fleet:
        from px4_sim_ros.flight import fleet_world
        return fleet_world.make(
            plan, configuration, folder, record, flights, on_event, stack)
    run = None
    pilot = flights[plan.namespace]
    if 'recorder' in configuration.nodes:
        from px4_sim_ros.recording.bag.run_description import RunDescription, with_run_file
        run = RunDescription.of(
            configuration, mode=plan.mode, autopilot=plan.autopilot,
            namespace=plan.namespace, own_classes=plan.own_classes,
            px4=described(plan.px4))
        configuration = with_run_file(configuration, run, folder)
    if plan.mode == 'core':
        from px4_sim_ros.flight.core_world import CoreWorld
        core_recorder = None
        if run is not None:
            from px4_sim_ros.flight.core_recorder import CoreRecorder
            core_recorder = CoreRecorder(configuration, run)
        return CoreWorld(
            configuration, None, core_recorder, plan.own_classes, pilot.take, pilot.follow)
    from px4_sim_ros.flight.ros_world import RosWorld
    from px4_sim_ros.ros.tools.flight_monitor import Listener
    file = write_configuration(folder, configuration)
    viewer = None
    if plan.viewer is not None:
        viewer = _start_viewer(plan.viewer, file, plan.namespace)
        stack.callback(viewer.stop)
    return RosWorld(
        plan.mode, [Member('', configuration.graph, configuration.world)], file,
        {'': Listener(None, pilot.take, pilot.follow)},
        optional=optional_nodes(configuration), own_classes=plan.own_classes, remaps=plan.remaps,
        viewer=viewer, namespace=plan.namespace)


def _start_viewer(viewer: str, params_file: pathlib.Path, namespace: str) -> Child:
    """Return a process that shows the graph with these parameters.

    :param viewer: as RerunTarget takes it
    """
    return Child('the viewer', own_module(
        'px4_sim_ros', 'view', '--viewer', viewer, '--params-file', str(params_file),
        '--namespace', namespace),
        environment=os.environ | ros_environment())
