# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`world` processes that are forked from one: they begin, speak and end as those of their own."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from px4_sim_ros.flight.forks import WorldForks
from px4_sim_ros.process.children import Child, stop_all
from px4_sim_ros.ros import world_forks
from px4_sim_ros.spec.ros_environment import ros_environment

PATIENCE_S = 30.0


@pytest.fixture
def forks():
    with contextlib.closing(WorldForks(ros_environment())) as forks:
        yield forks


@pytest.mark.process
def test_each_tells_in_its_own_log_and_with_its_own_code_how_it_ended(forks, tmp_path):
    logs = [tmp_path / name for name in ('help', 'wrong')]
    helped, wrong = (forks.start(log.name, words, log) for log, words in zip(
        logs, (['--help'], ['imuu'])))
    assert helped.wait(PATIENCE_S) and wrong.wait(PATIENCE_S)
    assert (helped.exit_code, wrong.exit_code) == (0, 2)
    assert logs[0].read_text().startswith('usage: world ')
    assert re.fullmatch(r'world: unknown node imuu; nodes are .*\n', logs[1].read_text())


@pytest.mark.process
def test_one_is_known_by_its_command_and_ends_by_a_signal(forks, tmp_path):
    words = ['imu', '--ros-args', '--log-level', 'warn', '--log-level', 'rcl:=error']
    child = forks.start('imu', words, tmp_path / 'log')
    assert not child.wait(0.0) and child.exit_code is None
    assert os.getsid(child.pid) == child.pid
    process = psutil.Process(child.pid)
    deadline_s = time.monotonic() + PATIENCE_S
    while process.cmdline()[1:] != ['-m', 'px4_sim_ros.ros.world', *words]:
        assert time.monotonic() < deadline_s, process.cmdline()
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(PATIENCE_S) and child.exit_code == -signal.SIGKILL
    child.stop()


@pytest.mark.process
def test_one_that_has_just_ended_is_asked_for_that_in_vain(forks, tmp_path):
    child = forks.start('imu', ['imu'], tmp_path / 'log')
    process = psutil.Process(child.pid)
    process.kill()
    process.wait(PATIENCE_S)           # its exit code is not read yet
    child._process.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S) and child.exit_code == -signal.SIGKILL


@pytest.mark.process
def test_all_are_asked_to_end_when_their_starter_is_killed(tmp_path):
    starter = subprocess.Popen([sys.executable, '-c', f'''
import sys, time
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.flight.forks import WorldForks
forks = WorldForks(ros_environment())
print(*[forks.start(name, [name], {str(tmp_path / 'log')!r}).pid for name in ('imu', 'gps')],
      flush=True)
time.sleep({PATIENCE_S})
'''], stdout=subprocess.PIPE, text=True)
    with starter:
        children = [psutil.Process(int(pid)) for pid in starter.stdout.readline().split()]
        assert len(children) == 2
        starter.kill()
    _, left = psutil.wait_procs(children, PATIENCE_S)
    assert not left


def test_the_origin_of_one_that_ends_after_the_starter_ends_in_order():
    starter, origin = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    starter.close()
    with origin:
        world_forks._tell(origin, 4711, 0)
        assert world_forks._serve(origin) is None


def test_the_others_are_ended_if_one_was_never_started(forks, tmp_path):
    with subprocess.Popen(
            ['sh', '-c', "trap '' TERM; echo; sleep 60"], stdout=subprocess.PIPE,
            start_new_session=True) as process:
        assert process.stdout.readline() == b'\n'
        asked = forks.start('imu', ['imu'], tmp_path / 'log')
        forks._origin.kill()
        stop_all([asked, Child.of('stubborn', process)], 0.0)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_what_cannot_be_started_is_an_error(forks):
    asked = forks.start('imu', ['imu'])
    forks._origin.kill()
    sentence = 'the process that nodes are forked from has ended with exit code -9'
    with pytest.raises(RuntimeError, match=sentence):
        _ = asked.pid
    with pytest.raises(RuntimeError, match=sentence):
        forks.start('imu', ['imu'])
