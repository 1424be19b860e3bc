# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""QGroundControl and MAVROS beside a flight of PX4, as they speak MAVLink; not the programs."""
import contextlib
import json
import socket
import threading
import time

import pytest
from commands import command, interrupt, running, wait_for_line
from pymavlink.dialects.v20 import common as mavlink

INSTANCE = 47
SYSTEM, AUTOPILOT = 1 + INSTANCE, 1
GROUND, ONBOARD = (14550, 18570 + INSTANCE), (14540 + INSTANCE, 14580 + INSTANCE)
PATIENCE_S = 120.0
RELATIVE = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
# PX4's main modes, and what its automatic mode does.
AUTO, OFFBOARD, MISSION, LAND = 4, 6, 4, 6


class Station(threading.Thread):
    """Sends a heartbeat a second, and keeps what comes."""

    def __init__(self, ports, system, component, kind):
        super().__init__(daemon=True)
        self._here, self._there = ports
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(('127.0.0.1', self._here))
        self._socket.settimeout(0.1)
        self._mav = mavlink.MAVLink(None, system, component)
        self._mav.robust_parsing = True
        self._lock, self._over, self._kind = threading.Lock(), threading.Event(), kind
        self.messages, self.repeated = [], None

    def run(self):
        due_s = 0.0
        while not self._over.is_set():
            if (now_s := time.monotonic()) > due_s:
                due_s = now_s + 1.0
                self.send(mavlink.MAVLink_heartbeat_message(
                    self._kind, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, mavlink.MAV_STATE_ACTIVE, 3))
            if self.repeated is not None:
                self.send(self.repeated)
            with contextlib.suppress(TimeoutError):
                self.messages += [
                    m for m in self._mav.parse_buffer(self._socket.recv(4096)) or ()
                    if m.get_type() != 'BAD_DATA' and m.get_srcSystem() == SYSTEM]

    def close(self):
        self._over.set()
        self.join()
        self._socket.close()

    def send(self, message):
        with self._lock:
            self._socket.sendto(message.pack(self._mav), ('127.0.0.1', self._there))

    def wait(self, kind, is_it=lambda message: True, since=None, patience_s=PATIENCE_S):
        """Return the first message of a kind from now on; None if it does not come."""
        at = len(self.messages) if since is None else since
        deadline_s = time.monotonic() + patience_s
        while time.monotonic() < deadline_s:
            while at < len(self.messages):
                message, at = self.messages[at], at + 1
                if message.get_type() in kind.split() and is_it(message):
                    return message
            time.sleep(0.01)
        return None

    def ask(self, message, kind, is_it=lambda message: True):
        """Send until there is an answer; return it."""
        for _ in range(20):
            since = len(self.messages)
            self.send(message)
            if found := self.wait(kind, is_it, since, 3.0):
                return found
        raise AssertionError(f'no {kind} has answered {message}')

    def command(self, number, *values):
        """Command until it is accepted."""
        message = mavlink.MAVLink_command_long_message(
            SYSTEM, AUTOPILOT, number, 0, *(*values, *7 * [0.0])[:7])
        self.ask(message, 'COMMAND_ACK', lambda ack: (ack.command, ack.result) == (number, 0))

    def wait_for(self, *answer):
        found = self.wait(*answer)
        assert found is not None, answer
        return found

    def parameters(self):
        """Return all, of which those are asked for one by one that have not come."""
        self.ask(mavlink.MAVLink_param_request_list_message(SYSTEM, AUTOPILOT), 'PARAM_VALUE')
        found = {}
        for _ in range(200):
            self.wait('NOTHING', patience_s=2.0)
            found = {m.param_index: m for m in self.messages if m.get_type() == 'PARAM_VALUE'
                     and m.param_index < m.param_count}
            count = next(iter(found.values())).param_count
            lacking = [i for i in range(count) if i not in found]
            if not lacking:
                break
            if len(lacking) < 20:
                for i in lacking:
                    self.send(mavlink.MAVLink_param_request_read_message(
                        SYSTEM, AUTOPILOT, b'', i))
        assert not lacking, f'{len(lacking)} of {count} have not come'
        return {m.param_id: m.param_value for m in found.values()}


    def plan(self, kind):
        """Return the items of a kind that the autopilot has: mission, fence or rally points."""
        count = self.ask(
            mavlink.MAVLink_mission_request_list_message(SYSTEM, AUTOPILOT, kind),
            'MISSION_COUNT', lambda m: m.mission_type == kind).count
        items = [self.ask(
            mavlink.MAVLink_mission_request_int_message(SYSTEM, AUTOPILOT, i, kind),
            'MISSION_ITEM_INT', lambda m, i=i: (m.seq, m.mission_type) == (i, kind))
            for i in range(count)]
        self.send(mavlink.MAVLink_mission_ack_message(
            SYSTEM, AUTOPILOT, mavlink.MAV_MISSION_ACCEPTED, kind))
        return items


@pytest.fixture
def flight(tmp_path):
    """Yield a flight without a pilot, twice as fast as real time, with what it says of itself."""
    summary = tmp_path / 'summary.json'
    with running(command(
            'fly', '--autopilot', 'px4', '--px4-schedule', 'one-core', '--instance', INSTANCE,
            '--mode', 'core', '--mission',
            'none', '--speed-factor', '2', '--summary', summary)) as process:
        wait_for_line(process, 'PX4 runs in')
        yield lambda: (interrupt(process), json.loads(summary.read_text()))[1]


@pytest.fixture
def ground():
    with contextlib.closing(Station(GROUND, 255, 190, mavlink.MAV_TYPE_GCS)) as station:
        station.start()
        yield station


