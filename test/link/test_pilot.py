# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pilot, with an autopilot that does what each test wants."""
from __future__ import annotations

import contextlib
import math
import os
import socket

import psutil
import pytest
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import HOST
from udp_autopilot import HOME, UdpAutopilot, metres_per_degree

from px4_sim_ros.link.pilot.events import MissionError
from px4_sim_ros.link.pilot.link import pilot_port
from px4_sim_ros.link.pilot.pilot import Pilot
from px4_sim_ros.model.mission import GoTo, Hold, Land, Mission, TakeOff

TAKE_OFF, ARM = mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_COMPONENT_ARM_DISARM
GO_TO, LAND = mavlink.MAV_CMD_DO_REPOSITION, mavlink.MAV_CMD_NAV_LAND
UP_AND_DOWN = Mission('up and down', (TakeOff(10.0), Land()))


@pytest.fixture
def autopilot(instance):
    """Return an autopilot that has not begun."""
    with contextlib.closing(UdpAutopilot(instance)) as autopilot:
        yield autopilot


@pytest.fixture
def events():
    """Return the list of what the pilot reports."""
    return []


@pytest.fixture
def pilot(instance, events):
    """Return a pilot that reports to `events`."""
    with contextlib.closing(Pilot(instance, events.append)) as pilot:
        yield pilot


@pytest.fixture
def fly(autopilot, pilot):
    """Return a function that flies a mission with the scripted autopilot."""
    def flown(*items):
        autopilot.begin()
        pilot.fly(Mission('test', items or UP_AND_DOWN.items))
    return flown


def test_a_mission_from_start_to_end(fly, autopilot, events):
    """Each item is commanded once and reported, in order."""
    fly(TakeOff(10.0), Hold(3.0), GoTo(20.0, -5.0, 15.0), Land())
    assert [m.command for m in autopilot.commands] == [TAKE_OFF, ARM, GO_TO, LAND]
    assert [event.text for event in events] == [
        'ready to fly', 'armed', 'arrived at 0 m north, 0 m east, 10 m up', 'held for 3 s',
        'arrived at 20 m north, -5 m east, 15 m up', 'landed', 'disarmed']
    times = [event.time_s for event in events]
    assert times == sorted(times)
    assert round(times[3] - times[2], 6) >= 3.0          # tenths of a second in binary
    assert not autopilot.armed
    targets = [event.target_enu for event in events if event.target_enu]
    assert targets == [pytest.approx((0.0, 0.0, 10.0)), (-5.0, 20.0, 15.0)]     # once each


def test_take_off_comes_before_arming(fly, autopilot):
    """To the altitude above mean sea level; latitude, longitude and yaw are left open."""
    fly()
    take_off, arm = autopilot.commands[:2]
    assert (take_off.get_type(), take_off.command) == ('COMMAND_LONG', TAKE_OFF)
    assert take_off.param7 == pytest.approx(HOME[2] + 10.0, abs=0.01)
    assert all(math.isnan(p) for p in (take_off.param4, take_off.param5, take_off.param6))
    assert (arm.command, arm.param1, arm.param2) == (ARM, 1.0, 0.0)
    addressed = {(m.target_system, m.target_component) for m in autopilot.commands}
    assert addressed == {(autopilot.system_id, 1)}


def test_a_take_off_ends_above_where_it_was_commanded(fly, autopilot, events):
    """Wind may move the vehicle by a metre until the pilot hears that it is armed."""
    def blow():
        if autopilot.armed and not any(event.text == 'armed' for event in events):
            autopilot.place[0] = autopilot.start[0] + 1.0
        elif autopilot.armed:
            autopilot.place[0] = autopilot.start[0]
    autopilot.on_tick = blow
    fly()
    target, = (event.target_enu for event in events if event.target_enu)
    assert target == pytest.approx((0.0, 0.0, 10.0))


