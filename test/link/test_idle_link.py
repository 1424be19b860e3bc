# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The link while no step is under way: who goes, who comes, and what keeps PX4 quiet."""
from __future__ import annotations

import time

import pytest
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import TIME_LIMIT_S, reply

from px4_sim_ros.link.hil import lockstep
from px4_sim_ros.link.hil.battery_link import BatteryLink
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.link.hil.link_state import LinkReport, LinkState
from px4_sim_ros.link.hil.server import Deadline
from px4_sim_ros.model.truth import BatteryStatus

STEP_US = 4000


def kinds(messages):
    """Return the types of messages."""
    return [m.get_type() for m in messages]


# Coming and going

@pytest.mark.parametrize('how', ['close', 'reset'])
def test_the_end_is_noticed(make_locked, connect, how):
    """Also behind a reply that was not read; the next autopilot is served."""
    link, peer = make_locked()
    peer.reply(2 * STEP_US)
    getattr(peer, how)()
    link.service_until(lambda: link.state == 'WAITING')
    assert link.take_sentences()[-1] == (
        'WAITING at t = 0.004000 s: the autopilot has gone; waiting for the next one')
    connect()
    link.service_until(lambda: link.state == 'FREEWHEEL')
    assert link.lockstep.status()['refused_clients'] == '0'


def test_an_autopilot_that_connects_meanwhile(make_link, connect):
    """It is taken and gets its first frames with the next step."""
    link = make_link()
    link.lockstep.service_idle_link()
    assert link.state == 'WAITING'
    peer = connect()
    link.service_until(lambda: link.state == 'FREEWHEEL')
    assert link.take_sentences() == [
        'FREEWHEEL at t = 0.000000 s: an autopilot has connected']
    assert link.exchange(STEP_US) == DISARMED
    assert peer.sensor_times() == [STEP_US]


def test_a_second_autopilot_is_refused(make_locked, connect):
    """The first one does not notice; it is reported once a connection."""
    link, first = make_locked()
    second = connect()
    link.service_until(lambda: link.lockstep.status()['refused_clients'] == '1')
    assert kinds(second.messages()) == ['STATUSTEXT']
    assert second.socket.recv(1) == b''
    third = connect()
    link.service_until(lambda: link.lockstep.status()['refused_clients'] == '2')
    assert kinds(third.messages()) == ['STATUSTEXT']
    assert link.take_sentences()[2:] == [
        f'LOCKED at t = 0.004000 s: a second autopilot from {second.address} was refused; one is'
        ' connected already']
    assert kinds(first.messages_so_far()) == ['HIL_SENSOR']
    first.reply(2 * STEP_US)
    assert link.exchange(2 * STEP_US).time_us == 2 * STEP_US


def test_a_second_autopilot_while_a_reply_is_awaited(make_locked, connect):
    """It is refused within the step, which goes on waiting."""
    link, first = make_locked(reply_timeout_s=TIME_LIMIT_S)
    second = connect()

    def refused_then_reply(time_us):
        assert kinds(second.messages()) == ['STATUSTEXT']
        return [reply(time_us)]

    first.sensor_times()
    first.start(refused_then_reply)
    assert link.exchange(2 * STEP_US).time_us == 2 * STEP_US
    assert link.counts['misses'] == 0


# Late replies

def test_late_replies_are_counted_and_change_nothing(make_link, connect):
    """Whatever the state is."""
    link, peer = make_link(reply_timeout_s=0.02), connect()
    link.exchange(STEP_US)
    for step, state in enumerate(('FREEWHEEL', 'LOCKED', 'STALLED'), start=1):
        assert link.state == state
        trouble = {'LOCKED': 'stale_replies', 'STALLED': 'late_replies'}.get(state)
        peer.reply(step * STEP_US)
        # Of one that boots a late one is no trouble.
        link.service_until(lambda name=trouble, time_us=step * STEP_US: link.counts[name] == 1
                           if name else link.lockstep._matcher.answered_us == time_us)
        assert link.state == state
        if state == 'FREEWHEEL':
            peer.reply((step + 1) * STEP_US)
        assert link.exchange((step + 1) * STEP_US).time_us == 2 * STEP_US


def test_the_reply_to_a_held_step_is_not_late(make_locked):
    """It ends the step when that is asked for again."""
    link, peer = make_locked(on_stall='pause')
    assert link.exchange(2 * STEP_US) is None
    peer.reply(2 * STEP_US)
    link.service_until(lambda: link.lockstep.replies == 2)
    assert link.state == 'STALLED'
    assert link.exchange(2 * STEP_US).time_us == 2 * STEP_US
    assert (link.state, link.counts['stale_replies']) == ('LOCKED', 0)
    peer.reply(3 * STEP_US)
    assert link.exchange(3 * STEP_US).time_us == 3 * STEP_US


