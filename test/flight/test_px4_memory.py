# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A machine on which a repeatable PX4 may have to wait for the disk is told before the start."""
import resource

import pytest

from px4_sim_ros.flight import px4_memory

NO_CAPABILITY, IPC_LOCK = 'CapEff:\t0000000000000000\n', 'CapEff:\t0000000000004000\n'
ENOUGH_BYTES = 100_000 * 1024


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Return a function that returns what is said of a machine."""
    def remarks(limit=ENOUGH_BYTES, capabilities=NO_CAPABILITY, memory=tmp_path):
        (tmp_path / 'status').write_text(f'Name:\tpython\n{capabilities}')
        monkeypatch.setattr(px4_memory, '_STATUS', tmp_path / 'status')
        monkeypatch.setattr(px4_memory, 'MEMORY', memory)
        monkeypatch.setattr(resource, 'getrlimit', lambda which: (limit, limit))
        return px4_memory.remarks()
    return remarks


def test_a_machine_that_permits_all_is_not_spoken_of(found):
    assert found() == found(resource.RLIM_INFINITY) == found(0, IPC_LOCK) == []


def test_too_little_memory_that_may_be_kept_is_told(found):
    sentence, = found(8192 * 1024)
    assert sentence.startswith(
        'px4_schedule = repeatable: this user may keep 8192 kB in memory, and')


def test_no_folder_in_memory_is_told(found, tmp_path):
    sentence, = found(memory=tmp_path / 'none')
    assert f'nothing can be written to {tmp_path / "none"}, so that PX4 waits' in sentence
