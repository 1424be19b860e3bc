# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What else comes over the link: counted, named once, never fatal and never a wrong step."""
from __future__ import annotations

import math
import time

import mavlink_frames
import pytest
from mavlink_frames import controls_frame, controls_payload, frame, frame_v1
from stand_in_autopilot import ARMED_MODE, TIME_LIMIT_S, marker, px4_greeting, reply

from px4_sim_ros.cli.fly_summary import write_summary
from px4_sim_ros.flight.record import FlightResult, WorldStatus
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.link.hil.link_state import TROUBLES
from px4_sim_ros.link.hil.server import Deadline
from px4_sim_ros.spec.flight_spec import Options, flight_of

STEP_US = 4000
OTHER_CONTROLS = (0.125,) * 4
DAMAGED = reply(2 * STEP_US)[:-1] + b'?'

ODD = [
    (b'seventeen letters', 'bad_messages',
     '17 bytes that are no MAVLink came in (Bad prefix); counted as bad_messages'),
    (DAMAGED, 'bad_messages', 'bytes that are no MAVLink came in (invalid MAVLink CRC in msgID 93'),
    (reply(2 * STEP_US)[:50] + bytes(280), 'bad_messages', 'bytes that are no MAVLink came in'),
    (frame(54321, b'another dialect'), 'unknown_messages',
     'message 54321 is none of the common dialect; counted as unknown_messages'),
    (controls_frame(2 * STEP_US, OTHER_CONTROLS, mode=129, system=42), 'foreign_messages',
     'controls from system 42 are ignored, and counted as foreign_messages: the autopilot is system'
     ' 1'),
    (controls_frame(3, (math.nan,)), 'limited_controls', 'a control of nan came in'),
    (controls_frame(3, (-9.0,)), 'limited_controls', 'a control of -9 came in'),
    (frame_v1(mavlink_frames.HEARTBEAT, mavlink_frames.heartbeat_payload()), 'mavlink1_messages',
     'HEARTBEAT came in as MAVLink 1'),
    (controls_frame(STEP_US, OTHER_CONTROLS), 'stale_replies',
     'controls for t = 0.004000 s answer no step that waits for an answer; counted as'
     ' stale_replies'),
    (controls_frame(2 * STEP_US + 1, OTHER_CONTROLS), 'stale_replies', 't = 0.008001 s'),
    (controls_frame(9 * STEP_US, OTHER_CONTROLS), 'stale_replies', 't = 0.036000 s'),
    (controls_frame(2**64 - 1, OTHER_CONTROLS), 'stale_replies', 't = 18446744073709.551615 s'),
]


# Every trouble

def silence(link, peer, connect):
    link.exchange(2 * STEP_US)


def reply_to_the_step_before(link, peer, connect):
    link.exchange(2 * STEP_US)
    peer.reply(2 * STEP_US, 3 * STEP_US)
    link.exchange(3 * STEP_US)


def unread_frames(link, peer, connect):
    while not link.counts['dropped_sends']:
        link.lockstep._server.send(bytes(2**20))


def second_client(link, peer, connect):
    connect()
    while not link.counts['refused_clients']:
        link.lockstep.service_idle_link()


def odd_bytes(odd):
    def send(link, peer, connect):
        peer.send(odd + reply(2 * STEP_US))
        link.exchange(2 * STEP_US)
    return send


CAUSES = {
    'misses': silence, 'unanswered': silence, 'late_replies': reply_to_the_step_before,
    'dropped_sends': unread_frames, 'refused_clients': second_client,
    **{counter: odd_bytes(odd) for odd, counter, _ in ODD}}
# Of the status, what is no trouble.
ORDINARY = {'state', 'steps', 'replies', 'time_ratio', 'waited_s', 'boot_s', 'gap', 'gap_us'}


@pytest.mark.parametrize('trouble', TROUBLES)
def test_no_trouble_is_silent(make_locked, connect, capsys, trouble):
    """A warning about the first of a connection, and a number in the summary."""
    link, peer = make_locked()
    link.lockstep.report.take_events()
    CAUSES[trouble](link, peer, connect)
    assert link.counts[trouble] > 0
    events = link.lockstep.report.take_events()
    assert events and all(event.is_warning for event in events)
    said = {'misses': 'has not replied to t', 'unanswered': 'has not replied to t',
            'refused_clients': 'was refused'}.get(trouble, trouble)
    assert sum(said in event.sentence for event in events) == 1

    status = link.lockstep.status()
    # A counter that is added later is among the troubles, or is no trouble.
    assert {name for name in status if not name.startswith('seconds_')} - ORDINARY == {*TROUBLES}
    result = FlightResult(flight_of(Options()))
    result.first.status = WorldStatus(link=status)
    summary = result.summary({})
    assert summary[trouble] == link.counts[trouble]
    write_summary(summary, None)
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines[trouble] == str(link.counts[trouble])


