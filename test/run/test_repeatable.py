# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight with its autopilot repeats bit for bit, in every mode; what does not is named."""
import functools
import json
import os
import subprocess

import pytest
from commands import run, write_hop

from px4_sim_ros.run.px4 import Px4

PX4_DIR = os.environ.get('PX4_DIR', '')
MODES = 'core', 'composed', 'separate'


def may_repeat():
    """Return why no PX4 can be flown so that it repeats itself, '' if one can."""
    if not PX4_DIR:
        return 'PX4_DIR does not point to a built PX4'
    permits = subprocess.run(['chrt', '--fifo', '50', 'true'], capture_output=True, check=False)
    return 'SCHED_FIFO is not permitted' if permits.returncode else ''


PX4_INSTANCE = 7     # that of no other test: PX4 caps the ports that a pilot uses at instance 9


@pytest.fixture
def fly(instance, tmp_path):
    """Return a function that flies the shortest mission in a gusty wind; it returns the summary."""
    def fly(*words, autopilot='embedded', code=0, instance=instance):
        file = tmp_path / 'summary.json'
        result = run('fly', '--mission', write_hop(tmp_path, 3.0), '--wind', 'dryden', '--instance',
                     instance, '--autopilot', autopilot, '--summary', file, *words)
        assert result.returncode == code, result.stdout + result.stderr
        return json.loads(file.read_text()) | {'said': result.stderr}
    return fly


@pytest.mark.slow
def test_the_embedded_autopilot_repeats_itself_in_every_mode(fly):
    first, *others = [fly('--mode', mode) for mode in MODES]
    assert len(first['fingerprint']) == 16 and first['repeatable']
    for key in 'fingerprint', 'repeatable', 'steps', 'sim_time_s':
        assert [other[key] for other in others] == [first[key]] * len(others)


@pytest.mark.slow
def test_another_fingerprint_than_expected_is_a_failure(fly):
    found = fly('--mode', 'core')['fingerprint']
    other = fly('--mode', 'core', '--seed', '2')['fingerprint']
    assert other != found
    fly('--mode', 'core', '--expect', found)
    summary = fly('--mode', 'core', '--expect', other, code=1)
    assert summary['said'] == f'fly: expect {other}: the fingerprint is {found}\n'


@pytest.mark.slow
@pytest.mark.skipif(bool(may_repeat()), reason=may_repeat())
def test_px4_repeats_itself_in_every_mode(fly, monkeypatch):
    """In the same wind with another seed, or another gain, it flies otherwise."""
    fly = functools.partial(
        fly, '--px4-schedule', 'repeatable', autopilot='px4', instance=PX4_INSTANCE)
    found = [fly('--mode', mode) for mode in (*MODES, 'core')]
    assert all(summary['repeatable'] for summary in found), found
    assert len({summary['fingerprint'] for summary in found}) == 1
    other = fly('--mode', 'core', '--seed', '2')
    monkeypatch.setenv('PX4_PARAM_MPC_XY_P', '0.9')
    tuned = fly('--mode', 'core')
    assert len({s['fingerprint'] for s in (found[0], other, tuned)}) == 3


@pytest.mark.slow
@pytest.mark.skipif(not PX4_DIR, reason='PX4_DIR does not point to a built PX4')
def test_px4_as_it_is_scheduled_by_default_is_not_called_repeatable(fly):
    summary = fly('--mode', 'core', autopilot='px4', instance=PX4_INSTANCE)
    assert not summary['repeatable']
    assert summary['not_repeatable_because'] == f'PX4 runs with the schedule {Px4.schedule}'
