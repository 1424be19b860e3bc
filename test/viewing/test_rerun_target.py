# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sinks of Rerun data; one that does not accept data is reported soon, in one sentence."""
import contextlib
import errno
import importlib.util
import os
import re
import signal
import socket
import subprocess
import time
import warnings

import numpy as np
import psutil
import pytest
from commands import command, run
from headless_rerun import free_port, listening
from report_flights import fly

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
import rerun
from rerun.chunk import RrdReader

from px4_sim_ros.cli import command_line
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.files import Files
from px4_sim_ros.viewing import rerun_target
from px4_sim_ros.viewing.rerun_stream import TIMELINE
from px4_sim_ros.viewing.rerun_target import APPLICATION, RerunTarget, ViewerError

SOON_S = 5.0
# For what Rerun itself tries for a while.
PATIENCE_S = 25.0
COUNT = 1000


@pytest.fixture
def unused_url():
    """Return the URL of a port that is taken and without a listener."""
    with socket.socket() as holder:
        holder.bind(('127.0.0.1', 0))
        yield f'rerun+http://127.0.0.1:{holder.getsockname()[1]}/proxy'


@pytest.fixture
def other_url():
    """Return the URL of a port where a program listens that is no viewer, and never answers."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield f'rerun+http://127.0.0.1:{server.getsockname()[1]}/proxy'


@pytest.fixture
def no_screen(monkeypatch):
    """Be on a machine without a screen."""
    monkeypatch.delenv('DISPLAY', raising=False)
    monkeypatch.delenv('WAYLAND_DISPLAY', raising=False)


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return the folder of a short recording."""
    folder = tmp_path_factory.mktemp('recorded') / 'bag'
    fly(folder, 0.4)
    return folder


def send(stream, values=1.0):
    scalars = np.broadcast_to(values, COUNT)
    stream.send_columns(
        '/numbers', indexes=[rerun.TimeColumn(TIMELINE, duration=0.004 * np.arange(COUNT))],
        columns=rerun.Scalars.columns(scalars=scalars))


def rows(path, entity='/numbers'):
    return sum(chunk.num_rows for chunk in RrdReader(path).stream().to_chunks()
               if chunk.entity_path == entity)


def wait_for_rows(path, count, entity='/numbers'):
    """Wait until a viewer has written down what it was sent; it may be just writing."""
    deadline_s, found = time.monotonic() + PATIENCE_S, None
    while found != count:
        assert time.monotonic() < deadline_s, f'{found} rows instead of {count}'
        with warnings.catch_warnings(), contextlib.suppress(OSError, RuntimeError, ValueError):
            warnings.simplefilter('ignore')
            found = rows(path, entity)


# Files.

def test_each_run_goes_into_a_file_of_its_own(tmp_path):
    target = RerunTarget(str(tmp_path / 'flight.rrd'))
    for count in 1, 2, 3:
        stream = target.open_run('iris')
        for _ in range(count):
            send(stream)
        target.check(stream)
        target.close_run(stream)
    names = 'flight.rrd', 'flight_2.rrd', 'flight_3.rrd'
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert [rows(tmp_path / name) for name in names] == [COUNT, 2 * COUNT, 3 * COUNT]
    ids = set()
    for name in names:
        entry, = RrdReader(tmp_path / name).recordings()
        assert entry.application_id == APPLICATION
        ids.add(entry.recording_id)
    assert len(ids) == len(names)


def test_a_run_that_is_refused_leaves_no_file(tmp_path):
    target = RerunTarget(str(tmp_path / 'flight.rrd'))
    target.discard_run()                      # there is none yet
    for _ in range(2):
        stream = target.open_run('iris')
        send(stream)
        target.close_run(stream)
    target.discard_run()
    assert [path.name for path in tmp_path.iterdir()] == ['flight.rrd']


def test_a_name_may_begin_with_home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    target = RerunTarget('~/flight.rrd')
    target.close_run(target.open_run('iris'))
    assert (tmp_path / 'flight.rrd').is_file()


