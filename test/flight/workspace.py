# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What tests need that launch the package as an installed ROS 2 has it."""
import shutil
import subprocess

import pytest

ROS2 = shutil.which('ros2')
needs_workspace = pytest.mark.skipif(
    ROS2 is None or subprocess.run(
        [ROS2, 'pkg', 'prefix', 'px4_sim_ros'], capture_output=True, check=False).returncode != 0,
    reason='px4_sim_ros is not built with colcon in a sourced workspace')
