# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of ends in docs/troubleshooting.md: each cause has its code, sentence and remains."""
import contextlib
import json
import pathlib
import re
import signal
import socket
import subprocess

import pytest
from bags import largest_file
from commands import command, family, here, port_is_free, wait_gone, write_hop

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.recording.bag.reader import BagReader

pytestmark = pytest.mark.slow       # starts processes and waits

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'troubleshooting.md'
SLOWLY = '--speed-factor', '1'
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
    'Ctrl-C, SIGTERM or the end of the terminal': (SLOWLY, at_ready(signal.SIGHUP)),
    'the reader of standard output closes': (SLOWLY, leave),
    'the device behind standard output is full': ((), None),
    'the recording cannot be written on': ((), None),
    'the same with `recorder.on_failure=fail`': (('--set', 'recorder.on_failure=fail'), None),
    'the summary cannot be written': ((), None),
    'SIGKILL': (SLOWLY, at_ready(signal.SIGKILL)),
}


@pytest.fixture
def surroundings(instance, tmp_path, monkeypatch):
    """Return a function that makes what lets a cause come; it returns options for Popen."""
    with contextlib.ExitStack() as stack:
        def make(cause):
            options = {'stdout': subprocess.PIPE}
            if cause == 'a port is taken':
                holder = stack.enter_context(socket.socket())
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                holder.bind(('127.0.0.1', port_of(instance)))
                holder.listen()
            elif cause == 'ROS cannot write its logs':
                monkeypatch.setenv('ROS_LOG_DIR', '/proc/none')
            elif cause.startswith('the device'):
                options['stdout'] = stack.enter_context(open('/dev/full', 'w'))
            elif cause.startswith(('the recording', 'the same')):
                stack.enter_context(largest_file(FULL_BYTES))
            elif cause == 'the summary cannot be written':
                (tmp_path / 'summary.json').symlink_to('/dev/full')
            return options
        yield make


def test_all_causes_are_walked():
    assert list(CAUSES) == list(ROWS)


@pytest.mark.parametrize('cause', CAUSES)
def test_an_end(cause, surroundings, instance, foreground, tmp_path, monkeypatch):
    code, said, left = ROWS[cause]
    given, act = CAUSES[cause]
    bag, summary, temporary = (tmp_path / name for name in ('bag', 'summary.json', 'tmp'))
    temporary.mkdir()
    monkeypatch.setenv('TMPDIR', str(temporary))
    words = ('fly', '--mode', 'core', '--instance', instance, '--mission', write_hop(tmp_path, 0.3),
             '--record', bag, '--summary', summary, *given)
    options = surroundings(cause)
    # What neither a signal nor the output ends needs no process of its own.
    if act is None and options['stdout'] is subprocess.PIPE:
        ended = here(*words, cwd=tmp_path)
        found, stderr = ended.returncode, ended.stderr
    else:
        found, stderr = in_a_process(words, act, tmp_path, options)
    assert found == int(code), stderr
    # How fast a busy machine is has nothing to do with how a flight ends.
    lines = [line for line in stderr.splitlines() if 'times real time is asked for' not in line]
    if said == 'none':
        assert lines == []
    else:
        assert re.fullmatch(re.escape(said.strip('`')).replace('…', '.+'), lines[-1]), lines
    assert port_is_free(instance) == (cause != 'a port is taken')
    assert ('summary' in left) == (summary.is_file() and not summary.is_symlink())
    if 'summary' in left:
        figures = json.loads(summary.read_text())
        assert figures['mission_flown'] == (act is None and cause[:8] != 'the same')
        assert (figures['failure'] == 'interrupted') == (act is not None) and figures['steps'] > 0
    assert ('recording' in left) == bag.exists()
    if bag.exists():
        reader = BagReader(bag)
        assert list(reader.messages())
        assert bool(reader.damage) == (cause == 'SIGKILL')
    assert cause == 'SIGKILL' or list(temporary.iterdir()) == []


def in_a_process(words, act, folder, options):
    """Let it come to its end, by what is done in the flight; return its code and its errors."""
    process = subprocess.Popen(
        command(*words), stderr=subprocess.PIPE, text=True, cwd=folder, **options)
    children = []
    if act is not None:
        while 'ready to fly' not in (line := process.stdout.readline()):
            assert line, process.stderr.read()
        children = family(process.pid)
        act(process)
    stderr = process.stderr.read()
    code = process.wait(60)
    assert wait_gone(children, 5.0) == []
    return code, stderr