@pytest.mark.process
def test_a_disk_that_takes_no_more_is_reported(bag, tmp_path):
    """Rerun's writer ends there, and Rerun may then wait for it for ever."""
    started_s = time.monotonic()
    result = subprocess.run(
        ['prlimit', '--fsize=20000', '--', *command('view', bag, '--viewer', tmp_path / 'x.rrd')],
        # Python would write its own files in part as well, for all who come later.
        env=os.environ | {'PYTHONDONTWRITEBYTECODE': '1'},
        capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 1
    assert re.fullmatch(f"view: viewer {re.escape(str(tmp_path / 'x.rrd'))}: .*\n", result.stderr)
    assert time.monotonic() - started_s < PATIENCE_S


def test_a_disk_that_is_full_from_the_start_is_reported(tmp_path):
    (tmp_path / 'flight.rrd').symlink_to('/dev/full')
    with pytest.raises(ViewerError, match=r'flight\.rrd: .*No space left on device'):
        RerunTarget(str(tmp_path / 'flight.rrd')).open_run('iris')


def test_a_folder_of_that_name_is_reported(tmp_path):
    """Also when it is made later."""
    target = RerunTarget(str(tmp_path / 'flight.rrd'))
    (tmp_path / 'flight.rrd').mkdir()
    with pytest.raises(ViewerError, match=r'flight\.rrd: .*Is a directory'):
        target.open_run('iris')
    with pytest.raises(ParameterError, match=r'flight\.rrd: is a folder; name a file'):
        RerunTarget(str(tmp_path / 'flight.rrd'))


# What is refused.

@pytest.mark.parametrize('text', [
    '', 'rrd', 'flight.txt', 'rerun ', 'http://127.0.0.1:9876/proxy', 'rerun+http',
    'rerun+http://127.0.0.1:9876', 'rerun+http://127.0.0.1/proxy', 'rerun+http:///proxy',
    'rerun+http://127.0.0.1:99999/proxy', 'rerun+http://127.0.0.1:none/proxy',
    'rerun+http://[::1/proxy'])
def test_anything_else_is_refused(text):
    with pytest.raises(ParameterError) as error:
        RerunTarget(text)
    assert str(error.value) == (
        f'viewer {text!r}: must be rerun, the name of a file that ends with .rrd, or a URL such as'
        ' rerun+http://127.0.0.1:9876/proxy')


def test_a_folder_that_is_missing_is_refused(tmp_path):
    path = tmp_path / 'missing' / 'flight.rrd'
    with pytest.raises(ParameterError) as error:
        RerunTarget(str(path))
    assert str(error.value) == f'viewer {path}: its folder is missing or cannot be written'


@pytest.mark.parametrize('text', ['rerun', 'flight.rrd', 'rerun+http://127.0.0.1:9876/proxy'])
def test_the_missing_package_is_reported(text, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, 'find_spec',
                        lambda name, *more: None if name == 'rerun' else find(name, *more))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError) as error:
        RerunTarget(text)
    assert str(error.value) == (
        f'viewer {text!r}: the package rerun-sdk is not installed; `pip install -r'
        ' requirements-rerun.txt` installs it')


def test_no_listener_is_reported_at_once(unused_url):
    started_s = time.monotonic()
    with pytest.raises(ParameterError) as error:
        RerunTarget(unused_url)
    assert str(error.value) == f'viewer {unused_url}: no viewer listens there: Connection refused'
    assert time.monotonic() - started_s < SOON_S


def test_an_unknown_host_is_reported():
    with pytest.raises(ParameterError, match='no viewer listens there: '):
        RerunTarget('rerun+http://no-such-host.invalid:9876/proxy')


