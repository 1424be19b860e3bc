# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `visualizer`: publishes for rviz2 and other viewers what a graph does."""
from __future__ import annotations

import argparse
import pathlib
import sys
import typing

from px4_sim_ros.cli import output
from px4_sim_ros.cli.output import BAD_INPUT
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import leaving
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.configuration import Configuration, load_configuration, profile_parameters
from px4_sim_ros.spec.resources import own_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    settings.add_arguments(parser)
    parser.add_argument('--params-file', type=pathlib.Path,
                        help='the parameter file that the graph was started with')
    parser.add_argument('--only-tf', action='store_true', help='publish nothing but /tf and'
                        ' /tf_static: the true pose at the display rate of simulated time')
    parser.add_argument('--fleet', type=pathlib.Path, metavar='FILE', help='of several vehicles,'
                        ' which this file describes: with --only-tf of all')
    parser.add_argument('--member', metavar='NAME', help='with --fleet: which vehicle')


def visualizer(options: argparse.Namespace) -> int:
    """Publish until a signal comes; return the exit code."""
    from px4_sim_ros.ros.nodes.visualizer import TfBroadcaster, VisualizerNode, run
    try:
        if options.only_tf:
            vehicles = _vehicles(options)
            run(lambda: TfBroadcaster(vehicles), options.ros_arguments)
        else:
            vehicles = _vehicles(options)
            if options.fleet is not None and options.member not in vehicles:
                raise ParameterError(f'member {options.member!r}: there are'
                                     f" {', '.join(vehicles)}")
            configuration = vehicles[options.member if options.fleet is not None else '']
            run(lambda: VisualizerNode(configuration, of_fleet=options.fleet is not None),
                options.ros_arguments)
    except ParameterError as error:
        return output.failed('visualizer', error, BAD_INPUT)
    return 0


def _vehicles(options: argparse.Namespace) -> dict[str, Configuration]:
    """Return the parameters of the vehicles of the graph, by namespace."""
    if options.fleet is None:
        return {'': load_configuration(
            options.params_file, settings.settings(options),
            base=profile_parameters(options.profile))}
    from px4_sim_ros.recording.bag.fleet_description import read_fleet_file
    members = read_fleet_file(options.fleet).members
    return {name: run.configuration({}) for name, run in members.items()}


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    if arguments is None:
        return leaving.run(lambda: main(sys.argv[1:]))
    parser = argparse.ArgumentParser(prog='visualizer', description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(own_arguments(arguments))
    options.ros_arguments = arguments
    return visualizer(options)


if __name__ == '__main__':
    leaving.end(main())
