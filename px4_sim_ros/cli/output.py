# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a command prints, and what happens when it cannot be printed.

A reader that closes ends the command silently: `| head`, a pager, a closed terminal. If the device
is full, the command does its work, reports that on standard error and fails.
"""
from __future__ import annotations

import argparse
import contextlib
import errno
import io
import json
import os
import pathlib
import signal
import sys
import threading
import typing
import warnings

from px4_sim_ros.model.errors import InputWarning, one_line, printable, sentence
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.resources import check_writable

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
# The reader of what a command prints has gone: as a shell calls the end by SIGPIPE.
UNREAD = 141

# Of a pipe, and of a terminal.
_GONE = errno.EPIPE, errno.EIO
_unread = threading.Event()
_failures: list[str] = []          # of writing, a sentence each


class _Output(io.TextIOWrapper):
    """Standard output or standard error.

    Python ignores SIGPIPE, as a flight needs it: its sockets are no output. The failure is taken
    above the buffer: below it a signal could come between a write and its count.
    """

    def write(self, text: str, /) -> int:
        """Write what may be of others, without control characters; to nowhere after a failure."""
        self.draw(printable(text))
        return len(text)

    def draw(self, text: str, /) -> int:
        """Write what the command draws, with its control characters."""
        try:
            return super().write(text)
        except OSError as error:
            self._write_to_nowhere(error)
        return len(text)

    def flush(self) -> None:
        """Flush; to nowhere after a failure."""
        try:
            super().flush()
        except OSError as error:
            self._write_to_nowhere(error)

    def _write_to_nowhere(self, error: OSError) -> None:
        """Write to nowhere from now on; end as by a signal if the reader has gone."""
        stream = 'standard output' if self.fileno() == 1 else 'standard error'
        with open(os.devnull, 'wb') as nowhere:
            os.dup2(nowhere.fileno(), self.fileno())
        if error.errno in _GONE:
            _unread.set()
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            _failures.append(f'{stream} cannot be written: {error.strerror}')


def watch() -> None:
    """Watch what this process prints, in all its threads."""
    sys.stdout, sys.stderr = _watched(sys.stdout), _watched(sys.stderr)


def flush() -> None:
    """Write what is printed and not written yet: it may fail only then."""
    with contextlib.ExitStack() as stack:
        stack.callback(sys.stderr.flush)
        stack.callback(sys.stdout.flush)


def is_unread() -> bool:
    """Return whether a reader of what this process prints has closed."""
    return _unread.is_set()


def report_failures() -> bool:
    """Report what could not be printed on standard error; return whether there is any."""
    for failure in _failures:
        print(f'px4_sim_ros: {failure}', file=sys.stderr)
    return bool(_failures)


@contextlib.contextmanager
def input_warnings_reported() -> typing.Iterator[None]:
    """Report on standard error what is not used of all that is read, each sentence once."""
    reported: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter('always', InputWarning)
        others = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], *where: typing.Any,
            **more: typing.Any,
        ) -> None:
            if not issubclass(category, InputWarning):
                others(message, category, *where, **more)
            elif str(message) not in reported:
                reported.add(str(message))
                print(message, file=sys.stderr, flush=True)

        warnings.showwarning = show       # type: ignore[assignment]
        yield


_PRINTED = pathlib.Path('-')


def add_json(parser: argparse.ArgumentParser, what: str = 'the figures', *more: str) -> None:
    """Describe the option `--json`, and its other names."""
    parser.add_argument('--json', *more, dest='json', nargs='?', type=pathlib.Path,
                        const=_PRINTED, metavar='FILE',
                        help=f'{what} as one JSON object: in this file, or printed, and all else on'
                        ' standard error')


def check_json(options: argparse.Namespace) -> None:
    """Check early that the JSON can be written, if it is wanted."""
    if isinstance(options.json, pathlib.Path):
        check_writable('json', options.json)


@contextlib.contextmanager
def json_alone(options: argparse.Namespace) -> typing.Iterator[None]:
    """Leave standard output to the JSON, if it is to be printed."""
    if getattr(options, 'json', None) != _PRINTED:
        yield
        return
    options.json = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield


def write_json(
    where: pathlib.Path | typing.TextIO, content: typing.Mapping[str, typing.Any],
    indent: int | None = 2, *, allow_nan: bool = True,
) -> None:
    """Write one JSON object into a file, or print it."""
    text = json.dumps(content, indent=indent, allow_nan=allow_nan) + '\n'
    if isinstance(where, pathlib.Path):
        atomic_write.write(where, text)
    else:
        where.write(text)


def interrupted(command: str) -> int:
    """Report that a command was interrupted, if stderr has a reader; return its exit code."""
    if not is_unread():
        print(f'{command}: interrupted', file=sys.stderr)
    return INTERRUPTED


def failed(command: str, error: Exception, code: int) -> int:
    """Say in one sentence why a command has failed; return its exit code."""
    print(one_line(f'{command}: {sentence(error)}'), file=sys.stderr)
    return code


def _watched(stream: typing.Any) -> typing.TextIO:
    if stream is None:                # it was closed before the start
        return open(os.devnull, 'w', encoding='utf-8')
    # A terminal that cannot show a character shows its number.
    return _Output(
        stream.buffer, stream.encoding, 'backslashreplace', line_buffering=stream.line_buffering,
        write_through=stream.write_through)
