# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `view`: a recording in the viewer Rerun."""
from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import typing

from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.spec.resources import check_writable

if typing.TYPE_CHECKING:
    import rerun

_OPEN, _SUFFIX = 'rerun', '.rrd'
# What Rerun raises when it cannot write.
_FAILURES = OSError, RuntimeError, ValueError
# Rerun itself waits for ever when its writer has failed.
_FLUSH_TIMEOUT_S, _END_TIMEOUT_S = 10.0, 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', metavar='BAG', help='folder of a recording')
    parser.add_argument('--viewer', default=_OPEN, metavar='rerun|FILE.rrd',
                        help='open the viewer, or write a file for it')


def view(options: argparse.Namespace) -> int:
    """Show a recording; return the exit code."""
    # Rerun's own log; what matters comes as an exception.
    os.environ.setdefault('RUST_LOG', 'off')
    _check(options.viewer)
    bags, folder = vehicles_of(options.bag), pathlib.Path(os.path.expanduser(options.bag))
    if options.viewer != _OPEN:
        return _write(bags, folder, pathlib.Path(os.path.expanduser(options.viewer)))
    with tempfile.TemporaryDirectory(prefix='px4_sim_ros_') as kept:
        file = pathlib.Path(kept) / f'{folder.resolve().name}{_SUFFIX}'
        return _write(bags, folder, file) or _open(file)


def _check(viewer: str) -> None:
    """Check early that a file can be written, or that there is a viewer and a screen."""
    if viewer.endswith(_SUFFIX):
        check_writable('viewer', pathlib.Path(os.path.expanduser(viewer)))
    elif viewer != _OPEN:
        raise ParameterError(f'viewer {viewer!r}: must be {_OPEN}, or the name of a file that ends'
                             f' with {_SUFFIX}')
    if importlib.util.find_spec('rerun') is None:
        raise ParameterError(
            f'viewer {viewer!r}: the package rerun-sdk is not installed; `pip install'
            ' -r requirements-rerun.txt` installs it')
    if viewer == _OPEN and not (os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')):
        raise ParameterError(
            f'viewer {_OPEN}: there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is set; name'
            ' a file such as flight.rrd and open it elsewhere')


def _write(bags: list[BagReader], folder: pathlib.Path, file: pathlib.Path) -> int:
    """Write a recording into a file for Rerun; return the exit code."""
    import rerun

    stream = rerun.RecordingStream('px4_sim_ros')
    try:
        stream.save(file)
    except _FAILURES as error:
        return _failed(file, error)
    stream.send_recording_name(folder.name)
    try:
        if bags[0].folder == folder:
            from px4_sim_ros.viewing.rerun_bag import write_vehicle
            write_vehicle(bags[0], stream)
        else:
            from px4_sim_ros.viewing.rerun_bag import write_fleet
            write_fleet(bags, stream)
    except ParameterError:       # the recording does not fit its vehicle
        file.unlink()
        raise
    return _end(stream, file)


def _end(stream: rerun.RecordingStream, file: pathlib.Path) -> int:
    """Write what is left; return the exit code."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            stream.flush(timeout_sec=_FLUSH_TIMEOUT_S)
            stream.disconnect()
        except Exception as error:       # to be raised by the caller
            failures.append(error)
    thread = threading.Thread(target=run, name='rerun', daemon=True)
    thread.start()
    thread.join(_END_TIMEOUT_S)
    if thread.is_alive():
        _failed(file, RuntimeError('it does not answer'))
        sys.stderr.flush()
        os._exit(FAILED)                 # Rerun would block the exit as well
    for error in failures:
        if not isinstance(error, _FAILURES):
            raise error
        return _failed(file, error)
    return 0


def _failed(file: pathlib.Path, error: Exception) -> int:
    print(f'view: viewer {file}: ' + sentence(error).strip().partition('\n')[0], file=sys.stderr)
    return FAILED


def _open(file: pathlib.Path) -> int:
    """Open the viewer until it is closed; return the exit code.

    It may be outside PATH, in the package; by default it listens on all interfaces.
    """
    package = importlib.util.find_spec('rerun_cli')
    folders = package.submodule_search_locations if package else None
    programs = [pathlib.Path(folder) / 'rerun' for folder in folders or ()]
    program = next((str(program) for program in programs if program.is_file()), 'rerun')
    try:
        ended = subprocess.run([program, '--bind', '127.0.0.1', '--hide-welcome-screen', file],
                               stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        return _failed(file, error)
    return FAILED if ended.returncode else 0