def test_an_autopilot_that_never_answers_is_reported_once(make_link, connect):
    """After some seconds, and that it answers at last as well."""
    link, peer = make_link(freewheel_pause_s=0.0), connect()
    for time_us in range(1_000_000, 13_000_000, 1_000_000):
        link.exchange(time_us)
    peer.reply(13_000_000)
    link.exchange(13_000_000)
    assert link.lockstep.report.take_events() == [
        (False, 'FREEWHEEL at t = 1.000000 s: an autopilot has connected'),
        (True, 'FREEWHEEL at t = 11.000000 s: the autopilot is connected, and has answered no step'
               ' since t = 1.000000 s'),
        (True, 'LOCKED at t = 13.000000 s: the autopilot replies')]


def test_the_end_of_a_stall_is_a_warning_as_its_beginning(make_locked):
    link, peer = make_locked()
    link.lockstep.report.take_events()
    for k in 2, 3:
        link.exchange(k * STEP_US)
    peer.reply(4 * STEP_US)
    link.exchange(4 * STEP_US)
    assert link.lockstep.report.take_events() == [
        (True, 'STALLED at t = 0.008000 s: the autopilot has not replied to t = 0.008000 s within'
               ' 0.1 s'),
        (True, 'LOCKED at t = 0.016000 s: the autopilot replies again; steps without an answer so'
               ' far: 2')]


def test_the_autopilot_of_another_instance_is_reported(make_link, connect):
    """The pilot would wait for its own for ever."""
    link, peer = make_link(instance=6), connect()
    peer.reply(STEP_US)
    link.exchange(STEP_US)
    assert link.lockstep.report.take_events()[-1] == (
        True, 'LOCKED at t = 0.004000 s: the autopilot is system 1; that of instance 6 has to be'
        ' system 7: pilot and battery speak to no other')


@pytest.mark.parametrize(('odd', 'counter', 'sentence'), ODD)
def test_odd_bytes_before_a_reply(make_locked, connect, odd, counter, sentence):
    """Each is counted; the first of a connection is named; the step ends as it should."""
    link, peer = make_locked(reply_timeout_s=TIME_LIMIT_S)
    link.take_sentences()
    peer.send(odd + px4_greeting() + odd + reply(2 * STEP_US))
    command = link.exchange(2 * STEP_US)
    assert command == (2 * STEP_US, True, (marker(2 * STEP_US), 0.5, 0.5, 0.5) + (0.0,) * 12)
    assert int(link.lockstep.status()[counter]) >= 2
    event = next(e for e in link.take_sentences() if sentence in e)
    assert event.startswith('LOCKED at t = 0.008000 s: ') and '\n' not in event

    peer.send(odd + reply(3 * STEP_US))
    assert link.exchange(3 * STEP_US).time_us == 3 * STEP_US
    assert link.take_sentences() == []
    assert (link.state, link.counts['misses']) == ('LOCKED', 0)

    peer.close()
    link.service_until(lambda: link.state == 'WAITING')
    connect().send(odd + reply(4 * STEP_US))
    link.service_until(lambda: link.state == 'FREEWHEEL')
    link.exchange(4 * STEP_US)
    assert any(e.startswith('FREEWHEEL at ') and sentence.partition('t =')[0] in e
               for e in link.take_sentences()[2:])


def test_an_ordinary_autopilot_is_not_odd(make_link, connect):
    """Its greeting and first replies that are late are counted as nothing but stale."""
    link, peer = make_link(), connect()
    link.exchange(STEP_US)
    link.exchange(2 * STEP_US)
    peer.send(px4_greeting())
    peer.reply(STEP_US, 2 * STEP_US, 3 * STEP_US)
    assert link.exchange(3 * STEP_US).time_us == 3 * STEP_US
    assert link.take_sentences() == [
        'FREEWHEEL at t = 0.004000 s: an autopilot has connected',
        'LOCKED at t = 0.012000 s: the autopilot replies']


def test_the_first_of_two_replies_counts(make_locked):
    """In one segment or not."""
    link, peer = make_locked()
    peer.send(reply(2 * STEP_US) + controls_frame(2 * STEP_US, OTHER_CONTROLS))
    assert link.exchange(2 * STEP_US).controls[1] == 0.5
    peer.send(controls_frame(2 * STEP_US, OTHER_CONTROLS) + reply(3 * STEP_US))
    assert link.exchange(3 * STEP_US).controls[1] == 0.5
    assert (link.lockstep.replies, link.counts['stale_replies']) == (3, 2)


