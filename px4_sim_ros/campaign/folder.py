# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The folder of a campaign: what was asked for, and a row for each run that has ended.

Rows are added to one file, a line each, and nothing is written over: whatever ends the campaign,
they are whole. The tables are made of them.
"""
from __future__ import annotations

import errno
import fcntl
import json
import os
import pathlib
import typing

from px4_sim_ros.campaign import inputs
from px4_sim_ros.campaign.jobs import Row, write_files
from px4_sim_ros.campaign.plan import Campaign, Run
from px4_sim_ros.config import whole_files
from px4_sim_ros.model.errors import ParameterError

_PLAN, _ROWS, _SESSIONS = 'campaign.json', 'runs.jsonl', 'sessions.jsonl'
Px4Build = tuple[str, str] | None
"""Build folder and schedule of the PX4 that flies; None: the embedded autopilot."""


class Session(typing.NamedTuple):
    """What a process has flown of a campaign."""

    flown: int                 # runs
    slots: int                 # that have flown at the same time
    elapsed_s: float           # wall time
    flying_s: float            # wall time of steps, of all slots
    sim_s: float               # simulated time

    @property
    def flights_per_hour(self) -> float:
        """Flights in an hour of wall time."""
        return 3600.0 * self.flown / self.elapsed_s

    @property
    def real_time_factor(self) -> float:
        """Simulated over wall time, of all slots together."""
        return self.sim_s / self.elapsed_s

    @property
    def share_not_flying(self) -> float:
        """The share of the slots' wall time in which no step was made."""
        return 1.0 - self.flying_s / (self.slots * self.elapsed_s)


class Folder:
    """A folder that exists, and its campaign."""

    def __init__(self, path: pathlib.Path, campaign: Campaign, px4: Px4Build) -> None:
        self.path, self.campaign, self.px4 = path, campaign, px4

    @classmethod
    def read(cls, path: str | pathlib.Path) -> Folder:
        """Find out which campaign is in a folder.

        :raises ParameterError: there is none
        """
        path = pathlib.Path(path).expanduser()
        try:
            content = json.loads((path / _PLAN).read_text(encoding='utf-8'))
        except OSError as error:
            raise ParameterError(f'campaign {path}: has no {_PLAN}: {error.strerror}') from error
        except ValueError as error:
            raise ParameterError(f'campaign {path}: {_PLAN} is no JSON') from error
        px4 = content['px4']
        return cls(path, Campaign.from_mapping(
            content['name'], f'campaign {path}', content['campaign']), px4 and tuple(px4))

    @classmethod
    def make(cls, path: str | pathlib.Path, campaign: Campaign, px4: Px4Build) -> Folder:
        """Make the folder of a campaign, or take the one in which it has begun.

        :raises ParameterError: another campaign is there, or it cannot be made
        """
        path = pathlib.Path(path).expanduser()
        if (path / _PLAN).exists():
            Folder.read(path)._check_same(campaign, px4)
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ParameterError(f'out {path}: exists and holds no campaign; name a new folder')
        found = cls(path, campaign, px4)
        try:
            (path / 'scenarios').mkdir(parents=True, exist_ok=True)
            whole_files.write(path / _PLAN, json.dumps({
                'name': campaign.name, 'px4': px4, 'campaign': campaign.to_mapping()}, indent=1))
        except OSError as error:
            raise ParameterError(f'out {path}: cannot be made: {error.strerror}') from error
        return found

    def _check_same(self, campaign: Campaign, px4: Px4Build) -> None:
        mine, other = json.loads(json.dumps([
            self.campaign.to_mapping() | {'px4': self.px4}, campaign.to_mapping() | {'px4': px4}]))
        grows = (campaign.settings.sampling in inputs.GROWS
                 and campaign.settings.runs >= self.campaign.settings.runs)
        changed = sorted(key for key in mine if mine[key] != other[key]
                         and not (key == 'runs' and grows) and key not in ('limit_s',))
        if changed:
            raise ParameterError(
                f'out {self.path}: holds a campaign with another {" and another ".join(changed)};'
                ' name a new folder')

    def write_run(self, run: Run) -> pathlib.Path:
        """Write the scenario of a run; return its file.

        :raises OSError: it cannot be written
        """
        return write_files(self.path / 'scenarios', run_name(run.number), run.scenario,
                           run.vehicle if run.is_own_vehicle else None)

    def recording(self, number: int) -> pathlib.Path:
        """Return where the recording of a run is, if there is one."""
        return self.path.absolute() / 'recordings' / run_name(number)

    def rows(self) -> list[Row]:
        """Return the rows of all runs that have ended, by number.

        :raises ParameterError: they cannot be read
        """
        try:
            data = (self.path / _ROWS).read_bytes()
        except FileNotFoundError:
            return []
        return sorted(_whole(self.path, data)[0], key=lambda row: row['run'])

    def sessions(self) -> list[Session]:
        """Return what has flown, the first first."""
        path = self.path / _SESSIONS
        lines = path.read_text(encoding='utf-8').splitlines() if path.is_file() else []
        return [Session(*json.loads(line)) for line in lines]

    def add_session(self, session: Session) -> None:
        """Add one.

        :raises OSError: it cannot be written
        """
        with open(self.path / _SESSIONS, 'a', encoding='utf-8') as file:
            file.write(json.dumps(session) + '\n')

    def open_rows(self) -> Rows:
        """Return the rows, for writing.

        :raises ParameterError: another process writes them
        """
        return Rows(self.path / _ROWS)


class Rows:
    """The rows of a campaign that is under way."""

    def __init__(self, path: pathlib.Path) -> None:
        """Open the file; a row that was written in part is taken away.

        :raises ParameterError: another process has it
        """
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise ParameterError(
                f'out {path.parent}: another process flies this campaign') from None
        self.rows, self._bytes = _whole(path.parent, path.read_bytes())
        os.ftruncate(self._file, self._bytes)

    def add(self, row: Row) -> None:
        """Add a row; it is on the disk afterwards.

        :raises OSError: it cannot be written; then nothing of it is
        """
        data = json.dumps(row).encode() + b'\n'
        try:
            if os.write(self._file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._bytes)
            raise
        self._bytes += len(data)
        self.rows.append(row)

    def close(self) -> None:
        """Let others write."""
        os.close(self._file)


def _whole(folder: pathlib.Path, data: bytes) -> tuple[list[Row], int]:
    """Return the rows that were written to their ends, and how many bytes they are."""
    end = data.rfind(b'\n') + 1
    try:
        return [json.loads(line) for line in data[:end].splitlines()], end
    except ValueError as error:
        raise ParameterError(f'campaign {folder}: {_ROWS} is damaged: {error}') from error


def run_name(number: int) -> str:
    """Return what files of a run are called."""
    return f'run_{number:06d}'
