# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The folder of a campaign: what was asked for, and a row for each run that has ended."""
from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import typing
import warnings

from px4_sim_ros.campaign import inputs
from px4_sim_ros.campaign.jobs import FlownPath, Row, write_files
from px4_sim_ros.campaign.plan import Campaign, Run
from px4_sim_ros.model.errors import InputWarning, ParameterError, sentence
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.resources import check_size, first_bytes

# Files of a campaign that only grow, a line of JSON at a time: they are whole at any time.

_MOST_DIGITS = 19
_MOST_BYTES = 128 << 20        # a row takes one or two kilobytes
Form = typing.Callable[[typing.Any], typing.Any]
"""Makes of the content of a line what it stands for; raises TypeError, ValueError or LookupError if
it is not that."""


def _content(text: bytes) -> typing.Any:
    def whole(digits: str) -> int:
        if len(digits) > _MOST_DIGITS:
            raise ValueError
        return int(digits)
    return json.loads(text, parse_int=whole)


class _Read(typing.NamedTuple):
    """What the lines of a file hold, without those that are wrong."""

    content: list[typing.Any]
    size: int                  # of the lines that are complete, bytes
    damage: str                # a sentence about those that are wrong, '' for none


def _read(path: pathlib.Path, form: Form, *, cut: bool = False) -> _Read:
    """Read the lines; none if there is no such file."""
    try:
        data = first_bytes(path, _MOST_BYTES)
    except FileNotFoundError:
        data = b''
    except OSError as error:
        raise ParameterError(f'campaign {path.parent}: {path.name}: {error.strerror}') from error
    check_size(data, f'campaign {path.parent}: {path.name}', _MOST_BYTES)
    size = data.rfind(b'\n') + 1
    lines = data.split(b'\n')
    if cut or size == len(data):
        del lines[-1]
    content, wrong = [], []
    for number, line in enumerate(lines, 1):
        try:
            content.append(form(_content(line)))
        except (TypeError, ValueError, LookupError, RecursionError):
            wrong.append(number)
    return _Read(content, size, '' if not wrong else (
        f'campaign {path.parent}: {path.name} is damaged: {len(content)} of {len(lines)} lines can'
        f' be used; the first that cannot is line {wrong[0]}'))


class Lines:
    """The lines of a file that this process alone writes."""

    def __init__(self, path: pathlib.Path, form: Form, keeps: bool = True) -> None:
        """Open the file; a line that was written in part is taken away.

        :param keeps: whether `all` has what the lines hold
        """
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = _read(path, form, cut=True)
            if found.damage:
                raise ParameterError(f'{found.damage}; remove that line to continue')
            self._bytes = found.size
            os.ftruncate(self._file, self._bytes)
            self._keeps = keeps
            self.all = found.content if keeps else []
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


# What the lines hold. A folder may have been edited by hand, or copied in part.

_TEXTS = 'failure', 'fingerprint', 'command'
_NUMBERS = 'sim_time_s', 'flying_s', 'again'
_MOST = 1e15


class _RowForm:
    """Takes the rows of a campaign, one of each of its runs."""

    def __init__(self, campaign: Campaign) -> None:
        self._left = set(range(1, campaign.settings.runs + 1))
        self._inputs = [one.name for one in campaign.vary]

    def __call__(self, content: typing.Any) -> Row:
        row = dict(content)
        judged = [name.removeprefix('margin_') for name in row if name.startswith('margin_')]
        _check_texts(*(row[name] for name in _TEXTS), *(row[f'expect_{i}'] for i in judged),
                     *(row[f'unit_{i}'] or '' for i in judged), *row,
                     *(value for value in row.values() if isinstance(value, str)))
        _finite(row[name] for name in _NUMBERS)
        if row['outcome'] not in ('held', 'failed') or not set(self._inputs) <= set(row) or any(
                isinstance(value, list | dict) for value in row.values()):
            raise ValueError
        self._left.remove(row['run'])
        return row


def _session(content: typing.Any) -> Session:
    found = Session(*_finite(content))
    if min(found.flown, found.slots, found.elapsed_s) <= 0:
        raise ValueError
    return found


