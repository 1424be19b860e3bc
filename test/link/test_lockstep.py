# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The states of the link, with a stand-in that sends what each test wants."""
from __future__ import annotations

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

import psutil
import pytest
import stand_in_autopilot
from stand_in_autopilot import TIME_LIMIT_S, marker, reply

from px4_sim_ros.link.hil import lockstep
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.link.hil.lockstep import StallError
from px4_sim_ros.link.hil.server import Deadline, port_of
from px4_sim_ros.px4 import boot_watch

STEP_US = 4000


def counters(link):
    """Return steps, replies in time, misses, late and stale replies."""
    counts = link.counts
    return (link.lockstep.steps, link.lockstep.replies,
            *(counts[name] for name in ('misses', 'late_replies', 'stale_replies')))


@pytest.fixture
def bounds_s(monkeypatch):
    """Return how long each reply was waited for at most."""
    found = []

    def deadline(timeout_s):
        found.append(timeout_s)
        return Deadline(timeout_s)

    monkeypatch.setattr(lockstep, 'Deadline', deadline)
    return found


def is_reply_to(command, time_us):
    """Return whether a command is the scripted reply to a time."""
    return (command.time_us == time_us and command.armed
            and command.controls == (marker(time_us), 0.5, 0.5, 0.5) + (0.0,) * 12)


# WAITING

def test_waiting_holds_the_step(make_link):
    """No autopilot is connected: no step ends, nothing is counted."""
    link = make_link()
    assert [link.exchange(STEP_US) for _ in range(3)] == [None, None, None]
    assert (link.state, counters(link)) == ('WAITING', (0, 0, 0, 0, 0))
    link.lockstep.wait(0.0)
    assert link.state == 'WAITING'


def test_wait_ends_when_an_autopilot_comes(make_link, connect):
    """The held step goes on at once."""
    link, peer = make_link(), connect()
    link.lockstep.wait(TIME_LIMIT_S)
    assert link.exchange(STEP_US) == DISARMED
    assert peer.sensor_times() == [STEP_US]


# FREEWHEEL

def test_freewheel_goes_on_without_a_reply(make_link, connect):
    """PX4 boots in simulated time: each step pauses, sends its frames and stays disarmed."""
    link, peer = make_link(freewheel_pause_s=0.005), connect()
    started_s = time.monotonic()
    times = [STEP_US * k for k in range(1, 21)]
    assert [link.exchange(t) for t in times] == [DISARMED] * 20
    assert time.monotonic() - started_s >= 20 * 0.005
    assert (link.state, counters(link)) == ('FREEWHEEL', (20, 0, 0, 0, 0))
    seen = []
    while len(seen) < 20:
        seen += peer.sensor_times()
    assert seen == times


def test_freewheel_without_a_pause(make_link, connect):
    """A pause of 0 is allowed."""
    link = make_link(freewheel_pause_s=0.0)
    connect()
    assert link.exchange(STEP_US) == DISARMED


def test_the_first_reply_locks(make_link, connect):
    """And ends its step with what the autopilot wants."""
    link, peer = make_link(), connect()
    assert link.exchange(STEP_US) == DISARMED
    peer.reply(2 * STEP_US)
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    assert (link.state, counters(link)) == ('LOCKED', (2, 1, 0, 0, 0))


def test_first_replies_that_are_late(make_link, connect):
    """At boot they answer steps that have gone by: they lock, but they are not used."""
    link, peer = make_link(), connect()
    for k in (1, 2, 3):
        assert link.exchange(k * STEP_US) == DISARMED
    peer.reply(STEP_US, 2 * STEP_US)
    assert link.exchange(4 * STEP_US) == DISARMED
    assert (link.state, counters(link)) == ('LOCKED', (4, 2, 0, 0, 0))
    peer.reply(3 * STEP_US, 4 * STEP_US, 5 * STEP_US)
    assert is_reply_to(link.exchange(5 * STEP_US), 5 * STEP_US)
    assert counters(link) == (5, 5, 0, 0, 0)


