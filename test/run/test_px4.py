# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A real PX4 flies the mission. It is the only judge of the HIL link."""
import json
import pathlib
import re

import pytest
from commands import run
from px4_flight import complaints

INSTANCE = 0     # PX4 instances share no ports with those of the other tests

pytestmark = [pytest.mark.slow, pytest.mark.px4]


@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
def test_px4_flies_the_square(mode, tmp_path):
    file = tmp_path / 'summary.json'
    bag = tmp_path / 'bag'
    result = run('fly', '--mode', mode, '--autopilot', 'px4', '--instance', INSTANCE,
                 '--summary', file, '--record', bag)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert summary['landed']
    assert summary['misses'] == 0
    assert summary['states']['STALLED'] == 0.0
    assert all(abs(a['altitude_error_m']) < 0.5 for a in summary['arrivals'])
    assert all(a['position_error_m'] < 1.0 for a in summary['arrivals'])
    assert summary['position_error_at_landing_m'] < 1.0
    folder = re.search(r'PX4 runs in (\S+);', result.stdout).group(1)
    console = (pathlib.Path(folder) / 'px4.log').read_text(errors='replace')
    assert 'Ready for takeoff!' in console
    assert complaints(console) == []
    # Flown again without PX4.
    replay = run('replay', bag)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert 'common messages are bit-identical' in replay.stdout
