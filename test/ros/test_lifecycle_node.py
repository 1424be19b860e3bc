# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes leave nothing of ROS behind, for Fast DDS may hang where a process ends with it."""
import subprocess
import sys

import pytest

# All nodes are made, and destroyed again; then the threads of Fast DDS are told.
MADE_AND_DESTROYED = '''
import pathlib, sys
from px4_sim_ros.ros import world
world._spin = lambda *arguments: None
world.main(['--ros-args', '--log-level', 'warn', '-p', 'recorder:=true', '-p', 'wind:=dryden'])
names = {(task / 'comm').read_text().strip() for task in pathlib.Path('/proc/self/task').iterdir()}
print(*sorted(name for name in names if name.startswith(('dds.ev', 'dds.udp'))))
'''


@pytest.mark.slow
def test_no_participant_is_left_when_nodes_are_destroyed():
    done = subprocess.run([sys.executable, '-c', MADE_AND_DESTROYED],
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, '\n', '')