def test_go_to_is_a_reposition(fly, autopilot):
    """COMMAND_INT with 1e-7 degrees and the altitude above mean sea level, keeping the yaw."""
    fly(TakeOff(10.0), GoTo(200.0, -100.0, 30.0), Land())
    message = autopilot.commands[2]
    north, east = metres_per_degree()
    assert (message.get_type(), message.command) == ('COMMAND_INT', GO_TO)
    assert message.frame == mavlink.MAV_FRAME_GLOBAL
    assert message.x == pytest.approx((HOME[0] + 200.0 / north) * 1e7, abs=10)     # 0.1 m
    assert message.y == pytest.approx((HOME[1] - 100.0 / east) * 1e7, abs=10)
    assert message.z == pytest.approx(HOME[2] + 30.0, abs=0.01)
    assert message.param1 == -1.0
    assert message.param2 == mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE
    assert math.isnan(message.param4)


@pytest.mark.parametrize('command', [TAKE_OFF, ARM, GO_TO, LAND])
def test_what_is_rejected_is_sent_again(fly, autopilot, command):
    """Once a second of the autopilot's time, until it is accepted."""
    refusals = iter([mavlink.MAV_RESULT_TEMPORARILY_REJECTED] * 3)

    def result(message):
        return next(refusals, 0) if message.command == command else 0

    autopilot.result = result
    fly(TakeOff(10.0), GoTo(1.0, 2.0, 3.0), Land())
    assert [m.command for m in autopilot.commands].count(command) == 4
    times = [t for t, m in autopilot.received if getattr(m, 'command', None) == command]
    assert times[-1] - times[0] >= 3 * 0.8


def test_nothing_is_commanded_before_it_is_ready(fly, autopilot, events):
    """The pilot waits for the autopilot's own pre-arm check."""
    autopilot.ready = False

    def on_tick():
        autopilot.ready = autopilot.time_s > 8.0

    autopilot.on_tick = on_tick
    fly()
    assert events[0].text == 'ready to fly'
    assert events[0].time_s > 8.0
    assert min(t for t, m in autopilot.received if m.get_type() == 'COMMAND_LONG') > 8.0


def test_heartbeats_keep_the_autopilots_time(fly, autopilot):
    """One a second of simulated time, however fast that is."""
    fly(TakeOff(10.0), Hold(60.0), Land())
    assert autopilot.time_s > 60.0
    # One at the start; each next one follows the first message that is a second later.
    assert 0.7 * autopilot.time_s <= autopilot.count('HEARTBEAT') <= autopilot.time_s + 1


def test_nothing_reaches_the_autopilot_while_the_link_is_cut(fly, autopilot, pilot):
    pilot.link.is_cut = True

    def mend():
        pilot.link.is_cut = autopilot.time_s < 10.0
    autopilot.on_tick = mend
    fly()
    assert autopilot.received[0][0] >= 10.0
    assert [m.command for m in autopilot.commands] == [TAKE_OFF, ARM, LAND]


def test_a_pilot_may_be_a_ground_station(instance, autopilot):
    with contextlib.closing(Pilot(instance, print, system_type=mavlink.MAV_TYPE_GCS)) as pilot:
        autopilot.begin()
        pilot.fly(UP_AND_DOWN)
    types = {m.type for _, m in autopilot.received if m.get_type() == 'HEARTBEAT'}
    assert types == {mavlink.MAV_TYPE_GCS}


def test_no_heartbeats_while_time_stands_still(fly, autopilot):
    """One for the first time that is received, and no more."""
    autopilot.ready = False
    counts = []

    def on_tick():
        if len(counts) < 100:
            autopilot.time_s = 5.0
            counts.append(autopilot.count('HEARTBEAT'))
        else:
            autopilot.ready = True

    autopilot.on_tick = on_tick
    fly()
    assert counts[-1] == 1


# What goes wrong

@pytest.mark.parametrize(('command', 'name'), [
    (TAKE_OFF, 'MAV_CMD_NAV_TAKEOFF'), (ARM, 'MAV_CMD_COMPONENT_ARM_DISARM'),
    (GO_TO, 'MAV_CMD_DO_REPOSITION'), (LAND, 'MAV_CMD_NAV_LAND')])
