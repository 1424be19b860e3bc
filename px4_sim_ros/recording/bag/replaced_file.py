# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A file that is replaced often, and is whole at any time."""
from __future__ import annotations

import contextlib
import os
import pathlib


class ReplacedFile:
    """Two files take turns under one name.

    To write a new file each time, and to give up the one before, takes the system five times as
    long as to write into the one before the last.
    """

    def __init__(self, path: pathlib.Path) -> None:
        """Begin without a file.

        :param path: nothing else has this name with `.new` or `.old` behind it
        """
        self._path = str(path)
        self._names = [f'{path}.new', f'{path}.old']       # of the other one: now, and then
        self._current: int | None = None
        self._other: int | None = None
        self._longest = 0

    def replace(self, content: bytes) -> None:
        """Replace the content.

        :raises OSError: it cannot be written; the one before stays
        """
        new, old = self._names
        if self._other is None:
            self._other = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        self._write(self._other, content)
        if self._current is not None:
            try:
                os.link(self._path, old)
            except OSError:        # the disk has no links, or it is gone: a new file each time
                os.close(self._current)
                self._current = None
        os.rename(new, self._path)
        self._current, self._other = self._other, self._current
        self._names.reverse()

    def _write(self, file: int, content: bytes) -> None:
        written = 0
        while written < len(content):          # a disk that gets full takes a part, then raises
            written += os.pwrite(file, content[written:], written)
        if written < self._longest:
            os.ftruncate(file, written)
        self._longest = max(written, self._longest)

    def close(self) -> None:
        """Let the file be as it is, and nothing beside it; a second time nothing happens."""
        for file in (self._current, self._other):
            if file is not None:
                os.close(file)
        self._current = self._other = None
        for name in self._names:
            with contextlib.suppress(OSError):
                os.unlink(name)
