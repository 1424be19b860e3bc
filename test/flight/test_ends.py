# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of ends in docs/troubleshooting.md: each cause has its code, sentence and remains."""
import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess

import pytest
from commands import command, family, wait_gone, write_hop

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.recording.bag.reader import BagReader

pytestmark = pytest.mark.slow       # starts processes and waits

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'troubleshooting.md'
SLOWLY = '--speed-factor', '0.25'
FULL_BYTES = 1_500_000


def rows():
    """Return the rows of the table by their cause."""
    text = PAGE.read_text()
    table = text[text.index('<!-- ends -->'):]
    table = table[:table.index('<!-- end -->')]
    cells = [line.strip('| ').split(' | ') for line in table.splitlines() if line.startswith('| ')]
    return {cell[0]: cell[1:] for cell in cells[2:]}


ROWS = rows()


def at_ready(number):
    """Return what is done with a flight that is ready: it gets a signal."""
    def act(process):
        process.send_signal(number)
    return act


def leave(process):
    process.stdout.close()


# What is given to `fly`, what is done in the flight, and where it prints.
CAUSES = {
    'an option, a name, a value or a file is wrong': (('--mission', 'nowhere.yaml'), None),
    'a port is taken': ((), None),
    'ROS cannot write its logs': (('--mode', 'composed'), None),
    'the mission was flown': ((), None),
    'Ctrl-C, SIGTERM or the end of the terminal': (SLOWLY, at_ready(signal.SIGTERM)),
    'the reader of standard output closes': (SLOWLY, leave),
    'the device behind standard output is full': ((), None),
    'the recording cannot be written on': ((), None),
    'the same with `recorder.on_failure=fail`': (('--set', 'recorder.on_failure=fail'), None),
    'the summary cannot be written': ((), None),
    'SIGKILL': (SLOWLY, at_ready(signal.SIGKILL)),
}


@pytest.fixture
def surroundings(instance, tmp_path):
    """Return a function that makes what lets a cause come; it returns options for Popen."""
    with contextlib.ExitStack() as stack:
        def make(cause):
            options = {'env': dict(os.environ), 'stdout': subprocess.PIPE}
            if cause == 'a port is taken':
                holder = stack.enter_context(socket.socket())
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                holder.bind(('127.0.0.1', port_of(instance)))
                holder.listen()
            elif cause == 'ROS cannot write its logs':
                options['env']['ROS_LOG_DIR'] = '/proc/none'
            elif cause.startswith('the device'):
                options['stdout'] = stack.enter_context(open('/dev/full', 'w'))
            elif cause.startswith(('the recording', 'the same')):
                options['preexec_fn'] = lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (FULL_BYTES, FULL_BYTES))
            elif cause == 'the summary cannot be written':
                (tmp_path / 'summary.json').symlink_to('/dev/full')
            return options
        yield make


def test_all_causes_are_walked():
    assert list(CAUSES) == list(ROWS)


@pytest.mark.parametrize('cause', CAUSES)
def test_an_end(cause, surroundings, instance, tmp_path):
    code, said, left = ROWS[cause]
    words, act = CAUSES[cause]
    bag, summary = tmp_path / 'bag', tmp_path / 'summary.json'
    options = surroundings(cause)
    process = subprocess.Popen(
        command('fly', '--mode', 'core', '--instance', instance, '--mission',
                write_hop(tmp_path, 3.0), '--record', bag, '--summary', summary, *words),
        stderr=subprocess.PIPE, text=True, cwd=tmp_path, **options)
    children = []
    if act is not None:
        while 'ready to fly' not in (line := process.stdout.readline()):
            assert line, process.stderr.read()
        children = family(process.pid)
        act(process)
    stderr = process.stderr.read()
    assert process.wait(60) == int(code), stderr
    assert wait_gone(children, 5.0) == []
    # How fast a busy machine is has nothing to do with how a flight ends.
    lines = [line for line in stderr.splitlines() if 'times real time is asked for' not in line]
    if said == 'none':
        assert lines == []
    else:
        assert re.fullmatch(re.escape(said.strip('`')).replace('…', '.+'), lines[-1]), lines
    assert ('summary' in left) == (summary.is_file() and not summary.is_symlink())
    assert ('recording' in left) == bag.exists()
    if bag.exists():
        reader = BagReader(bag)
        assert any(True for _ in reader.messages())