# Heartbeats

def test_heartbeats_while_nothing_else_is_sent(make_locked, monkeypatch):
    """They are numbered and come from the simulator."""
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.02)
    link, peer = make_locked()
    peer.sensor_times()
    heard, started_s = [], time.monotonic()
    link.service_until(lambda: heard.extend(peer.messages_so_far()) or len(heard) >= 5)
    assert time.monotonic() - started_s >= 0.08
    assert kinds(heard) == ['HEARTBEAT'] * 5
    assert [m.get_seq() for m in heard] == list(range(5))
    assert {(m.get_srcSystem(), m.get_srcComponent()) for m in heard} == {(1, 200)}
    assert heard[0].autopilot == mavlink.MAV_AUTOPILOT_INVALID
    assert heard[0].type == mavlink.MAV_TYPE_GENERIC
    assert link.state == 'LOCKED'


def test_no_heartbeats_while_frames_flow(make_link, connect, monkeypatch):
    """Attended or not."""
    now_s = 0.0
    monkeypatch.setattr(lockstep.time, 'perf_counter', lambda: now_s)
    link, peer = make_link(), connect()
    heard, step_s = [], 0.4 * lockstep.HEARTBEAT_PERIOD_S
    for k in range(1, 11):
        link.exchange(k * STEP_US)
        for _ in range(2):
            now_s += step_s
            link.lockstep.service_idle_link()
        heard += peer.messages_so_far()
    assert set(kinds(heard)) == {'HIL_SENSOR'}


def test_a_held_step_is_quiet_too(make_locked, monkeypatch):
    """A step held for a stall is sent once; after that only heartbeats are."""
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.02)
    link, peer = make_locked(on_stall='pause')
    assert [link.exchange(2 * STEP_US) for _ in range(3)] == [None] * 3
    seen = kinds(peer.messages_so_far())
    assert seen[:2] == ['HIL_SENSOR'] * 2
    assert set(seen[2:]) == {'HEARTBEAT'}


def test_a_step_that_waits_for_its_reply_is_quiet_too(make_locked, monkeypatch):
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.02)
    link, peer = make_locked()
    link.exchange(2 * STEP_US)
    assert kinds(peer.messages_so_far())[:3] == ['HIL_SENSOR', 'HIL_SENSOR', 'HEARTBEAT']


def test_nobody_hears_heartbeats(make_link, connect, monkeypatch):
    """They are no reason to fail, and nothing of them is left for who comes."""
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.0)
    link = make_link()
    for _ in range(3):
        link.lockstep.service_idle_link()
    peer = connect()
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 60.0)
    link.exchange(STEP_US)
    assert kinds(peer.messages()) == ['HIL_SENSOR']


@pytest.mark.process
def test_an_autopilot_that_neither_reads_nor_answers(
        little_room, make_link, connect, monkeypatch):
    """Attending does not wait for it; what has no room is dropped."""
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 0.0)
    link, peer = make_link(), connect(receive_buffer=4096)
    longest_s, deadline = 0.0, Deadline(3 * TIME_LIMIT_S)
    while link.lockstep.status()['dropped_sends'] != '20':
        assert deadline.remaining_s
        started_s = time.perf_counter()
        link.lockstep.service_idle_link()
        longest_s = max(longest_s, time.perf_counter() - started_s)
    assert longest_s < 1.0
    assert link.state == 'FREEWHEEL'
    monkeypatch.setattr(lockstep, 'HEARTBEAT_PERIOD_S', 60.0)
    time_us, seen = 0, []
    while 'HIL_SENSOR' not in seen:               # what comes is whole, or the peer would raise
        assert deadline.remaining_s
        time_us += STEP_US
        link.exchange(time_us)
        seen += kinds(peer.messages_so_far())
    assert set(seen) == {'HEARTBEAT', 'HIL_SENSOR'}


# No autopilot is connected and the world runs on.

def test_on_waiting_run(make_link, connect):
    """Disarmed, at once; an autopilot begins at the time of then."""
    link = make_link(on_waiting='run')
    assert [link.exchange(k * STEP_US) for k in range(1, 101)] == [DISARMED] * 100
    assert (link.state, link.lockstep.steps) == ('WAITING', 100)
    peer = connect()
    assert link.exchange(101 * STEP_US) == DISARMED
    assert link.state == 'FREEWHEEL'
    assert peer.sensor_times() == [101 * STEP_US]
    peer.reply(102 * STEP_US)
    assert link.exchange(102 * STEP_US).time_us == 102 * STEP_US