def test_a_reply_as_mavlink_1(make_locked):
    """It is a reply."""
    link, peer = make_locked()
    payload = controls_payload(2 * STEP_US, (0.25,), mode=ARMED_MODE)
    peer.send(frame_v1(mavlink_frames.ACTUATOR_CONTROLS, payload))
    assert link.exchange(2 * STEP_US).controls[0] == 0.25
    assert link.state == 'LOCKED'


# Controls that are never a reply

WRONG = {
    'older': lambda time_us: time_us - 100 * STEP_US, 'newer': lambda time_us: time_us + STEP_US,
    'off the step': lambda time_us: time_us - 1, 'the same': lambda time_us: 12345,
    'zero': lambda time_us: 0, 'huge': lambda time_us: 2**64 - 1,
}
BEGIN_US = 1_000_000


@pytest.mark.parametrize('wrong', WRONG.values(), ids=WRONG)
@pytest.mark.parametrize('on_stall', ['continue', 'pause', 'fail'])
def test_an_autopilot_that_is_out_of_step_never_locks(make_link, connect, wrong, on_stall):
    """It has booted, so it does not speed up the world; nor does it stop it."""
    link, peer = make_link(step_us=20_000, freewheel_pause_s=0.0, on_stall=on_stall), connect()
    peer.send(controls_frame(wrong(BEGIN_US)))
    link.exchange(BEGIN_US)
    started_s = time.monotonic()
    for k in range(1, 11):
        peer.send(controls_frame(wrong(BEGIN_US + k * STEP_US), OTHER_CONTROLS, mode=129))
        assert link.exchange(BEGIN_US + k * STEP_US) == DISARMED
    assert 10 * 0.020 <= time.monotonic() - started_s < 10.0
    assert (link.state, link.counts['misses']) == ('FREEWHEEL', 0)
    assert (link.counts['stale_replies'], link.lockstep.replies) == (11, 0)
    peer.reply(2 * BEGIN_US)
    assert link.exchange(2 * BEGIN_US).time_us == 2 * BEGIN_US
    assert link.state == 'LOCKED'


@pytest.mark.parametrize('wrong', WRONG.values(), ids=WRONG)
def test_an_autopilot_that_gets_out_of_step_is_stalled(make_locked, wrong):
    """As if it were silent: the last command, at most at real-time pace."""
    link, peer = make_locked(step_us=20_000)
    started_s = time.monotonic()
    for k in range(11):
        peer.send(controls_frame(wrong(BEGIN_US + k * STEP_US), OTHER_CONTROLS))
        assert link.exchange(BEGIN_US + k * STEP_US).time_us == STEP_US
    assert 0.1 + 10 * 0.020 <= time.monotonic() - started_s < 10.0
    assert (link.state, link.counts['misses']) == ('STALLED', 1)
    events = link.take_sentences()
    assert any('has not replied to t = 1.000000 s' in e for e in events)
    assert sum('answer no step' in e for e in events) == 1
    peer.reply(2 * BEGIN_US)
    assert link.exchange(2 * BEGIN_US).time_us == 2 * BEGIN_US
    assert link.state == 'LOCKED'


def test_an_autopilot_that_is_always_a_step_late(make_locked):
    """It goes at real-time pace, and its commands are not used."""
    link, peer = make_locked(step_us=20_000, reply_timeout_s=0.1)
    started_s = time.monotonic()
    for k in range(2, 13):
        peer.reply((k - 1) * STEP_US)
        assert link.exchange(k * STEP_US).time_us == STEP_US
    assert 0.1 + 10 * 0.020 <= time.monotonic() - started_s < 10.0


def late_and_stale(link):
    return link.counts['late_replies'] + link.counts['stale_replies']


def test_a_reply_that_is_too_late_does_not_lock(make_locked):
    """Later than a second of steps it is no sign of an autopilot in step."""
    link, peer = make_locked(reply_timeout_s=0.001, step_us=1000)
    for k in range(2, 302):
        link.exchange(k * STEP_US)
    for late, state in ((2, 'STALLED'), (301, 'LOCKED')):
        peer.reply(late * STEP_US)
        came, deadline = late_and_stale(link), Deadline(TIME_LIMIT_S)
        while late_and_stale(link) == came:
            assert deadline.remaining_s
            k += 1
            link.exchange(k * STEP_US)
        assert link.state == state


def test_a_foreign_system_alone_never_locks(make_link, connect):
    """The HEARTBEAT has named the autopilot; controls of another system are not its."""
    link, peer = make_link(), connect()
    for k in range(1, 11):
        peer.send(controls_frame(k * STEP_US, OTHER_CONTROLS, mode=129, system=42))
        assert link.exchange(k * STEP_US) == DISARMED
    assert (link.state, link.lockstep.replies) == ('FREEWHEEL', 0)
