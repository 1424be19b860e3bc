# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot that boots is waited for, by what its processes are about."""
import contextlib
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

import psutil
import pytest
from px4_flight import NEEDS_FIFO

from px4_sim_ros.px4 import boot_watch
from px4_sim_ros.px4.boot_watch import BootWatch, PinnedFile, StartScript, _is_at_rest, _Thread
from px4_sim_ros.px4.shared_core import SharedCore

WAITS, LOOKS, READS, RUNS = (
    _Thread(False, False, False, 5), _Thread(False, True, False, 5),
    _Thread(False, False, True, 5), _Thread(True, False, False, 5))


@pytest.mark.parametrize(('before', 'now', 'is_at_rest'), [
    ({'1': WAITS}, {'1': WAITS}, True),
    ({'1': WAITS}, {'1': RUNS}, False),
    ({'1': WAITS}, {'1': WAITS._replace(switches=6)}, False),       # it has done something
    ({'1': WAITS}, {'1': WAITS, '2': WAITS}, False),
    ({'1': WAITS, '2': WAITS}, {'1': WAITS}, False),
    ({'1': READS}, {'1': READS}, True),
    ({'1': READS}, {'1': READS._replace(switches=6)}, True),        # nothing has come
    ({'1': LOOKS}, {'1': LOOKS}, False),                            # it has not looked yet
    ({'1': LOOKS}, {'1': LOOKS._replace(switches=6)}, True),
    ({'1': LOOKS, '2': WAITS}, {'1': LOOKS._replace(switches=6), '2': WAITS}, True),
    ({'1': LOOKS, '2': WAITS},
     {'1': LOOKS._replace(switches=6), '2': WAITS._replace(switches=6)}, False),
])
def test_who_is_at_rest(before, now, is_at_rest):
    assert _is_at_rest(before, now) is is_at_rest


# Connects, then does as it is told; its session has a second process, as while PX4 boots.
CLIENT = '''
import socket, subprocess, sys, time
connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
if sys.argv[2] == 'boots':
    script = subprocess.Popen(['cat'], stdin=subprocess.PIPE)
print('connected', flush=True)
until_s = time.monotonic() + float(sys.argv[3])
while time.monotonic() < until_s:
    pass
if sys.argv[4] == 'sleeps':
    time.sleep(0.3)
print('rests', flush=True)
if sys.argv[4] == 'writes':
    with open(sys.argv[5], 'w') as file:
        for line in sys.stdin:
            print(line, end='', file=file, flush=True)
            print('written', flush=True)
if sys.argv[4] == 'lets read':
    for line in sys.stdin:
        subprocess.run(['cat', sys.argv[5]], stdout=subprocess.DEVNULL, check=True)
        print('read', flush=True)
if sys.argv[4] == 'looks':
    while True:
        time.sleep(0.001)
connection.recv(1)
'''


