# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A thread that shares a core runs there at the lowest real-time priority, until it leaves."""
import os
import subprocess
import sys
import threading

import pytest

from px4_sim_ros.px4.shared_core import SharedCore


def scheduling():
    return (os.sched_getaffinity(0), os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK,
            os.sched_getparam(0).sched_priority)


def may_use(policy):
    """Return whether a thread of this user may have a real-time priority."""
    own = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, policy, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *own)
    return True


@pytest.mark.skipif(not may_use(os.SCHED_RR), reason='SCHED_RR is not permitted')
def test_it_is_as_it_was_after_it_has_left():
    before, core = scheduling(), max(os.sched_getaffinity(0))
    shared = SharedCore(core)
    assert shared.enter() == shared.enter() == ''
    child = []
    try:
        assert scheduling() == ({core}, os.SCHED_RR, 1)
        thread = threading.Thread(target=lambda: child.append(scheduling()))
        thread.start()
        thread.join()
    finally:
        shared.leave()
    assert child == [({core}, os.SCHED_OTHER, 0)]      # what it starts is no part of the step
    assert scheduling() == before
    shared.leave()
    assert scheduling() == before


NO_NODES = 65534
LEAVES_AS_NOBODY = f'''
import os
from px4_sim_ros.px4.shared_core import SharedCore
shared = SharedCore(max(os.sched_getaffinity(0)))
assert shared.enter() == ''
os.setuid({NO_NODES})
shared.leave()
assert os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER
assert shared.enter() == 'the step may not use SCHED_RR'
shared.leave()
'''


@pytest.mark.skipif(os.getuid() != 0, reason='only root can become an ordinary user')
@pytest.mark.skipif(not may_use(os.SCHED_RR), reason='SCHED_RR is not permitted')
def test_an_ordinary_user_can_leave():
    """Who may not take all flags of a thread back."""
    subprocess.run([sys.executable, '-c', LEAVES_AS_NOBODY], check=True)


def test_who_may_not_is_told_and_keeps_to_the_core(monkeypatch):
    before, core = scheduling(), max(os.sched_getaffinity(0))
    shared = SharedCore(core)
    with monkeypatch.context() as context:
        context.setattr(os, 'sched_setscheduler', refuse)
        assert shared.enter() == 'the step may not use SCHED_RR'
        assert scheduling() == ({core}, *before[1:])
    shared.leave()
    assert scheduling() == before


def refuse(*arguments):
    raise PermissionError


def test_another_thread_may_end_it_also_when_the_thread_is_gone():
    shared = SharedCore(max(os.sched_getaffinity(0)))
    before, found = scheduling(), []
    entered, left = threading.Event(), threading.Event()

    def step():
        shared.enter()
        entered.set()
        left.wait()
        found.append(scheduling())

    thread = threading.Thread(target=step)
    thread.start()
    entered.wait()
    shared.leave()
    left.set()
    thread.join()
    assert found == [before]

    thread = threading.Thread(target=shared.enter)
    thread.start()
    thread.join()
    shared.leave()
    assert scheduling() == before
