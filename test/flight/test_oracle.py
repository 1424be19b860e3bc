# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of what the package brings, in the modes: a change that moves code keeps them.

`make test-long` compares with `oracle.txt`; `make oracle` writes it. CHANGELOG.rst names the reason
of each line that has changed.
"""
import fcntl
import json
import os
import pathlib

import locks
import pytest
from commands import run

from px4_sim_ros.spec.resources import named_files

ORACLE = pathlib.Path(__file__).parent / 'oracle.txt'
pytestmark = [pytest.mark.long, pytest.mark.skipif(
    not ORACLE.exists() and 'ORACLE_OUT' not in os.environ,
    reason='oracle.txt is missing: `make oracle` writes it before code is moved')]
DRYDEN = '--wind', 'dryden', '--seed', 7
# Refused before anything starts: what `fly` says is compared.
REFUSED = {
    'unknown-parameter': ('--wind', 'constant', '--set', 'wind.spedd_m_s=8'),
    'out-of-range': ('--wind', 'constant', '--set', 'wind.speed_m_s=-1'),
    'no-setting': ('--set', 'wind'),
    'unknown-vehicle': ('--vehicle', 'iriss'),
    'unknown-mission': ('--mission', 'squre'),
    'unknown-scenario': ('--scenario', 'motor_outt'),
    'unknown-profile': ('--profile', 'cheep'),
    'core-has-no-topics': ('--namespace', 'uav1'),
    'no-such-px4': ('--autopilot', 'px4', '--px4-dir', '/nowhere'),
}
CASES = {
    **{f'refused/{name}': ('core', *words) for name, words in REFUSED.items()},
    **{f'vehicle/{name}': ('core', '--vehicle', name, *DRYDEN) for name in named_files('vehicles')},
    **{f'mission/{name}': ('core', '--mission', name) for name in named_files('missions')},
    **{f'profile/{name}': ('core', '--profile', name, *DRYDEN) for name in named_files('profiles')},
    **{f'scenario/{name}': ('core', '--scenario', name) for name in named_files('scenarios')},
    **{f'fleet/{name}': ('core', '--fleet', name, *DRYDEN) for name in named_files('fleets')},
    **{f'{mode}/{name}': (mode, *words) for mode in ('composed', 'separate') for name, words in {
        'square': DRYDEN, 'by_hand': ('--scenario', 'by_hand'),
        'trio': ('--fleet', 'trio', *DRYDEN),
    }.items()},
    'late/hover': ('core', '--mission', 'hover', '--set', 'dynamics.command_delay_us=4000'),
}
KNOWN = dict(line.split(': ', 1) for line in (
    ORACLE.read_text().splitlines() if ORACLE.exists() else ()))


@pytest.mark.parametrize('case', CASES)
def test_the_result_is_that_of_the_oracle(case, tmp_path):
    mode, *words = CASES[case]
    summary = tmp_path / 'summary.json'
    with locks.lock_file('oracle') as lock:
        # A fleet has the instances of its file; each of the others takes the first that is free.
        fcntl.flock(lock, fcntl.LOCK_EX if '--fleet' in words else fcntl.LOCK_SH)
        result = run('fly', '--mode', mode, *words, '--summary', summary, timeout_s=900)
    found = f'exit {result.returncode}, ' + (
        json.loads(summary.read_text())['fingerprint'] if summary.exists()
        else result.stderr.splitlines()[-1])
    if out := os.environ.get('ORACLE_OUT'):
        with open(out, 'a') as file:
            file.write(f'{case}: {found}\n')
    else:
        assert found == KNOWN[case]


def test_the_oracle_has_each_case():
    assert os.environ.get('ORACLE_OUT') or sorted(KNOWN) == sorted(CASES)