def spent_s(link):
    """Return the wall time in which was waited for replies, or for a boot."""
    return link.lockstep.waited_s + float(link.lockstep.status()['boot_s'])


@pytest.mark.parametrize('ends', [True, False])
def test_it_has_time_for_its_start_script_also_when_it_replies(make_locked, monkeypatch, ends):
    """Until its last child has ended; for ever it has not."""
    with subprocess.Popen(['sh', '-c', 'cat; read end'], stdin=subprocess.PIPE) as autopilot:
        monkeypatch.setattr(boot_watch, 'process_at', lambda address: autopilot.pid)
        children = psutil.Process(autopilot.pid).children
        while not children():
            pass
        link, peer = make_locked(freewheel_pause_s=0.2, reply_timeout_s=TIME_LIMIT_S)
        peer.start(lambda time_us: [reply(time_us)])
        times = iter(range(2 * STEP_US, 10**9, STEP_US))
        started_s, before_s = time.monotonic(), spent_s(link)
        for time_us in itertools.islice(times, 5):
            assert is_reply_to(link.exchange(time_us), time_us)
        took_s = time.monotonic() - started_s
        assert took_s >= 5 * 0.2
        assert spent_s(link) - before_s <= took_s        # nothing counts twice
        if ends:
            children()[0].terminate()
        else:
            monkeypatch.setattr(boot_watch, '_LONGEST_S', 0.1)
        given_s = ''
        while (boot_s := link.lockstep.status()['boot_s']) != given_s:     # more, or no more
            given_s = boot_s
            link.exchange(next(times))
        assert (link.state, link.counts['misses']) == ('LOCKED', 0)


# LOCKED

def test_locked_returns_each_reply_in_order(make_link, connect):
    """Every step ends with the command of its own time stamp."""
    link, peer = make_link(reply_timeout_s=TIME_LIMIT_S, freewheel_pause_s=1.0), connect()
    peer.start(lambda time_us: [reply(time_us)])
    times = [STEP_US * k for k in range(1, 301)]
    assert all(is_reply_to(link.exchange(t), t) for t in times)
    assert (link.state, counters(link)) == ('LOCKED', (300, 300, 0, 0, 0))


def test_stale_replies_are_counted_and_not_used(make_locked):
    """Before, after and around the right one."""
    link, peer = make_locked()
    peer.reply(STEP_US, 2 * STEP_US)
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    peer.reply(3 * STEP_US, 99 * STEP_US)
    assert is_reply_to(link.exchange(3 * STEP_US), 3 * STEP_US)
    assert counters(link) == (3, 3, 0, 0, 2)


def test_a_reply_that_was_early_is_no_reply(make_locked):
    """The reply to the next step cannot come before the step was sent."""
    link, peer = make_locked()
    peer.reply(2 * STEP_US, 3 * STEP_US)
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    assert is_reply_to(link.exchange(3 * STEP_US), 2 * STEP_US)     # held
    assert counters(link) == (3, 2, 1, 0, 1)


def test_half_a_reply_waits_for_the_rest(make_link, connect):
    """Also when a step lies between its halves."""
    link, peer = make_link(), connect()
    peer.send(reply(STEP_US)[:50])
    assert link.exchange(STEP_US) == DISARMED
    assert link.state == 'FREEWHEEL'
    peer.send(reply(STEP_US)[50:], reply(2 * STEP_US))
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    assert counters(link)[1:] == (2, 0, 0, 0)       # PX4 boots: it may be late


# STALLED

