# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a command prints; once nobody reads it any more, the command ends without a word.

That is an ordinary event: `| head` has what it wants, a pager was left, a terminal was closed.
"""
from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
import typing

from px4_sim_ros.cli.exit_codes import INTERRUPTED
from px4_sim_ros.model.errors import sentence

# Of a pipe, and of a terminal.
_GONE = errno.EPIPE, errno.EIO
_unread = threading.Event()


class _Output(io.TextIOWrapper):
    """Standard output or standard error.

    Python ignores SIGPIPE, as a flight needs it: its sockets are no output. The failure is taken
    above the buffer: below it a signal could come between a write and its count.
    """

    def write(self, text: str, /) -> int:
        """Write; to nowhere once the reader has gone."""
        try:
            return super().write(text)
        except OSError as error:
            self._go_on_without_reader(error)
        return len(text)

    def flush(self) -> None:
        """Flush; to nowhere once the reader has gone."""
        try:
            super().flush()
        except OSError as error:
            self._go_on_without_reader(error)

    def _go_on_without_reader(self, error: OSError) -> None:
        """Write to nowhere from now on, and end this process as a signal does.

        :raises OSError: it is another failure
        """
        if error.errno not in _GONE:
            raise error
        with open(os.devnull, 'wb') as nowhere:
            os.dup2(nowhere.fileno(), self.fileno())
        _unread.set()
        os.kill(os.getpid(), signal.SIGTERM)


def watch() -> None:
    """Watch what this process prints, in all its threads."""
    sys.stdout, sys.stderr = _watched(sys.stdout), _watched(sys.stderr)


def flush() -> None:
    """Write what is printed and not written yet: it may be only then that nobody reads it."""
    with contextlib.ExitStack() as stack:
        stack.callback(sys.stderr.flush)
        stack.callback(sys.stdout.flush)


def is_unread() -> bool:
    """Return whether somebody who read what this process prints has gone."""
    return _unread.is_set()


def interrupted(command: str) -> int:
    """Report that a command was interrupted, if somebody reads it; return its exit code."""
    if not is_unread():
        print(f'{command}: interrupted', file=sys.stderr)
    return INTERRUPTED


def failed(command: str, error: Exception, code: int) -> int:
    """Say in one sentence why a command has failed; return its exit code."""
    print(f'{command}: {sentence(error)}', file=sys.stderr)
    return code


def _watched(stream: typing.Any) -> typing.TextIO:
    if stream is None:                # it was closed before the start
        return open(os.devnull, 'w', encoding='utf-8')
    return _Output(
        stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering,
        write_through=stream.write_through)
