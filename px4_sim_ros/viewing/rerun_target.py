# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sink of Rerun data: a viewer that is spawned, one that runs already, or a file."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import socket
import subprocess
import threading
import time
import typing
import urllib.parse

from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.spec.resources import check_writable

if typing.TYPE_CHECKING:
    import rerun

OPEN = 'rerun'
# The node that shows a running graph.
NODE = 'rerun_view'
APPLICATION = 'px4_sim_ros'
_SUFFIX = '.rrd'
_SCHEMES = 'rerun+http', 'rerun+https'
# Where a spawned viewer listens.
_OPENED = 'rerun+http://127.0.0.1:9876/proxy'
_CONNECT_TIMEOUT_S = 2.0
_LOOK_S = 0.05
# A viewer that does not read its data blocks us no longer than this.
_FLUSH_TIMEOUT_S = 3.0
# Rerun itself blocks for ever when its writer has failed, or when another program listens.
_CALL_TIMEOUT_S = 6.0
# A lost connection is reported at once; a viewer that is only slow is no error.
_CHECK_TIMEOUT_S = 0.02
_TIMED_OUT = 'timed out'
# What Rerun raises when it cannot send or write.
_FAILURES = OSError, RuntimeError, ValueError
# Of wall time.
_LIVE_PORTION_S, _FILE_PORTION_S = 0.1, 1.0


class ViewerError(RuntimeError):
    """The viewer does not accept data."""


