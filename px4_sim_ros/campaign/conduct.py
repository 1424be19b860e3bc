# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A campaign from start to end: what is not flown yet is handed to an executor, row by row."""
from __future__ import annotations

import concurrent.futures
import contextlib
import pathlib
import shlex
import tempfile
import time
import typing

from px4_sim_ros.campaign.executors import Executor, Flyer, answer_of, asked
from px4_sim_ros.campaign.folder import Folder, Lines, Px4Build, Session
from px4_sim_ros.campaign.jobs import (
    ALWAYS,
    FAILED,
    NEVER,
    PATH,
    SCENARIO,
    Job,
    Row,
    row_in,
    spec_of,
)
from px4_sim_ros.campaign.plan import Campaign, Run
from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.px4.sitl import command_line
from px4_sim_ros.recording.analysis import tables

# So many are handed over at a time for each slot: the next one is there when a slot is free.
_AHEAD = 2
# An instance that nothing listens at: ports are looked at when a run is flown.
_NOWHERE = 99


class Progress(typing.NamedTuple):
    """How far a campaign is."""

    row: Row | None               # that has just come; None: a run was lost
    lost: str                     # why it was lost
    run: int
    flown: int                    # rows that there are
    held: int
    runs: int                     # rows that there will be
    flown_here: int               # since the start of this process
    elapsed_s: float              # since then


class Outcome(typing.NamedTuple):
    """What has become of a campaign in this process."""

    rows: list[Row]               # all that there are
    session: Session
    lost: dict[int, str]          # why runs have no row, by number


def check(campaign: Campaign, px4: Px4Build) -> None:
    """Check before anything is flown that the inputs can have all values that were drawn."""
    _check_one(campaign, campaign.run_with(0, {}), px4, campaign.owner)
    for name, value in campaign.extremes():
        if px4 is None and name.startswith('px4.'):
            raise ParameterError(f'{campaign.owner}: vary.{name}: the embedded autopilot has no'
                                 ' parameters; fly with the autopilot px4')
        what = f'{campaign.owner}: vary.{name}'
        _check_one(campaign, campaign.run_with(0, {name: value}), px4, f'{what} = {shown(value)}')


