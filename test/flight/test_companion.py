# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""examples/companion.py beside a real PX4, at the speeds of docs/px4_and_ports.md."""
import itertools
import json
import pathlib
import re
import subprocess
import sys

import pytest
from commands import run
from instances import of_px4

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'


@pytest.mark.process
@pytest.mark.px4
@pytest.mark.parametrize('speed', [pytest.param(1, marks=pytest.mark.long), 5, 0])
def test_a_companion_flies_its_square_in_simulated_time(speed, tmp_path):
    summary = tmp_path / 'summary.json'
    with subprocess.Popen(
            [sys.executable, str(EXAMPLES / 'companion.py'), str(of_px4())],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as companion:
        try:
            flight = run('fly', '--mode', 'core', '--autopilot', 'px4', '--px4-schedule',
                         'one-core', '--instance', of_px4(), '--speed-factor', speed,
                         '--summary', summary, '--scenario', EXAMPLES / 'px4_offboard.yaml')
            said = companion.communicate(timeout=60)[0]
        finally:
            companion.kill()
    assert (flight.returncode, companion.returncode) == (0, 0), flight.stderr + said
    corners = [(float(time_s), float(off_m)) for time_s, off_m in re.findall(
        r't = +([\d.]+) s  ([\d.]+) m from', said)]
    assert len(corners) == 5 and all(off_m < 0.5 for _, off_m in corners[1:])
    # A sleep in simulated time is never shorter, and longer by what the machine is late.
    ways_s = [later - sooner for (sooner, _), (later, _) in itertools.pairwise(corners)]
    assert all(5.9 < way_s < 7.0 for way_s in ways_s)
    assert 4.5 < json.loads(summary.read_text())['max_altitude_m'] < 6.0
