# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The outputs while PX4 answers no step: held, or disarmed from the step on where it says so."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import HOST, marker

from px4_sim_ros.link.hil import battery_link, boot
from px4_sim_ros.link.hil.battery_link import BatteryLink
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.px4.boot_watch import rests

STEP_US = 4000
ACTIVE, TERMINATION = mavlink.MAV_STATE_ACTIVE, mavlink.MAV_STATE_FLIGHT_TERMINATION
ARMED = mavlink.MAV_MODE_FLAG_SAFETY_ARMED | mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
NOT_ARMED = mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED


def heartbeat(base_mode, system_status):
    return mavlink.MAVLink_heartbeat_message(
        mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, base_mode, 0, system_status, 3)


@pytest.fixture
def silent(make_locked, monkeypatch):
    """Return a locked link to a PX4 that answers no more and rests, and what it is asked for.

    `link.says` is its HEARTBEAT. To wait by the wall clock would take a minute.
    """
    monkeypatch.setattr(boot, 'process_at', lambda address: os.getpid())
    monkeypatch.setattr(boot, 'rests', lambda process: True)
    link, peer = make_locked(reply_timeout_s=60.0)
    link.asked_us = []

    def ask():
        link.asked_us.append(link.lockstep.report.time_us)
        return link.says

    link.lockstep._silence._ask = ask
    link.lockstep.report.take_events()
    return link, peer


def test_a_termination_disarms_the_outputs_in_the_step_that_has_no_answer(silent):
    """No wall time is waited for, nothing is counted; that it answers again is reported as well."""
    link, peer = silent
    link.says = heartbeat(ARMED, TERMINATION)
    assert [link.exchange(k * STEP_US) for k in range(2, 100)] == [DISARMED] * 98
    assert link.state == 'TERMINATED' and not any(link.counts.values())
    assert 'gap' not in link.lockstep.status()
    assert link.asked_us == [2 * STEP_US]
    peer.reply(100 * STEP_US)
    while link.state == 'TERMINATED':
        link.exchange(100 * STEP_US)
    assert link.lockstep.report.take_events() == [
        (True, 'TERMINATED at t = 0.008000 s: the autopilot has terminated the flight, or was'
         ' killed, and answers no step; its outputs are the disarmed ones'),
        (True, 'LOCKED at t = 0.400000 s: the autopilot replies again; steps without an answer so'
         ' far: 0')]


def test_outputs_are_held_until_it_terminates(silent):
    """PX4 without a gyro: as the output drivers of a flight controller, every 50 ms."""
    link, _ = silent
    link.says = heartbeat(ARMED, ACTIVE)
    held = link.exchange(2 * STEP_US)
    assert held.armed and held.time_us == STEP_US
    assert {link.exchange(k * STEP_US) for k in range(3, 40)} == {held}
    assert (link.state, link.counts['unanswered'], link.counts['misses']) == ('LOCKED', 38, 0)
    link.says = heartbeat(ARMED, TERMINATION)
    found = [link.exchange(k * STEP_US) for k in range(40, 60)]
    assert link.asked_us == [8_000, 60_000, 112_000, 164_000]
    assert found == [held] + [DISARMED] * 19
    assert (link.state, link.counts['unanswered']) == ('TERMINATED', 39)


@pytest.mark.parametrize('system_status', [mavlink.MAV_STATE_STANDBY, mavlink.MAV_STATE_ACTIVE])
def test_one_that_is_disarmed_and_silent(silent, system_status):
    """Its outputs are the disarmed ones; that is no termination."""
    link, _ = silent
    link.says = heartbeat(NOT_ARMED, system_status)
    assert [link.exchange(k * STEP_US) for k in range(2, 10)] == [DISARMED] * 8
    assert (link.state, link.counts['unanswered']) == ('LOCKED', 8)


def test_a_reply_that_came_while_was_looked_is_taken(silent, monkeypatch):
    link, peer = silent
    link.says = heartbeat(ARMED, TERMINATION)

    def answers_just_now(process):
        peer.reply(2 * STEP_US)
        return True

    monkeypatch.setattr(boot, 'rests', answers_just_now)
    assert link.exchange(2 * STEP_US).time_us == 2 * STEP_US
    assert link.state == 'LOCKED'


