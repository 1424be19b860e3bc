# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A companion program with pymavlink: flies a square in offboard mode, in simulated time."""
import argparse
import math

from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

# North, east and down in metres: climb, go round, come back.
CORNERS_NED = (
    (0.0, 0.0, -5.0), (5.0, 0.0, -5.0), (5.0, 5.0, -5.0), (0.0, 5.0, -5.0), (0.0, 0.0, -5.0))
AT_CORNER_S, SET_POINT_S, HEARTBEAT_S, LIMIT_S, SILENCE_S = 6.0, 0.05, 1.0, 60.0, 30.0
OFFBOARD, ONLY_POSITION = 6, 0b1101_1111_1000


class Companion:
    """Talks to one PX4, as its companion computer; all times are PX4's, which are simulated."""

    def __init__(self, instance):
        """Open the port to which PX4 sends."""
        self.system, self.time_s, self.target_ned = instance + 1, 0.0, None
        self.link = mavutil.mavlink_connection(
            f'udpin:127.0.0.1:{14540 + instance}', source_system=self.system,
            source_component=mavlink.MAV_COMP_ID_ONBOARD_COMPUTER, dialect='common')
        self.last, self.due_s = {}, {self.heartbeat: 0.0, self.set_point: 0.0}

    def heartbeat(self):
        """Say that a companion computer is here."""
        self.link.mav.heartbeat_send(
            mavlink.MAV_TYPE_ONBOARD_CONTROLLER, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 0)

    def set_point(self):
        """Repeat the target, without which PX4 leaves offboard mode."""
        if self.target_ned is not None:
            self.link.mav.set_position_target_local_ned_send(
                round(1e3 * self.time_s), self.system, 1, mavlink.MAV_FRAME_LOCAL_NED,
                ONLY_POSITION, *self.target_ned, *[0.0] * 8)

    def until(self, condition, what):
        """Wait in simulated time until something holds."""
        end_s = None
        while not condition():
            self.receive()
            end_s = end_s or (self.time_s and self.time_s + LIMIT_S)
            if end_s and self.time_s > end_s:
                raise SystemExit(f'{what}: not within {LIMIT_S:g} s of simulated time')

    def sleep(self, duration_s):
        """Wait for a simulated time: `time.sleep` would wait for a time that PX4 does not know."""
        end_s = self.time_s + duration_s
        self.until(lambda: self.time_s >= end_s, 'time')

    def receive(self):
        """Take in all that has come, or wait for something; then send what is due."""
        message = self.link.recv_match(blocking=True, timeout=SILENCE_S)
        if message is None:
            raise SystemExit(f'nothing from PX4 for {SILENCE_S:g} s')
        while message is not None:
            if (message.get_srcSystem(), message.get_srcComponent()) == (self.system, 1):
                self.last[message.get_type()] = message
                boot_ms = getattr(message, 'time_boot_ms', 0)
                self.time_s = max(self.time_s, 1e-3 * boot_ms)
            message = self.link.recv_match(blocking=False)
        for send, period_s in ((self.heartbeat, HEARTBEAT_S), (self.set_point, SET_POINT_S)):
            if self.time_s >= self.due_s[send]:
                self.due_s[send] = self.time_s + period_s
                send()

    def command(self, number, *values):
        """Command until PX4 accepts it, once a simulated second."""
        due_s = 0.0

        def is_accepted():
            nonlocal due_s
            ack = self.last.get('COMMAND_ACK')
            if ack is not None and (ack.command, ack.result) == (number, 0):
                return True
            if self.time_s >= due_s:
                due_s = self.time_s + 1.0
                self.link.mav.command_long_send(
                    self.system, 1, number, 0, *values, *[0.0] * (7 - len(values)))
            return False

        self.last.pop('COMMAND_ACK', None)
        self.until(is_accepted, f'MAV_CMD {number}')

    @property
    def is_ready(self):
        """Whether PX4's arming checks pass."""
        status = self.last.get('SYS_STATUS')
        return status is not None and bool(
            status.onboard_control_sensors_health & mavlink.MAV_SYS_STATUS_PREARM_CHECK)

    @property
    def is_armed(self):
        """Whether PX4 has said so in its last heartbeat."""
        return bool(self.last['HEARTBEAT'].base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)

    def fly(self):
        """Fly the square and land."""
        self.until(lambda: self.is_ready and 'LOCAL_POSITION_NED' in self.last, 'ready')
        self.target_ned = CORNERS_NED[0]
        self.sleep(1.0)
        self.command(mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED,
                     OFFBOARD)
        self.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1.0)
        for corner in CORNERS_NED:
            self.target_ned = corner
            self.sleep(AT_CORNER_S)
            place = self.last['LOCAL_POSITION_NED']
            off_m = math.dist(corner, (place.x, place.y, place.z))
            print(f't = {self.time_s:6.2f} s  {off_m:.2f} m from {corner}', flush=True)
        self.command(mavlink.MAV_CMD_NAV_LAND, 0.0, 0.0, 0.0, math.nan, math.nan, math.nan)
        self.target_ned = None
        self.until(lambda: not self.is_armed, 'landed')
        print(f't = {self.time_s:6.2f} s  landed', flush=True)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('instance', nargs='?', type=int, default=0, choices=range(10))
    Companion(parser.parse_args().instance).fly()
