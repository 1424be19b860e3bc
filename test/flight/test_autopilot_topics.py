# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The autopilot's side in a recording and in its report: estimate, set point, mode, texts."""
import json

import numpy as np
import pytest

from px4_sim_ros.messages.autopilot import read_status
from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.report.flight_report import estimate_rows

MISSION = '{name: hop, items: [take_off: {up_m: 1.0}, land: ]}'


@pytest.mark.process
def test_what_the_autopilot_says_of_itself_is_recorded_and_reported(here, instance, tmp_path):
    """The estimate follows the truth; its stamps are simulated, and the report compares both."""
    mission = tmp_path / 'hop.yaml'
    mission.write_text(MISSION, encoding='utf-8')
    flown = here('fly', '--mode', 'core', '--mission', mission, '--instance', instance,
                 '--record', tmp_path / 'bag', '--report', tmp_path / 'report.html',
                 '--summary', tmp_path / 'summary.json')
    assert flown.returncode == 0, flown.stderr
    bag = BagReader(tmp_path / 'bag')
    series = read_series(bag)
    place = series['autopilot/odometry']['position_m']
    end_s = json.loads((tmp_path / 'summary.json').read_text())['sim_time_s']
    assert 15.0 < len(place.time_s) / (end_s - place.time_s[0]) < 60.0        # Hz, simulated
    assert place.time_s[-1] <= end_s and np.all(np.diff(place.time_s) > 0.0)
    rows = {row.title: row for row in estimate_rows(series)}
    errors = next(row for title, row in rows.items() if title.startswith('Error of the place'))
    assert max(np.abs(line.values).max() for line in errors.lines) < 0.5
    assert series['autopilot/set_point']['position_m'].values[0, 2] > 0.5
    statuses = [read_status(message.time_us, bag.decode(message)) for message in bag.messages()
                if message.topic == 'autopilot/status']
    flags = [(status.armed, status.landed) for status in statuses]
    assert flags[0] == flags[-1] == (False, True) and (True, False) in flags
    page = (tmp_path / 'report.html').read_text(encoding='utf-8')
    assert 'estimate against the truth' in page and 'armed, in the air' in page
