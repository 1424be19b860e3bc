# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The frames of a step are sent as soon as the reply to the one before has come."""
STEP_US = 4000
FIRST_US, NEXT_US, LATER_US = 2 * STEP_US, 3 * STEP_US, 4 * STEP_US


def sent_early(link, peer):
    """Let the step of NEXT_US be sent with the reply to FIRST_US, and take what was sent."""
    link.begin(FIRST_US)
    link.look_ahead(NEXT_US)
    peer.reply(FIRST_US)
    assert link.exchange(FIRST_US).time_us == FIRST_US
    times = []
    while NEXT_US not in times:
        times += peer.sensor_times()
    return times


def test_they_are_sent_with_the_reply_and_only_once(make_locked):
    link, peer = make_locked()
    assert sent_early(link, peer) == [STEP_US, FIRST_US, NEXT_US]
    assert link.lockstep.early_steps == 1
    assert link.begin(NEXT_US) is True
    peer.reply(NEXT_US)
    assert link.exchange(NEXT_US).time_us == NEXT_US
    assert peer.messages_so_far() == []
    assert link.state == 'LOCKED' and 'gap' not in link.lockstep.status()
    assert link.lockstep.early_steps == 1          # for the next one nobody has looked ahead


def test_they_are_sent_as_ever_when_they_cannot_be_made(make_locked):
    link, peer = make_locked()
    link.begin(FIRST_US)
    link.lockstep.look_ahead(NEXT_US, lambda reply: b'')
    peer.reply(FIRST_US)
    assert link.exchange(FIRST_US).time_us == FIRST_US
    assert peer.sensor_times() == [STEP_US, FIRST_US]
    link.begin(NEXT_US)
    assert peer.sensor_times() == [NEXT_US]
    assert link.lockstep.early_steps == 0


def test_a_reply_that_comes_while_time_is_paused_is_read_in_its_step(make_locked):
    link, peer = make_locked()
    sent_early(link, peer)
    peer.reply(NEXT_US)
    for _ in range(3):
        link.lockstep.service_idle_link()
    link.begin(NEXT_US)
    assert link.exchange(NEXT_US).time_us == NEXT_US
    assert link.counts['stale_replies'] == 0


def test_other_frames_than_those_that_were_sent_are_a_gap(make_locked):
    link, peer = make_locked()
    sent_early(link, peer)
    assert link.lockstep.begin(NEXT_US, b'other frames') is True
    status = link.lockstep.status()
    assert status['gap'] == 'its frames had been sent before something else was measured'
    assert status['gap_us'] == str(NEXT_US)
    assert peer.messages_so_far() == []


def test_after_a_step_without_a_reply_nothing_is_sent_early(make_locked):
    """What was made for the step after it has no use any more, and the link is not trusted."""
    link, peer = make_locked()
    link.begin(FIRST_US)
    link.look_ahead(NEXT_US)
    assert link.exchange(FIRST_US) is not None and link.state == 'STALLED'
    link.begin(NEXT_US)
    link.look_ahead(LATER_US)
    peer.reply(NEXT_US)
    assert link.exchange(NEXT_US).time_us == NEXT_US
    assert link.lockstep.early_steps == 0
    assert peer.sensor_times() == [STEP_US, FIRST_US, NEXT_US]


def test_an_autopilot_that_goes_meanwhile_is_noticed(make_locked, connect):
    link, peer = make_locked()
    sent_early(link, peer)
    peer.close()
    link.begin(NEXT_US)
    assert link.exchange(NEXT_US) is None and link.state == 'WAITING'
    other = connect()
    assert link.exchange(NEXT_US) is not None
    assert other.sensor_times() == [NEXT_US]
