# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time starts over: the autopilot of the last run must not meet the new one."""
from __future__ import annotations

import pytest
from stand_in_autopilot import TIME_LIMIT_S

from px4_sim_ros.link.hil import lockstep
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.link.hil.server import Deadline
from px4_sim_ros.model.timebase import seconds_text

STEP_US = 4000
COUNTERS = ('steps', 'replies', 'misses', 'stale_replies', 'bad_messages', 'unknown_messages',
            'foreign_messages', 'mavlink1_messages', 'limited_controls', 'dropped_sends',
            'refused_clients')


def restart(time_us):
    """Return the event about an old autopilot, at a time of the new run."""
    return (f'WAITING at t = {seconds_text(time_us)}: the autopilot of the last run is still'
            ' connected and its time cannot go back: restart it')


def lock(link, peer, time_us=STEP_US):
    """Answer a step."""
    peer.reply(time_us)
    assert link.exchange(time_us).time_us == time_us
    assert link.state == 'LOCKED'


def exchange_until(link, time_us, condition):
    """Offer a step until a condition holds."""
    deadline = Deadline(TIME_LIMIT_S)
    while not condition():
        assert deadline.remaining_s
        link.exchange(time_us)


@pytest.fixture
def restarted(make_locked):
    """Return a function that makes a link that has begun again, and the old peer."""
    def made(**changes):
        link, old = make_locked(**changes)
        lock(link, old, 2 * STEP_US)
        old.messages_so_far()
        link.take_sentences()
        link.lockstep.reset()
        return link, old
    return made


def test_nobody_is_connected(make_link, connect):
    """A fresh start."""
    link = make_link(on_waiting='run')
    link.exchange(STEP_US)
    link.lockstep.reset()
    assert (link.state, link.lockstep.steps) == ('WAITING', 0)
    peer = connect()
    lock(link, peer)
    assert link.take_sentences() == [
        'FREEWHEEL at t = 0.004000 s: an autopilot has connected',
        'LOCKED at t = 0.004000 s: the autopilot replies']


@pytest.mark.parametrize('accept', ['wait', 'service_idle_link'])
def test_an_autopilot_that_has_not_begun(make_link, connect, accept):
    """Its time has not started either; it need not be restarted."""
    link, peer = make_link(), connect()
    link.lockstep.wait(TIME_LIMIT_S)
    if accept == 'service_idle_link':
        link.lockstep.service_idle_link()
        assert link.state == 'FREEWHEEL'
    link.lockstep.reset()
    assert link.exchange(STEP_US) == DISARMED
    assert peer.sensor_times() == [STEP_US]
    lock(link, peer, 2 * STEP_US)


def test_counters_start_over(make_locked, connect):
    """All of them, and the seconds of the states."""
    link, peer = make_locked(reply_timeout_s=0.2)
    second = connect()
    peer.send(b'rubbish')
    link.exchange(2 * STEP_US)
    second.messages()
    before = link.lockstep.status()
    assert [before[c] for c in ('steps', 'misses', 'bad_messages', 'refused_clients')] == [
        '2', '1', '1', '1']
    link.lockstep.reset()
    status = link.lockstep.status()
    assert {status[c] for c in COUNTERS} == {'0'}
    assert status['state'] == 'WAITING'
    assert float(status['waited_s']) == float(status['seconds_LOCKED']) == 0.0


def test_the_old_autopilot_is_restarted(restarted, connect):
    """By its owner, at once: no word about the old one."""
    link, old = restarted()
    old.close()
    assert link.exchange(STEP_US) is None
    lock(link, connect())
    assert link.take_sentences() == [
        'FREEWHEEL at t = 0.004000 s: an autopilot has connected',
        'LOCKED at t = 0.004000 s: the autopilot replies']


