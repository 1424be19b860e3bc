# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The embedded autopilot as a whole: HIL in and out, MAVLink over UDP, and flights."""
from __future__ import annotations

import contextlib
import math
import signal
import socket
import subprocess
import sys

import psutil
import pytest
from flight_rig import (
    ACCEPTED,
    ARM,
    GO_TO,
    HOST,
    LAND,
    REJECTED,
    TAKE_OFF,
    TIME_LIMIT_S,
    UNSUPPORTED,
    Rig,
)
from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.hil.codec import DISARMED, HilEncoder
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.lockstep import Lockstep
from px4_sim_ros.link.hil.replies import HilDecoder
from px4_sim_ros.link.hil.server import Deadline, HilServer, port_of
from px4_sim_ros.model.rotation import yaw_rad
from px4_sim_ros.model.sensors.imu import ImuMeasurement
from px4_sim_ros.spec.configuration import load_configuration

UNKNOWN_COMMAND = mavlink.MAV_CMD_DO_SET_SERVO


def imu(time_us):
    """Return an IMU sample of a vehicle at rest."""
    return ImuMeasurement(time_us, (0.0, 0.0, 9.80665), (0.0, 0.0, 0.0), 0.0, 0.0)


# The HIL link

def test_each_hil_sensor_is_answered_with_its_time(rig):
    """Whatever else the step holds, and disarmed until commanded otherwise."""
    for k in range(1, 501):
        reply, = HilDecoder().controls(rig.autopilot.answer(rig.frames()))
        assert reply == DISARMED._replace(time_us=4000 * k)


def test_replies_carry_the_lockstep_flag(rig):
    """As PX4's do: flags 1, mode 1 disarmed and 129 armed."""
    def last_reply():
        message, = mavlink.MAVLink(None).parse_buffer(rig.autopilot.answer(rig.frames()))
        return message.flags, message.mode

    rig.wait(2.0)
    assert last_reply() == (1, 1)
    assert rig.command(ARM, 1) == ACCEPTED
    assert last_reply() == (1, 129)


def test_messages_in_pieces_and_in_bulk(rig):
    """A stream is a stream."""
    stream = b''.join(rig.frames() for _ in range(10))
    answers = b''.join(rig.autopilot.answer(stream[i:i + 17]) for i in range(0, len(stream), 17))
    assert [c.time_us for c in HilDecoder().controls(answers)] == [4000 * k for k in range(1, 11)]
    bulk = rig.autopilot.answer(b''.join(rig.frames() for _ in range(3)))
    assert [c.time_us for c in HilDecoder().controls(bulk)] == [44_000, 48_000, 52_000]


def test_other_messages_get_no_answer(rig):
    """HEARTBEAT, HIL_GPS alone, rubbish."""
    mav = mavlink.MAVLink(None)
    heartbeat = mav.heartbeat_encode(mavlink.MAV_TYPE_GENERIC, 0, 0, 0, 0).pack(mav)
    assert rig.autopilot.answer(heartbeat + b'rubbish') == b''


@pytest.mark.parametrize('place', [(2_000_000_000, 0), (0, -2_000_000_000)])
def test_a_place_that_is_not_on_the_earth_is_no_fix(place, rig):
    mav = mavlink.MAVLink(None)
    for _ in range(100):
        frame = mav.hil_gps_encode(0, 3, *place, 500_000, 65535, 65535, 0, 0, 0, 0, 65535, 9)
        assert rig.autopilot.answer(frame.pack(mav)) == b''
    rig.wait(2.0)
    assert rig.command(ARM, 1) == ACCEPTED


# MAVLink over UDP

def test_commands_before_alignment(rig):
    """Rejected for now, with the reason as a text."""
    rig.wait(0.5)
    assert rig.command(ARM, 1) == REJECTED
    assert rig.last('STATUSTEXT').text == 'refused: the estimator is not aligned yet'
    assert rig.command(TAKE_OFF, 0, 0, 0, 0, 0, 0, 500.0) == REJECTED
    assert rig.go_to(1.0, 2.0, 3.0) == REJECTED
    assert rig.command(LAND) == REJECTED