def test_a_command_that_is_never_accepted(fly, autopilot, command, name):
    """The sentence names it and has the last words of the autopilot, and its answer."""
    autopilot.tick_s = 1.0
    autopilot.text = 'no, thanks'
    autopilot.result = lambda m: mavlink.MAV_RESULT_DENIED if m.command == command else 0
    with pytest.raises(MissionError) as error:
        fly(TakeOff(10.0), GoTo(1.0, 2.0, 3.0), Land())
    assert str(error.value) == (
        f'{name} was not accepted after 180 s of simulated time;'
        f' its last words were "no, thanks"; it answers {name} with MAV_RESULT_DENIED')


def test_what_px4_prints_meanwhile_is_in_the_sentence(fly, autopilot, pilot):
    """A go_to beyond a geofence is accepted, and refused on the console only."""
    autopilot.tick_s = 1.0
    autopilot.result = lambda m: mavlink.MAV_RESULT_FAILED if m.command == GO_TO else 0
    pilot.console.words = lambda since: 'WARN [navigator] Reposition is outside geofence'
    with pytest.raises(MissionError) as error:
        fly(TakeOff(10.0), GoTo(1.0, 2.0, 3.0), Land())
    assert str(error.value).endswith(
        '; it answers MAV_CMD_DO_REPOSITION with MAV_RESULT_FAILED; the console of PX4 has: WARN'
        ' [navigator] Reposition is outside geofence')


@pytest.mark.parametrize(('change', 'sentence'), [
    ({'ready': False}, 'the autopilot is not ready to arm after 120 s of simulated time'),
    ({'armed': False}, 'the autopilot has not armed after 180 s of simulated time'),
    ({'place': [3.0, -2.0, 9.9]},
     'the vehicle has not arrived at 0 m north, 0 m east, 10 m up after 180 s of simulated time'),
])
def test_an_item_that_does_not_succeed(fly, autopilot, change, sentence):
    """It ends in simulated time with what was missing; there are no last words here."""
    autopilot.tick_s = 1.0
    autopilot.on_tick = lambda: vars(autopilot).update(change)
    with pytest.raises(MissionError) as error:
        fly()
    assert str(error.value) == sentence


@pytest.mark.parametrize(('change', 'sentence'), [
    ({'place': [3.0, -2.0, 3.0]}, 'the vehicle has not landed'),
    ({'armed': True}, 'the autopilot has not disarmed'),
])
def test_a_landing_that_does_not_end(fly, autopilot, change, sentence):
    """On the ground first, then disarmed."""
    autopilot.tick_s = 1.0

    def on_tick():
        if autopilot.commands and autopilot.commands[-1].command == LAND:
            vars(autopilot).update(change)

    autopilot.on_tick = on_tick
    with pytest.raises(MissionError, match=f'{sentence} after 180 s of simulated time'):
        fly()


RETURN, LANDING = (4, 5), (4, 6)          # PX4's modes


def test_each_mode_of_a_failsafe_is_reported(fly, autopilot, events):
    """The mission goes on."""
    modes = iter([(4, 3)] * 5 + [RETURN] * 5 + [LANDING] * 5)

    def on_tick():
        if len(events) > 2:              # ready, armed, arrived: it holds
            autopilot.mode = next(modes, None) or LANDING
            autopilot.in_failsafe = autopilot.mode != LANDING

    autopilot.on_tick = on_tick
    autopilot.text = 'Low battery level'
    fly(TakeOff(10.0), Hold(3.0), Land())
    assert [event.text for event in events[3:]] == [
        'the autopilot is in a failsafe, mode AUTO_LOITER; its last words were "Low battery level"',
        'the autopilot is in a failsafe, mode AUTO_RTL; its last words were "Low battery level"',
        'held for 3 s', 'landed', 'disarmed']