def test_no_screen_is_reported(unused_url, no_screen, monkeypatch):
    monkeypatch.setattr(rerun_target, '_OPENED', unused_url)
    with pytest.raises(ParameterError) as error:
        RerunTarget('rerun')
    assert str(error.value) == (
        'viewer rerun: there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is set; name a file'
        ' such as flight.rrd and open it elsewhere')


def test_with_a_screen_a_viewer_may_be_opened(unused_url, monkeypatch):
    monkeypatch.setattr(rerun_target, '_OPENED', unused_url)
    monkeypatch.setenv('DISPLAY', ':0')
    assert RerunTarget('rerun').portion_s < RerunTarget('flight.rrd').portion_s


@pytest.mark.process
def test_the_viewer_is_that_of_the_package(monkeypatch):
    """Also with `.venv/bin/python`, when `.venv/bin` is not in PATH."""
    monkeypatch.setenv('PATH', '')
    printed = subprocess.run([rerun_target._viewer_program(), '--version'], capture_output=True,
                          text=True, check=True).stdout
    assert rerun.__version__ in printed


@pytest.mark.process
def test_a_viewer_that_is_opened_listens_on_this_machine_only(monkeypatch, tmp_path):
    program = tmp_path / 'headless'
    program.write_text(f'#!/bin/sh\nexec {rerun_target._viewer_program()} --save {tmp_path}/f.rrd'
                       ' "$@" > /dev/null 2>&1\n')
    program.chmod(0o755)
    monkeypatch.setattr(rerun_target, '_OPENED',
                        f'rerun+http://127.0.0.1:{free_port()}/proxy')
    monkeypatch.setattr(rerun_target, '_viewer_program', lambda: str(program))
    monkeypatch.setenv('DISPLAY', ':0')
    before = set(psutil.Process().children())
    target = RerunTarget('rerun')
    target.close_run(target.open_run('first'))
    viewer, = set(psutil.Process().children()) - before
    try:
        target.close_run(target.open_run('again'))         # in the viewer that is open
        assert {listener.laddr.ip for listener in viewer.net_connections()
                if listener.status == psutil.CONN_LISTEN} == {'127.0.0.1'}
    finally:
        viewer.kill()
        viewer.wait()


# Viewers that go away or never answer.

@pytest.mark.process
def test_a_viewer_that_is_gone_is_reported(tmp_path):
    with listening(tmp_path / 'got.rrd') as (url, server):
        target = RerunTarget(url)
        stream = target.open_run('iris')
        send(stream)
        target.check(stream)
        server.kill()
        server.wait()
        with pytest.raises(ViewerError, match='it takes no more data: '):
            for i in range(1000):
                send(stream, i)
                target.check(stream)
        started_s = time.monotonic()
        with pytest.raises(ViewerError, match='it has not taken all data: '):
            target.close_run(stream)
        assert time.monotonic() - started_s < SOON_S
        with pytest.raises(ViewerError, match='Connection refused'):
            target.open_run('iris')


@pytest.mark.process
def test_a_viewer_that_is_slow_is_waited_for(tmp_path):
    with listening(tmp_path / 'got.rrd') as (url, server):
        target = RerunTarget(url)
        stream = target.open_run('iris')
        send(stream)
        server.send_signal(signal.SIGSTOP)
        try:
            for i in range(300):
                send(stream, i)
                if i % 50 == 0:
                    target.check(stream)
        finally:
            server.send_signal(signal.SIGCONT)
        target.close_run(stream)
        wait_for_rows(tmp_path / 'got.rrd', 301 * COUNT)


class FailingStream:
    """A stream whose calls fail."""

    def __init__(self, failure):
        self._failure = failure

    def flush(self, timeout_sec):
        raise self._failure

    def disconnect(self):
        raise self._failure


@pytest.mark.parametrize('failure', [
    OSError(errno.EIO, 'Input/output error'), RuntimeError('Input/output error\nand more'),
    ValueError('Input/output error')])