@contextlib.contextmanager
def client(*, state='boots', busy_s=0.0, then='waits', file='/dev/null', folder=None, prefix=()):
    """Yield the watch of a process that has connected; it has `process`."""
    with socket.create_server(('127.0.0.1', 0)) as server, subprocess.Popen(
            [*prefix, sys.executable, '-c', CLIENT, str(server.getsockname()[1]), state,
             str(busy_s), then, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd=folder, start_new_session=True) as process:
        try:
            connection, address = server.accept()
            with connection:
                process.stdout.readline()
                watch = BootWatch(address)
                watch.process = process
                yield watch
        finally:
            os.killpg(process.pid, 9)


@pytest.mark.parametrize('then', ['waits', 'looks'])
@pytest.mark.process
def test_it_is_waited_for_until_it_rests(then):
    """Also if one of its threads looks again and again."""
    with client(busy_s=0.4, then=then) as watch:
        assert watch.settle()
        assert has_said(watch.process) == b'rests\n'
        assert watch.is_booting
        assert watch.settle()


def has_said(process):
    """Return what a client has printed by now."""
    os.set_blocking(process.stdout.fileno(), False)
    return process.stdout.read()


def stopped_script(watch):
    """Stop the start script; return it when it stands still, which takes a turn of its own."""
    script, = psutil.Process(watch.process.pid).children()
    watch.stop_script()
    while script.status() != psutil.STATUS_STOPPED:
        pass
    return script


def test_its_start_script_stands_still_while_a_thread_sleeps_by_the_wall_clock():
    with client(then='sleeps') as watch:
        script = stopped_script(watch)
        assert watch.settle()
        assert has_said(watch.process) == b'rests\n'
        assert script.status() == psutil.STATUS_SLEEPING


@NEEDS_FIFO
def test_its_start_script_goes_on_after_all_others():
    """And what it starts then: it inherits that."""
    with client(prefix=('chrt', '--fifo', '50')) as watch:
        script = stopped_script(watch).pid
        assert os.sched_getscheduler(script) == os.SCHED_RR
        assert os.sched_getparam(script).sched_priority == 1
        assert os.sched_getscheduler(watch.process.pid) == os.SCHED_FIFO
        assert os.sched_getparam(watch.process.pid).sched_priority == 50


def test_the_script_goes_on_when_two_looks_are_alike(monkeypatch):
    """One who seemed to wait may have been woken by another who was looked at later."""
    with client() as watch:
        script = stopped_script(watch)
        moved, moves = WAITS._replace(switches=6), LOOKS._replace(switches=6)
        looks, states = iter([WAITS, moves, moved, moved]), []

        def threads():
            states.append(script.status())
            return {'1': next(looks, moved)}

        monkeypatch.setattr(watch, '_look', threads)
        assert watch.settle()
        stopped = [state == psutil.STATUS_STOPPED for state in states]
        assert stopped == [True] * 4 + [False] * (len(stopped) - 4)


@pytest.mark.parametrize(('others', 'rests'), [
    ([WAITS], True), ([RUNS], False),
    ([WAITS, WAITS._replace(switches=6)] * 99, False),       # it acts now and then
])
def test_who_sleeps_long_is_not_waited_for_before_the_first_step(others, rests, monkeypatch):
    """The start script stands still until it has woken, from the first step on."""
    with client() as watch:
        looks = iter([*others, *[others[-1]] * 99_999])
        monkeypatch.setattr(watch, '_look', lambda: {'1': LOOKS, '2': next(looks)})
        monkeypatch.setattr(boot_watch, '_LONG_SLEEP_S', 0.02)
        assert watch.settle(0.1) == rests
        looks = iter([*others, *[others[-1]] * 99_999])
        watch.stop_script()
        watch.let_script_go_on()
        assert not watch.settle(0.1)


def test_one_that_ends_while_its_files_are_looked_up_is_no_error(monkeypatch):
    def gone(path, pattern):
        raise FileNotFoundError

    monkeypatch.setattr(boot_watch, 'process_at', lambda address: None)
    monkeypatch.setattr(pathlib.Path, 'glob', gone)
    watch = BootWatch(('127.0.0.1', 4711))
    watch.load_files()
    assert not watch.is_booting and watch.settle()


@pytest.mark.process
def test_one_that_never_rests_is_given_up():
    with client(busy_s=60.0) as watch:
        assert not watch.settle(0.3)


def test_a_call_goes_on_with_what_the_one_before_has_seen():
    """On a busy machine each of them may have time for one look."""
    with client(then='waits') as watch:
        for _ in range(2):
            assert not watch.settle(0.0)         # one look says nothing
            deadline_s = time.monotonic() + 30.0
            while not watch.settle(0.0):
                assert time.monotonic() < deadline_s


def test_the_boot_is_over_when_one_process_is_left():
    with client(state='flies', then='looks') as watch:
        assert watch.is_booting
        assert watch.settle()
        assert not watch.is_booting


@NEEDS_FIFO
def test_who_has_not_the_schedule_is_named():
    """The autopilot goes first on a core, and the step last; whoever changes that is found."""
    cores = os.sched_getaffinity(0)
    core = max(cores)
    shared = SharedCore(core)
    with client() as watch:
        pid = watch.process.pid
        thread = f'thread {pid} of the autopilot'
        assert watch.wrong_schedule() == f'{thread} has not SCHED_FIFO'
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(50))
        os.sched_setaffinity(pid, {core})
        try:
            assert shared.enter() == watch.wrong_schedule() == ''
            if len(cores) > 1:
                os.sched_setaffinity(pid, {min(cores)})
                apart = f'{thread} and the step are not on one core'
                assert watch.wrong_schedule() == apart
                os.sched_setaffinity(pid, {core})
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            assert watch.wrong_schedule() == 'the step has not SCHED_RR'
        finally:
            shared.leave()


def tell(process, answer):
    """Let a client do with its file what it is there for; wait until it has."""
    process.stdin.write(b'a line\n')
    process.stdin.flush()
    assert process.stdout.readline() == answer


@pytest.mark.parametrize(('folder', 'uses_disk'), [('/dev/shm', False), ('/var/tmp', True)])
def test_who_writes_to_the_disk_is_noticed(folder, uses_disk):
    """And not who writes to memory. A page of a file is dirty, and counted, once."""
    if filesystem_of(folder).endswith('tmpfs') is uses_disk:
        pytest.skip(f'{folder} is {filesystem_of(folder)}')
    with tempfile.NamedTemporaryFile(dir=folder) as file, client(
            then='writes', file=file.name) as watch:
        assert watch.process.stdout.readline() == b'rests\n'
        watch.stop_script()
        assert not watch.disk_used()
        tell(watch.process, b'written\n')
        assert bool(watch.disk_used()) is uses_disk
        assert not watch.disk_used()


@pytest.mark.parametrize(('faults', 'read_bytes', 'written_bytes', 'missed', 'uses_disk'), [
    (0, 0, 0, 0, False), (0, 0, 0, 5, False), (2, 0, 0, 0, False), (2, 0, 0, 1, True),
    (0, 4096, 0, 0, True), (0, 0, 4096, 0, True)])