def test_on_waiting_run_when_the_autopilot_goes(make_locked):
    """Its last command does not outlive it."""
    link, peer = make_locked(on_waiting='run')
    peer.close()
    assert [link.exchange(k * STEP_US) for k in (2, 3)] == [DISARMED] * 2
    assert (link.state, link.lockstep.steps, link.counts['misses']) == ('WAITING', 3, 0)


def test_locked_lasts_to_the_last_answer(monkeypatch):
    """What comes after the flight, as the end of a recording, is no time of the link."""
    now_s = [10.0]
    monkeypatch.setattr(time, 'monotonic', lambda: now_s[0])
    report = LinkReport()
    now_s[0] = 11.0
    report.enter(LinkState.LOCKED)
    report.replied_s = now_s[0] = 12.5
    now_s[0] = 20.0
    found = report.state_seconds()
    assert (found['WAITING'], found['LOCKED']) == (1.0, 1.5)


# BATTERY_STATUS as PX4 reads it: of its own system, another component, twice a second.

HOST = '127.0.0.1'
STATUS = BatteryStatus(500_000, 11.7, 20.25, 3.4, 5.0, 5.0)


@pytest.fixture
def link():
    battery = BatteryLink(3, cells=3)
    yield battery
    battery.close()


def received(px4):
    message, = mavlink.MAVLink(None).parse_buffer(px4.recv(1024))
    return message


def test_each_field(px4, link):
    link.send(STATUS, HOST)
    message = received(px4)
    assert message.get_type() == 'BATTERY_STATUS'
    assert message.get_srcSystem() == 4
    assert message.get_srcComponent() == mavlink.MAV_COMP_ID_BATTERY
    assert message.voltages == [3900] * 3 + [65535] * 7
    assert message.current_battery == 2025           # 10 mA, positive when discharging
    assert message.current_consumed == 1600          # mAh
    assert message.battery_remaining == 68           # %
    assert message.temperature == 32767
    assert message.energy_consumed == -1


@pytest.mark.parametrize(('period_us', 'count'), [(20_000, 4), (18_000, 4), (700_000, 2)])
def test_twice_a_second_of_simulated_time(px4, link, period_us, count):
    for time_us in range(period_us, 2_000_001, period_us):
        link.send(STATUS._replace(time_us=time_us), HOST)
    assert [received(px4).get_seq() for _ in range(count)] == list(range(count))
    px4.setblocking(False)
    with pytest.raises(BlockingIOError):
        px4.recv(1024)


def test_nothing_is_said_of_no_battery(px4, link):
    link.send(None, HOST)
    link.send(STATUS._replace(voltage_v=12.0), HOST)
    assert received(px4).voltages[0] == 4000


def test_a_capacity_that_is_lost_was_not_consumed(px4, link):
    """1.6 Ah had flown before; then 20 A for half a second while the capacity goes, then 0.1 Ah."""
    for time_us, charge_ah, capacity_ah in (
            (500_000, 3.4, 5.0), (1_000_000, 0.17, 0.25), (1_500_000, 0.07, 0.25)):
        link.send(STATUS._replace(time_us=time_us, current_a=20.0, charge_ah=charge_ah,
                                  capacity_ah=capacity_ah), HOST)
    found = [received(px4).current_consumed for _ in range(3)]
    assert found == [1600, round(1600 + 20e3 * 0.5 / 3600), round(1700 + 20e3 * 0.5 / 3600)]


@pytest.mark.parametrize(('status', 'field', 'value'), [
    (STATUS._replace(charge_ah=-0.1), 'battery_remaining', 0),
    (STATUS._replace(charge_ah=5.1), 'battery_remaining', 100),
    (STATUS._replace(current_a=1e6), 'current_battery', 32767),
    (STATUS._replace(current_a=-2.0), 'current_battery', -200),
])
def test_limits(px4, link, status, field, value):
    link.send(status, HOST)
    assert getattr(received(px4), field) == value


def test_a_pack_of_many_cells_keeps_its_voltage(px4):
    """PX4 reads ten cells at most and adds them up."""
    link = BatteryLink(3, cells=12)
    link.send(STATUS._replace(voltage_v=45.0), HOST)
    link.close()
    assert received(px4).voltages == [4500] * 10


def test_time_may_start_over(px4, link):
    link.send(STATUS._replace(time_us=90_000_000), HOST)
    link.send(STATUS._replace(time_us=20_000), HOST)
    assert [received(px4).get_seq() for _ in range(2)] == [0, 1]


def test_no_autopilot_is_told_nothing(px4, link):
    link.send(STATUS, None)
    link.send(STATUS._replace(voltage_v=12.0), HOST)
    assert received(px4).voltages[0] == 4000


@pytest.mark.parametrize('host', [HOST, '255.255.255.255'])
def test_nobody_has_to_listen(px4, link, host):
    px4.close()
    for second in range(3):
        link.send(STATUS._replace(time_us=second * 1_000_000), host)
