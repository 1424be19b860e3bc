# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A step that is sent first and waited for later: all is as when it is done at once."""
from __future__ import annotations

import contextlib
import time

import pytest
from stand_in_autopilot import HOST, TIME_LIMIT_S, StandInAutopilot

from px4_sim_ros.link.hil import boot
from px4_sim_ros.link.hil.battery_link import PAYLOAD_PORT
from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.hil.boot import Boot
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.link.hil.lockstep import StallError
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.ports import bound_socket
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.model.truth import BatteryStatus
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration

STEP_US = 4000


def test_frames_are_sent_once(make_locked):
    link, peer = make_locked()
    peer.sensor_times()
    link.begin(2 * STEP_US)
    assert peer.sensor_times() == [2 * STEP_US]
    link.begin(2 * STEP_US)
    peer.reply(2 * STEP_US)
    assert link.exchange(2 * STEP_US).time_us == 2 * STEP_US
    link.begin(3 * STEP_US)
    assert peer.sensor_times() == [3 * STEP_US]


def test_it_does_not_wait_and_ends_no_step(make_locked):
    link, _ = make_locked(reply_timeout_s=60.0)
    started_s = time.monotonic()
    link.begin(2 * STEP_US)
    assert time.monotonic() - started_s < 30.0
    assert (link.state, link.lockstep.steps) == ('LOCKED', 1)


def test_the_first_step_connects(make_link, connect):
    link, peer = make_link(freewheel_pause_s=1.0), connect()
    link.begin(STEP_US)
    assert link.state == 'FREEWHEEL'
    assert peer.sensor_times() == [STEP_US]
    peer.reply(STEP_US)
    assert link.exchange(STEP_US).time_us == STEP_US
    assert link.state == 'LOCKED'


@pytest.mark.parametrize(('on_waiting', 'command'), [('hold', None), ('run', DISARMED)])
def test_nobody_is_connected(make_link, on_waiting, command):
    link = make_link(on_waiting=on_waiting)
    link.begin(STEP_US)
    assert link.exchange(STEP_US) == command
    assert link.state == 'WAITING'
    assert link.lockstep.waited_s == 0.0


def test_an_autopilot_that_comes_in_between(make_link, connect):
    """It gets the frames as soon as the step is waited for."""
    link = make_link()
    link.begin(STEP_US)
    peer = connect()
    assert link.exchange(STEP_US) == DISARMED
    assert link.state == 'FREEWHEEL'
    assert peer.sensor_times() == [STEP_US]


@pytest.mark.parametrize('how', ['close', 'reset'])
def test_an_autopilot_that_goes_in_between(make_locked, connect, how):
    """The step is offered to the next one."""
    link, first = make_locked()
    link.begin(2 * STEP_US)
    getattr(first, how)()
    assert link.exchange(2 * STEP_US) is None
    assert (link.state, link.lockstep.steps, link.counts['misses']) == ('WAITING', 1, 0)
    second = connect()
    link.begin(2 * STEP_US)
    assert link.exchange(2 * STEP_US) == DISARMED
    assert second.sensor_times() == [2 * STEP_US]


def test_time_starts_over_in_between(make_locked, connect):
    """The retired autopilot does not answer the first step of the next run."""
    link, first = make_locked()
    link.begin(2 * STEP_US)
    link.lockstep.reset()
    first.reply(2 * STEP_US)
    assert link.exchange(2 * STEP_US) is None
    second = connect()
    link.begin(2 * STEP_US)
    assert second.sensor_times() == [2 * STEP_US]
    assert link.exchange(2 * STEP_US) == DISARMED
    assert (link.state, link.lockstep.replies) == ('FREEWHEEL', 0)


def test_a_step_that_is_held(make_locked):
    link, peer = make_locked(on_stall='pause')
    peer.sensor_times()
    link.begin(2 * STEP_US)
    assert [link.exchange(2 * STEP_US) for _ in range(2)] == [None, None]
    link.begin(2 * STEP_US)
    assert link.state == 'STALLED'
    assert peer.sensor_times() == [2 * STEP_US]
    peer.reply(2 * STEP_US)
    assert link.exchange(2 * STEP_US).time_us == 2 * STEP_US


def test_a_silence_fails_when_it_is_waited_for(make_locked):
    link, _ = make_locked(on_stall='fail')
    link.begin(2 * STEP_US)
    with pytest.raises(StallError):
        link.exchange(2 * STEP_US)


def boot_s(link):
    """Return the wall time of steps that was given to a boot."""
    return float(link.lockstep.status()['boot_s'])


