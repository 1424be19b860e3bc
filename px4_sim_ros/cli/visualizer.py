"""The command `visualizer`: publishes for rviz2 and other viewers what a graph does."""
from __future__ import annotations

import argparse
import sys
import typing

from px4_sim_ros.config.resources import own_arguments
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.run import settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    settings.add_graph_arguments(parser)


def visualizer(options: argparse.Namespace) -> int:
    """Publish until a signal comes; return the exit code."""
    from px4_sim_ros.ros.visualizer import run
    try:
        run(settings.graph_configuration(options), options.ros_arguments)
    except ParameterError as error:
        print(f'visualizer: {error}', file=sys.stderr)
        return 2
    return 0


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='visualizer', description=__doc__)
    add_arguments(parser)
    own, _ = own_arguments(arguments)
    options = parser.parse_args(own)
    options.ros_arguments = arguments
    return visualizer(options)


if __name__ == '__main__':
    sys.exit(main())
