"""The command `visualizer`: publishes for rviz2 and other viewers what a graph does."""
from __future__ import annotations

import argparse
import os
import sys
import typing

import rclpy
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.config.resources import own_arguments
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.ros.world import Stop
from px4_sim_ros.run import viewed
from px4_sim_ros.run.processes import ros_environment

_SPIN_S = 0.1


def visualizer(options: argparse.Namespace, ros_arguments: typing.Sequence[str] = ()) -> int:
    """Publish until a signal comes; return the exit code."""
    from px4_sim_ros.ros.visualizer import VisualizerNode
    try:
        configuration = viewed.configuration_of(options)
    except ParameterError as error:
        print(f'visualizer: {error}', file=sys.stderr)
        return 2
    stop = Stop()
    # Whoever flies comes first where there are few cores.
    os.nice(viewed.NICENESS)
    os.environ.update(ros_environment())
    try:
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:      # what rclpy raises for ROS arguments that are wrong
        print(f'visualizer: {error}', file=sys.stderr)
        return 2
    node = VisualizerNode(configuration)
    try:
        while not stop.asked:
            rclpy.spin_once(node, timeout_sec=_SPIN_S)
    finally:
        node.destroy_node()
        rclpy.shutdown()
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    viewed.add_arguments(parser)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='visualizer', description=__doc__)
    add_arguments(parser)
    return visualizer(parser.parse_args(own_arguments(arguments)[0]), arguments)


if __name__ == '__main__':
    sys.exit(main())
