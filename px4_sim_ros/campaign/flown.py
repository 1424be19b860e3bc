# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One flight of a campaign in this process, and the row that comes of it."""
from __future__ import annotations

import contextlib
import functools
import math
import pathlib
import shutil
import threading
import time
import typing

from px4_sim_ros.campaign.jobs import ALWAYS, FAILED, PATH, Job, Row, configured, write_files
from px4_sim_ros.campaign.paths import PathTaker
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.flight.flight_plan import VehiclePlan
from px4_sim_ros.flight.flight_record import FlightRecord
from px4_sim_ros.flight.flight_watch import FlightWatch, StartedAutopilot
from px4_sim_ros.flight.px4 import Px4, described
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.pilot.events import MissionError
from px4_sim_ros.model.errors import RunError, sentence
from px4_sim_ros.model.scenario.happening import Verdicts
from px4_sim_ros.model.scenario.scenario import Scenario
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.process.children import stop_all
from px4_sim_ros.recording.bag.run_description import RunDescription, versions, with_run_file
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.configuration import Configuration, checked_scenario

_DIRECT = 'px4_sim_ros.campaign.in_process:DirectBridge'
_PROBLEM = 'recording_problem'


class LostRunError(RunError):
    """A run has not come to an end by itself; that says nothing about the vehicle."""


class KilledAutopilotError(LostRunError):
    """Somebody has killed the autopilot: the run may be flown again at once."""


class _Figures:
    """The extremes of a flight."""

    def __init__(self) -> None:
        self.last: Situation | None = None
        self.path = PathTaker()
        self._max_height_m = self._max_distance_m = self._max_tilt_deg = self._max_speed = 0.0

    def add(self, situation: Situation | None) -> None:
        """Take in the situation of a step."""
        if situation is None:
            return
        self.last = situation
        self.path.add(situation)
        self._max_height_m = max(self._max_height_m, situation.height_m)
        self._max_distance_m = max(self._max_distance_m, situation.distance_m)
        self._max_tilt_deg = max(self._max_tilt_deg, situation.tilt_deg)
        self._max_speed = max(self._max_speed, math.hypot(*situation.truth.velocity_flu))

    def columns(self) -> Row:
        """Return them by column."""
        end = self.last
        return {
            'sim_time_s': end.time_us / US_PER_S if end else 0.0,
            'max_height_m': self._max_height_m, 'max_distance_m': self._max_distance_m,
            'max_tilt_deg': self._max_tilt_deg, 'max_speed_m_s': self._max_speed,
            'end_distance_m': end.distance_m if end else None,
            'end_height_m': end.height_m if end else None,
            'end_charge': end.battery.state_of_charge if end and end.battery else None,
        }


def fly(job: Job, folder: pathlib.Path, instance: int) -> Row:
    """Fly a run; return its row without its inputs.

    :param folder: empty, for what is written meanwhile
    :param instance: of the autopilot: its ports
    :raises LostRunError: it hangs, no autopilot has come, or somebody has killed it
    :raises ParameterError: a value is not allowed
    :raises OSError: a port is taken, or nothing can be written
    """
    started_s = time.monotonic()
    compile_ahead()
    scenario = write_files(folder, 'flown', job.scenario, job.vehicle)
    bag = folder / 'recording' if _is_recorded_at_once(job) else None
    row = _flown(job, configured(scenario, job.px4, instance, bag, job.recorder), folder)
    # From here on the run is flown: that it cannot be recorded takes nothing away from its row.
    problem = row.get(_PROBLEM, '')
    try:
        if bag is None and job.records == FAILED and row['outcome'] == 'failed':
            bag = folder / 'recording'
            again = _flown(
                job, configured(scenario, job.px4, instance, bag, job.recorder), folder)
            row['repeatable'] &= again['fingerprint'] == row['fingerprint']
            problem = again[_PROBLEM]
        row['recording'] = '' if problem else _kept(job, row, bag)
    except (OSError, RunError) as error:
        row['recording'], problem = '', sentence(error)
    return row | {_PROBLEM: problem, 'wall_s': time.monotonic() - started_s}


def _is_recorded_at_once(job: Job) -> bool:
    """Return whether a flight is recorded before it is known what becomes of it.

    What the embedded autopilot has failed it fails again, which is cheaper than to record all.
    """
    return job.records == ALWAYS or (job.records == FAILED and job.px4 is not None)


def _kept(job: Job, row: Row, bag: pathlib.Path | None) -> str:
    """Keep a recording if it is wanted; return its folder, '' if there is none."""
    if bag is None or not bag.is_dir() or (job.records == FAILED and row['outcome'] != 'failed'):
        return ''
    keep = pathlib.Path(job.keep)
    keep.parent.mkdir(parents=True, exist_ok=True)
    part = keep.with_name(f'.{keep.name}')
    shutil.rmtree(part, ignore_errors=True)      # of a worker that was killed
    shutil.rmtree(keep, ignore_errors=True)      # of a run that was lost after it was kept
    try:
        shutil.copytree(bag, part)               # maybe onto another disk, which may be full
        part.rename(keep)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return str(keep)