def test_unknown_commands(rig):
    """Unsupported, as COMMAND_LONG and as COMMAND_INT, whatever the state."""
    for _ in range(2):
        assert rig.command(UNKNOWN_COMMAND, 1, 2) == UNSUPPORTED
        assert rig.command_int(UNKNOWN_COMMAND, 0.0, 0, 0, 0.0) == UNSUPPORTED
        rig.wait(2.0)


def test_acknowledgements_name_who_asked(rig):
    """System and component of the pilot."""
    rig.command(UNKNOWN_COMMAND)
    message = rig.last('COMMAND_ACK')
    assert (message.target_system, message.target_component) == (245, 191)


def test_telemetry_before_alignment(rig):
    """Alive and not ready; no position yet."""
    rig.wait(0.9)
    kinds = {m.get_type() for m in rig.received}
    assert kinds == {'SYS_STATUS', 'EXTENDED_SYS_STATE'}
    health = rig.last('SYS_STATUS').onboard_control_sensors_health
    assert not health & mavlink.MAV_SYS_STATUS_PREARM_CHECK
    rig.wait(1.0)
    assert rig.last('SYS_STATUS').onboard_control_sensors_health & (
        mavlink.MAV_SYS_STATUS_PREARM_CHECK)


def test_telemetry_rates(rig):
    """In simulated time: heartbeat 1 Hz, states 5 Hz, position about 21 Hz."""
    rig.wait(2.0)
    rig.received.clear()
    rig.wait(12.0)
    counts = {}
    for message in rig.received:
        assert (message.get_srcSystem(), message.get_srcComponent()) == (rig.system_id, 1)
        counts[message.get_type()] = counts.get(message.get_type(), 0) + 1
    assert counts == {
        'HEARTBEAT': 12, 'SYS_STATUS': 60, 'EXTENDED_SYS_STATE': 60, 'LOCAL_POSITION_NED': 250,
        'GLOBAL_POSITION_INT': 250, 'ATTITUDE_QUATERNION': 250}


# Flights

def test_arming_without_take_off(rig):
    """Rotors idle, then it disarms by itself."""
    rig.wait(2.0)
    assert rig.command(ARM, 1) == ACCEPTED
    rig.wait(9.9)
    assert rig.reply.armed and not any(rig.reply.controls)
    rig.wait(0.2)
    assert not rig.reply.armed
    rig.wait(1.0)                       # the next heartbeat
    assert not rig.last('HEARTBEAT').base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED
    assert math.dist(rig.truth.position_enu, (0.0, 0.0, 0.053)) < 0.01


@pytest.mark.parametrize(('kind', 'bound_m'), [('quiet_rig', 0.2), ('rig', 1.5)])
def test_a_flight(request, kind, bound_m):
    """Take off, fly to a place with a heading, land, disarm."""
    rig = request.getfixturevalue(kind)
    rig.wait(3.0)
    rig.take_off(6.0)
    rig.wait(0.1)
    assert rig.command(ARM, 0) == REJECTED       # not while flying
    rig.wait(8.0)
    assert math.dist(rig.truth.position_enu, (0.0, 0.0, 6.0)) < bound_m
    assert rig.last('HEARTBEAT').base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED
    assert rig.last('EXTENDED_SYS_STATE').landed_state == mavlink.MAV_LANDED_STATE_IN_AIR

    assert rig.go_to(8.0, -5.0, 4.0, yaw=math.pi / 6) == ACCEPTED
    rig.wait(10.0)
    assert math.dist(rig.truth.position_enu, (-5.0, 8.0, 4.0)) < bound_m
    assert yaw_rad(rig.truth.attitude) == pytest.approx(math.pi / 3, abs=0.1)
    local = rig.last('LOCAL_POSITION_NED')
    assert (local.x, local.y, -local.z) == pytest.approx((8.0, -5.0, 4.0), abs=bound_m)

    assert rig.command(LAND) == ACCEPTED
    rig.wait(1.0)
    assert rig.last('EXTENDED_SYS_STATE').landed_state == mavlink.MAV_LANDED_STATE_LANDING
    rig.wait(15.0)
    assert not rig.reply.armed
    assert rig.truth.position_enu[2] == pytest.approx(0.053, abs=0.02)
    assert math.dist(rig.truth.position_enu[:2], (-5.0, 8.0)) < bound_m
    assert rig.last('EXTENDED_SYS_STATE').landed_state == mavlink.MAV_LANDED_STATE_ON_GROUND
    assert rig.troubles == []


