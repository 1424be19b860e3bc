# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The folder of a campaign: what was asked for, and a row for each run that has ended.

Rows are the lines of one file. The tables are made of them.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import typing

from px4_sim_ros.campaign import inputs
from px4_sim_ros.campaign.jobs import Row, write_files
from px4_sim_ros.campaign.paths import FlownPath
from px4_sim_ros.campaign.plan import Campaign, Run
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.process import atomic_write

# Files of a campaign that only grow, a line of JSON at a time: they are whole at any time.


def read(path: pathlib.Path) -> list[typing.Any]:
    """Return the content of the lines; none if there is no such file.

    :raises ParameterError: it cannot be read
    """
    try:
        return _whole(path, path.read_bytes())[0]
    except FileNotFoundError:
        return []


class Lines:
    """The lines of a file that this process alone writes."""

    def __init__(self, path: pathlib.Path, keeps: bool = True) -> None:
        """Open the file; a line that was written in part is taken away.

        :param keeps: whether `all` has what the lines hold
        :raises ParameterError: another process has it
        """
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            whole, self._bytes = _whole(path, path.read_bytes())
            os.ftruncate(self._file, self._bytes)
            self._keeps = keeps
            self.all = whole if keeps else []
        except BlockingIOError:
            self.close()
            raise ParameterError(
                f'out {path.parent}: another process flies this campaign') from None
        except BaseException:
            self.close()
            raise

    def add(self, content: typing.Any) -> None:
        """Add a line; it is on the disk afterwards.

        :raises OSError: it cannot be written; then nothing of it is
        """
        data = json.dumps(content).encode() + b'\n'
        try:
            if os.write(self._file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._bytes)
            raise
        self._bytes += len(data)
        if self._keeps:
            self.all.append(content)

    def close(self) -> None:
        """Let others write."""
        os.close(self._file)


def _whole(path: pathlib.Path, data: bytes) -> tuple[list[typing.Any], int]:
    """Return the complete lines, and their number of bytes."""
    end = data.rfind(b'\n') + 1
    try:
        return [json.loads(line) for line in data[:end].splitlines()], end
    except ValueError as error:
        raise ParameterError(f'campaign {path.parent}: {path.name} is damaged: {error}') from error


_PLAN, ROWS, _SESSIONS = 'campaign.json', 'runs.jsonl', 'sessions.jsonl'
_PATHS = 'paths.jsonl'
# Settings that change no flight.
_OF_NO_FLIGHT = 'limit_s', 'at_least'
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
            name, px4, campaign = (content[key] for key in ('name', 'px4', 'campaign'))
        except OSError as error:
            raise ParameterError(f'campaign {path}: has no {_PLAN}: {error.strerror}') from error
        except (ValueError, KeyError, TypeError) as error:
            raise ParameterError(f'campaign {path}: {_PLAN} is not that of a campaign') from error
        return cls(path, Campaign.from_mapping(name, f'campaign {path}', campaign),
                   px4 and tuple(px4))

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
        with _making(path):
            (path / 'scenarios').mkdir(parents=True, exist_ok=True)
            atomic_write.write(path / _PLAN, json.dumps({
                'name': campaign.name, 'px4': px4, 'campaign': campaign.to_mapping()}, indent=1))
        return cls(path, campaign, px4)

    def _check_same(self, campaign: Campaign, px4: Px4Build) -> None:
        mine, other = json.loads(json.dumps([
            self.campaign.to_mapping() | {'px4': self.px4}, campaign.to_mapping() | {'px4': px4}]))
        grows = (campaign.settings.sampling in inputs.GROWS
                 and campaign.settings.runs >= self.campaign.settings.runs)
        changed = sorted(key for key in mine if mine[key] != other[key]
                         and not (key == 'runs' and grows) and key not in _OF_NO_FLIGHT)
        if changed:
            raise ParameterError(
                f'out {self.path}: holds a campaign with another {" and another ".join(changed)};'
                ' name a new folder')

    def write_run(self, run: Run) -> pathlib.Path:
        """Write the scenario of a run; return its file.

        :raises OSError: it cannot be written
        """
        return write_files(self.path / 'scenarios', run_name(run.number), run.scenario,
                           run.own_vehicle)

    def recording(self, number: int) -> pathlib.Path:
        """Return where the recording of a run is, if there is one."""
        return self.path.absolute() / 'recordings' / run_name(number)

    def rows(self) -> list[Row]:
        """Return the rows of all runs that have ended, by number.

        :raises ParameterError: they cannot be read
        """
        return sorted(read(self.path / ROWS), key=lambda row: row['run'])

    def sessions(self) -> list[Session]:
        """Return the sessions, the first first.

        :raises ParameterError: it cannot be read
        """
        return [Session(*line) for line in read(self.path / _SESSIONS)]

    def add_session(self, session: Session) -> None:
        """Add one.

        :raises OSError: it cannot be written
        """
        with contextlib.closing(Lines(self.path / _SESSIONS)) as lines:
            lines.add(session)

    def open_rows(self) -> Lines:
        """Return the rows, for writing.

        :raises ParameterError: another process writes them
        """
        return Lines(self.path / ROWS)

    def paths(self) -> dict[int, FlownPath]:
        """Return the paths of runs that have ended, by number.

        :raises ParameterError: they cannot be read
        """
        found = (FlownPath(*line) for line in read(self.path / _PATHS))
        return {path.run: path for path in found}

    def open_paths(self) -> Lines:
        """Return the paths, for writing; they do not stay in memory.

        :raises ParameterError: another process writes them
        """
        return Lines(self.path / _PATHS, keeps=False)

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Name the folder in what is said when something cannot be written into it."""
        return writing(self.path)


@contextlib.contextmanager
def writing(path: pathlib.Path) -> typing.Iterator[None]:
    """Name a folder in what is said when something cannot be written into it.

    :raises OSError: it cannot
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f'out {path}: {sentence(error)}') from error


@contextlib.contextmanager
def _making(path: pathlib.Path) -> typing.Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ParameterError(f'out {path}: cannot be made: {error.strerror}') from error


def made(path: str | pathlib.Path) -> pathlib.Path:
    """Return a folder that is there, for what is no campaign.

    :raises ParameterError: it cannot be made
    """
    path = pathlib.Path(path).expanduser()
    with _making(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def run_name(number: int) -> str:
    """Return the name of the files of a run."""
    return f'run_{number:06d}'
