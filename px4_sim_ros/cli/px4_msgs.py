# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `px4-msgs`: px4_msgs for nodes in Python, from the messages of a PX4."""
from __future__ import annotations

import argparse
import pathlib

from px4_sim_ros.process.new_folder import new_folder
from px4_sim_ros.px4.sitl import Px4, add_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('folder', metavar='FOLDER', help='where it is made, for PYTHONPATH; it must'
                        ' not exist yet')
    add_argument(parser, 'the PX4 whose messages they are')
    parser.add_argument('--message', action='append', metavar='NAME', help='a message more than'
                        ' those of offboard control, as VehicleGlobalPosition; may be repeated')


def px4_msgs(options: argparse.Namespace) -> int:
    """Build the package; return the exit code."""
    px4 = Px4.find(options.px4_dir)
    folder = pathlib.Path(new_folder(options.folder))
    from px4_sim_ros.ros.tools import build_px4_msgs
    build_px4_msgs.build(
        px4.messages, folder, (*build_px4_msgs.USUAL, *(options.message or ())))
    print(f'for your nodes: export PYTHONPATH={folder}:$PYTHONPATH')
    return 0
