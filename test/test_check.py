# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can be said without running: the linter, the rules of the rooms, and the types."""
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.process
@pytest.mark.parametrize(
    'words', [('mypy',), ('ruff', 'check', '.'), ('lint-imports',)], ids=lambda words: words[0])
def test_check(words):
    """They are those of `make check`; an environment without one, as that of ROS, skips it."""
    program = shutil.which(words[0], path=pathlib.Path(sys.executable).parent)
    if program is None:
        pytest.skip(f'{words[0]} is not installed; requirements-test.txt has it')
    result = subprocess.run([program, *words[1:]], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
