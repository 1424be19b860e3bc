# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A real PX4 flies the mission. It is the only judge of the HIL link."""
import json
import pathlib
import re

import pytest
from commands import run
from px4_flight import complaints

from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.recording.bag.reader import vehicles_of

# What PX4 takes, and what it does not: without sticks, of no module, and as SITL cannot.
ASKED = {
    'mission': [{'take_off': {'up_m': 3.0}}, {'hold': {'duration_s': 5.0}}, {'land': None}],
    'px4': {'SENS_GPS0_DELAY': 10, 'EKF2_GPS_DELAY': 10}, 'end': {'at_s': 15},
    'events': [
        {'at_s': 8, 'parameter': {'name': 'MPC_XY_VEL_MAX', 'value': 5}},
        {'at_s': 8, 'refused': True, 'parameter': {'name': 'MPC_XY_VEL_MX', 'value': 5}},
        {'at_s': 8, 'refused': True, 'parameter': {'name': 'COM_RC_IN_MODE', 'value': 3.7}},
        {'at_s': 9, 'mode': {'to': 'POSCTL'}},
        {'at_s': 9, 'refused': True, 'command': {'command': 'MAV_CMD_DO_WINCH'}},
        {'at_s': 9, 'px4_failure': {'unit': 'gps', 'type': 'ok'}},
        {'at_s': 9, 'refused': True, 'px4_failure': {'unit': 'motor', 'type': 'slow'}},
        {'at_s': 10, 'mode': {'to': 'AUTO_LOITER'}}]}

pytestmark = [pytest.mark.process, pytest.mark.px4]


@pytest.mark.parametrize('mode', ['core', 'composed', 'separate'])
def test_px4_flies_the_square(mode, tmp_path):
    file = tmp_path / 'summary.json'
    bag = tmp_path / 'bag'
    result = run('fly', '--mode', mode, '--autopilot', 'px4', '--summary', file, '--record', bag)
    assert result.returncode == 0, result.stderr
    summary = json.loads(file.read_text())
    assert summary['landed']
    assert summary['misses'] == 0
    assert ("PX4's log lacks" in result.stderr) is (summary['log_dropouts'] > 0)
    assert vehicles_of(bag)[0].log_loss() == LogLoss.of(summary) is not None
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


def test_what_px4_refuses_fails_the_flight_with_its_own_words(tmp_path):
    """All but POSCTL without sticks is as the scenario says."""
    scenario = tmp_path / 'asked.yaml'
    scenario.write_text(json.dumps(ASKED))
    result = run('fly', '--mode', 'core', '--autopilot', 'px4', '--scenario', scenario, '--summary',
                 tmp_path / 'summary.json')
    assert result.returncode == 1, result.stdout
    found = {v['text'].split(':')[0].rpartition(' ')[2]: (v['holds'], v['text']) for v in
             json.loads((tmp_path / 'summary.json').read_text())['expectations']}
    assert {event: holds for event, (holds, _) in found.items()} == {
        '2': True, '3': True, '4': False, '5': True, '7': True}
    assert 'ERROR [mavlink] unknown param: MPC_XY_VEL_MX' in found['2'][1]
    assert found['4'][1].endswith('MAV_RESULT_TEMPORARILY_REJECTED')
    assert 'MAV_RESULT_TEMPORARILY_REJECTED' in result.stderr


def test_a_name_that_px4_does_not_have_is_refused_before_it_starts(tmp_path):
    scenario = tmp_path / 'asked.yaml'
    scenario.write_text(json.dumps({'px4': {'NO_SUCH_PARAM': 1}}))
    result = run('fly', '--mode', 'core', '--autopilot', 'px4', '--scenario', scenario)
    assert (result.returncode, result.stdout) == (2, '')
    assert 'px4: NO_SUCH_PARAM: PX4 has no such parameter' in result.stderr
