# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A thread that shares a core runs there at the lowest real-time priority, until it leaves."""
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

import pytest
from stand_in_autopilot import StandInAutopilot

from px4_sim_ros.link.hil import block as hil_block
from px4_sim_ros.link.hil.boot import Boot
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.px4.shared_core import OtherCores, SharedCore
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration


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


# The thread of the step is not where an autopilot is that keeps to a core.

STEP_US = 4_000
ZERO = (0.0, 0.0, 0.0)
ALL = os.sched_getaffinity(0)



@contextlib.contextmanager
def sleeping(cores):
    """Yield the id of a process that keeps to some cores."""
    with subprocess.Popen(['sleep', '60']) as process:
        os.sched_setaffinity(process.pid, cores)
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.mark.skipif(len(ALL) == 1, reason='there is one core only')
@pytest.mark.parametrize('cores, left', [
    ({max(ALL)}, ALL - {max(ALL)}), ({min(ALL)}, ALL - {min(ALL)}), (ALL, ALL)])
def test_a_thread_keeps_off_the_cores_of_a_process_that_leaves_it_some(cores, left):
    other_cores = OtherCores()
    with sleeping(cores) as process:
        other_cores.keep_off(process)
    assert os.sched_getaffinity(0) == left
    # The one that leaves for it may be another thread.
    thread = threading.Thread(target=other_cores.leave)
    thread.start()
    thread.join()
    assert os.sched_getaffinity(0) == ALL
    other_cores.leave()
    assert os.sched_getaffinity(0) == ALL


@pytest.mark.skipif(len(ALL) == 1, reason='there is one core only')
def test_of_two_each_gives_back_what_it_has_left():
    first, second = OtherCores(), OtherCores()
    with sleeping({max(ALL)}) as process:
        first.keep_off(process)
        second.keep_off(process)
    second.leave()
    assert os.sched_getaffinity(0) == ALL - {max(ALL)}
    first.leave()
    assert os.sched_getaffinity(0) == ALL


@pytest.mark.skipif(len(ALL) == 1, reason='there is one core only')
def test_a_process_that_has_ended_is_no_error():
    with sleeping(ALL) as process:
        pass
    OtherCores().keep_off(process)
    assert os.sched_getaffinity(0) == ALL


@pytest.mark.skipif(len(ALL) == 1, reason='there is one core only')
@pytest.mark.parametrize('shares_core, shares_process, left', [
    (False, True, ALL - {max(ALL)}), (False, False, ALL), (True, True, ALL)])
def test_a_bridge_does_so_while_an_autopilot_is_there(
        shares_core, shares_process, left, instance, monkeypatch):
    """But for one in a process of its own, and one that shares the core."""
    configuration = load_configuration(
        None, {'hil_bridge': {'instance': instance, 'shares_core': shares_core}})
    monkeypatch.setattr(SharedCore, 'enter', lambda self: '')
    monkeypatch.setattr(Boot, 'may_begin', lambda self: True)
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(sleeping({max(ALL)}))
        monkeypatch.setattr(hil_block, 'process_at', lambda address: process)
        block = stack.enter_context(contextlib.closing(
            hil_block.HilBlock(block_configuration(configuration, 'hil_bridge'))))
        block.shares_process = shares_process
        block.reset()
        peer = stack.enter_context(contextlib.closing(StandInAutopilot(port_of(instance))))
        peer.reply(STEP_US)
        assert block.link.server.accept(1.0)
        block.step(STEP_US, {
            'imu/data_raw': ImuMeasurement(STEP_US, (0.0, 0.0, 9.8), ZERO, 0.0, 0.0)})
        assert block.finish(STEP_US)
        assert os.sched_getaffinity(0) == left
        block.leave()
        assert os.sched_getaffinity(0) == ALL
