# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nobody waits awake while others want the cores."""
import os
import subprocess
import sys
import time

import pytest

from px4_sim_ros.link.hil import server
from px4_sim_ros.link.hil.server import WaitingAwake


@pytest.fixture
def waited(monkeypatch):
    """Return the seconds for which the kernel is to say that this thread has waited for a core."""
    waited = [0.0]
    monkeypatch.setattr(server, '_waited_for_core_s', lambda: waited[0])
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {0, 1})
    return waited


def test_it_follows_how_long_was_waited_of_late(waited):
    awake = WaitingAwake()
    now_s = time.perf_counter() + 1.0
    assert awake.look(now_s)
    waited[0] += 0.3
    assert awake.look(now_s + 0.01)            # it does not look all the time
    assert not awake.look(now_s + 1.0)
    assert not awake.look(now_s + 1.01)
    waited[0] += 0.05
    assert awake.look(now_s + 2.0)


def test_it_never_pays_on_one_core(monkeypatch):
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {0})
    assert not WaitingAwake().look(time.perf_counter() + 1.0)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason='there is one core')
def test_who_shares_its_core_sleeps():
    awake, cores = WaitingAwake(), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    other = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        end_s = time.perf_counter() + 10.0
        while awake.look(time.perf_counter()):
            assert time.perf_counter() < end_s
    finally:
        other.kill()
        other.wait()
        os.sched_setaffinity(0, cores)
