# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Folders for recordings: what can be made, and what is refused."""
import concurrent.futures

import pytest

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.bag.folder import make_folder, new_folder


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
