# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands of the tutorial, in order, in a folder of their own."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from commands import here, write_hop

from px4_sim_ros.flight.instances import own_instance

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'tutorial.md').read_text('utf-8')
COMMANDS = [line for block in re.findall(r'```sh\n(.*?)```', PAGE, re.S)
            for line in block.splitlines()]
INSTALL = ('python3 -m venv', '. flying', 'pip install')


@pytest.mark.process
@pytest.mark.slow
def test_each_command_does_as_the_tutorial_says(tmp_path, monkeypatch):
    shutil.copytree(ROOT / 'examples', tmp_path / 'examples')
    code, = re.findall(r'```python\n(.*?)```', PAGE, re.S)
    (tmp_path / 'test_hop.py').write_text(code)
    monkeypatch.delenv('PX4_DIR', raising=False)
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    environment = os.environ | {
        'PYTEST_ADDOPTS': '-p px4_sim_ros.testing.plugin -p no:cacheprovider'
        ' -p no:launch_testing -p no:launch_ros'}
    run, hop = 0, write_hop(tmp_path, 0.4)
    for command in COMMANDS:
        # PX4 has tests of its own.
        if command.startswith(INSTALL) or '--autopilot px4' in command:
            continue
        with own_instance(of_px4=False, flies_here=False) as instance:
            # Fewer runs show as well that the command and its page are right, as a hop does.
            program, *words = shlex.split(command.replace('--runs 8', '--runs 2 --workers 1'))
            if words[0] == 'fly':
                words += [] if '--mission' in words else ['--mission', hop]
                # The same flight as composed.
                words += ['--mode', 'core', '--instance', instance]
            if program == 'px4_sim_ros':
                result = here(*words, cwd=tmp_path)
            else:
                result = subprocess.run(
                    [sys.executable if program == 'python' else program, *words], cwd=tmp_path,
                    env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f'{command}\n{result.stdout}\n{result.stderr}'
        run += 1
    assert run >= 9
    for name in 'flight.html', 'campaigns/hour/report.html':
        assert (tmp_path / name).is_file()


def test_the_files_that_it_names_are_there():
    assert [line for line in COMMANDS if line.startswith(INSTALL)][2:] == [
        'pip install ".[test,campaign]"']
