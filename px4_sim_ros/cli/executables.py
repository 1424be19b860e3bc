# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The executables of `ros2 run` and of launch files."""
from __future__ import annotations

from px4_sim_ros.process import signal_mask


def command_line() -> int:
    """Run `px4_sim_ros`."""
    signal_mask.block()
    from px4_sim_ros.cli.command_line import main
    from px4_sim_ros.process import leaving
    return leaving.end(main())


def world() -> int:
    signal_mask.end_while_importing()
    from px4_sim_ros.process import leaving
    from px4_sim_ros.ros.world import main
    return leaving.end(main())


def autopilot_supervisor() -> int:
    signal_mask.end_while_importing()
    from px4_sim_ros.launching.autopilot_supervisor import main
    from px4_sim_ros.process import leaving
    return leaving.end(main())


def visualizer() -> int:
    signal_mask.end_while_importing()
    from px4_sim_ros.cli.visualizer import main
    from px4_sim_ros.process import leaving
    return leaving.end(main())
