# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world and the embedded autopilot in one process, stepped by the test."""
from __future__ import annotations

import contextlib
import math
import select
import socket

from pymavlink.dialects.v20 import common as mavlink
from scripted_flight import ScriptedWorld

from px4_sim_ros.autopilot.process import Autopilot
from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.link.hil.replies import HilDecoder
from px4_sim_ros.link.pilot.link import pilot_port
from px4_sim_ros.spec.blocks import block_configuration

HOST = '127.0.0.1'
TIME_LIMIT_S = 20.0
ACCEPTED = mavlink.MAV_RESULT_ACCEPTED
REJECTED = mavlink.MAV_RESULT_TEMPORARILY_REJECTED
UNSUPPORTED = mavlink.MAV_RESULT_UNSUPPORTED
TAKE_OFF, ARM = mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_COMPONENT_ARM_DISARM
GO_TO, LAND = mavlink.MAV_CMD_DO_REPOSITION, mavlink.MAV_CMD_NAV_LAND


class Rig:
    """One vehicle on the ground at home, and who commands it over UDP."""

    def __init__(self, configuration, instance: int) -> None:
        self.configuration = configuration
        self.autopilot = Autopilot(instance, configuration.vehicle)
        self._world = ScriptedWorld(configuration)
        self._hil_frames = HilFrames(block_configuration(configuration, 'hil_bridge'))
        self.troubles: list[str] = []        # of what it answers
        self.decoder = HilDecoder(lambda trouble, sentence: self.troubles.append(sentence))
        self._references = (0.0,) * len(configuration.vehicle.rotors)
        self._mav = mavlink.MAVLink(None, srcSystem=245, srcComponent=191)
        self.system_id = instance + 1
        self._autopilot_address = HOST, 14580 + instance
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, pilot_port(instance)))
        self._socket.setblocking(False)
        self.received: list[mavlink.MAVLink_message] = []      # from the autopilot over UDP
        self.stopped: set[str] = set()                     # sensors
        self.truth = None
        self.reply = None

    def close(self) -> None:
        """Free the ports."""
        self._socket.close()
        self.autopilot.interface.close()

    def frames(self) -> bytes:
        """Advance the world by one step and return what the simulator sends."""
        step = self._world.step(self._references)
        self.truth = step.truth
        publishers = self.configuration.graph.topics
        measured = {
            name: value for name, value in step.measured.items()
            if publishers[name].publisher not in self.stopped}
        data = self._hil_frames.of(step.time_us, measured)
        self._hil_frames.keep(measured)
        return data

    def step(self) -> None:
        """Do one step of the lockstep."""
        self.reply, = self.decoder.controls(self.autopilot.answer(self.frames()))
        assert self.reply.time_us == self.truth.time_us
        self._references = self.configuration.vehicle.rotor_speed_references_rad_s(
            self.reply.controls, self.reply.armed)
        self._listen()

    def run(self, seconds: float):
        """Step for a while, yielding the truth of each step."""
        for _ in range(round(seconds * 1e6 / self.configuration.world.step_us)):
            self.step()
            yield self.truth

    def wait(self, seconds: float) -> None:
        """Step for a while."""
        for _ in self.run(seconds):
            pass

    def command(self, command: int, *parameters: float) -> int:
        """Send a COMMAND_LONG and return its result."""
        return self._result(self._mav.command_long_encode(
            self.system_id, 1, command, 0, *parameters, *(0.0,) * (7 - len(parameters))))

    def command_int(self, command: int, yaw: float, x: int, y: int, z: float) -> int:
        """Send a COMMAND_INT and return its result."""
        return self._result(self._mav.command_int_encode(
            self.system_id, 1, mavlink.MAV_FRAME_GLOBAL, command, 0, 0, -1, 1, 0, yaw, x, y, z))

    def take_off(self, up_m: float) -> None:
        """Send what makes it climb to a height over home."""
        altitude = self.last('GLOBAL_POSITION_INT').alt * 1e-3
        assert self.command(TAKE_OFF, 0, 0, 0, math.nan, math.nan, math.nan, altitude + up_m) == 0
        assert self.command(ARM, 1) == ACCEPTED

    def go_to(self, north_m: float, east_m: float, up_m: float, yaw: float = math.nan) -> int:
        """Send it to a place from home; yaw is clockwise from north. Return the result."""
        frame = self.configuration.world.local_frame()
        there = frame.to_geodetic((east_m, north_m, up_m))
        altitude = there.ellipsoid_altitude_m - self.configuration.world.geoid_height_m
        return self.command_int(
            GO_TO, yaw, round(there.latitude_deg * 1e7), round(there.longitude_deg * 1e7),
            altitude)

    def last(self, kind: str) -> mavlink.MAVLink_message:
        """Return the last message of a kind."""
        return next(m for m in reversed(self.received) if m.get_type() == kind)

    def _result(self, message: mavlink.MAVLink_message) -> int:
        count = len(self.received)
        self._socket.sendto(message.pack(self._mav), self._autopilot_address)
        assert select.select([self.autopilot.interface.socket], [], [], TIME_LIMIT_S)[0]
        self.autopilot.interface.receive()
        while not any(m.get_type() == 'COMMAND_ACK' for m in self.received[count:]):
            assert select.select([self._socket], [], [], TIME_LIMIT_S)[0]
            self._listen()
        acknowledgement = self.last('COMMAND_ACK')
        assert acknowledgement.command == message.command
        return acknowledgement.result

    def _listen(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self.received += self._mav.parse_buffer(self._socket.recv(65536))
