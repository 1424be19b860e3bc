# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a flight for tables: its configuration and its results."""
from __future__ import annotations

import datetime
import math
import typing

import numpy as np

from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.environment.geodesy import LocalFrame
from px4_sim_ros.model.environment.wind import WindParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.mission import GoTo, Mission, TakeOff
from px4_sim_ros.px4.log import LACKS
from px4_sim_ros.recording.analysis.attitudes import tilt_deg
from px4_sim_ros.recording.analysis.flight_events import ARRIVED, BagContents
from px4_sim_ros.recording.analysis.lockstep_terms import SIMULATED_TIME
from px4_sim_ros.recording.analysis.recorded_fingerprint import of_diagnostics
from px4_sim_ros.recording.analysis.series import AllSeries, Mark, Waypoint
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.spec.files import IN_SCENARIO, NONE, Files
from px4_sim_ros.spec.run_parameters import ManagerParameters
from px4_sim_ros.step import side_topics

Facts = list[tuple[str, str]]


def _mission_of(run: RunDescription) -> Mission | None:
    """Return the mission of a run; None if there is none, or none that can be read."""
    # That of a replay has no name, but its text.
    name = run.world.mission if run.world.mission not in (NONE, IN_SCENARIO) else 'mission'
    try:
        return Files({('missions', name): run.mission}).mission(name) if run.mission else None
    except ParameterError:
        return None


def mission_waypoints(run: RunDescription, start_enu_m: typing.Sequence[float]) -> list[Waypoint]:
    mission = _mission_of(run)
    if mission is None:
        return []
    x, y, z = start_enu_m
    # Of the place where the vehicle begins.
    frame = LocalFrame(run.world.local_frame().to_geodetic((x, y, z)))
    waypoints, north_m, east_m = [], 0.0, 0.0
    for item in mission.items:
        if isinstance(item, GoTo):
            east_m, north_m, _ = item.place_enu(frame)
        if isinstance(item, GoTo | TakeOff):
            north, east = (f'{round(value, 3) + 0.0:g}' for value in (north_m, east_m))
            waypoints.append(Waypoint(
                f'{north} m north, {east} m east, {item.up_m:g} m up',
                (x + east_m, y + north_m, z + item.up_m)))
    return waypoints


class Arrival(typing.NamedTuple):
    """An arrival that the pilot reports, and the position error of the truth then."""

    time_s: float
    waypoint: Waypoint
    error_m: float
    height_error_m: float


def arrivals(
    marks: typing.Iterable[Mark], waypoints: typing.Iterable[Waypoint], series: AllSeries,
) -> list[Arrival]:
    """Compare the pilot's arrivals, one for each waypoint, with the truth."""
    position = series['ground_truth/odom']['position_m']
    arrived = [m for m in marks if m.kind == 'pilot' and m.text.startswith(ARRIVED)]
    found = []
    for mark, waypoint in zip(arrived, waypoints):
        row = min(int(np.searchsorted(position.time_s, mark.start_s)), len(position.time_s) - 1)
        error_m = position.values[row] - waypoint.position_enu_m
        found.append(Arrival(
            mark.start_s, waypoint, float(np.linalg.norm(error_m)), float(error_m[2])))
    return found


def setup_facts(run: RunDescription, configuration: Configuration) -> Facts:
    world = configuration.world
    manager = configuration.of_node('manager', ManagerParameters)
    dynamics = configuration.of_node('dynamics', DynamicsParameters)
    sensors = ', '.join(configuration.graph.sensors)
    return [
        ('vehicle', configuration.vehicle.name),
        ('mission', mission.name if (mission := _mission_of(run)) else 'none'),
        ('autopilot', run.autopilot),
        *_px4(run),
        ('mode', run.mode),
        ('seed', str(world.seed)),
        ('wind', _wind(configuration)),
        ('sensors', sensors),
        ('step', f'{world.step_us} µs'),
        ('integrator', f'{dynamics.integrator}, {dynamics.substeps} a step'),
        ('speed wished for', f'{manager.speed_factor:g} times real time'
         if manager.speed_factor else 'as fast as possible'),
        ('home', f'{world.home_latitude_deg:.6f}° north, {world.home_longitude_deg:.6f}° east,'
         f' {world.home_altitude_m:g} m above the sea'),
        ('namespace', run.namespace or 'none'),
        ('versions', ', '.join(f'{name} {version}' for name, version in run.versions.items())),
    ]


