# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Other simulators of the same PX4: SIH, which is a module of it, and jMAVSim, on the same link.

Both fly the quadrotor that is theirs, as fast as they can. Only PX4 knows what time it is
there, so the time is that of its messages, on the link for a camera, which is free.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import threading
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from benchmarks.kinds import JMAVSIM, SIH
from benchmarks.worlds import WorkLog
from px4_sim_ros.flight.instances import PAYLOAD_REMOTE_PORT
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.ports import LOCAL, bound_socket
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process.children import Child
from px4_sim_ros.px4.sitl import Px4

_JAR = pathlib.Path('out/production/jmavsim_run.jar')
# As PX4's own script runs it, without the window.
_JMAVSIM_OPTIONS = (
    '--add-exports', 'java.base/java.lang=ALL-UNNAMED',
    '--add-exports', 'java.desktop/sun.awt=ALL-UNNAMED',
    '--add-exports', 'java.desktop/sun.java2d=ALL-UNNAMED',
    '-XX:GCTimeRatio=20', '-Djava.ext.dirs=', '-jar', _JAR.name, '-lockstep', '-r', '250',
    '-no-gui')
# Above what either reaches: higher ones have been no faster.
_SPEED_FACTORS = {JMAVSIM: '2000', SIH: '200'}
_SIH_AIRFRAME, _SIH_MODEL = '10040', 'quadx'
_WAIT_S = 0.02


def sih_is_in(px4: Px4) -> bool:
    """Return whether a PX4 was built with SIH."""
    return (px4.build / 'bin/px4-simulator_sih').exists()


def find_jmavsim(folder: str) -> pathlib.Path:
    """Return the jar of a jMAVSim that was built.

    :raises ParameterError: there is none, or no Java to run it
    """
    jar = pathlib.Path(folder).expanduser().resolve() / _JAR
    if not jar.is_file():
        raise ParameterError(
            f'jmavsim_dir = {folder}: has no {_JAR}; build it there with "ant create_run_jar'
            ' copy_res"')
    if shutil.which('java') is None:
        raise ParameterError(f'jmavsim_dir = {folder}: needs java, which is not installed')
    return jar


def environment(mode: str) -> dict[str, str]:
    """Return the environment of PX4, or of the simulator, for a mode of PEERS."""
    speed = {'PX4_SIM_SPEED_FACTOR': _SPEED_FACTORS[mode]}
    if mode == JMAVSIM:
        return speed
    return speed | {'PX4_SYS_AUTOSTART': _SIH_AIRFRAME, 'PX4_SIMULATOR': 'sihsim',
                    'PX4_SIM_MODEL': _SIH_MODEL}


class PeerWorld:
    """A simulator that is not ours; what PX4 says becomes the log."""

    misses = 0

    def __init__(self, mode: str, instance: int, jar: str, folder: pathlib.Path) -> None:
        """Start it, if it is a process of its own, and listen to PX4.

        :param mode: of PEERS
        :param jar: of jMAVSim
        :param folder: for what it prints
        :raises PortTakenError: the port to listen on is taken
        """
        self.log = WorkLog()
        self.height_m = 0.0
        self._child: Child | None = None
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True
        self._socket = bound_socket('UDP', LOCAL, PAYLOAD_REMOTE_PORT + instance)
        self._socket.settimeout(_WAIT_S)
        if mode == JMAVSIM:
            self._child = Child(
                'jMAVSim', ['java', *_JMAVSIM_OPTIONS, '-tcp', f'{LOCAL}:{port_of(instance)}'],
                folder=pathlib.Path(jar).parent, log=folder / 'jmavsim.txt',
                environment=dict(os.environ) | environment(mode))

    def wait_until_seen(self) -> None:
        """Nothing: the autopilot tries until it is there."""

    def run(self, stop: threading.Event) -> None:
        """Listen until `stop` is set.

        :raises RuntimeError: the simulator has ended before
        """
        while not stop.is_set():
            if self._child is not None and self._child.exit_code is not None:
                raise RuntimeError(f'jMAVSim has ended with exit code {self._child.exit_code}')
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                continue
            wall_s = time.perf_counter()
            for message in self._parser.parse_buffer(data) or ():
                self._take(message, wall_s)

    def _take(self, message: typing.Any, wall_s: float) -> None:
        kind = message.get_type()
        if kind == 'ATTITUDE':
            self.log.add_wall(1000 * message.time_boot_ms, wall_s)
        elif kind == 'GLOBAL_POSITION_INT':
            self.height_m = message.relative_alt * 1e-3

    def close(self) -> None:
        """End it; a second time nothing happens."""
        if self._child is not None:
            self._child.stop()
        self._socket.close()

    def check_end(self) -> None:
        """Nothing: it ends by being stopped."""
