# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ceiling of a PX4: how fast it flies against the least that a simulator can be, in C."""
from __future__ import annotations

import math
import os
import pathlib
import shutil
import subprocess
import threading

from benchmarks.worlds import WorkLog
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.server import AWAKE_S, port_of
from px4_sim_ros.model.environment.magnetic_field import MagneticField
from px4_sim_ros.model.sensors.barometer import BarometerParameters
from px4_sim_ros.model.sensors.gnss import GnssParameters
from px4_sim_ros.model.sensors.imu import ImuParameters
from px4_sim_ros.model.sensors.magnetometer import MagnetometerParameters
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.world import Environment
from px4_sim_ros.process.children import Child
from px4_sim_ros.spec.configuration import Configuration

_SOURCE = pathlib.Path(__file__).with_name('ceiling.c')
_LOOK_S = 0.02
_GAP_S = 0.25
_NS_PER_S = 1e9


def compiler() -> str | None:
    """Return the C compiler, None when there is none; who has built a PX4 has one."""
    return shutil.which(os.environ.get('CC') or 'cc')


def build(folder: pathlib.Path) -> pathlib.Path:
    """Compile the server and return its path.

    :raises RuntimeError: that has failed
    """
    binary = folder / 'ceiling'
    result = subprocess.run(
        [compiler() or 'cc', '-O2', '-o', str(binary), str(_SOURCE), '-lm'], capture_output=True,
        text=True, check=False)
    if result.returncode:
        raise RuntimeError(f'the ceiling does not compile: {result.stderr.strip()}')
    return binary


def arguments(configuration: Configuration) -> list[str]:
    """Return the arguments of the server: our vehicle, place, periods and noise."""
    world, vehicle = configuration.world, configuration.vehicle
    environment = Environment.of(world)
    hil = configuration.of_node('hil_bridge', HilParameters)
    imu = configuration.of_node('imu', ImuParameters)
    field = configuration.of_node('magnetometer', MagnetometerParameters)
    body, rotor = vehicle.body, vehicle.rotor_model
    # White noise of a density, sampled.
    imu_root = math.sqrt(US_PER_S / world.period_us('imu'))
    mag_root = math.sqrt(US_PER_S / world.period_us('magnetometer'))
    mag_east, mag_north, mag_up = MagneticField(
        world.local_frame(), world.magnetic_field_year).at((0.0, 0.0, 0.0))
    values = {
        'port': port_of(hil.instance),
        'freewheel_s': hil.freewheel_pause_s, 'gap_s': _GAP_S, 'awake_s': AWAKE_S,
        'step_us': world.step_us,
        'mag_us': world.period_us('magnetometer'), 'baro_us': world.period_us('barometer'),
        'gps_us': world.period_us('gps'), 'mass': body.mass_kg,
        **dict(zip(('ixx', 'iyy', 'izz'), body.inertia_kg_m2)),
        'thrust': (rotor.thrust_coefficient_n_s2 * environment.density_kg_m3(0.0)
                   / rotor.reference_density_kg_m3),
        'moment': rotor.moment_coefficient_m, 'lag_up': rotor.time_constant_up_s,
        'lag_down': rotor.time_constant_down_s, 'gain': rotor.command_gain_rad_s,
        'offset': rotor.command_offset_rad_s, 'max_speed': rotor.max_speed_rad_s,
        'drag': body.quadratic_drag_n_s2_m2, 'gravity': environment.gravity_m_s2(0.0),
        'latitude': world.home_latitude_deg, 'longitude': world.home_longitude_deg,
        'altitude': world.home_altitude_m, 'mag_east': mag_east, 'mag_north': mag_north,
        'mag_up': mag_up, 'accel_noise': imu.accel_noise_density * imu_root,
        'gyro_noise': imu.gyro_noise_density * imu_root,
        'mag_noise': field.noise_density * mag_root,
        'baro_noise': configuration.of_node('barometer', BarometerParameters).noise_pa,
        'velocity_noise': configuration.of_node(
            'gps', GnssParameters).velocity_noise_m_s}
    rotors = [f'rotor={r.position_m[0]!r},{r.position_m[1]!r},{r.spin}' for r in vehicle.rotors]
    return [f'{name}={value!r}' for name, value in values.items()] + rotors


class CeilingWorld:
    """The C server as a world; what it prints becomes the log."""

    def __init__(
        self, binary: pathlib.Path, configuration: Configuration, folder: pathlib.Path,
    ) -> None:
        """Start it.

        :param folder: for what it prints
        """
        self.log = WorkLog()
        self.misses = 0
        self.height_m = 0.0
        self._lines = folder / 'ceiling.txt'
        self._child = Child(
            'the ceiling', [binary, *arguments(configuration)], log=self._lines)

    def wait_until_seen(self) -> None:
        """Nothing: the autopilot tries until it is there."""

    def run(self, stop: threading.Event) -> None:
        """Read what the server prints until `stop` is set.

        :raises RuntimeError: it has ended before
        """
        with open(self._lines, encoding='utf-8') as lines:
            half = ''
            while not stop.wait(_LOOK_S):
                exit_code = self._child.exit_code      # before its last words are read
                *whole, half = (half + lines.read()).split('\n')
                for line in whole:
                    self._take(line)
                if exit_code is not None and not stop.is_set():
                    raise RuntimeError(f'the ceiling has ended with exit code {exit_code}')

    def _take(self, line: str) -> None:
        words = line.split()
        if len(words) != 5 or not words[0].isdecimal():
            raise RuntimeError(f'the ceiling: {line}')        # what it says of an error
        time_us, wall_ns, waited_ns, height_m, misses = words
        self.height_m, self.misses = float(height_m), int(misses)
        self.log.add_wall(int(time_us), int(wall_ns) / _NS_PER_S)
        self.log.add_busy('autopilot', int(time_us), int(waited_ns) / _NS_PER_S)

    def close(self) -> None:
        """End it."""
        self._child.stop()

    def check_end(self) -> None:
        """Nothing: it ends by being stopped."""