def _px4(run: RunDescription) -> Facts:
    """Return which PX4 has flown, as far as the recording says."""
    if not run.px4:
        return []
    build = (f'{name} {digest[:16]}' for name, digest in run.px4['build'].items())
    parameters = (f'{name}={value}' for name, value in run.px4['parameters'].items())
    return [('PX4', ', '.join([run.px4['schedule'], *build, *parameters]))]


def _wind(configuration: Configuration) -> str:
    if 'wind' not in configuration.graph.nodes:
        return 'none'
    parameters = configuration.of_node('wind', WindParameters)
    return f'{configuration.world.wind}, {parameters.speed_m_s:g} m/s from {parameters.from_deg:g}°'


def motion_facts(contents: BagContents, series: AllSeries) -> Facts:
    """Return the extremes of the motion and of the battery."""
    facts = [(SIMULATED_TIME, f'{contents.span_s[1]:.3f} s'),
             ('steps', str(contents.counts['/clock']))]
    if 'ground_truth/odom' in series:
        odometry = series['ground_truth/odom']
        off = odometry['position_m'].values - odometry['position_m'].values[0]
        speed_m_s = np.linalg.norm(odometry['velocity_m_s'].values, axis=1)
        facts += [
            ('greatest height over the take-off', f'{off[:, 2].max():.3f} m'),
            ('greatest distance from it, horizontally',
             f'{np.hypot(off[:, 0], off[:, 1]).max():.3f} m'),
            ('greatest speed', f'{speed_m_s.max():.3f} m/s'),
            ('greatest tilt', f"{tilt_deg(odometry['attitude_wxyz'].values).max():.2f}°"),
            ('distance from the take-off at the end',
             f'{math.hypot(off[-1, 0], off[-1, 1]):.3f} m'),
            # Without the sign of a zero.
            ('height over the take-off at the end',
             f'{round(off[-1, 2], 3) + 0.0:.3f} m')]
    return facts + _battery_facts(series)


def date_text(bag: BagReader) -> str:
    """Return when a recording was written, of local time."""
    # The folder of one vehicle of a fleet is a name in the bag of all.
    written_s = bag.paths[0].parent.stat().st_mtime
    return datetime.datetime.fromtimestamp(written_s).strftime('%Y-%m-%d %H:%M')


def repeat_facts(run: RunDescription, contents: BagContents) -> Facts:
    """Return the fingerprint of a flight, and whether it repeats."""
    found = of_diagnostics(run, [m.content for m in contents.side[side_topics.DIAGNOSTICS.name]])
    return [('fingerprint', found.fingerprint or 'not known'),
            ('repeatable', f'no: {found.unrepeatable}' if found.unrepeatable else 'yes')]


def log_facts(bag: BagReader) -> Facts:
    """Return the gaps in PX4's logs, as far as the recording has them."""
    loss = bag.log_loss()
    return [] if loss is None else [(LACKS, loss.text)]


def _battery_facts(series: AllSeries) -> Facts:
    battery = series.get('battery_state')
    if battery is None or not np.isfinite(battery['voltage_v'].values).any():
        return []
    charge_ah = battery['charge_ah'].values[:, 0]
    # A capacity that is lost was not used.
    same = np.diff(battery['capacity_ah'].values[:, 0]) == 0.0
    share = battery['percentage'].values[:, 0]
    return [
        ('charge', f'{share[0]:.1%} at first, {share[-1]:.1%} at the end;'
         f' {-np.diff(charge_ah)[same].sum():.4f} Ah used'),
        ('lowest voltage', f"{np.nanmin(battery['voltage_v'].values):.2f} V"),
        ('greatest current', f"{-np.nanmin(battery['current_a'].values):.2f} A")]
