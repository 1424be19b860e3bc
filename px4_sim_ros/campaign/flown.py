# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One flight of a campaign in this process, and the row that comes of it."""
from __future__ import annotations

import functools
import math
import pathlib
import shutil
import time

from px4_sim_ros.campaign.jobs import ALWAYS, FAILED, PATH, Job, PathTaker, Row, spec_of
from px4_sim_ros.flight.flight import Flight, HungError
from px4_sim_ros.flight.record import FlightResult
from px4_sim_ros.model.errors import RunError, sentence
from px4_sim_ros.model.scenario.happening import Verdicts
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.recording.bag.run_description import versions

_PROBLEM = 'recording_problem'


class LostRunError(RunError):
    """A run has not come to an end by itself; that says nothing about the vehicle."""


class KilledAutopilotError(LostRunError):
    """The autopilot was killed from outside: the run may be flown again at once."""


class _Figures:
    """The extremes of a flight."""

    def __init__(self) -> None:
        self.last: Situation | None = None
        self.path = PathTaker()
        self._max_height_m = self._max_distance_m = self._max_tilt_deg = self._max_speed = 0.0

    def add(self, situation: Situation) -> None:
        self.last = situation
        self.path.add(situation)
        self._max_height_m = max(self._max_height_m, situation.height_m)
        self._max_distance_m = max(self._max_distance_m, situation.distance_m)
        self._max_tilt_deg = max(self._max_tilt_deg, situation.tilt_deg)
        self._max_speed = max(self._max_speed, math.hypot(*situation.truth.velocity_flu))

    def columns(self) -> Row:
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
    :raises LostRunError: it hangs, no autopilot has come, or it was killed
    :raises OSError: a port is taken, or nothing can be written
    """
    started_s = time.monotonic()
    bag = folder / 'recording' if _is_recorded_at_once(job) else None
    row = _flown(job, instance, bag, folder)
    # From here on the run is flown: that it cannot be recorded takes nothing away from its row.
    problem = row.get(_PROBLEM, '')
    try:
        if bag is None and job.records == FAILED and row['outcome'] == 'failed':
            bag = folder / 'recording'
            again = _flown(job, instance, bag, folder)
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


def _flown(job: Job, instance: int, bag: pathlib.Path | None, folder: pathlib.Path) -> Row:
    """Fly; return the outcome."""
    spec = spec_of(job.scenario, job.vehicle, job.px4, instance, bag, job.recorder)
    figures, px4 = _Figures(), spec.first.px4
    # PX4 would take seconds to end by itself, and what it would write then is not kept.
    flight = Flight(spec, folder, ends_at_once=True)
    try:
        with flight:
            flight.scenario().on_judged = figures.add
            flight.run(wall_limit_s=job.limit_s)
            killed = flight.killed_from_outside()
    except HungError as error:
        raise LostRunError(str(error)) from error
    if killed:
        raise KilledAutopilotError(killed)
    result = flight.end()
    if px4 and result.first.status.steps == 0:
        raise LostRunError('PX4 has not connected')
    return _row(result, flight.scenario().course.verdicts(), figures, px4) | {
        PATH: figures.path.path(job.number)}


def _row(result: FlightResult, judged: Verdicts, figures: _Figures, px4: Px4 | None) -> Row:
    its, failure = result.first, result.failure
    holds = not failure and its.verdicts is not None and not its.failed
    return {
        'outcome': 'held' if holds else 'failed',
        'failure': failure or '; '.join(verdict.text for verdict in its.failed),
        **_judged(judged), **figures.columns(),
        'mission_flown': its.mission_flown, _PROBLEM: result.recording_problem,
        'fingerprint': result.fingerprint,
        'repeatable': not result.unrepeatable, 'not_repeatable_because': result.unrepeatable,
        'flying_s': its.status.wall_time_s, 'versions': _versions(px4),
        **({} if px4 is None else dict.fromkeys(LogLoss._fields) if its.log_loss is None
           else its.log_loss._asdict())}


def _judged(verdicts: Verdicts) -> Row:
    """Return the columns of the expectations."""
    row: Row = {}
    for i, verdict in enumerate(verdicts, 1):
        row |= {f'expect_{i}': verdict.expectation, f'holds_{i}': verdict.holds,
                f'margin_{i}': verdict.margin, f'unit_{i}': verdict.unit,
                f'time_s_{i}': verdict.time_s, f'left_s_{i}': verdict.left_s}
    return row


@functools.cache
def _versions(px4: Px4 | None) -> str:
    """Return the versions and settings that the numbers of a flight depend on."""
    found = versions()
    if px4 is not None:
        found['px4'] = px4.digests()['bin/px4'][:16]
    return ', '.join(f'{name} {version}' for name, version in found.items())