@pytest.mark.parametrize(('flown', 'commands'), [(1, [TAKE_OFF, ARM]), (2, [TAKE_OFF, ARM, GO_TO])])
def test_a_mission_that_the_autopilot_ends(fly, autopilot, events, flown, commands):
    """It has landed by itself, as with an empty battery: no item after that is flown."""
    def on_tick():
        if sum(event.ends_item for event in events) == flown:
            autopilot.armed = False

    autopilot.on_tick = on_tick
    items = (TakeOff(10.0), Hold(30.0)) if flown == 1 else (
        TakeOff(10.0), GoTo(1.0, 2.0, 3.0), Hold(30.0))
    with pytest.raises(MissionError) as error:
        fly(*items, Land())
    assert str(error.value) == 'the autopilot has disarmed before the end of the mission'
    assert [m.command for m in autopilot.commands] == commands
    assert sum(event.ends_item for event in events) == flown


def test_a_hold_on_the_ground_is_none(fly, autopilot, events):
    """The vehicle has fallen for want of power, and the autopilot does not notice: it lands."""
    def on_tick():
        if len(events) > 2:
            autopilot.place = list(autopilot.start)

    autopilot.on_tick = on_tick
    with pytest.raises(MissionError) as error:
        fly(TakeOff(10.0), Hold(3.0), Land())
    sentence = 'the vehicle has not held for 3 s: it is 0.0 m up, and was 10.0 m'
    assert str(error.value) == sentence
    assert [event.text for event in events[3:]] == [sentence, 'landed', 'disarmed']


def test_a_hold_ends_though_time_jumps(fly, autopilot, events):
    """After a late message the time is over; it does not stand still."""
    jumps = iter([100.0])

    def on_tick():
        holding = len(events) == 3       # ready, armed, arrived
        autopilot.tick_s = next(jumps, 0.1) if holding else 0.1

    autopilot.on_tick = on_tick
    fly(TakeOff(10.0), Hold(30.0), Land())


def test_an_autopilot_that_never_speaks(instance, monkeypatch):
    """Without its clock only wall time is left."""
    monkeypatch.setattr('px4_sim_ros.link.pilot.pilot._SILENCE_LIMIT_S', 0.1)
    silence = f'no MAVLink message on UDP port {pilot_port(instance)}'
    with (contextlib.closing(Pilot(instance, print)) as pilot,
          pytest.raises(MissionError, match=silence)):
        pilot.fly(UP_AND_DOWN)


def test_time_goes_on_without_a_position(fly, autopilot):
    """Limits hold when the autopilot sends no position any more."""
    mav = mavlink.MAVLink(None, srcSystem=autopilot.system_id, srcComponent=1)
    whole = autopilot._telemetry

    def telemetry():
        if not autopilot.armed:
            return whole()
        time_ms = round(autopilot.time_s * 1000)
        return [mav.attitude_encode(time_ms, *[0.0] * 6),
                mav.system_time_encode(time_ms * 1000, time_ms)]

    autopilot._telemetry, autopilot.tick_s = telemetry, 1.0
    with pytest.raises(MissionError, match=r'^the autopilot has not armed after 180 s'):
        fly()


def test_what_comes_at_once_is_taken_one_by_one(fly, autopilot, events):
    """Also when most of it is nothing for a pilot."""
    mav = mavlink.MAVLink(None, srcSystem=autopilot.system_id, srcComponent=1)
    chatter = mav.attitude_encode(1, *[0.0] * 6).pack(mav)

    def chat():
        for _ in range(20):
            autopilot.send(chatter)

    autopilot.on_tick = chat
    fly(TakeOff(10.0), Land())
    assert [m.command for m in autopilot.commands] == [TAKE_OFF, ARM, LAND]
    assert events[-1].text == 'disarmed'


