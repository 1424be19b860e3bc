# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What tests calculate in a process in which nothing is compiled."""
import json
import os
import subprocess
import sys


def uncompiled(function):
    """Return what a function of a test, without arguments, returns as JSON in plain Python."""
    module = function.__module__
    code = f'import json, {module}; print(json.dumps({module}.{function.__name__}()))'
    folder = os.path.dirname(sys.modules[module].__file__)
    printed = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True,
        env=os.environ | {'NUMBA_DISABLE_JIT': '1',
                          'PYTHONPATH': os.pathsep.join([folder, *sys.path])}).stdout
    return json.loads(printed)
