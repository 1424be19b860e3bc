# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The embedded autopilot as a process: a TCP client on the HIL link, as PX4 is."""
from __future__ import annotations

from px4_sim_ros.process import gc_control

if __name__ == '__main__':
    gc_control.hold()           # before what takes long to import

import argparse
import collections
import select
import socket
import sys
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.autopilot.commander import Commander, CommanderParameters
from px4_sim_ros.autopilot.controller import Controller, ControllerParameters
from px4_sim_ros.autopilot.estimator import Estimator, EstimatorParameters
from px4_sim_ros.autopilot.mavlink_interface import MavlinkInterface
from px4_sim_ros.link.fast_frames import FramePacker, FrameReader
from px4_sim_ros.link.hil import codec as hil_codec
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.model.environment.atmosphere import STANDARD_GRAVITY_M_S2
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.process.signals import Stop
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory, own_arguments, read_yaml

_RETRY_S = 0.02
# The year of the magnetic declination that this autopilot knows, as firmware does.
_MAGNETIC_FIELD_YEAR = 2026.0
# As plain numbers: operations on flags take a microsecond each.
_CUSTOM, _ARMED = int(hil_codec.ModeFlag.CUSTOM), int(hil_codec.ModeFlag.ARMED)

_SENSOR = mavlink.MAVLink_hil_sensor_message
# What a HIL_SENSOR holds, in the order of the wire.
_Sensor = collections.namedtuple('_Sensor', _SENSOR.ordered_fieldnames)  # type: ignore[misc]


class Autopilot:
    """Answers each HIL_SENSOR with the motor controls for the same time stamp."""

    def __init__(self, instance: int, vehicle: Vehicle) -> None:
        gains = read_yaml(config_directory() / 'autopilot.yaml', 'autopilot file')
        self._estimator = Estimator(
            EstimatorParameters.from_mapping('estimator', gains['estimator']),
            STANDARD_GRAVITY_M_S2, _MAGNETIC_FIELD_YEAR)
        controller = Controller(
            ControllerParameters.from_mapping('controller', gains['controller']), vehicle,
            STANDARD_GRAVITY_M_S2)
        self._commander = Commander(
            CommanderParameters.from_mapping('commander', gains['commander']), self._estimator,
            controller)
        self.interface = MavlinkInterface(instance, self._commander, self._estimator)
        self._last_us: dict[str, int] = {}
        self._second_imu: tuple[Vector, Vector] | None = None
        self._mav = mavlink.MAVLink(
            None, srcSystem=instance + 1, srcComponent=mavlink.MAV_COMP_ID_AUTOPILOT1)
        self._mav.robust_parsing = True
        self._sensor_frames = FrameReader(_SENSOR)
        self._controls_frames = FramePacker(
            self._mav, mavlink.MAVLink_hil_actuator_controls_message)

    def answer(self, data: bytes) -> bytes:
        """Return the replies to what the simulator sent."""
        # Most often it is one HIL_SENSOR.
        if not self._mav.buf and (frame := self._sensor_frames.read(data)) is not None:
            return self._sensor(_Sensor._make(frame[1]))
        replies = b''
        for message in self._mav.parse_buffer(data) or ():
            kind = message.get_type()
            if kind == 'HIL_SENSOR':
                replies += self._sensor(message)
            elif kind == 'HIL_GPS' and message.id == 0 and hil_codec.has_fix(message):
                # Its own time is UTC, or unknown; it comes after the HIL_SENSOR of its step.
                self._estimator.gnss(
                    *hil_codec.gps_from_hil(message),
                    self._since('gps', self._last_us.get('imu', 0)))
        return replies

    def _sensor(self, message: typing.Any) -> bytes:
        if message.id != 0:
            self._second_imu = self._imu(message) or self._second_imu
            return b''
        time_us = message.time_usec
        # The sample of another IMU is one step old: it comes after this message.
        imu = self._imu(message) or self._second_imu
        dt = self._since('imu', time_us)
        if imu is not None:
            self._estimator.imu(time_us, *imu)
        field = hil_codec.magnetic_field_from_hil(message)
        if field is not None:
            self._estimator.magnetometer(field, self._since('mag', time_us))
        pressure = hil_codec.pressure_from_hil(message)
        if pressure is not None:
            self._estimator.barometer(pressure, self._since('baro', time_us))
        controls = self._commander.controls(dt)
        self.interface.telemetry(time_us)
        mode = _CUSTOM | _ARMED if self._commander.armed else _CUSTOM
        return self._controls_frames.pack(time_us, hil_codec.LOCKSTEP_FLAG, *controls, mode)

    @staticmethod
    def _imu(message: typing.Any) -> tuple[Vector, Vector] | None:
        if not hil_codec.has_group(message, hil_codec.IMU_GROUPS):
            return None
        return hil_codec.imu_from_hil(message)

    def _since(self, sensor: str, time_us: int) -> float:
        """Return the seconds since the last sample of a sensor; 0 for the first."""
        last_us = self._last_us.get(sensor, time_us)
        self._last_us[sensor] = time_us
        return (time_us - last_us) * 1e-6


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
    sys.exit(main())
