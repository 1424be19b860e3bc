# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A command whose output is closed ends without a word.

That a flight leaves nothing then is seen in test_ends.py.
"""
import io
import os
import subprocess
import sys

import pytest
from commands import command
from rich.table import Table

from px4_sim_ros.cli import output
from px4_sim_ros.cli.terminal import console
from px4_sim_ros.ros.framework.lifecycle_node import TimedLogger

pytestmark = pytest.mark.process


@pytest.mark.parametrize('words, with_stderr', [
    (['list'], False), (['list', '--help'], True), (['fly', '--mission', 'none.yaml'], False),
    (['fly', '--mission', 'none.yaml'], True), *(
        pytest.param(['check-vehicle', 'iris'], with_stderr, marks=pytest.mark.long)
        for with_stderr in (False, True))])
def test_what_is_printed_to_nobody(words, with_stderr):
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(command(*words), stdout=writing, text=True,
                               stderr=writing if with_stderr else subprocess.PIPE)
    os.close(writing)
    said = process.communicate(timeout=60)[1] or ''
    if words[0] == 'fly' and not with_stderr:         # it prints nothing on stdout
        assert (process.returncode, said.count('\n')) == (2, 1)
    else:
        assert (process.returncode, said) == (141, '')


def test_without_standard_output_nothing_is_printed():
    closed = subprocess.run(['sh', '-c', '"$@" >&-', 'sh', *command('list')],
                            stderr=subprocess.PIPE, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, '')


@pytest.mark.parametrize('words', [['--version'], ['fly', '--help']])
def test_a_full_device_is_reported_by_what_only_prints(words):
    with open('/dev/full', 'w') as full:
        asked = subprocess.run(
            command(*words), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (asked.returncode, asked.stderr) == (
        1, 'px4_sim_ros: standard output cannot be written: No space left on device\n')


def test_a_name_that_is_no_utf8_is_refused():
    refused = subprocess.run([*map(os.fsencode, command('fly', '--mission')), b'm\xff.yaml'],
                             capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout, refused.stderr) == (
        2, '', r"px4_sim_ros: argument 'm\udcff.yaml': is no utf-8" '\n')


def test_a_terminal_that_knows_ascii_only_shows_all(tmp_path):
    """What it cannot show is shown as a number."""
    mission = tmp_path / 'caf\xe9.yaml'
    refused = subprocess.run(command('fly', '--mission', mission), capture_output=True, text=True,
                             env=os.environ | {'PYTHONIOENCODING': 'ascii'}, check=False)
    assert (refused.returncode, refused.stderr) == (
        2, f'fly: mission file {tmp_path}/caf\\xe9.yaml: No such file or directory\n')


FOREIGN = 'a\x1b[31mb\x07c\x00d\x7fe\x9bf\u202eg\t\xe4\n'
ESCAPED = 'a\\x1b[31mb\\x07c\\x00d\\x7fe\\x9bf\\u202eg\t\xe4\n'


def test_texts_of_others_do_not_control_the_terminal(monkeypatch):
    """Tables keep their colours, and tqdm its carriage return."""
    monkeypatch.setenv('FORCE_COLOR', '1')
    monkeypatch.setenv('TERM', 'xterm')
    written = io.BytesIO()
    streams = [io.TextIOWrapper(buffer, 'utf-8') for buffer in (written, io.BytesIO())]
    monkeypatch.setattr(sys, 'stdout', streams[0])
    monkeypatch.setattr(sys, 'stderr', streams[1])
    output.watch()
    print(FOREIGN, end='\r', flush=True)
    assert written.getvalue().decode() == ESCAPED + '\r'
    table = Table()
    table.add_column('a\x1b]0;title', style='bold')
    table.add_row('\x1b[2Jb')
    console().print(table)
    sys.stdout.flush()
    drawn = written.getvalue().decode().removeprefix(ESCAPED + '\r')
    # The head is cut to its column.
    assert '\x1b[1m' in drawn and '\\x1b[2Jb' in drawn and '\\x1b]0;t' in drawn
    assert '\x1b[2J' not in drawn and '\x1b]' not in drawn


def test_nodes_log_no_control_characters():
    lines = []

    class Logger:
        info = warning = error = staticmethod(lines.append)

    logger = TimedLogger(Logger(), lambda: 1_500_000, None)
    for log in logger.info, logger.warning, logger.error:
        log(FOREIGN)
    assert lines == [f't = 1.500000 s: {ESCAPED}'] * 3


@pytest.mark.parametrize('words', [['replay'], *(
    pytest.param(['fly', option], marks=pytest.mark.long)
    for option in ('--mission', '--vehicles', '--set'))])
def test_a_refusal_has_no_control_characters(words):
    refused = subprocess.run(
        command(*words, '\x1b]0;title\x07=1'), capture_output=True, check=False)
    assert refused.returncode == 2
    assert b'\\x1b]0;title\\x07' in refused.stderr
    assert not set(refused.stderr) & {7, 27}