def _check_one(campaign: Campaign, run: Run, px4: Px4Build, what: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            spec_of(run.scenario, run.own_vehicle, px4, _NOWHERE, pathlib.Path(folder) / 'bag',
                    campaign.settings.recorder)
        except ParameterError as error:
            said = str(error).removeprefix(f'scenario {SCENARIO}: ')
            raise ParameterError(f'{what}: {said}') from error


def conduct(
    folder: Folder, executor: Executor, fly: Flyer, slots: int,
    report: typing.Callable[[Progress], None],
) -> Outcome:
    """Fly all runs that have no row yet.

    :param fly: what the executor runs in a slot of its own
    :param slots: how many fly at the same time
    :param report: called with each run that has ended
    :raises ExecutorEndedError: the executor hands out no further runs
    :raises OSError: a row cannot be written; those before it are whole
    """
    with (contextlib.closing(folder.open_rows()) as rows,
          contextlib.closing(folder.open_paths()) as paths):
        conductor = _Conductor(folder, rows, paths, executor, fly, slots, report)
        try:
            conductor.conduct()
        finally:
            if conductor.session.flown:
                with folder.writing():
                    folder.add_session(conductor.session)
        return Outcome(rows.all, conductor.session, conductor.lost)


class _Conductor:
    def __init__(
        self, folder: Folder, rows: Lines, paths: Lines, executor: Executor, fly: Flyer,
        slots: int, report: typing.Callable[[Progress], None],
    ) -> None:
        self._folder, self._executor = folder, executor
        self._rows, self._paths = rows, paths
        self._fly, self._slots, self._report = fly, slots, report
        self.lost: dict[int, str] = {}
        self._there = len(rows.all)
        self._failed = sum(row['outcome'] == 'failed' for row in rows.all)
        self._started_s = time.monotonic()

    @property
    def session(self) -> Session:
        """What has been flown here by now."""
        here = self._rows.all[self._there:]
        return Session(
            len(here), self._slots, time.monotonic() - self._started_s,
            sum(row['flying_s'] for row in here), sum(row['sim_time_s'] for row in here))

    def conduct(self) -> None:
        """Fly all that have no row."""
        there = {row['run'] for row in self._rows.all}
        runs = self._folder.campaign.settings.runs
        waiting = (number for number in range(1, runs + 1) if number not in there)
        under_way: dict[concurrent.futures.Future[typing.Any], Run] = {}
        while True:
            while len(under_way) < self._slots * _AHEAD and (number := next(waiting, None)):
                run = self._folder.campaign.run(number)
                with asked():
                    under_way[self._executor.submit(self._fly, self._job(run))] = run
            if not under_way:
                return
            done, _ = concurrent.futures.wait(
                under_way, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in sorted(done, key=concurrent.futures.Future.cancelled):
                answer = answer_of(future)
                self._take(under_way.pop(future), answer)

    def _job(self, run: Run) -> Job:
        settings = self._folder.campaign.settings
        records = FAILED if self._failed < settings.keep_failed else NEVER
        if settings.keep_every and run.number % settings.keep_every == 0:
            records = ALWAYS
        return Job.of(run, self._folder.px4, settings.limit_s, records,
                      str(self._folder.recording(run.number)), settings.recorder)

    def _take(self, run: Run, answer: dict[str, typing.Any]) -> None:
        row, lost = None, answer.get('lost', '')
        if answer.get('is_full'):      # it would lose those that fly for long, or write much
            raise OSError(f'run {run.number}: {lost}')
        if not lost:
            with self._folder.writing():
                row = self._row(run, answer)
                # Before the row: each run that has one has its path.
                if (path := row.pop(PATH, None)) is not None:
                    self._paths.add(path)
                self._rows.add(row)
            self._failed += row['outcome'] == 'failed'
        else:
            self.lost[run.number] = lost
        rows = self._rows.all
        self._report(Progress(
            row, lost, run.number, len(rows), len(rows) - self._failed,
            self._folder.campaign.settings.runs, len(rows) - self._there,
            time.monotonic() - self._started_s))

    def _row(self, run: Run, answer: dict[str, typing.Any]) -> Row:
        flown = row_in(answer, f'run {run.number}')
        file = self._folder.write_run(run)
        return {'run': run.number, **run.inputs, 'noise_seed': run.seed, **flown,
                'again': answer['again'], 'command': command(
                    file, self._folder.px4, flown['fingerprint'])}


def command(scenario: pathlib.Path, px4: Px4Build, fingerprint: str) -> str:
    """Return the command that flies a run again, and says whether it is the same flight."""
    words = ['python', '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--scenario', str(scenario)]
    if px4 is not None:
        words += ['--autopilot', 'px4', '--px4-dir', px4[0], '--px4-schedule', px4[1]]
    words += ['--expect', fingerprint]
    return shlex.join(words) if px4 is None else command_line(words)


def write_tables(folder: Folder) -> list[str]:
    """Write the tables of all rows; return a sentence about it.

    :raises OSError: they cannot be written
    """
    rows = folder.rows()
    if not rows:
        return []
    tables.write_csv(folder.path / 'runs.csv', rows)
    return [] if tables.write_parquet(folder.path / 'runs.parquet', rows) else [tables.NO_PARQUET]


def fly_again(folder: Folder, number: int, fly: Flyer, px4: Px4Build) -> tuple[Row, Row]:
    """Fly a run again; return its rows of then and of now."""
    rows = {row['run']: row for row in folder.rows()}
    if number not in rows:
        there = f'{min(rows)} to {max(rows)}' if rows else 'none'
        raise ParameterError(f'run {number}: {folder.path} has no row of it; it has {there}')
    campaign = folder.campaign
    run = campaign.run(number)
    answer = fly(Job.of(run, px4, campaign.settings.limit_s))
    return rows[number], row_in(answer, f'run {number}')
