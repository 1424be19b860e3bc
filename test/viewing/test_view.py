# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `view`: a file for Rerun, or its viewer; what goes wrong is one sentence, soon."""
import errno
import importlib.util
import os
import re
import subprocess
import time

import pytest
from commands import command, run
from report_flights import fly

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
from rerun.chunk import RrdReader

from px4_sim_ros.cli import command_line
from px4_sim_ros.cli import view as view_command
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.files import Files

SOON_S = 5.0         # of processor time
# For what Rerun itself tries for a while.
PATIENCE_S = 25.0


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return the folder of a short recording."""
    folder = tmp_path_factory.mktemp('recorded') / 'bag'
    fly(folder, 0.4)
    return folder


def program():
    """Return the viewer that comes with the package."""
    folder, = importlib.util.find_spec('rerun_cli').submodule_search_locations
    return os.path.join(folder, 'rerun')


def poses(path):
    return sum(chunk.num_rows for chunk in RrdReader(path).stream().to_chunks()
               if chunk.entity_path == '/world/vehicle')


def view(capsys, *words):
    """Run the command here; return its exit code and the one sentence that it prints."""
    started_s = time.process_time()
    try:
        code = command_line.main(['view', *map(str, words)])
    except SystemExit as end:
        code = end.code
    assert time.process_time() - started_s < SOON_S
    printed = capsys.readouterr()
    assert printed.out == ''
    line, = printed.err.splitlines()
    return code, line


# Files.

@pytest.mark.process
def test_a_recording_goes_into_a_file(bag, tmp_path):
    """Its name may begin with the user's own folder."""
    result = run('view', bag, '--viewer', '~/flight.rrd', env=os.environ | {'HOME': str(tmp_path)})
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')
    file = tmp_path / 'flight.rrd'
    assert poses(file) == 10
    assert [entry.application_id for entry in RrdReader(file).recordings()] == ['px4_sim_ros']
    verified = subprocess.run([program(), 'rrd', 'verify', file], capture_output=True, check=False)
    assert verified.returncode == 0, verified.stderr


@pytest.mark.process
def test_a_disk_that_takes_no_more_is_reported(bag, tmp_path):
    """Rerun's writer ends there, and Rerun may then wait for it for ever."""
    started_s = time.monotonic()
    result = subprocess.run(
        ['prlimit', '--fsize=20000', '--', *command('view', bag, '--viewer', tmp_path / 'x.rrd')],
        # Python would write its own files in part as well, for all who come later.
        env=os.environ | {'PYTHONDONTWRITEBYTECODE': '1'},
        capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    assert result.returncode == 1
    assert re.fullmatch(f"view: viewer {re.escape(str(tmp_path / 'x.rrd'))}: .*\n", result.stderr)
    assert time.monotonic() - started_s < PATIENCE_S


def test_a_disk_that_is_full_from_the_start_is_reported(bag, tmp_path, capsys):
    (tmp_path / 'flight.rrd').symlink_to('/dev/full')
    code, line = view(capsys, bag, '--viewer', tmp_path / 'flight.rrd')
    assert code == 1
    assert re.search(r'flight\.rrd: .*No space left on device', line)


class FailingStream:
    """A stream that takes no data."""

    def __init__(self, failure):
        self._failure = failure

    def flush(self, timeout_sec):
        raise self._failure


@pytest.mark.parametrize('failure', [
    OSError(errno.EIO, 'Input/output error'), RuntimeError('Input/output error\nand more'),
    ValueError('Input/output error')])
def test_every_failure_of_rerun_is_one_sentence(failure, tmp_path, capsys):
    file = tmp_path / 'flight.rrd'
    assert view_command._end(FailingStream(failure), file) == 1
    assert capsys.readouterr().err == f'view: viewer {file}: Input/output error\n'


def test_what_is_no_failure_of_rerun_is_not_lost(tmp_path):
    with pytest.raises(TypeError, match='a fault'):
        view_command._end(FailingStream(TypeError('a fault')), tmp_path / 'flight.rrd')


# The viewer.

@pytest.mark.process
@pytest.mark.parametrize('code', [0, 1])
def test_the_viewer_of_the_package_is_opened_on_this_machine_only(
        code, bag, tmp_path, monkeypatch, capsys):
    """With a file that goes when it is closed."""
    seen = tmp_path / 'seen'
    (tmp_path / 'rerun').write_text(
        f'#!/bin/sh\necho "$@" > {seen}\n{program()} rrd stats "$4" > /dev/null && exit {code}\n')
    (tmp_path / 'rerun').chmod(0o755)
    find, package = importlib.util.find_spec, importlib.util.find_spec('rerun_cli')
    package.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, 'find_spec',
                        lambda name, *more: package if name == 'rerun_cli' else find(name, *more))
    monkeypatch.setenv('DISPLAY', ':0')
    assert command_line.main(['view', str(bag)]) == code
    *options, file = seen.read_text().split()
    assert options == ['--bind', '127.0.0.1', '--hide-welcome-screen']
    assert file.endswith('/bag.rrd') and not os.path.exists(file)
    assert capsys.readouterr() == ('', '')


# What is refused.

def test_a_bad_recording_is_one_sentence(tmp_path, capsys):
    code, line = view(capsys, tmp_path / 'none', '--viewer', tmp_path / 'x.rrd')
    assert (code, line) == (2, f"view: bag {tmp_path / 'none'}: there is no such folder")
    assert not list(tmp_path.iterdir())


def test_a_recording_that_does_not_fit_its_vehicle_leaves_no_file(
        bag, tmp_path, monkeypatch, capsys):
    hexa = Files({('vehicles', 'iris'): Files().text('vehicles', 'hexa')})
    monkeypatch.setattr(RunDescription, 'files', lambda run, except_for=(): hexa)
    code, line = view(capsys, bag, '--viewer', tmp_path / 'x.rrd')
    assert code == 2 and 'has 6 rotors' in line
    assert not list(tmp_path.iterdir())


def test_wrong_viewers_are_one_sentence(bag, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv('DISPLAY', raising=False)
    monkeypatch.delenv('WAYLAND_DISPLAY', raising=False)
    (tmp_path / 'folder.rrd').mkdir()
    for text, words in (
            ('x.txt', "'x.txt': must be rerun, or the name of a file that ends with .rrd"),
            ('', 'must be rerun'), (tmp_path / 'folder.rrd', 'is a folder; name a file'),
            (tmp_path / 'none' / 'x.rrd', 'its folder is missing or cannot be written'),
            ('rerun', 'there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is set; name a file'
             ' such as flight.rrd and open it elsewhere')):
        code, line = view(capsys, bag, '--viewer', text)
        assert code == 2
        assert line.startswith('view: viewer ')
        assert words in line


@pytest.mark.parametrize('text', ['rerun', 'flight.rrd'])
def test_the_missing_package_is_reported(text, bag, tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, 'find_spec',
                        lambda name, *more: None if name == 'rerun' else find(name, *more))
    monkeypatch.chdir(tmp_path)
    assert view(capsys, bag, '--viewer', text) == (
        2, f'view: viewer {text!r}: the package rerun-sdk is not installed; `pip install -r'
        ' requirements-rerun.txt` installs it')