@pytest.fixture
def onboard():
    with contextlib.closing(Station(
            ONBOARD, SYSTEM, mavlink.MAV_COMP_ID_ONBOARD_COMPUTER,
            mavlink.MAV_TYPE_ONBOARD_CONTROLLER)) as station:
        station.start()
        yield station


def mission(home):
    """Return a take-off, a way of 8 m to the north, and a landing."""
    wanted = ((mavlink.MAV_CMD_NAV_TAKEOFF, 0, 4.0), (mavlink.MAV_CMD_NAV_WAYPOINT, 720, 4.0),
              (mavlink.MAV_CMD_NAV_LAND, 720, 0.0))
    return [mavlink.MAVLink_mission_item_int_message(
        SYSTEM, AUTOPILOT, i, RELATIVE, kind, int(i == 0), 1, 0.0, 0.0, 0.0, float('nan'),
        home.lat + north, home.lon, up_m, mavlink.MAV_MISSION_TYPE_MISSION)
        for i, (kind, north, up_m) in enumerate(wanted)]


def is_armed(heartbeat):
    return bool(heartbeat.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)


@pytest.mark.process
@pytest.mark.px4
def test_a_ground_station_reads_sets_uploads_and_flies(flight, ground):
    """In the order of QGroundControl, with its system 255, component 190."""
    ground.wait_for('HEARTBEAT')
    ground.ask(mavlink.MAVLink_command_long_message(
        SYSTEM, AUTOPILOT, mavlink.MAV_CMD_REQUEST_MESSAGE, 0,
        mavlink.MAVLINK_MSG_ID_AUTOPILOT_VERSION, 0, 0, 0, 0, 0, 0), 'AUTOPILOT_VERSION')
    parameters = ground.parameters()
    assert len(parameters) > 300 and 'MIS_TAKEOFF_ALT' in parameters
    changed = ground.ask(mavlink.MAVLink_param_set_message(
        SYSTEM, AUTOPILOT, b'MIS_TAKEOFF_ALT', 4.0, mavlink.MAV_PARAM_TYPE_REAL32), 'PARAM_VALUE',
        lambda m: m.param_id == 'MIS_TAKEOFF_ALT')
    assert changed.param_value == 4.0
    assert [ground.plan(kind) for kind in range(3)] == [[], [], []]
    items = mission(ground.wait_for('GLOBAL_POSITION_INT', lambda m: m.lat))
    wanted = mavlink.MAVLink_mission_count_message(SYSTEM, AUTOPILOT, len(items), 0)
    asked = 'MISSION_REQUEST_INT MISSION_REQUEST MISSION_ACK'
    answer = ground.ask(wanted, asked)
    while answer.get_type() != 'MISSION_ACK':
        answer = ground.ask(items[answer.seq], asked, lambda m, last=answer: (
            m.get_type() == 'MISSION_ACK' or m.seq > last.seq))
    assert answer.type == mavlink.MAV_MISSION_ACCEPTED
    found = ground.plan(0)
    assert [(it.command, it.x, it.y, it.z) for it in found] == [
        (it.command, it.x, it.y, it.z) for it in items]
    ground.command(mavlink.MAV_CMD_DO_SET_MODE, 1, AUTO, MISSION)
    since = len(ground.messages)
    ground.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    assert ground.wait('MISSION_ITEM_REACHED', lambda m: m.seq == 1, since)
    assert ground.wait('HEARTBEAT', lambda m: not is_armed(m), len(ground.messages))
    assert 3.5 < flight()['max_altitude_m'] < 5.0


@pytest.mark.process
@pytest.mark.px4
def test_a_companion_synchronises_time_and_flies_offboard(flight, onboard):
    """In the way of MAVROS, which has the vehicle's own system, component 191."""
    onboard.wait_for('HEARTBEAT')
    sent_ns = time.time_ns()
    answer = onboard.ask(mavlink.MAVLink_timesync_message(0, sent_ns), 'TIMESYNC', lambda m: (
        m.ts1 == sent_ns and m.tc1 > 0))
    assert answer.tc1 < 1000 * 10**9, 'PX4 has simulated time'
    onboard.ask(mavlink.MAVLink_command_long_message(
        SYSTEM, AUTOPILOT, mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES, 0, 1, 0, 0, 0, 0, 0, 0),
        'AUTOPILOT_VERSION')
    assert len(onboard.parameters()) > 300
    # Ten times a second; of it the place and the yaw count.
    onboard.repeated = mavlink.MAVLink_set_position_target_local_ned_message(
        0, SYSTEM, AUTOPILOT, mavlink.MAV_FRAME_LOCAL_NED, 0b100111111000, 3.0, 0.0, -4.0,
        0, 0, 0, 0, 0, 0, 0.0, 0.0)
    offboard, land = ((main << 16) + (sub << 24) for main, sub in ((OFFBOARD, 0), (AUTO, LAND)))
    onboard.ask(mavlink.MAVLink_set_mode_message(SYSTEM, 1, offboard), 'HEARTBEAT', lambda m: (
        m.custom_mode == offboard))
    since = len(onboard.messages)
    onboard.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    assert onboard.wait('LOCAL_POSITION_NED', lambda m: abs(m.x - 3.0) < 0.3 and abs(
        m.z + 4.0) < 0.3, since)
    onboard.ask(mavlink.MAVLink_set_mode_message(SYSTEM, 1, land), 'HEARTBEAT', lambda m: (
        m.custom_mode == land))
    assert onboard.wait('HEARTBEAT', lambda m: not is_armed(m))
    assert 3.5 < flight()['max_altitude_m'] < 5.0