def _path(content: typing.Any) -> FlownPath:
    run, every_s, points = content
    _finite([run, every_s, *(value for point in points for value in point)])
    if any(len(point) != 3 for point in points):
        raise ValueError
    return FlownPath(run, every_s, points)


def _finite(values: typing.Iterable[typing.Any]) -> list[typing.Any]:
    """Return numbers that a flight can have."""
    found = list(values)
    if not all(abs(value) < _MOST for value in found):
        raise ValueError
    return found


def _check_texts(*values: typing.Any) -> None:
    """Check that values are texts that can be written."""
    for value in values:
        str.encode(value)


class Folder:
    """A folder that exists, and its campaign."""

    def __init__(self, path: pathlib.Path, campaign: Campaign, px4: Px4Build) -> None:
        self.path, self.campaign, self.px4 = path, campaign, px4
        self.damages: dict[str, str] = {}      # a sentence for each file that was read in part

    @classmethod
    def read(cls, path: str | pathlib.Path) -> Folder:
        """Find out which campaign is in a folder."""
        path = pathlib.Path(os.path.expanduser(path))
        try:
            content = _content(first_bytes(path / _PLAN, _MOST_BYTES))
            name, px4, campaign = (content[key] for key in ('name', 'px4', 'campaign'))
            if px4 is not None:
                build, schedule = px4
                px4 = build, schedule
            _check_texts(name, *(px4 or ()))
        except OSError as error:
            raise ParameterError(f'campaign {path}: has no {_PLAN}: {error.strerror}') from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ParameterError(f'campaign {path}: {_PLAN} is not that of a campaign') from error
        return cls(path, Campaign.from_mapping(name, f'campaign {path}', campaign), px4)

    @classmethod
    def make(cls, path: str | pathlib.Path, campaign: Campaign, px4: Px4Build) -> Folder:
        path = pathlib.Path(os.path.expanduser(path))
        if (path / _PLAN).exists():
            Folder.read(path)._check_same(campaign, px4)
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ParameterError(f'out {path}: exists and holds no campaign; name a new folder')
        try:
            (path / 'scenarios').mkdir(parents=True, exist_ok=True)
            atomic_write.write(path / _PLAN, json.dumps({
                'name': campaign.name, 'px4': px4, 'campaign': campaign.to_mapping()}, indent=1))
        except OSError as error:
            raise ParameterError(f'out {path}: cannot be made: {error.strerror}') from error
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
        return self.path.absolute() / 'recordings' / run_name(number)

    def _read(self, name: str, form: Form) -> list[typing.Any]:
        """Return the lines of a file; a InputWarning counts those that are wrong."""
        found = _read(self.path / name, form)
        if found.damage:
            self.damages[name] = found.damage
            warnings.warn(found.damage, InputWarning, stacklevel=3)
        return found.content

    def rows(self) -> list[Row]:
        """Return the rows of all runs that have ended, by number."""
        return sorted(self._read(ROWS, _RowForm(self.campaign)), key=lambda row: row['run'])

    def sessions(self) -> list[Session]:
        return self._read(_SESSIONS, _session)

    def add_session(self, session: Session) -> None:
        """Add one.

        :raises OSError: it cannot be written
        """
        with contextlib.closing(Lines(self.path / _SESSIONS, _session)) as lines:
            lines.add(session)

    def open_rows(self) -> Lines:
        return Lines(self.path / ROWS, _RowForm(self.campaign))

    def paths(self) -> dict[int, FlownPath]:
        """Return the paths of runs that have ended, by number."""
        return {path.run: path for path in self._read(_PATHS, _path)}

    def open_paths(self) -> Lines:
        """Return the paths, for writing; they do not stay in memory."""
        return Lines(self.path / _PATHS, _path, keeps=False)

    @contextlib.contextmanager
    def writing(self) -> typing.Iterator[None]:
        """Name the folder in what is said when something cannot be written into it.

        :raises OSError: it cannot
        """
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, f'out {self.path}: {sentence(error)}') from error


def run_name(number: int) -> str:
    return f'run_{number:06d}'