def test_another_imu_takes_over(instance):
    """In the air, and back to the first one."""
    configuration = load_configuration(None, {'': {'instances.imu': 2}})
    with contextlib.closing(Rig(configuration, instance)) as rig:
        rig.wait(3.0)
        rig.take_off(6.0)
        rig.wait(8.0)
        for stopped in ({'imu'}, set(), {'imu_1'}):
            rig.stopped = stopped
            rig.wait(5.0)
            assert math.dist(rig.truth.position_enu, (0.0, 0.0, 6.0)) < 1.5


def test_an_imu_that_was_away_for_long(rig):
    """With its first sample the estimate may be any; a speed that no field holds is its limit."""
    rig.wait(3.0)
    rig.stopped = {'imu'}
    rig.wait(4.004)
    knock = imu(7_008_000)._replace(specific_force_flu=(300.0, -300.0, 300.0))
    assert rig.autopilot.answer(HilEncoder().sensor(knock.time_us, knock))
    rig.step()
    local, place = rig.last('LOCAL_POSITION_NED'), rig.last('GLOBAL_POSITION_INT')
    assert local.vx < -1000.0 and local.vy > 1000.0 and local.vz < -1000.0
    assert (place.vx, place.vy, place.vz) == (-0x8000, 0x7FFF, -0x8000)


@pytest.mark.parametrize('seconds', [1.5, 2.5, 4.0])
def test_landing_while_climbing(rig, seconds):
    """The low thrust that ends the climb is no landing: rotors run down to the ground."""
    rig.wait(3.0)
    rig.take_off(40.0)
    rig.wait(seconds)
    assert rig.truth.position_enu[2] > 0.5
    assert rig.command(LAND) == ACCEPTED
    for truth in rig.run(40.0):
        if not rig.reply.armed:
            break
        assert rig.last('EXTENDED_SYS_STATE').landed_state != (
            mavlink.MAV_LANDED_STATE_ON_GROUND) or truth.position_enu[2] < 0.1
    assert truth.position_enu[2] < 0.1
    assert not rig.reply.armed


def test_landing_at_full_speed(rig):
    """It brakes and stays upright."""
    rig.wait(3.0)
    rig.take_off(5.0)
    rig.wait(6.0)
    assert rig.go_to(60.0, 0.0, 5.0) == ACCEPTED
    rig.wait(5.0)
    assert math.hypot(*rig.truth.velocity_flu) > 2.0
    assert rig.command(LAND) == ACCEPTED
    for truth in rig.run(20.0):
        _, x, y, _ = truth.attitude
        assert math.hypot(x, y) < math.sin(math.radians(25.0))
        if not rig.reply.armed:
            break
    assert not rig.reply.armed
    assert truth.position_enu[2] < 0.1


def test_landing_in_a_turbulent_wind(instance):
    """Once a foot has touched the ground it stands level, and soon has landed, where it is."""
    configuration = load_configuration(None, {'': {'wind': 'dryden'}})
    with contextlib.closing(Rig(configuration, instance)) as rig:
        rig.wait(3.0)
        rig.take_off(3.0)
        rig.wait(6.0)
        assert rig.command(LAND) == ACCEPTED
        touched = None
        for truth in rig.run(20.0):
            if touched is None and truth.position_enu[2] < 0.06:
                touched = truth
            if not rig.reply.armed:
                break
        assert not rig.reply.armed
        assert truth.time_us - touched.time_us < 3_000_000
        assert math.dist(truth.position_enu, touched.position_enu) < 0.5


@pytest.mark.parametrize('parameters', [
    {'': {'home_latitude_deg': 89.9999}},
    {'': {'wind': 'constant', 'home_altitude_m': 4000.0}, 'wind': {'speed_m_s': 10.0}},
    *(pytest.param({'': {f'home_{name}_deg': value}}, marks=pytest.mark.long)
      for name, value in (('latitude', -89.9999), ('longitude', 180.0)))],
    ids=['north pole', 'wind in thin air', 'south pole', 'date line'])
