# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The vehicles with wings: refused by the embedded autopilot, flown by a real PX4."""
import json
import os
import pathlib
import re

import pytest
from commands import run
from px4_flight import complaints

pytestmark = pytest.mark.slow       # starts processes and waits

PLANE_INSTANCE, VTOL_INSTANCE = 7, 8     # of no other test
# NAV_ACC_RAD of the airframes, and a step of the way.
MISSIONS = [('plane', 'plane', PLANE_INSTANCE, 17.0, 150.0),
            ('standard_vtol', 'vtol', VTOL_INSTANCE, 7.0, 1.0)]


@pytest.mark.parametrize('vehicle', ['plane', 'standard_vtol'])
def test_the_embedded_autopilot_refuses_it(vehicle):
    result = run('fly', '--vehicle', vehicle)
    assert result.returncode == 2
    assert result.stderr == (
        f'fly: vehicle {vehicle}: the embedded autopilot flies multirotors only; fly it with'
        ' --autopilot px4\n')


@pytest.mark.skipif(not os.environ.get('PX4_DIR'), reason='PX4_DIR does not point to a built PX4')
@pytest.mark.parametrize(
    ('vehicle', 'mission', 'instance', 'acceptance_m', 'landing_m'), MISSIONS)
def test_px4_flies_its_mission(tmp_path, vehicle, mission, instance, acceptance_m, landing_m):
    """And a replay of it, without PX4, is bit-identical."""
    file, bag = tmp_path / 'summary.json', tmp_path / 'bag'
    result = run('fly', '--mode', 'core', '--vehicle', vehicle, '--mission', mission,
                 '--autopilot', 'px4', '--instance', instance, '--summary', file, '--record', bag)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert summary['mission_flown']
    assert summary['landed']
    assert summary['misses'] == 0
    assert len(summary['arrivals']) == 4
    assert all(abs(a['altitude_error_m']) < 5.0 for a in summary['arrivals'])
    assert all(a['position_error_m'] < acceptance_m for a in summary['arrivals'])
    assert summary['position_error_at_landing_m'] < landing_m
    folder = re.search(r'PX4 runs in (\S+);', result.stdout).group(1)
    # Before that PX4 misses modules of its own that are not up yet.
    _, ready, console = (pathlib.Path(folder) / 'px4.log').read_text(
        errors='replace').partition('Ready for takeoff!')
    assert ready
    assert complaints(console) == []
    replay = run('replay', bag)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert 'messages that both have are bit-identical' in replay.stdout