def test_silence_is_one_miss(make_locked):
    """Then steps go on with the last command, at most at real-time pace."""
    link, _ = make_locked(step_us=20_000)
    started_s = time.monotonic()
    assert is_reply_to(link.exchange(20_000), 4000)
    assert time.monotonic() - started_s >= 0.1                       # the bound on a reply
    assert link.state == 'STALLED'
    started_s = time.monotonic()
    assert all(is_reply_to(link.exchange(20_000 * k), 4000) for k in range(2, 12))
    assert time.monotonic() - started_s >= 10 * 0.020
    assert (link.state, counters(link)) == ('STALLED', (12, 1, 1, 0, 0))


@pytest.mark.parametrize('late', [False, True])
def test_the_next_reply_locks_again(make_locked, late):
    """A late one, too, though its command is not used."""
    link, peer = make_locked()
    for k in (2, 3):
        link.exchange(k * STEP_US)
    assert link.state == 'STALLED'
    peer.reply((2 if late else 4) * STEP_US)
    assert is_reply_to(link.exchange(4 * STEP_US), (1 if late else 4) * STEP_US)
    assert (link.state, counters(link)) == ('LOCKED', (4, 2, 1, late, 0))
    peer.reply(5 * STEP_US)
    assert is_reply_to(link.exchange(5 * STEP_US), 5 * STEP_US)


@pytest.mark.parametrize('when', ['rests', 'outputs'])
def test_a_reply_that_comes_while_the_autopilot_is_looked_at_is_used(
        make_locked, monkeypatch, when):
    """On a busy machine it comes while the threads are read, or while PX4 is asked."""
    link, peer = make_locked(reply_timeout_s=5.0)
    silence = link.lockstep._silence

    def answer(*given):
        peer.reply(2 * STEP_US)
        return True if when == 'rests' else None

    monkeypatch.setattr(silence, 'rests', lambda: True)
    monkeypatch.setattr(silence, 'outputs', lambda time_us: pytest.fail('PX4 was asked'))
    monkeypatch.setattr(silence, when, answer)
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    assert counters(link) == (2, 2, 0, 0, 0)


