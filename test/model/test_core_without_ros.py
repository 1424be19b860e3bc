# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The core imports where there is no ROS."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CODE = '''
import importlib, pkgutil, sys

class NoRos:
    def find_spec(self, name, path=None, target=None):
        top = name.partition('.')[0]
        if top in ('rclpy', 'launch', 'launch_ros') or top.endswith(('_msgs', '_interfaces')):
            raise ImportError(f'{name} was imported')

sys.meta_path.insert(0, NoRos())
import px4_sim_ros.model
names = [m.name for m in pkgutil.walk_packages(px4_sim_ros.model.__path__, 'px4_sim_ros.model.')]
for name in names:
    importlib.import_module(name)
try:
    import rclpy
except ImportError:
    print(len(names))
'''


@pytest.mark.slow
def test_every_module_of_the_core_imports_with_rclpy_blocked():
    """In a fresh process, with ROS and its message packages refused."""
    result = subprocess.run(
        [sys.executable, '-c', CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= 15
