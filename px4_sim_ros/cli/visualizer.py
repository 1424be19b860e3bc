# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `visualizer`: publishes for rviz2 and other viewers what a graph does."""
from __future__ import annotations

import argparse
import sys
import typing

from px4_sim_ros.cli import output
from px4_sim_ros.cli.exit_codes import BAD_INPUT
from px4_sim_ros.config.resources import own_arguments
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.run import settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    settings.add_graph_arguments(parser)
    parser.add_argument('--only-tf', action='store_true', help='publish nothing but /tf and'
                        ' /tf_static: the true pose at the display rate of simulated time')


def visualizer(options: argparse.Namespace) -> int:
    """Publish until a signal comes; return the exit code."""
    from px4_sim_ros.ros.visualizer import run
    try:
        run(settings.graph_configuration(options), options.ros_arguments,
            only_tf=options.only_tf)
    except ParameterError as error:
        return output.failed('visualizer', error, BAD_INPUT)
    return 0


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='visualizer', description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(own_arguments(arguments))
    options.ros_arguments = arguments
    return visualizer(options)


if __name__ == '__main__':
    sys.exit(main())
