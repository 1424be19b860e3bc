# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A command that nobody reads any more ends without a word, and leaves nothing."""
import os
import subprocess

import pytest
from commands import command, family, port_is_free, wait_gone

from px4_sim_ros.recording.bag.reader import BagReader

pytestmark = pytest.mark.slow       # starts processes and waits


@pytest.mark.parametrize('words', [
    ['list'], ['list', '--help'], ['check-vehicle', 'iris'], ['fly', '--mission', 'none.yaml']])
@pytest.mark.parametrize('with_stderr', [False, True])
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


def test_a_flight_ends_in_order_when_its_reader_leaves(instance, tmp_path):
    process = subprocess.Popen(
        command('fly', '--mode', 'core', '--instance', instance, '--record', tmp_path / 'bag'),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert 'ready to fly' in process.stdout.readline()
    children = family(process.pid)
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait(10) == 141
    assert wait_gone(children, 1.0) == []
    assert port_is_free(instance)
    assert BagReader(tmp_path / 'bag').damage == ''


def test_without_standard_output_nothing_is_printed():
    closed = subprocess.run(['sh', '-c', '"$@" >&-', 'sh', *command('list')],
                            stderr=subprocess.PIPE, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, '')
