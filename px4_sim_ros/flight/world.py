# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world of a flight: in this process, or a graph of nodes."""
from __future__ import annotations

import contextlib
import math
import pathlib
import threading
import typing

import numpy as np

from px4_sim_ros.flight.record import FlightResult, WorldStatus
from px4_sim_ros.model.encounters import Encounter, Encounters, Nearest, reach_m
from px4_sim_ros.spec.flight_spec import FlightSpec

if typing.TYPE_CHECKING:       # each mode loads what it needs
    from px4_sim_ros.flight.core_world import CoreWorld
    from px4_sim_ros.flight.flight_watch import FlightWatch
    from px4_sim_ros.flight.ros_world import RosWorld
    from px4_sim_ros.step.runner import OnPlaces

DIRECT = 'px4_sim_ros.flight.direct_bridge:DirectBridge'


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
        """Whether the end of the run was asked for."""

    def run(self, stop: threading.Event) -> bool:
        """Step until `stop` is set or the run ends; return whether it begins again."""

    def close(self) -> None:
        """End it; a second time nothing happens."""

    def check_end(self) -> None:
        """Check how it has ended."""

    def status(self, name: str | None = None) -> WorldStatus:
        """Return its counters, with those of a vehicle: the first one if not said."""


def make_world(
    spec: FlightSpec, folder: pathlib.Path, watches: typing.Mapping[str, FlightWatch],
    result: FlightResult, on_event: typing.Callable[[Encounter], None],
    stack: contextlib.ExitStack,
) -> World:
    """Return the world of a flight; it is recorded if the parameters have a recorder."""
    def take(found: Encounter | list[Nearest]) -> None:
        if isinstance(found, list):
            result.nearest = found
        else:
            result.met.append(found)
            on_event(found)

    if spec.mode == 'core':
        return _core(spec, watches, take, stack)
    return _graph(spec, folder, watches, take, stack)


def _core(
    spec: FlightSpec, watches: typing.Mapping[str, FlightWatch],
    take: typing.Callable[[Encounter | list[Nearest]], None], stack: contextlib.ExitStack,
) -> CoreWorld:
    from px4_sim_ros.flight.core_vehicle import VehicleSetup
    from px4_sim_ros.flight.core_world import CoreWorld

    on_places: OnPlaces | None = None
    recorder = None                # without one the messages of ROS are not loaded
    if 'recorder' in spec.configuration.nodes:
        from px4_sim_ros.flight.core_recorder import CoreRecorder
        from px4_sim_ros.recording.bag.fleet_description import describe
        recorder = CoreRecorder(spec.configuration, describe(spec))
    if len(spec.vehicles) > 1:
        encounters = Encounters(
            {v.name: reach_m(v.configuration.vehicle) for v in spec.vehicles}, spec.near_miss_m)
        stack.callback(lambda: take(encounters.nearest()))
        on_places = _look_for_encounters(encounters, lambda: world, list(watches), take)
    direct = {'hil_bridge': DIRECT} if spec.in_process else {}
    world = CoreWorld([
        VehicleSetup(vehicle.configuration, vehicle.name, {**spec.own_classes, **direct},
                     watches[vehicle.name].take, watches[vehicle.name].follow,
                     vehicle.presence, watches[vehicle.name].attend)
        for vehicle in spec.vehicles], recorder=recorder, on_places=on_places)
    return world


def _look_for_encounters(
    encounters: Encounters, world: typing.Callable[[], CoreWorld], names: typing.Sequence[str],
    take: typing.Callable[[Encounter], None],
) -> OnPlaces:
    """Return a function that looks how near the vehicles are to each other."""
    def look(times_us: typing.Sequence[int], places_enu: typing.Mapping[str, np.ndarray]) -> None:
        away = np.full((len(times_us), 3), math.nan)
        positions_enu = np.stack([places_enu.get(name, away) for name in names], axis=1)
        for encounter in encounters.steps(times_us, positions_enu):
            world().note(encounter.time_us, encounter.text)
            take(encounter)

    return look


def _graph(
    spec: FlightSpec, folder: pathlib.Path, watches: typing.Mapping[str, FlightWatch],
    take: typing.Callable[[Encounter | list[Nearest]], None], stack: contextlib.ExitStack,
) -> RosWorld:
    from px4_sim_ros.flight.ros_world import RosWorld
    from px4_sim_ros.recording.bag.fleet_description import (
        describe,
        vehicles_of,
        write_run_files,
    )
    from px4_sim_ros.ros.tools.flight_monitor import Listener

    description = describe(spec)
    parameters, run = write_run_files(description, spec.configurations, folder)
    return RosWorld(
        spec.mode, vehicles_of(description), parameters,
        {name: Listener(None, watch.take, watch.follow, watch.attend)
         for name, watch in watches.items()},
        run=run, optional=spec.optional_nodes, own_classes=spec.own_classes, remaps=spec.remaps,
        namespace=spec.namespace, on_encounter=take)
