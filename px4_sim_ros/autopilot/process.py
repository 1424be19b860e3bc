# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The embedded autopilot as a process: a TCP client on the HIL link, as PX4 is."""
from __future__ import annotations

from px4_sim_ros.process import gc_control, signal_mask

if __name__ == '__main__':
    signal_mask.end_while_importing()
    gc_control.hold()           # before what takes long to import

import argparse
import collections
import functools
import select
import socket
import struct
import sys
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.autopilot.answer import answer_of
from px4_sim_ros.autopilot.commander import Commander
from px4_sim_ros.autopilot.estimator import Estimator
from px4_sim_ros.autopilot.mavlink_interface import MavlinkInterface
from px4_sim_ros.autopilot.memory import MEMORY, constants_of, new_memory
from px4_sim_ros.link.fast_frames import FramePacker, FrameReader
from px4_sim_ros.link.hil import codec as hil_codec
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.process import leaving
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory, own_arguments, read_yaml

_RETRY_S = 0.02
# As plain numbers: operations on flags take a microsecond each.
_CUSTOM, _ARMED = int(hil_codec.ModeFlag.CUSTOM), int(hil_codec.ModeFlag.ARMED)

_SENSOR, _GPS = mavlink.MAVLink_hil_sensor_message, mavlink.MAVLink_hil_gps_message
# What they hold, in the order of the wire.
_Sensor = collections.namedtuple('_Sensor', _SENSOR.ordered_fieldnames)  # type: ignore[misc]
_Gps = collections.namedtuple('_Gps', _GPS.ordered_fieldnames)  # type: ignore[misc]


class Autopilot:
    """Answers each HIL_SENSOR with the motor controls for the same time stamp."""

    def __init__(self, instance: int, vehicle: Vehicle) -> None:
        gains = read_yaml(config_directory() / 'autopilot.yaml', 'autopilot file')
        # Kept, for the machine code only knows where they are.
        self.records = memory, constants = new_memory(), constants_of(vehicle, gains)
        self._answer = answer_of(memory, constants)
        self._estimator = Estimator(memory[0], functools.partial(self._answer, hil_codec.GNSS))
        self.commander = Commander(memory[0], constants[0])
        self.interface = MavlinkInterface(instance, self.commander, self._estimator)
        self._second_imu: tuple[Vector, Vector] | None = None
        self._mav = mavlink.MAVLink(
            None, srcSystem=instance + 1, srcComponent=mavlink.MAV_COMP_ID_AUTOPILOT1)
        self._mav.robust_parsing = True
        self._sensor_frames, self._gps_frames = FrameReader(_SENSOR), FrameReader(_GPS)
        self._controls_frames = FramePacker(
            self._mav, mavlink.MAVLink_hil_actuator_controls_message)

        # Each in one call: a field of a record takes as long by itself.
        def places(layout: str, field: str, method: str) -> typing.Any:
            return functools.partial(getattr(struct.Struct(layout), method), memory.data,
                                     MEMORY.fields[field][1])  # type: ignore[index]

        self._set_time = places('Q', 'time_us', 'pack_into')
        self._set_imu = places('6d', 'specific_force_m_s2', 'pack_into')    # and the rates behind
        self._set_field = places('3d', 'field_t', 'pack_into')
        self._set_pressure = places('d', 'pressure_pa', 'pack_into')
        self._time = places('Q', 'time_us', 'unpack_from')
        self._controls = places('16dq', 'controls', 'unpack_from')          # and if they are armed

    def answer(self, data: bytes) -> bytes:
        """Return the replies to what the simulator sent."""
        # Most often it is one message.
        if not self._mav.buf:
            if (frame := self._sensor_frames.read(data)) is not None:
                return self._sensor(_Sensor._make(frame[1]))
            if (frame := self._gps_frames.read(data)) is not None:
                self._gps(_Gps._make(frame[1]))
                return b''
        replies = b''
        for message in self._mav.parse_buffer(data) or ():
            kind = message.get_type()
            if kind == 'HIL_SENSOR':
                replies += self._sensor(message)
            elif kind == 'HIL_GPS':
                self._gps(message)
        return replies

    def _gps(self, message: typing.Any) -> None:
        if message.id == 0 and hil_codec.has_fix(message):
            # Its own time is UTC, or unknown; it comes after the HIL_SENSOR of its step.
            self._estimator.gnss(*hil_codec.gps_from_hil(message))

    def _sensor(self, message: typing.Any) -> bytes:
        if message.id != 0:
            self._second_imu = self._imu(message) or self._second_imu
            return b''
        time_us, sensors = message.time_usec, 0
        self._set_time(time_us)
        # The sample of another IMU is one step old: it comes after this message.
        imu = self._imu(message) or self._second_imu
        if imu is not None:
            sensors |= hil_codec.IMU
            self._set_imu(*imu[0], *imu[1])
        field = hil_codec.magnetic_field_from_hil(message)
        if field is not None:
            sensors |= hil_codec.MAGNETOMETER
            self._set_field(*field)
        pressure = hil_codec.pressure_from_hil(message)
        if pressure is not None:
            sensors |= hil_codec.BAROMETER
            self._set_pressure(pressure)
        self._answer(sensors)
        self.interface.telemetry(time_us)
        return self.reply()

    def reply(self) -> bytes:
        """Return the frame of the reply to the last sample."""
        *controls, is_armed = self._controls()
        return self._controls_frames.pack(
            *self._time(), hil_codec.LOCKSTEP_FLAG, *controls,
            _CUSTOM | _ARMED if is_armed else _CUSTOM)

    @staticmethod
    def _imu(message: typing.Any) -> tuple[Vector, Vector] | None:
        if not hil_codec.has_group(message, hil_codec.IMU_GROUPS):
            return None
        return hil_codec.imu_from_hil(message)


def _connect(address: tuple[str, int], stop: Stop) -> socket.socket | None:
    """Try until the simulator accepts; return None after a signal to stop."""
    while not stop.asked:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if connection.connect_ex(address) == 0:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        connection.close()
        time.sleep(_RETRY_S)
    return None


def run(instance: int, vehicle: Vehicle, host: str) -> None:
    """Fly until the simulator closes the connection or a signal comes.

    :raises OSError: a port is taken
    """
    stop = Stop()
    autopilot = Autopilot(instance, vehicle)
    simulator = _connect((host, port_of(instance)), stop)
    try:
        while simulator and not stop.asked:
            readable, _, _ = select.select([simulator, autopilot.interface.socket], [], [], 0.2)
            if autopilot.interface.socket in readable:
                autopilot.interface.receive()
            if simulator in readable:
                data = simulator.recv(65536)
                if not data:
                    return
                simulator.sendall(autopilot.answer(data))
    except (ConnectionResetError, BrokenPipeError):
        return   # the simulator has ended, and this process with it
    finally:
        autopilot.interface.close()
        if simulator:
            simulator.close()


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog='autopilot', description=__doc__)
    parser.add_argument('--instance', type=int, default=0, help='as PX4: TCP port 4560 + instance')
    parser.add_argument('--vehicle', default='iris', help='name in config/vehicles, or a path')
    parser.add_argument('--host', default='127.0.0.1', help='where the simulator listens')
    options = parser.parse_args(own_arguments(sys.argv[1:] if arguments is None else arguments))
    gc_control.release()
    try:
        run(options.instance, load_vehicle(options.vehicle), options.host)
    except (ParameterError, OSError) as error:
        print(f'autopilot: {sentence(error)}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    leaving.end(main())
