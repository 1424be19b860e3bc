# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The log of a real PX4 has the truth, as the recording of the same flight has it."""
import os
import pathlib

import numpy as np
import pytest
from commands import run

from px4_sim_ros.model import frames
from px4_sim_ros.real.flight import between
from px4_sim_ros.real.readers import read_flight

HOP = pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'first_hop.yaml'

pytest.importorskip('pyulog')
pytestmark = [pytest.mark.process, pytest.mark.px4]


def test_a_log_has_the_truth_beside_the_estimate(tmp_path, instance):
    from px4_sim_ros.real.ulog import Topics
    flown = run('fly', '--mode', 'core', '--autopilot', 'px4', '--mission', HOP, '--instance',
                instance, '--record', tmp_path / 'bag',
                env={**os.environ, 'ROS_HOME': str(tmp_path)})
    assert flown.returncode == 0, flown.stdout + flown.stderr
    path, = tmp_path.rglob('*.ulg')
    topics, recording = Topics(path), read_flight(tmp_path / 'bag')
    assert topics.has('vehicle_attitude_groundtruth')
    assert topics.has('vehicle_global_position_groundtruth')

    def truth(topic, names):
        """Return the times at which we sent it, a step before PX4's stamps, and its fields."""
        times, values = topics.samples(topic, *names)
        return times - recording.period_s, values

    grid = recording.start_s + recording.time_s
    times, rates = truth('vehicle_angular_velocity_groundtruth', [f'xyz[{i}]' for i in range(3)])
    flu = between(grid, recording.rate_rad_s, times)
    assert rates == pytest.approx(np.array([frames.flu_to_frd(row) for row in flu]), abs=1e-6)
    times, rows = truth('vehicle_local_position_groundtruth', ['x', 'y', 'z', 'vx', 'vy', 'vz'])
    place, velocity = (np.array([frames.enu_to_ned(row) for row in between(grid, values, times)])
                       for values in (recording.position_m, recording.velocity_m_s))
    # What MAVLink counts in: 1 cm/s, 1 mm of height, 1e-7 deg of latitude and longitude.
    assert rows[:, 3:] == pytest.approx(velocity, abs=0.0051)
    moved, true = rows[:, :3] - rows[0, :3], place - place[0]
    assert moved[:, 2] == pytest.approx(true[:, 2], abs=0.002)
    assert moved[:, :2] == pytest.approx(true[:, :2], abs=0.025)
    assert true[:, 2].min() < -2.0