def test_one_reply_in_five(make_locked):
    """PX4 with its accelerometer off: the world goes on; what is answered is used."""
    link, peer = make_locked(reply_timeout_s=0.02)
    for k in range(2, 27):
        if k % 5 == 0:
            peer.reply(k * STEP_US)
        assert is_reply_to(link.exchange(k * STEP_US), max(1, k // 5 * 5) * STEP_US)
    # 1, 5, 10, 15, 20 and 25 are answered; after each one the silence begins anew.
    assert counters(link) == (26, 6, 6, 0, 0)


def test_a_rover(make_link, connect):
    """No reply before it arms, then 100 replies a second of simulated time."""
    link, peer = make_link(reply_timeout_s=0.02), connect()
    for time_us in range(STEP_US, 100_000, STEP_US):
        assert link.exchange(time_us) == DISARMED
    assert link.state == 'FREEWHEEL'
    last_us = 0
    for time_us in range(100_000, 200_000, STEP_US):
        if time_us % 10_000 < STEP_US:
            peer.reply(time_us)
            last_us = time_us
        assert is_reply_to(link.exchange(time_us), last_us)
    assert (link.lockstep.steps, link.lockstep.replies) == (49, 10)


def test_the_first_step_that_is_answered_late_is_remembered(make_locked):
    """Another flight may go on otherwise from there."""
    link, _ = make_locked()
    assert 'gap' not in link.lockstep.status()
    for k in 2, 3:
        link.exchange(k * STEP_US)
    status = link.lockstep.status()
    assert status['gap'] == 'the step was not answered in time'
    assert status['gap_us'] == str(2 * STEP_US)


def test_an_autopilot_that_goes_is_remembered(make_locked):
    link, peer = make_locked()
    peer.close()
    link.exchange(2 * STEP_US)
    status = link.lockstep.status()
    assert (status['gap'], status['gap_us']) == ('the autopilot has gone', str(2 * STEP_US))


def test_gaps_after_a_stall_cost_a_step_each_and_are_reported_once(make_locked, bounds_s):
    """Only after 50 answers in a row the whole bound is waited again."""
    link, peer = make_locked(reply_timeout_s=2.0)
    bounds_s.clear()
    step = 1
    for _ in range(200):
        step += 1
        if step % 5 == 0:
            peer.reply(step * STEP_US)
        link.exchange(step * STEP_US)
    assert bounds_s == [2.0] + [0.004] * 199             # and not 160 times 2 s
    assert link.counts['misses'] > 30
    assert [e.partition(' at ')[0] for e in link.take_sentences()] == [
        'FREEWHEEL', 'LOCKED', 'STALLED', 'LOCKED']
    for _ in range(50):
        step += 1
        peer.reply(step * STEP_US)
        assert link.exchange(step * STEP_US).time_us == step * STEP_US
    misses, started_s = link.counts['misses'], time.monotonic()
    link.exchange((step + 1) * STEP_US)
    assert time.monotonic() - started_s >= 1.9
    assert link.counts['misses'] == misses + 1


def test_on_stall_pause(make_locked):
    """The step is held, its frames are not sent again, and its reply ends it."""
    link, peer = make_locked(on_stall='pause')
    peer.sensor_times()
    assert [link.exchange(2 * STEP_US) for _ in range(3)] == [None, None, None]
    assert (link.state, counters(link)) == ('STALLED', (1, 1, 1, 0, 0))
    assert peer.sensor_times() == [2 * STEP_US]
    peer.reply(2 * STEP_US)
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    assert (link.state, counters(link)) == ('LOCKED', (2, 2, 1, 0, 0))
    peer.reply(3 * STEP_US)
    assert is_reply_to(link.exchange(3 * STEP_US), 3 * STEP_US)


def test_on_stall_fail(make_locked):
    """One sentence names the step and the bound."""
    link, _ = make_locked(on_stall='fail')
    with pytest.raises(StallError) as error:
        link.exchange(12_000)
    assert str(error.value) == (
        'the autopilot has not replied to t = 0.012000 s within 0.1 s')
    assert link.counts['misses'] == 1


def test_on_stall_fail_leaves_booting_alone(make_link, connect):
    """Silence before the first reply is no failure."""
    link = make_link(on_stall='fail', reply_timeout_s=0.001)
    connect()
    assert [link.exchange(k * STEP_US) for k in (1, 2, 3)] == [DISARMED] * 3


# The autopilot goes and the next one comes.

@pytest.mark.parametrize('how', ['close', 'reset'])
@pytest.mark.parametrize('on_stall', ['continue', 'pause', 'fail'])
def test_the_same_step_is_offered_to_the_next_autopilot(make_locked, connect, how, on_stall):
    """Disarmed, as a fresh autopilot is."""
    link, first = make_locked(on_stall=on_stall)
    getattr(first, how)()
    assert link.exchange(2 * STEP_US) is None
    assert link.exchange(2 * STEP_US) is None
    assert (link.state, counters(link)) == ('WAITING', (1, 1, 0, 0, 0))
    second = connect()
    assert link.exchange(2 * STEP_US) == DISARMED
    assert link.state == 'FREEWHEEL'
    assert second.sensor_times() == [2 * STEP_US]
    second.reply(3 * STEP_US)
    assert is_reply_to(link.exchange(3 * STEP_US), 3 * STEP_US)


def test_half_a_reply_of_the_last_autopilot_is_forgotten(make_link, connect):
    """It does not spoil the first message of the next one; the counters go on."""
    link, first = make_link(), connect()
    first.send(b'rubbish', reply(STEP_US)[:30])
    assert link.exchange(STEP_US) == DISARMED
    first.close()
    assert link.exchange(2 * STEP_US) is None
    connect().reply(2 * STEP_US)
    assert is_reply_to(link.exchange(2 * STEP_US), 2 * STEP_US)
    assert link.lockstep.status()['bad_messages'] == '1'


def test_the_end_comes_while_a_reply_is_awaited(make_link, connect):
    """It is not waited for until the time-out."""
    link, peer = make_link(reply_timeout_s=60.0, freewheel_pause_s=1.0), connect()

    def script(time_us):
        if time_us > STEP_US:
            peer.socket.shutdown(2)
        return [reply(time_us)]

    peer.start(script)
    assert is_reply_to(link.exchange(STEP_US), STEP_US)
    assert link.exchange(2 * STEP_US) is None
    assert link.state == 'WAITING'


def test_the_end_while_stalled(make_locked, connect):
    """Also a held step is offered again."""
    link, first = make_locked(on_stall='pause')
    assert link.exchange(2 * STEP_US) is None
    first.close()
    assert link.exchange(2 * STEP_US) is None
    assert link.state == 'WAITING'
    second = connect()
    assert link.exchange(2 * STEP_US) == DISARMED
    assert second.sensor_times() == [2 * STEP_US]


@pytest.mark.process
def test_a_stopped_process(make_link, instance):
    """SIGSTOP stalls the link, SIGCONT locks it again: nothing has to be restarted."""
    link = make_link()
    program = pathlib.Path(stand_in_autopilot.__file__)
    times = iter(range(STEP_US, 1_000_000_000, STEP_US))

    def step_until(state):
        deadline = Deadline(TIME_LIMIT_S)
        while link.state != state:
            assert deadline.remaining_s, f'not {state}'
            link.exchange(next(times))

    def step_until_answered():
        deadline = Deadline(TIME_LIMIT_S)
        while link.exchange(time_us := next(times)).time_us != time_us:
            assert deadline.remaining_s, 'no reply to the step'

    with subprocess.Popen([sys.executable, str(program), str(port_of(instance))]) as peer:
        try:
            link.lockstep.wait(TIME_LIMIT_S)
            step_until_answered()       # a late reply locks as well, but its command is not taken
            os.kill(peer.pid, signal.SIGSTOP)
            os.waitpid(peer.pid, os.WUNTRACED)
            step_until('STALLED')
            misses = link.counts['misses']
            held = {link.exchange(next(times)) for _ in range(20)}
            assert len(held) == 1 and held.pop().armed
            assert (link.state, link.counts['misses']) == ('STALLED', misses)
            os.kill(peer.pid, signal.SIGCONT)
            step_until('LOCKED')
            # Behind what it found in its socket come replies in time.
            step_until_answered()
            assert link.counts['late_replies'] > 0
        finally:
            peer.kill()


# Reports

def test_events_are_sentences(make_locked, connect):
    """One for each change of state; each is reported once."""
    link, peer = make_locked()
    link.exchange(2 * STEP_US)
    peer.reply(3 * STEP_US)
    link.exchange(3 * STEP_US)
    peer.close()
    link.exchange(4 * STEP_US)
    assert link.take_sentences() == [
        'FREEWHEEL at t = 0.004000 s: an autopilot has connected',
        'LOCKED at t = 0.004000 s: the autopilot replies',
        'STALLED at t = 0.008000 s: the autopilot has not replied to t = 0.008000 s within 0.1 s',
        'LOCKED at t = 0.012000 s: the autopilot replies again; steps without an answer so far: 1',
        'WAITING at t = 0.016000 s: the autopilot has gone; waiting for the next one',
    ]
    assert link.take_sentences() == []


def test_state_seconds_add_up(make_link, connect):
    """To the wall time since the start, each state with its share."""
    before_s = time.monotonic()
    link, peer = make_link(freewheel_pause_s=0.02), connect()
    made_s = time.monotonic()
    link.exchange(STEP_US)                 # FREEWHEEL, 0.02 s
    peer.reply(2 * STEP_US)
    link.exchange(2 * STEP_US)
    link.exchange(3 * STEP_US)             # LOCKED, 0.1 s
    link.exchange(4 * STEP_US)             # STALLED, 0.004 s
    asked_s = time.monotonic()
    seconds = link.lockstep.report.state_seconds()
    assert list(seconds) == ['WAITING', 'FREEWHEEL', 'LOCKED', 'STALLED', 'TERMINATED']
    assert asked_s - made_s <= sum(seconds.values()) <= time.monotonic() - before_s
    assert seconds['FREEWHEEL'] >= 0.02
    assert seconds['LOCKED'] >= 0.1
    assert seconds['STALLED'] >= 0.004


def test_status_has_every_counter(make_locked):
    """As texts, for diagnostics and summary."""
    link, peer = make_locked()
    peer.send(b'rubbish', stand_in_autopilot.controls_frame(2 * STEP_US, (2.0,)))
    link.exchange(2 * STEP_US)
    status = link.lockstep.status()
    assert status | {'state': 'LOCKED', 'steps': '2', 'replies': '2', 'misses': '0',
                     'stale_replies': '0', 'bad_messages': '1', 'limited_controls': '1',
                     'dropped_sends': '0'} == status
    assert {'seconds_WAITING', 'seconds_FREEWHEEL', 'seconds_LOCKED', 'seconds_STALLED'} < set(
        status)


def test_steps_without_an_answer_are_counted_from_the_first_answer_on(make_link, connect):
    link = make_link(reply_timeout_s=0.05)
    peer = connect()
    link.exchange(STEP_US)                           # it boots
    assert link.counts['unanswered'] == 0
    assert 'time_ratio' not in link.lockstep.status()
    for step, answers in enumerate((True, False, False, True), 2):
        if answers:
            peer.send(stand_in_autopilot.controls_frame(step * STEP_US))
        link.exchange(step * STEP_US)
    assert link.counts['unanswered'] == 2
    assert link.lockstep.status()['time_ratio'] == '1.000000'


def test_a_step_during_which_the_first_answer_comes_to_another_is_not_unanswered(
        make_link, connect):
    """Nobody waited for an answer when it began; on a busy machine the first one is late."""
    link, peer = make_link(), connect()
    link.exchange(STEP_US)
    peer.reply(STEP_US)
    link.exchange(2 * STEP_US)
    peer.reply(2 * STEP_US, 3 * STEP_US)
    link.exchange(3 * STEP_US)
    assert link.lockstep.state.value == 'LOCKED'
    assert (link.counts['unanswered'], link.lockstep.replies) == (0, 3)


@pytest.mark.parametrize('own_us, ratio', [(STEP_US, '1.000000'), (2 * STEP_US, '0.500000')])
def test_the_time_of_the_autopilot_is_compared_with_that_of_the_steps(own_us, ratio, make_locked):
    """One whose clock goes twice as fast is no lockstep, whatever it answers."""
    link, peer = make_locked(reply_timeout_s=0.05)
    for step in range(1, 11):
        peer.send(stand_in_autopilot.controls_frame(STEP_US + step * own_us))
        link.exchange((1 + step) * STEP_US)
    assert link.lockstep.status()['time_ratio'] == ratio


@pytest.mark.parametrize('on_stall', ['continue', 'pause', 'fail'])
def test_an_expected_gap_is_reported_soon(make_locked, on_stall, bounds_s):
    """Not after the whole bound: PX4 changes to another IMU only if its time goes on."""
    link, peer = make_locked(on_stall=on_stall, reply_timeout_s=5.0)
    link.lockstep.expect_gap()
    bounds_s.clear()
    for step in range(2, 12):
        assert link.exchange(4000 * step).time_us == 4000
    assert bounds_s == [0.25] + [0.004] * 9
    assert link.state == 'STALLED'
    peer.reply(48_000)
    assert link.exchange(48_000).time_us == 48_000
    assert (link.state, link.counts['misses']) == ('LOCKED', 1)