@pytest.mark.parametrize('on_waiting', ['hold', 'run'])
def test_the_old_autopilot_stays(restarted, on_waiting, monkeypatch):
    """It gets no frame of the new run and is kept quiet; an event asks to restart it."""
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.0)
    link, old = restarted(on_waiting=on_waiting)
    old.reply(STEP_US, 2 * STEP_US, 3 * STEP_US)       # no reply of its is of use
    expected = None if on_waiting == 'hold' else DISARMED
    assert [link.exchange(k * STEP_US) for k in (1, 2, 3)] == [expected] * 3
    assert link.take_sentences() == []
    monkeypatch.setattr(lockstep, 'RESTART_S', 0.0)
    link.lockstep.service_idle_link()
    link.exchange(4 * STEP_US)
    assert link.take_sentences() == [restart(3 * STEP_US)]
    assert [m.get_type() for m in old.messages_so_far()] == ['HEARTBEAT'] * 5
    assert (link.state, link.lockstep.replies) == ('WAITING', 0)
    assert link.lockstep.steps == (0 if on_waiting == 'hold' else 4)


def test_the_next_autopilot_takes_its_place(restarted, connect, monkeypatch):
    """It is the one who was waited for and no second one; the old one sees the end."""
    monkeypatch.setattr(lockstep, 'RESTART_S', 0.0)
    link, old = restarted()
    assert link.exchange(STEP_US) is None
    new = connect()
    exchange_until(link, STEP_US, lambda: link.state == 'FREEWHEEL')
    assert new.sensor_times() == [STEP_US]
    lock(link, new, 2 * STEP_US)
    assert old.socket.recv(100) == b''
    assert link.lockstep.status()['refused_clients'] == '0'
    assert link.take_sentences() == [
        restart(STEP_US), 'FREEWHEEL at t = 0.004000 s: an autopilot has connected',
        'LOCKED at t = 0.008000 s: the autopilot replies']


def test_waiting_for_the_next_one(restarted, connect):
    """A held step goes on at once when it comes, and not because of the old one."""
    link, old = restarted()
    link.lockstep.wait(0.01)
    assert link.exchange(STEP_US) is None
    connect()
    link.lockstep.wait(TIME_LIMIT_S)
    assert link.exchange(STEP_US) == DISARMED
    assert old.socket.recv(100) == b''


def test_a_third_autopilot_is_refused_again(restarted, connect):
    """Once the next one is there."""
    link, _ = restarted()
    connect()
    exchange_until(link, STEP_US, lambda: link.state == 'FREEWHEEL')
    third = connect()
    exchange_until(link, STEP_US, lambda: link.lockstep.status()['refused_clients'] == '1')
    assert third.messages()[0].get_type() == 'STATUSTEXT'


def test_again_and_again(restarted, connect, monkeypatch):
    """Each run has its own autopilot, and each old one is reported once."""
    monkeypatch.setattr(lockstep, 'RESTART_S', 0.0)
    link, _ = restarted()
    for _ in range(2):
        link.lockstep.reset()
        link.exchange(STEP_US)
        link.exchange(STEP_US)
        assert link.take_sentences() == [restart(STEP_US)]
    for _ in range(3):
        new = connect()
        exchange_until(link, STEP_US, lambda: link.state == 'FREEWHEEL')
        lock(link, new, 2 * STEP_US)
        link.lockstep.reset()
    assert link.state == 'WAITING'


def test_a_step_that_was_held_is_forgotten(make_locked, connect):
    """Also the reply that came for it meanwhile."""
    link, old = make_locked(on_stall='pause')
    assert link.exchange(2 * STEP_US) is None
    old.reply(2 * STEP_US)
    link.service_until(lambda: link.lockstep.replies == 2)
    link.lockstep.reset()
    connect()
    exchange_until(link, STEP_US, lambda: link.state == 'FREEWHEEL')
    assert link.exchange(2 * STEP_US) == DISARMED


@pytest.mark.process
def test_an_old_autopilot_that_does_not_read(little_room, restarted, monkeypatch):
    """Heartbeats that have no room are dropped; the world runs on."""
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.0)
    link, _ = restarted(on_waiting='run')
    deadline = Deadline(3 * TIME_LIMIT_S)
    while link.lockstep.status()['dropped_sends'] != '20':
        assert deadline.remaining_s
        assert link.exchange(STEP_US) == DISARMED