def test_a_fault_that_was_tried_again_is_no_use_of_the_disk(
        faults, read_bytes, written_bytes, missed, uses_disk, monkeypatch):
    """Another one had the page, which memory had all the time."""
    uses = iter([(1, 1, 1, 1), (1 + faults, 1 + read_bytes, 1 + written_bytes, 1 + missed)])
    with client() as watch:
        monkeypatch.setattr(boot_watch, '_disk_use', lambda _: boot_watch._DiskUse(*next(uses)))
        watch.stop_script()
        said = f'{faults} page faults, {read_bytes} bytes read, {written_bytes} bytes written'
        assert watch.disk_used() == said * uses_disk


@pytest.fixture
def on_disk():
    """Yield a file on the disk, which memory need not hold."""
    if filesystem_of('/var/tmp').endswith('tmpfs'):
        pytest.skip('/var/tmp is in memory')
    with tempfile.TemporaryDirectory(dir='/var/tmp') as folder:
        file = pathlib.Path(folder) / 'etc/init.d-posix/rcS'
        file.parent.mkdir(parents=True)
        file.write_bytes(bytes(100_000))
        yield file


def forget(file):
    """Take a file from memory, as the system does with what has not been used for a while."""
    with file.open('rb') as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_what_a_process_of_the_start_script_reads_is_noticed_when_it_has_ended(on_disk):
    with client(state='flies', then='lets read', file=str(on_disk)) as watch:
        assert watch.process.stdout.readline() == b'rests\n'
        watch.stop_script()
        forget(on_disk)
        for is_read in True, False:                # the second time memory has it
            tell(watch.process, b'read\n')
            assert bool(watch.disk_used()) is is_read


def test_what_has_been_loaded_is_not_read_from_the_disk(on_disk):
    with client(state='flies', then='lets read', file=str(on_disk),
                folder=on_disk.parents[2]) as watch:
        assert watch.process.stdout.readline() == b'rests\n'
        forget(on_disk)
        tell(watch.process, b'read\n')            # `cat` is there, too
        forget(on_disk)
        watch.load_files()
        forget(on_disk)
        forget(pathlib.Path('/etc/ld.so.cache'))  # in which `cat` looks up its libraries
        watch.stop_script()
        tell(watch.process, b'read\n')
        assert not watch.disk_used()


def filesystem_of(folder):
    """Return the kind of the file system that a folder is on."""
    return max(((part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)
                if pathlib.PurePath(folder).is_relative_to(part.mountpoint)),
               key=lambda found: len(found[0]))[1]


def test_nobody_is_waited_for_if_nobody_has_connected():
    watch = BootWatch(('127.0.0.1', 1))
    assert not watch.is_booting and watch.settle()


# Whether the start script of an autopilot still runs, while its commands come and go.


class Child:
    """A process with a state, or one that has ended since it was listed."""

    def __init__(self, state):
        self._state = state

    def status(self):
        if self._state == 'gone':
            raise psutil.NoSuchProcess(4711)
        return self._state


@pytest.mark.parametrize('children, runs', [
    ([], False), (['gone'], False), ([psutil.STATUS_ZOMBIE], False),
    ([psutil.STATUS_RUNNING], True), (['gone', psutil.STATUS_SLEEPING], True)])
def test_it_runs_while_one_of_its_processes_does(children, runs, monkeypatch):
    class Autopilot:
        def __init__(self, pid):
            pass

        def children(self):
            return map(Child, children)

    monkeypatch.setattr(boot_watch, 'process_at', lambda address: 4711)
    monkeypatch.setattr(psutil, 'Process', Autopilot)
    assert StartScript(('127.0.0.1', 4711)).runs() is runs


# A file that is pinned counts as locked memory of this process, as long as it is.

SIZE_KIB = 64


def locked_kib():
    status = pathlib.Path('/proc/self/status').read_text()
    return int(re.search(r'VmLck:\s+(\d+) kB', status)[1])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'file'
    path.write_bytes(bytes(SIZE_KIB * 1024))
    return path


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] in range(SIZE_KIB * 1024),
                    reason='this user may not pin so much')
def test_it_is_locked_while_it_lives(path):
    before = locked_kib()
    pinned = PinnedFile(path)
    assert pinned.is_pinned and locked_kib() == before + SIZE_KIB
    del pinned
    assert locked_kib() == before


def test_what_may_not_be_pinned_is_read(path, monkeypatch):
    monkeypatch.setattr('px4_sim_ros.px4.boot_watch._LIBC.mlock', lambda *region: -1)
    assert not PinnedFile(path).is_pinned


def test_an_empty_file_is_told(tmp_path):
    (tmp_path / 'file').touch()
    with pytest.raises(ValueError, match='empty'):
        PinnedFile(tmp_path / 'file')