def test_what_a_boot_takes_counts_in_steps_only(make_link, connect, monkeypatch):
    """While none is under way others are waited for, whose time it is."""
    class Watch:
        address, is_booting = None, True

        def settle(self, timeout_s=None):
            end_s = time.perf_counter() + 1e-3
            while time.perf_counter() < end_s:
                pass
            return False

        def load_files(self):
            pass

    monkeypatch.setattr(boot, 'BootWatch', lambda peer: Watch())
    link, _ = make_link(shares_core=True), connect()
    link.lockstep.service_idle_link()
    assert (link.state, boot_s(link)) == ('WAITING', 0.0)
    link.begin(STEP_US)
    assert boot_s(link) >= 1e-3


def test_a_boot_is_waited_for_as_long_as_it_is_looked_at(make_link, connect, monkeypatch):
    """What others take between two looks, who boot as well, is no time of its own."""
    class Watch:
        is_booting = True

        def __init__(self, peer):
            self.address = peer

        def settle(self, timeout_s=None):
            clock.now_s += 0.05
            return False

        def load_files(self):
            pass

        stop_script = load_files

    class Clock:
        now_s = 0.0

    clock = Clock()
    monkeypatch.setattr(boot, 'BootWatch', Watch)
    monkeypatch.setattr(boot.time, 'perf_counter', lambda: clock.now_s)
    link, _ = make_link(shares_core=True), connect()
    looks = round(boot.LONGEST_S / 0.05)
    for _ in range(looks - 1):
        link.begin(STEP_US)
        clock.now_s += 3.0       # of others
    assert link.state == 'WAITING'
    for _ in range(3):
        link.begin(STEP_US)
    assert link.state == 'FREEWHEEL'
    assert any('did not come to rest' in value for value in link.lockstep.status().values())


def test_only_what_is_waited_counts(make_locked):
    """What others do between sending and waiting is not the autopilot's time."""
    link, peer = make_locked()
    waited_s = link.lockstep.waited_s
    started_s = time.perf_counter()
    link.begin(2 * STEP_US)
    begun_s = time.perf_counter()
    peer.sensor_times()
    peer.reply(2 * STEP_US)
    asked_s = time.perf_counter()
    link.exchange(2 * STEP_US)
    spent_s = (begun_s - started_s) + (time.perf_counter() - asked_s)
    assert 0.0 < link.lockstep.waited_s - waited_s <= spent_s


# The first step of an autopilot: the same whenever in it the autopilot connects.

ZERO = (0.0, 0.0, 0.0)


@pytest.fixture
def block(instance):
    """Return a bridge that listens."""
    configuration = load_configuration(None, {'hil_bridge': {'instance': instance}})
    with contextlib.closing(HilBlock(block_configuration(configuration, 'hil_bridge'))) as block:
        block.reset()
        yield block


def inputs(time_us):
    """Return what is measured in each step."""
    return {'imu/data_raw': ImuMeasurement(time_us, (0.0, 0.0, 9.8), ZERO, 0.0, 0.0),
            'battery_state': BatteryStatus(time_us, 12.0, 1.0, 4.0, 5.0, 5.0)}


@pytest.mark.parametrize('connects', ['before', 'before, and boots', 'after'])
def test_it_brings_no_battery(block, instance, monkeypatch, connects):
    """PX4 is not there for it yet, and the next one comes half a second later."""
    with contextlib.ExitStack() as stack:
        payload = stack.enter_context(bound_socket('UDP', HOST, PAYLOAD_PORT + instance))
        payload.setblocking(False)
        if connects == 'before, and boots':
            looks = iter([False])
            monkeypatch.setattr(Boot, 'may_begin', lambda self: next(looks, True))
        if connects != 'after':
            peer = stack.enter_context(contextlib.closing(StandInAutopilot(port_of(instance))))
            assert block.link.server.accept(1.0)
        block.step(STEP_US, inputs(STEP_US))
        if connects == 'after':
            peer = stack.enter_context(contextlib.closing(StandInAutopilot(port_of(instance))))
            block.wait(1.0)
        peer.reply(STEP_US)
        assert block.finish(STEP_US)
        with pytest.raises(BlockingIOError):
            payload.recv(1024)
        peer.reply(2 * STEP_US)
        block.step(2 * STEP_US, inputs(2 * STEP_US))
        assert block.finish(2 * STEP_US)
        payload.settimeout(TIME_LIMIT_S)
        assert payload.recv(1024)