def test_every_failure_of_rerun_is_one_sentence(failure, tmp_path):
    target, stream = RerunTarget(str(tmp_path / 'flight.rrd')), FailingStream(failure)
    with pytest.raises(ViewerError, match=r'it takes no more data: Input/output error$'):
        target.check(stream)
    with pytest.raises(ViewerError, match=r'it has not taken all data: Input/output error$'):
        target.close_run(stream)


def test_what_is_no_failure_of_rerun_is_not_lost(tmp_path):
    target, stream = RerunTarget(str(tmp_path / 'flight.rrd')), FailingStream(TypeError('a fault'))
    for call in target.check, target.close_run:
        with pytest.raises(TypeError, match='a fault'):
            call(stream)


# On the command line.

@pytest.mark.process
def test_view_writes_a_recording_into_a_file(bag, tmp_path):
    result = run('view', bag, '--viewer', tmp_path / 'flight.rrd')
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')
    assert rows(tmp_path / 'flight.rrd', '/world/vehicle') == 10
    verified = subprocess.run([rerun_target._viewer_program(), 'rrd', 'verify',
                               tmp_path / 'flight.rrd'], capture_output=True, check=False)
    assert verified.returncode == 0, verified.stderr


@pytest.mark.process
def test_view_sends_a_recording_to_a_viewer_that_runs(bag, tmp_path):
    with listening(tmp_path / 'got.rrd') as (url, _):
        result = run('view', bag, '--viewer', url)
        assert (result.returncode, result.stdout, result.stderr) == (0, '', '')
        wait_for_rows(tmp_path / 'got.rrd', 10, '/world/vehicle')


def view(capsys, *words):
    """Run the command here; return its exit code and the one sentence that it prints."""
    started_s = time.monotonic()
    try:
        code = command_line.main(['view', *map(str, words)])
    except SystemExit as end:
        code = end.code
    assert time.monotonic() - started_s < SOON_S
    printed = capsys.readouterr()
    assert printed.out == ''
    line, = printed.err.splitlines()
    return code, line


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


def test_wrong_viewers_are_one_sentence(bag, unused_url, tmp_path, capsys):
    for text, words in (('x.txt', 'must be rerun'), (unused_url, 'no viewer listens there'),
                        (tmp_path / 'none' / 'x.rrd', 'its folder is missing')):
        code, line = view(capsys, bag, '--viewer', text)
        assert code == 2
        assert line.startswith('view: viewer ')
        assert words in line


@pytest.mark.parametrize('words, sentence', [
    (['--namespace', 'uav 1'], "view: --namespace: 'uav 1': must be a ROS namespace such as uav1"),
    (['--vehicle', 'none'], "view: vehicle 'none': there is no such vehicle")])
def test_a_wrong_graph_is_one_sentence(words, sentence, tmp_path, capsys):
    code, line = view(capsys, '--viewer', tmp_path / 'x.rrd', *words)
    assert code == 2
    assert line.startswith(sentence)


@pytest.mark.process
def test_a_program_that_is_no_viewer_is_one_sentence(bag, other_url):
    started_s = time.monotonic()
    result = run('view', bag, '--viewer', other_url, timeout_s=PATIENCE_S)
    assert result.returncode == 1
    line, = result.stderr.splitlines()
    assert line.startswith(f'view: viewer {other_url}: ')
    assert time.monotonic() - started_s < PATIENCE_S


@pytest.mark.parametrize('words, sentence', [
    (['--mode', 'core', '--viewer', 'x.rrd'],
     "viewer 'x.rrd': mode core has no topics to look at; --record the flight and look at the"
     ' recording with `view`'),
    (['--viewer', 'x.mcap'], "viewer 'x.mcap': must be rerun"),
    (['--viewer', 'none/x.rrd'], 'viewer none/x.rrd: its folder is missing')])
def test_fly_refuses_before_anything_starts(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command_line.main(['fly', *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ''
    line, = printed.err.splitlines()
    assert line.startswith(f'fly: {sentence}')
    assert not list(tmp_path.iterdir())