def test_hovers_anywhere(parameters, instance):
    """What holds it against the weight and the wind has no bound that these reach."""
    with contextlib.closing(Rig(load_configuration(None, parameters), instance)) as rig:
        rig.wait(3.0)
        rig.take_off(6.0)
        rig.wait(20.0)
        for truth in rig.run(5.0):
            assert math.dist(truth.position_enu, (0.0, 0.0, 6.0)) < 1.5


@pytest.mark.parametrize('command', [
    lambda rig: rig.command(TAKE_OFF, 0, 0, 0, math.nan, math.nan, math.nan, math.nan),
    lambda rig: rig.command_int(GO_TO, math.nan, 473977420, 85455940, math.nan),
], ids=['take-off', 'go to'])
def test_an_altitude_that_is_not_a_number(rig, command):
    """MAVLink allows it ("as it is"); refused or flown, it never reaches the motors."""
    rig.wait(3.0)
    rig.take_off(5.0)
    rig.wait(6.0)
    command(rig)
    rig.wait(3.0)
    assert rig.troubles == []
    assert rig.truth.position_enu[2] > 3.0


def test_two_runs_are_equal(configuration, instance):
    """Bit by bit: nothing in it depends on wall time."""
    runs = []
    for _ in range(2):
        with contextlib.closing(Rig(configuration, instance)) as rig:
            rig.wait(2.0)
            rig.take_off(5.0)
            runs.append(list(rig.run(4.0)))
    assert runs[0] == runs[1]
    assert runs[0][-1].position_enu[2] > 1.0


# As a process

@contextlib.contextmanager
def started(instance):
    """Return the process of an autopilot; it is ended in any case."""
    command = [sys.executable, '-m', 'px4_sim_ros.autopilot.process', '--instance', str(instance)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.process
@pytest.mark.parametrize('end', ['signal', 'simulator'])
def test_the_process(instance, end):
    """It connects, locks, and ends in order with a signal or with the simulator."""
    with contextlib.closing(HilServer(HOST, port_of(instance))) as server:
        parameters = HilParameters(
            host=HOST, instance=instance, reply_timeout_s=TIME_LIMIT_S, freewheel_pause_s=1.0,
            on_stall='fail', on_waiting='hold', shares_core=False, satellites=10)
        link = Lockstep(server, parameters, 4000)
        encoder = HilEncoder()
        with started(instance) as process:
            link.wait(TIME_LIMIT_S)
            for time_us in range(4000, 404_000, 4000):
                reply = link.exchange(time_us, encoder.sensor(time_us, imu(time_us)))
                assert reply.time_us == time_us
            assert (link.state.value, link.replies) == ('LOCKED', 100)
            assert not any(link.report.counts.values())
            if end == 'signal':
                process.send_signal(signal.SIGTERM)
            else:
                server.close()
            assert process.wait(TIME_LIMIT_S) == 0
            assert process.stderr.read() == ''
            if end == 'signal':
                deadline = Deadline(TIME_LIMIT_S)
                while link.state.value != 'WAITING' and deadline.remaining_s:
                    link.exchange(404_000, encoder.sensor(404_000, imu(404_000)))
                assert link.state.value == 'WAITING'


@pytest.mark.process
def test_the_process_ends_while_it_waits(instance):
    """No simulator is there: a signal ends it."""
    with started(instance) as process:
        deadline = Deadline(TIME_LIMIT_S)
        while not psutil.Process(process.pid).net_connections('udp'):     # until it has begun
            assert deadline.remaining_s
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIME_LIMIT_S) == 0
        assert process.stderr.read() == ''


@pytest.mark.process
def test_the_process_tells_that_its_port_is_taken(instance):
    """In one sentence, with exit code 2."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind((HOST, 14580 + instance))
        with started(instance) as process:
            assert process.wait(TIME_LIMIT_S) == 2
            sentence = process.stderr.read()
    assert sentence.count('\n') == 1
    assert f'UDP port {14580 + instance} is taken' in sentence
