# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flies a real PX4 in mode core and keeps the truth beside what PX4 says of itself."""
import contextlib
import dataclasses
import os
import pathlib
import re
import socket
import subprocess
import threading

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from benchmarks.pilot_process import PilotProcess
from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.link.pilot.events import MissionError
from px4_sim_ros.model.frames import enu_to_ned, quaternion_enu_flu_to_ned_frd
from px4_sim_ros.px4.sitl import Px4
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.flight_spec import VehicleSpec
from px4_sim_ros.step.graph import COMMAND

# PX4's link for a ground station; all instances send there.
GCS_PORT = 14550
# Not about us: SITL asks for a device and for parameters of modules that some builds leave out, and
# its logger has room for 255 topics, of which a VTOL has more; before it is ready 1.18 says that it
# does not know its heading. `poll timeout` is a second of wall time without a frame, as where the
# world has to wait for others; `test_px4_faults.py` says where it must not be.
KNOWN = re.compile(r'/dev/led0|Parameter (IMU_GYRO_FFT_EN|UXRCE_DDS_[A-Z_]+) not found'
                   r'|\[logger\] Too many subscriptions|no heading reference|poll timeout')
COMPLAINT = re.compile(r'WARN|ERROR|TIMEOUT|STALE')


def _permits_fifo():
    """Return whether this user may start a program that goes first on its core."""
    return not subprocess.run(
        ['chrt', '--fifo', '50', 'true'], capture_output=True, check=False).returncode


NEEDS_FIFO = pytest.mark.skipif(not _permits_fifo(), reason='SCHED_FIFO is not permitted')


def complaints(console):
    """Return the lines of PX4's console that complain."""
    return [line for line in console.splitlines()
            if COMPLAINT.search(line) and not KNOWN.search(line)]


@dataclasses.dataclass
class Flight:
    """What was kept of a flight."""

    configuration: object
    console: str = ''
    truths: dict = dataclasses.field(default_factory=dict)      # by time in ms
    batteries: list = dataclasses.field(default_factory=list)
    commands: dict = dataclasses.field(default_factory=dict)    # rotor speeds, rad/s, by time in ms
    messages: list = dataclasses.field(default_factory=list)    # of PX4, in order
    events: list = dataclasses.field(default_factory=list)      # of the pilot

    def heard(self, kind):
        """Return the messages of a kind."""
        return [m for m in self.messages if m.get_type() == kind]

    def complaints(self):
        """Return what PX4 complains of."""
        return complaints(self.console)

    def time_of(self, text):
        """Return the time in s of the pilot's first event that begins with a text."""
        return next(event.time_s for event in self.events if event.text.startswith(text))

    def position_errors_m(self, first_s, last_s):
        """Return |estimate - truth| between two times, both from where they are at the first."""
        pairs = [((m.x, m.y, m.z), enu_to_ned(self.truths[m.time_boot_ms].position_enu))
                 for m in self.heard('LOCAL_POSITION_NED')
                 if first_s <= m.time_boot_ms * 1e-3 <= last_s and m.time_boot_ms in self.truths]
        estimate, truth = (np.array(v) for v in zip(*pairs))
        return np.linalg.norm((estimate - estimate[0]) - (truth - truth[0]), axis=1)

    def attitude_errors_deg(self, first_s, last_s):
        """Return by how much the estimate is tilted against the truth, and turned about down."""
        estimates, truths = [], []
        for m in self.heard('ATTITUDE_QUATERNION'):
            truth = self.truths.get(m.time_boot_ms)
            if truth is not None and first_s <= m.time_boot_ms * 1e-3 <= last_s:
                estimates.append((m.q1, m.q2, m.q3, m.q4))
                truths.append(quaternion_enu_flu_to_ned_frd(truth.attitude))
        from scipy.spatial.transform import Rotation  # it takes long
        estimate, truth = (Rotation.from_quat(q, scalar_first=True) for q in (estimates, truths))
        errors = np.degrees((estimate * truth.inv()).as_rotvec())
        return np.hypot(errors[:, 0], errors[:, 1]), np.abs(errors[:, 2])

    def mean_command(self, first_s, last_s):
        """Return the mean motor command 0..1 between two times at which none is at a limit."""
        model = self.configuration.vehicle.rotor_model
        mean_rad_s = np.mean([references for time_ms, references in self.commands.items()
                              if first_s <= time_ms * 1e-3 <= last_s])
        return float((mean_rad_s - model.command_offset_rad_s) / model.command_gain_rad_s)


class _Ear(threading.Thread):
    """Listens to PX4 as a ground station that says nothing but that it is there."""

    def __init__(self, flight, instance):
        super().__init__(name='ear')
        self._flight = flight
        self._over = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(('127.0.0.1', GCS_PORT))
        self._socket.settimeout(0.2)
        self._system = instance + 1
        self.start()

    def run(self):
        mav = mavlink.MAVLink(None)
        mav.robust_parsing = True
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                data = self._socket.recv(4096)
                self._flight.messages += [
                    m for m in mav.parse_buffer(data) or ()
                    if m.get_type() != 'BAD_DATA' and m.get_srcSystem() == self._system]

    def close(self):
        self._over.set()
        self.join()
        self._socket.close()


def fly(mission, instance, overrides, monkeypatch, tmp_path, px4_parameters=None,
        until=lambda flight: False):
    """Fly a mission with PX4 to its end, or until something happens; return the Flight.

    :param px4_parameters: PX4's own, by name
    :param until: looked at now and then with the flight; True ends it before the mission does
    """
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    for name, value in (px4_parameters or {}).items():
        monkeypatch.setenv(f'PX4_PARAM_{name}', str(value))
    overrides = {**overrides, 'manager': {'speed_factor': 0.0},
                 'hil_bridge': {'instance': instance}}
    configuration = load_configuration(None, overrides)
    flight = Flight(configuration)
    stop = threading.Event()
    steps = 0

    def observe(time_us, values):
        nonlocal steps
        time_ms = time_us // 1000
        flight.truths[time_ms] = values['ground_truth/odom']
        flight.commands[time_ms] = values[COMMAND]
        # The last one of each topic is there, and the battery has a slower period.
        battery = values.get('battery_state')
        if battery is not None and battery.time_us == time_us:
            flight.batteries.append(battery)
        steps += 1
        if steps % 250 == 0 and until(flight):
            stop.set()

    with contextlib.ExitStack() as stack:
        world = CoreWorld([VehicleSetup(configuration)], observe)
        stack.callback(world.close)
        ear = _Ear(flight, instance)
        stack.callback(ear.close)
        pilot = PilotProcess(
            instance, mission, flight.events.append, stop)
        stack.callback(pilot.stop)
        px4 = start_autopilot(VehicleSpec(
            configuration, 'px4', Px4.find(os.environ['PX4_DIR'])), tmp_path)
        stack.callback(px4.stop)
        world.run(stop)
    log, = pathlib.Path(tmp_path).rglob('px4.log')
    flight.console = log.read_text(errors='replace')
    if pilot.failure:
        raise MissionError(pilot.failure)
    return flight