class RerunTarget:
    """A place for the recordings of one or several runs."""

    def __init__(self, text: str) -> None:
        """Check that data can be sent there.

        :param text: `rerun`, the name of an `.rrd` file, or the URL of a viewer that runs
        """
        self._text = text
        self._path = pathlib.Path(text).expanduser() if text.endswith(_SUFFIX) else None
        self._address = _address(_OPENED if text == OPEN else text)
        if self._path is not None:
            check_writable('viewer', self._path)
        elif self._address is None:
            raise ParameterError(
                f'viewer {text!r}: must be {OPEN}, the name of a file that ends with {_SUFFIX},'
                f' or a URL such as {_OPENED}')
        if importlib.util.find_spec('rerun') is None:
            raise ParameterError(
                f'viewer {text!r}: the package rerun-sdk is not installed; `pip install'
                ' -r requirements-rerun.txt` installs it')
        if self._path is None:
            self._check_viewer()
        # A viewer shows data at once; a file is smaller when it is written in large portions.
        self.portion_s = _FILE_PORTION_S if self._path else _LIVE_PORTION_S
        self._runs = 0
        # Rerun hangs, and would block the exit of this process.
        self.hangs = False

    def _check_viewer(self) -> None:
        """Check early that there is a viewer, or that one can be spawned."""
        try:
            self._check_listens()
        except OSError as error:
            if self._text != OPEN:
                raise ParameterError(f'viewer {self._text}: no viewer listens there:'
                                     f' {sentence(error)}') from error
            if not (os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')):
                raise ParameterError(
                    f'viewer {OPEN}: there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is'
                    ' set; name a file such as flight.rrd and open it elsewhere') from None

    def open_run(self, name: str) -> rerun.RecordingStream:
        """Return the stream for the next run; each run is a recording of its own."""
        import rerun

        self._runs += 1
        stream = rerun.RecordingStream(APPLICATION)
        try:
            if self._path is not None:
                stream.save(_path_of_run(self._path, self._runs))
            else:
                if self._text == OPEN:
                    self._open_viewer()
                # Rerun itself would retry for ten seconds, with messages in the terminal.
                self._check_listens()
                self._with_timeout(_CALL_TIMEOUT_S, lambda: stream.connect_grpc(
                    _OPENED if self._text == OPEN else self._text))
        except _FAILURES as error:
            raise ViewerError(f'viewer {self._text}: {_first_line(error)}') from error
        stream.send_recording_name(name)
        return stream

    def _open_viewer(self) -> None:
        """Start a viewer that outlives this run, unless one is open already.

        `rerun.spawn` would let it listen on all interfaces.
        """
        assert self._address is not None       # it is no file
        host, port = self._address
        viewer: subprocess.Popen[bytes] | None = None
        deadline_s = time.monotonic() + _CALL_TIMEOUT_S
        while True:
            try:
                return self._check_listens()
            except OSError:
                if viewer is None:
                    viewer = subprocess.Popen(
                        [_viewer_program() or 'rerun', '--bind', host, '--port', str(port),
                         '--hide-welcome-screen', '--expect-data-soon'],
                        stdin=subprocess.DEVNULL, start_new_session=True)
                elif viewer.poll() is not None or time.monotonic() > deadline_s:
                    raise
            time.sleep(_LOOK_S)

    def check(self, stream: rerun.RecordingStream) -> None:
        """Check that the viewer or the disk still accepts the data of a run.

        :raises ViewerError: the viewer is gone, or the disk is full
        """
        try:
            self._flush(stream, _CHECK_TIMEOUT_S)
        except _FAILURES as error:
            if _TIMED_OUT not in str(error):
                raise ViewerError(f'viewer {self._text}: it takes no more data:'
                                  f' {_first_line(error)}') from error

    def close_run(self, stream: rerun.RecordingStream) -> None:
        """Send what is left of a run, and disconnect.

        :raises ViewerError: the viewer does not accept it
        """
        failures: list[Exception] = []
        for call in (lambda: self._flush(stream, _FLUSH_TIMEOUT_S),
                     lambda: self._with_timeout(_CALL_TIMEOUT_S, stream.disconnect)):
            if not self.hangs:
                try:
                    call()
                except _FAILURES as error:
                    failures.append(error)
        if failures:
            raise ViewerError(f'viewer {self._text}: it has not taken all data:'
                              f' {_first_line(failures[0])}') from failures[0]

    def discard_run(self) -> None:
        """Remove the file of the last run, if it goes into one: there is nothing to look at."""
        if self._path is not None and self._runs:
            _path_of_run(self._path, self._runs).unlink(missing_ok=True)

    def _flush(self, stream: rerun.RecordingStream, timeout_s: float) -> None:
        self._with_timeout(
            timeout_s + _FLUSH_TIMEOUT_S, lambda: stream.flush(timeout_sec=timeout_s))

    def _with_timeout(self, timeout_s: float, call: typing.Callable[[], None]) -> None:
        """Call Rerun and raise what it raises; RuntimeError when it does not return in time."""
        failures: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:       # to be raised by the caller
                failures.append(error)
        thread = threading.Thread(target=run, name='rerun', daemon=True)
        thread.start()
        thread.join(timeout_s)
        if thread.is_alive():
            self.hangs = True
            raise RuntimeError('it does not answer')
        if failures:
            raise failures[0]

    def _check_listens(self) -> None:
        """Check that a viewer listens; raise OSError otherwise."""
        assert self._address is not None       # it is no file
        socket.create_connection(self._address, _CONNECT_TIMEOUT_S).close()


def _path_of_run(path: pathlib.Path, number: int) -> pathlib.Path:
    return path if number == 1 else path.with_stem(f'{path.stem}_{number}')


def _address(url: str) -> tuple[str, int] | None:
    """Return host and port of a viewer; None when the text is no URL of one."""
    try:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme in _SCHEMES and parts.path == '/proxy' and parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:
        pass
    return None


def _viewer_program() -> str | None:
    """Return the viewer of the package, which may be outside PATH; None to search PATH."""
    package = importlib.util.find_spec('rerun_cli')
    folders = package.submodule_search_locations if package else None
    programs = [pathlib.Path(folder) / 'rerun' for folder in folders or ()]
    return next((str(program) for program in programs if program.is_file()), None)


def _first_line(error: Exception) -> str:
    return sentence(error).strip().partition('\n')[0]
