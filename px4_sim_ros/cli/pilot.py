# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `pilot`: flies a mission with an autopilot that runs already."""
from __future__ import annotations

import argparse
import contextlib

from px4_sim_ros.cli import output
from px4_sim_ros.cli.arguments import instance
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.cli.progress import Progress
from px4_sim_ros.link.pilot.events import MissionError
from px4_sim_ros.link.pilot.pilot import Pilot
from px4_sim_ros.spec.files import load_mission


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('--mission', default='square', help='name in config/missions, or a path')
    parser.add_argument('--instance', type=instance, default=0,
                        help='as PX4: UDP port 14540 + instance, from 10 on 14690 + instance')
    parser.add_argument('--upload', action='store_true', help='give the mission to the navigator of'
                        ' PX4, also that of a multirotor')


def pilot(options: argparse.Namespace) -> int:
    """Fly the mission; return the exit code.

    :raises OSError: the port is in use
    """
    mission = load_mission(options.mission)
    with (contextlib.closing(Progress(mission.events)) as progress,
          contextlib.closing(Pilot(
              options.instance, progress.on_event, uploads=options.upload)) as link):
        try:
            link.fly(mission)
        except MissionError as error:
            return output.failed('pilot', error, FAILED)
    return 0