def _flown(job: Job, configuration: Configuration, folder: pathlib.Path) -> Row:
    """Fly; return what has become of it."""
    px4 = None if job.px4 is None else _px4(*job.px4)
    autopilot = 'embedded' if px4 is None else 'px4'
    record, figures = FlightRecord(), _Figures()
    record.autopilot = autopilot
    record.shares_core = configuration.of_node('hil_bridge', HilParameters).shares_core
    scenario = checked_scenario(configuration)
    assert scenario is not None, 'each run has one'
    watch = FlightWatch(record.add_event, has_scenario=True)
    recorder = None                # without one the messages of ROS are not loaded
    if 'recorder' in configuration.nodes:
        from px4_sim_ros.flight.core_recorder import CoreRecorder
        run = RunDescription.of(configuration, mode='core', autopilot=autopilot,
                                px4=described(px4))
        configuration = with_run_file(configuration, run, folder)
        recorder = CoreRecorder(configuration, run)
    vehicle = VehiclePlan('', configuration, 'none' if px4 is None else 'px4', px4, None)
    world = CoreWorld(
        configuration, lambda time_us, values: figures.add(world.scenario.course.situation),
        recorder, {} if px4 else {'hil_bridge': _DIRECT}, watch.take, watch.follow)
    with contextlib.ExitStack() as stack:
        stack.callback(world.close)
        started = StartedAutopilot(vehicle, world, watch, watch.over.set)
        stack.callback(started.end)
        # PX4 would take seconds to end by itself, and what it would write then nobody reads.
        stack.callback(stop_all, started.processes, 0.0)
        stack.callback(world.close)        # before it, so that nobody is missed
        hangs = stack.enter_context(_limit(job.limit_s, watch.over))
        world.run(watch.over)
        killed = started.end_from_outside()
    record.status, record.verdicts = world.status(), watch.verdicts
    if hangs.is_set():
        raise LostRunError(f'it has hung for {job.limit_s:g} s of wall time')
    if killed:
        raise KilledAutopilotError(killed)
    if px4 and record.status.steps == 0:
        raise LostRunError('PX4 has not connected')
    record.mission_flown = watch.flown
    record.recording_problem = recorder.problem if recorder is not None else ''
    # A flight that has not come to its end was judged as far as it was flown.
    judged = world.scenario.course.verdicts() if watch.verdicts is None else watch.verdicts
    return _row(record, judged, figures, _failure(watch, started, scenario), px4) | {
        PATH: figures.path.path(job.number)}


@contextlib.contextmanager
def _limit(limit_s: float, over: threading.Event) -> typing.Iterator[threading.Event]:
    """End a flight after some wall time; what is yielded is set then."""
    hangs = threading.Event()

    def give_up() -> None:
        hangs.set()
        over.set()

    guard = threading.Timer(limit_s, give_up)
    guard.start()
    try:
        yield hangs
    finally:
        guard.cancel()


def _failure(watch: FlightWatch, started: StartedAutopilot, scenario: Scenario) -> str:
    """Return why the mission was not flown, '' if it was, or if that is not asked for."""
    try:
        started.check_flown(watch, scenario)
    except MissionError as error:
        return str(error)
    return ''


def _row(
    record: FlightRecord, judged: Verdicts, figures: _Figures, failure: str, px4: Px4 | None,
) -> Row:
    holds = not failure and record.verdicts is not None and not record.failed
    return {
        'outcome': 'held' if holds else 'failed',
        'failure': failure or '; '.join(verdict.text for verdict in record.failed),
        **_judged(judged), **figures.columns(),
        'mission_flown': record.mission_flown, _PROBLEM: record.recording_problem,
        'fingerprint': record.status.fingerprint,
        'repeatable': not record.unrepeatable, 'not_repeatable_because': record.unrepeatable,
        'flying_s': record.status.wall_time_s, 'versions': _versions(px4)}


def _judged(verdicts: Verdicts) -> Row:
    """Return the columns of the expectations."""
    row: Row = {}
    for i, verdict in enumerate(verdicts, 1):
        row |= {f'expect_{i}': verdict.expectation, f'holds_{i}': verdict.holds,
                f'margin_{i}': verdict.margin, f'unit_{i}': verdict.unit,
                f'time_s_{i}': verdict.time_s, f'left_s_{i}': verdict.left_s}
    return row


@functools.cache
def _px4(build: str, schedule: str) -> Px4:
    return Px4.find(build, schedule)


@functools.cache
def _versions(px4: Px4 | None) -> str:
    """Return what the numbers of a flight depend on besides its scenario."""
    found = versions()
    if px4 is not None:
        found['px4'] = px4.digests()['bin/px4'][:16]
    return ', '.join(f'{name} {version}' for name, version in found.items())
