# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot that boots is waited for, by what its processes are about."""
import contextlib
import os
import socket
import subprocess
import sys
import time

import pytest

from px4_sim_ros.mavlink.boot_watch import BootWatch, _is_at_rest, _Thread

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
if sys.argv[4] == 'looks':
    while True:
        time.sleep(0.001)
connection.recv(1)
'''


@contextlib.contextmanager
def client(*, state='boots', busy_s=0.0, then='waits'):
    """Yield the watch of a process that has connected."""
    with socket.create_server(('127.0.0.1', 0)) as server, subprocess.Popen(
            [sys.executable, '-c', CLIENT, str(server.getsockname()[1]), state,
             str(busy_s), then], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            connection, address = server.accept()
            with connection:
                process.stdout.readline()
                yield BootWatch(address)
        finally:
            os.killpg(process.pid, 9)


@pytest.mark.parametrize('then', ['waits', 'looks'])
def test_it_is_waited_for_until_it_rests(then):
    """Also if one of its threads looks again and again."""
    with client(busy_s=0.4, then=then) as watch:
        started_s = time.monotonic()
        assert watch.settle()
        assert time.monotonic() - started_s > 0.3
        assert watch.is_booting
        assert watch.settle()


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


def test_who_has_not_the_schedule_is_named():
    with client() as watch:
        assert watch.wrong_schedule().startswith('thread ')
        assert watch.wrong_schedule().endswith(' of the autopilot has not SCHED_FIFO')


def test_nobody_is_waited_for_if_nobody_has_connected():
    watch = BootWatch(('127.0.0.1', 1))
    assert not watch.is_booting and watch.settle()
