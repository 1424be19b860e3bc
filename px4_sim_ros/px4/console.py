# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What PX4 complains of on its console: some reasons are nowhere else.

PX4 sends STATUSTEXT to ground stations only, and answers a wrong parameter with a line of its
console. The console is read where it goes into a file, as that of a PX4 that `fly` starts does.
"""
from __future__ import annotations

import contextlib
import pathlib
import re
import stat
import typing

_LINE = re.compile(r'(?:WARN|ERROR) +\[\w+\] .*')
_COLOUR = re.compile(r'\x1b\[[\d;]*m')
_MOST_LINES = 3
_MOST_BYTES = 100_000
# What PX4's uxrce_dds_client prints for each topic, once an agent has answered it.
_OF_AGENT = b'successfully created rt/'


class Console:
    """The console of the process that has a UDP port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: int | None = None
        self._has_looked = False

    def size(self) -> int:
        """Return how many bytes were printed by now, 0 if that is not known."""
        path = self._file()
        return path.stat().st_size if path else 0

    def words(self, since: int) -> str:
        """Return the last warnings and errors that were printed, '' for none."""
        path = self._file()
        return '' if path is None else complaints(path, since)

    def _file(self) -> pathlib.Path | None:
        """Return the file that it goes into, None for none."""
        if not self._has_looked or (
                self._process is not None and not pathlib.Path(f'/proc/{self._process}').exists()):
            self._has_looked, self._process = True, _holder_of(self._port)
        return _console_of(self._process)


class AgentWatch:
    """Looks in the console of a process whether a Micro XRCE-DDS agent has answered it."""

    def __init__(self, process: int | None) -> None:
        self._process, self._read_bytes = process, 0

    def has_come(self) -> bool:
        """Return whether the lines that were printed since the last call say so."""
        with contextlib.suppress(OSError):                # it has just ended
            path = _console_of(self._process)
            if path is None:
                return False
            with path.open('rb') as file:
                file.seek(self._read_bytes)
                lines, _, _ = file.read().rpartition(b'\n')
            self._read_bytes += len(lines)        # the next call reads on from this line's end
            return _OF_AGENT in lines
        return False


def complaints(path: pathlib.Path, since: int = 0) -> str:
    """Return the last warnings and errors in a console's file, '' for none."""
    found = dict.fromkeys(line for line in _lines(path, since) if _LINE.match(line))
    return '; '.join(list(found)[-_MOST_LINES:])


def last_words(path: pathlib.Path) -> str:
    """Return why one has ended: its complaints, or its last line where it has none."""
    lines = list(filter(None, _lines(path)))
    return complaints(path) or (lines[-1] if lines else '')


def _lines(path: pathlib.Path, since: int = 0) -> list[str]:
    with path.open('rb') as file:
        file.seek(max(since, path.stat().st_size - _MOST_BYTES))
        text = _COLOUR.sub('', file.read().decode(errors='replace'))
    return [' '.join(''.join(filter(str.isprintable, line)).split())
            for line in text.splitlines()]


def _console_of(process: int | None) -> pathlib.Path | None:
    """Return the file that a process prints to, None for none, or a terminal."""
    path = pathlib.Path(f'/proc/{process}/fd/1')
    with contextlib.suppress(OSError):             # it has ended, or is of another user
        if process is not None and stat.S_ISREG(path.stat().st_mode):
            return path
    return None


def _holder_of(port: int) -> int | None:
    """Return the process that has a UDP port, None for none that the system shows."""
    import psutil  # it takes a while
    return next((typing.cast('int | None', connection.pid)
                 for connection in psutil.net_connections('udp')
                 if connection.laddr and connection.laddr.port == port), None)
