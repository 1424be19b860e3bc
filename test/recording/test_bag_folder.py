# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Folders for recordings: what can be made, and what is refused."""
import concurrent.futures
import importlib.util
import os

import pytest
from bags import largest_file
from commands import here

from px4_sim_ros.cli import fly_summary, output
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import atomic_write
from px4_sim_ros.process.new_folder import make_folder, new_folder
from px4_sim_ros.recording.analysis import tables


def test_a_folder_that_exists_is_refused(tmp_path):
    with pytest.raises(ParameterError, match='exists already; name a folder that does not'):
        new_folder(tmp_path)
    (tmp_path / 'file').touch()
    with pytest.raises(ParameterError, match='exists already'):
        new_folder(tmp_path / 'file')
    (tmp_path / 'link').symlink_to('nowhere')
    with pytest.raises(ParameterError, match='exists already'):
        new_folder(tmp_path / 'link')


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / 'file').touch()
    for path in tmp_path / 'file/bag', tmp_path / 'file/deeper/bag':
        with pytest.raises(ParameterError, match=f'cannot be made in {tmp_path}/file'):
            new_folder(path)
    with pytest.raises(ParameterError, match='cannot be made in /proc'):
        new_folder('/proc/1/bag')
    with pytest.raises(ParameterError, match='name a folder'):
        new_folder('')
    with pytest.raises(ParameterError, match='File name too long'):
        new_folder(tmp_path / ('x' * 300))
    with pytest.raises(ParameterError, match='File name too long'):
        new_folder(tmp_path / 'new' / ('x' * 300) / 'bag')
    (tmp_path / 'link').symlink_to('nowhere')
    with pytest.raises(ParameterError, match=f'cannot be made in {tmp_path}/link'):
        new_folder(tmp_path / 'link/bag')
    assert {path.name for path in tmp_path.iterdir()} == {'file', 'link'}


def test_two_recordings_may_begin_side_by_side(tmp_path):
    """Neither is disturbed by what the other tries, in a parent that both lack."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i in range(100):
            folders = [tmp_path / f'runs_{i}' / str(j) for j in range(4)]
            assert list(pool.map(new_folder, folders)) == folders
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_with_its_parents(tmp_path):
    new_folder(tmp_path / 'a/b/bag')
    assert list(tmp_path.iterdir()) == []
    assert make_folder(tmp_path / 'a/b/bag').is_dir()
    with pytest.raises(ParameterError, match='exists already'):
        make_folder(tmp_path / 'a/b/bag')


# A file that cannot be written to its end leaves the one before, and nothing of itself.

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
    lambda path: summary(path), lambda path: output.write_json(path, {'a': 'x' * 10_000}),
    write_interrupted])
def test_what_fails_leaves_the_file_of_before(write, tmp_path):
    path = tmp_path / 'a.txt'
    atomic_write.write(path, 'before')
    with largest_file(1000), pytest.raises((OSError, KeyboardInterrupt)) as failed:
        write(path)
    if isinstance(failed.value, OSError) and failed.value.errno:
        assert failed.value.filename == str(path)
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


def test_a_sentence_about_a_name_that_is_too_long_is_short():
    refused = here('compare', '9' * 5000, 'x')
    assert refused.returncode == 2 and refused.stderr.count('\n') == 1
    assert refused.stderr.startswith('compare: 999') and len(refused.stderr) < 200
    assert refused.stderr.endswith(': File name too long\n')