def test_port_taken(instance):
    """The sentence names the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind((HOST, pilot_port(instance)))
        with pytest.raises(OSError) as error:
            Pilot(instance, print)
    assert error.value.strerror == (
        f'UDP port {pilot_port(instance)} is taken by {psutil.Process().name()} (process'
        f' {os.getpid()}); stop it or choose another instance')


def test_close_frees_the_port(instance):
    """For the next pilot."""
    for _ in range(2):
        Pilot(instance, print).close()


def test_another_system_that_the_autopilot_hears_is_noted(fly, autopilot, pilot):
    """PX4 passes the HEARTBEAT of a ground station on to the pilot."""
    station = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)
    heartbeat = station.heartbeat_encode(mavlink.MAV_TYPE_GCS, 8, 0, 0, 4).pack(station)
    autopilot.on_tick = lambda: autopilot.send(heartbeat)
    assert pilot.link.stranger is None
    fly()
    assert pilot.link.stranger == 255


def test_what_is_forged_is_ignored_counted_and_told(fly, autopilot, pilot, events):
    """All that ended a mission when it came from another port, in the name of its autopilot."""
    forger = mavlink.MAVLink(None, srcSystem=autopilot.system_id, srcComponent=1)
    forged = [message.pack(forger) for message in (
        forger.heartbeat_encode(2, 12, 0, 0, mavlink.MAV_STATE_EMERGENCY),
        forger.command_ack_encode(ARM, mavlink.MAV_RESULT_DENIED),
        forger.local_position_ned_encode(4_000_000_000, 0, 0, 0, 0, 0, 0),
        forger.statustext_encode(0, b'forged'))]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((HOST, 0))

        def forge():
            for frame in forged:
                other.sendto(frame, (HOST, pilot.link.port))

        autopilot.on_tick = forge
        fly()
        autopilot.close()      # its thread forges until then
        sender = '{}:{}'.format(*other.getsockname())
    assert [event.text for event in events] == [
        'ready to fly', 'armed', 'arrived at 0 m north, 0 m east, 10 m up', 'landed', 'disarmed']
    assert pilot.link.text == '' and pilot.link.ignored > len(forged)
    assert pilot.link.remark == (
        f'UDP port {pilot.link.port}: what comes from {sender} is ignored; the autopilot of this'
        f' instance sends from {HOST}:{pilot.link.port - 14690 + 14580}')


def test_a_silent_autopilot_and_another_sender_are_told_together(pilot, monkeypatch):
    monkeypatch.setattr('px4_sim_ros.link.pilot.pilot._SILENCE_LIMIT_S', 0.3)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(b'x', (HOST, pilot.link.port))
        with pytest.raises(MissionError, match=r' s; UDP port \d+: what comes from .* is ignored'):
            pilot.fly(UP_AND_DOWN)


def test_the_port_that_later_instances_send_to_at_first_passes_its_own_autopilot_only(monkeypatch):
    """A PX4 of instance 10 or more is no forger: the kernel drops what it sends."""
    filters = []
    monkeypatch.setattr('px4_sim_ros.link.pilot.link.accept_only',
                        lambda receiver, ids, from_port: filters.append(from_port))
    monkeypatch.setattr('px4_sim_ros.link.pilot.link.bound_socket',
                        lambda *address: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    for instance in 8, 9, 10:
        Pilot(instance, print).close()
    assert filters == [None, 14589, None]


def test_rubbish_and_strangers_are_ignored(fly, autopilot):
    """Other systems, other components of its own, and bytes that are no message."""
    stranger = mavlink.MAVLink(None, srcSystem=99, srcComponent=1)
    denial = mavlink.MAVLink_command_ack_message(ARM, mavlink.MAV_RESULT_DENIED).pack(stranger)
    later = mavlink.MAVLink_local_position_ned_message(
        4_000_000_000, 0, 0, 0, 0, 0, 0).pack(stranger)

    payload = mavlink.MAVLink(None, srcSystem=autopilot.system_id, srcComponent=191)
    critical = payload.heartbeat_encode(18, 8, 0, 0, mavlink.MAV_STATE_CRITICAL).pack(payload)
    elsewhere = payload.local_position_ned_encode(
        4_000_000_000, 0, 0, 0, 0, 0, 0).pack(payload)

    def on_tick():
        autopilot.send(b'rubbish' + denial + later)
        for frame in critical, elsewhere:
            autopilot.send(frame)

    autopilot.on_tick = on_tick
    fly()
    assert len(autopilot.commands) == 3
