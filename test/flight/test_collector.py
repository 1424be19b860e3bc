# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The collector of cycles begins when a program has been loaded, and nobody else notices."""
import gc
import subprocess
import sys

import pytest

from px4_sim_ros.process import gc_control

LIST = '''
import gc, runpy, sys
sys.argv = ['px4_sim_ros', 'list']
try:
    runpy.run_module('px4_sim_ros', run_name='__main__')
finally:
    print(gc.isenabled(), gc.get_freeze_count() > 1000)
'''


@pytest.fixture
def as_before():
    """Let the collector of this process be as it was."""
    yield
    gc.unfreeze()
    gc.enable()


def test_it_is_held_and_released(as_before):
    gc_control.hold()
    assert not gc.isenabled()
    gc_control.release()
    assert gc.isenabled() and gc.get_freeze_count() > 1000


def test_one_that_was_not_held_stays_as_it_is():
    frozen = gc.get_freeze_count()
    gc_control.release()
    assert gc.isenabled() and gc.get_freeze_count() == frozen


def test_a_command_runs_with_it():
    said = subprocess.run([sys.executable, '-c', LIST], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == 'True True'