@pytest.mark.parametrize('rest', [True, False])
def test_without_a_heartbeat_or_a_rest_a_silence_is_a_stall(make_locked, monkeypatch, rest):
    """What does not rest may answer; what sends no HEARTBEAT is no PX4. It is asked once."""
    monkeypatch.setattr(boot, 'process_at', lambda address: os.getpid())
    monkeypatch.setattr(boot, 'rests', lambda process: rest)
    link, _ = make_locked(reply_timeout_s=0.1)
    asked = []
    link.lockstep._silence._ask = lambda: asked.append(1)
    for k in range(2, 60):
        assert link.exchange(k * STEP_US).time_us == STEP_US
    assert (link.state, link.counts['misses'], len(asked)) == ('STALLED', 1, 1)


def test_a_stall_ends_with_a_termination(make_locked):
    """PX4 on another machine: nothing is known of its threads, but it answers."""
    link, _ = make_locked(reply_timeout_s=0.1)
    link.lockstep._silence._ask = lambda: heartbeat(ARMED, TERMINATION)
    assert link.exchange(2 * STEP_US) == DISARMED
    assert (link.state, link.counts['misses']) == ('TERMINATED', 1)


# Whether a process rests

PROGRAMS = {
    'waits for data': ('import sys; print(flush=True); sys.stdin.read()', True),
    'works': ('print(flush=True)\nwhile True: pass', False),
    'is stopped': ('import os, signal; print(flush=True); os.kill(os.getpid(), signal.SIGSTOP)',
                   False)}


@pytest.mark.parametrize(('program', 'expected'), PROGRAMS.values(), ids=PROGRAMS)
def test_rests(program, expected):
    with subprocess.Popen([sys.executable, '-c', program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            if 'SIGSTOP' in program:
                os.waitpid(process.pid, os.WUNTRACED)
            deadline_s = time.monotonic() + 20.0
            while rests(process.pid) is not expected:      # it is on its way there
                assert time.monotonic() < deadline_s
            assert [rests(process.pid) for _ in range(3)] == [expected] * 3
        finally:
            process.send_signal(signal.SIGKILL)
    assert not rests(process.pid)


# The HEARTBEAT

def test_the_heartbeat_is_the_one_that_was_asked_for(px4, monkeypatch):
    """Older ones do not count, nor those of others."""
    link = BatteryLink(3, cells=3)
    px4_mav = mavlink.MAVLink(None, srcSystem=4, srcComponent=1)
    mine = link._socket.getsockname()[1]
    old, other, new = (heartbeat(ARMED, ACTIVE).pack(px4_mav), mavlink.MAVLink_heartbeat_message(
        mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3).pack(px4_mav),
        heartbeat(ARMED, TERMINATION).pack(px4_mav))
    px4.sendto(old, (HOST, mine))
    send = link._socket.sendto

    class Asked:
        """Answers as soon as it is asked."""

        def __getattr__(self, name):
            return getattr(link_socket, name)

        def sendto(self, data, address):
            sent = send(data, address)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.sendto(old, (HOST, mine))
            px4.sendto(other, (HOST, mine))
            px4.sendto(new, (HOST, mine))
            return sent

    link_socket = link._socket
    monkeypatch.setattr(link, '_socket', Asked())
    assert link.heartbeat(HOST).system_status == TERMINATION
    question, = mavlink.MAVLink(None).parse_buffer(px4.recv(1024))
    assert (question.command, question.param1) == (
        mavlink.MAV_CMD_REQUEST_MESSAGE, mavlink.MAVLINK_MSG_ID_HEARTBEAT)
    assert (question.target_system, question.target_component) == (4, 1)
    link.close()


def test_nobody_answers(px4, monkeypatch):
    monkeypatch.setattr(battery_link, '_ANSWER_S', 0.05)
    link = BatteryLink(3, cells=3)
    assert link.heartbeat(HOST) is None and link.heartbeat(None) is None
    link.close()


# An autopilot that stands still, and one without power: what the link does with their steps.


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
