# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A file that is pinned counts as locked memory of this process, as long as it is."""
import pathlib
import re
import resource

import pytest

from px4_sim_ros.px4.boot_watch import PinnedFile

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
