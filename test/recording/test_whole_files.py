# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A file that cannot be written to its end leaves the one before, and nothing of itself."""
import importlib.util
import os

import pytest
from bags import largest_file

from px4_sim_ros.cli import compare, fly_summary
from px4_sim_ros.process import atomic_write
from px4_sim_ros.recording.analysis import tables

ROWS = [{'run': i, 'failure': 'x' * 100} for i in range(100)]


def write_interrupted(path):
    with atomic_write.replaced(path) as new:
        new.write_text('half')
        raise KeyboardInterrupt


def summary(path):
    if not fly_summary.write_summary({'failure': 'x' * 10_000}, path):
        raise OSError


@pytest.mark.parametrize('write', [
    lambda path: atomic_write.write(path, 'y' * 10_000), lambda path: tables.write_csv(path, ROWS),
    pytest.param(
        lambda path: tables.write_parquet(
            path, [{**row, 'x': str(i) * 99} for i, row in enumerate(ROWS)]),
        marks=pytest.mark.skipif(importlib.util.find_spec('pyarrow') is None,
                                 reason='pyarrow is not installed')),
    lambda path: summary(path), lambda path: compare._write_json(path, {'a': 'x' * 10_000}),
    write_interrupted])
def test_what_fails_leaves_the_file_of_before(write, tmp_path):
    path = tmp_path / 'a.txt'
    atomic_write.write(path, 'before')
    with largest_file(1000), pytest.raises((OSError, KeyboardInterrupt)):
        write(path)
    assert path.read_text() == 'before'
    assert list(tmp_path.iterdir()) == [path]
    if write is not write_interrupted:
        write(path)
        assert path.read_bytes() != b'before'
        assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_a_pipe_is_written(tmp_path):
    file, link, pipe = (tmp_path / name for name in ('file', 'link', 'pipe'))
    link.symlink_to(file)
    atomic_write.write(link, 'through the link')
    assert link.is_symlink() and file.read_text() == 'through the link'
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic_write.write(pipe, 'through the pipe')
    assert os.read(reader, 99) == b'through the pipe' and pipe.is_fifo()
    os.close(reader)
