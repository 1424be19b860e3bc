# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever a file, a folder or an option is: a command takes it, or refuses it in one sentence.

No traceback, no crash, no hang, no memory beyond a bound. `fuzz.py` says how an input is tried
again.
"""
import json
import os
import subprocess
import sys

import fuzz
import pytest

SEED = 39
EACH, LONG = 6, 10_000            # of each kind; of all kinds together
MOST_MB = 500


def tried(kinds, first, count, folder):
    """Try inputs in a process of its own; return what it has found."""
    flown = subprocess.run(
        [sys.executable, fuzz.__file__, ','.join(kinds), str(SEED), str(first), str(count), folder],
        capture_output=True, text=True, check=False, cwd=folder,
        env=os.environ | {'PYTHONPATH': os.pathsep.join(sys.path)})
    assert flown.returncode == 0, f'{flown.returncode}: {flown.stderr[-3000:]}'
    return json.loads(flown.stdout.splitlines()[-1])


def check(found, count):
    faults = '\n'.join(f'{name}: {words}\n{what}' for name, words, what in found['faults'])
    assert not faults, f'{len(found["faults"])} of {count}:\n{faults}'
    assert found['inputs'] == count
    assert found['megabytes'] < MOST_MB
    assert found['slowest'][0] < fuzz.LONGEST_S


def test_some_of_each_kind(tmp_path):
    check(tried(fuzz.KINDS, 0, EACH, tmp_path), EACH * len(fuzz.KINDS))


@pytest.mark.long
@pytest.mark.parametrize('kind', fuzz.KINDS)
def test_thousands(kind, tmp_path):
    count = LONG // len(fuzz.KINDS) + 1
    check(tried([kind], EACH, count, tmp_path), count)

