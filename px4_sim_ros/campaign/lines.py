# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Files of a campaign that only grow, a line of JSON at a time: they are whole at any time."""
from __future__ import annotations

import errno
import fcntl
import json
import os
import pathlib
import typing

from px4_sim_ros.model.errors import ParameterError


def read(path: pathlib.Path) -> list[typing.Any]:
    """Return what the lines hold; none if there is no such file.

    :raises ParameterError: it cannot be read
    """
    try:
        return _whole(path, path.read_bytes())[0]
    except FileNotFoundError:
        return []


class Lines:
    """The lines of a file that nobody else writes meanwhile."""

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
    """Return what was written to its end, and how many bytes that is."""
    end = data.rfind(b'\n') + 1
    try:
        return [json.loads(line) for line in data[:end].splitlines()], end
    except ValueError as error:
        raise ParameterError(f'campaign {path.parent}: {path.name} is damaged: {error}') from error
