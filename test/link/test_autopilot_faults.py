# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An autopilot that stands still, and one without power: what the link does with their steps."""
from __future__ import annotations

from stand_in_autopilot import marker

from px4_sim_ros.link.hil.codec import DISARMED


def test_a_pause_sends_nothing_and_goes_on_with_the_last_command(make_locked):
    link, peer = make_locked()
    for k in range(2, 12):
        held = link.lockstep.skip(4000 * k, is_off=False)
        assert held.armed and held.controls[0] == marker(4000)
    assert link.state == 'LOCKED' and link.counts['misses'] == 0
    peer.reply(48_000)
    assert link.exchange(48_000).controls[0] == marker(48_000)
    assert peer.sensor_times() == [4000, 48_000]
    assert link.lockstep.steps == 12


def test_without_power_motors_get_nothing_until_another_one_replies(make_locked, connect):
    link, peer = make_locked()
    for k in range(2, 5):
        assert link.lockstep.skip(4000 * k, is_off=True) == DISARMED
    assert link.state == 'WAITING'
    assert link.exchange(20_000) is None         # the step is held: it never comes back
    following = connect()
    following.reply(20_000)
    link.lockstep.wait(1.0)
    assert link.exchange(20_000).controls[0] == marker(20_000)
    assert link.state == 'LOCKED'
    assert peer.sensor_times() == [4000] and following.sensor_times() == [20_000]


def test_one_that_connects_before_the_power_is_back_waits_for_it(make_locked, connect):
    """So it does at real-time pace, where a PX4 that is started again boots within seconds."""
    link, peer = make_locked()
    assert link.lockstep.skip(8000, is_off=True) == DISARMED
    peer.close()
    following = connect()
    for k in range(3, 6):
        link.lockstep.service_idle_link()
        assert link.lockstep.skip(4000 * k, is_off=True) == DISARMED
    assert link.state == 'WAITING'
    following.reply(24_000)
    link.lockstep.service_idle_link()
    link.exchange(24_000)
    assert link.exchange(24_000).controls[0] == marker(24_000)
    assert following.sensor_times() == [24_000]
