# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `import-bag`: makes a recording of a bag of `ros2 bag record`."""
from __future__ import annotations

import argparse
import pathlib
import sys

from px4_sim_ros.cli import output
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED
from px4_sim_ros.flight import settings
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.recording.bag.rosbag2_import import import_bag as import_ros_bag
from px4_sim_ros.recording.bag.run_description import BagError, RunDescription
from px4_sim_ros.spec.configuration import Configuration, load_configuration, profile_parameters
from px4_sim_ros.spec.recording import RecorderParameters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', type=pathlib.Path, help='folder that ros2 bag record has made')
    parser.add_argument('-o', '--output', type=pathlib.Path, required=True, metavar='FOLDER',
                        help='that the recording becomes; it must not exist yet')
    parser.add_argument('--namespace', default='', help='of the nodes that were recorded')
    settings.add_graph_arguments(parser)


def import_bag(options: argparse.Namespace) -> int:
    """Make the recording; return the exit code."""
    try:
        configuration = _configuration(options)
        run = RunDescription.of(
            configuration, mode='composed', autopilot='none', namespace=options.namespace)
        found = import_ros_bag(options.bag, options.output, run,
                               configuration.of_node('recorder', RecorderParameters))
    except (BagError, ParameterError) as error:
        return output.failed('import-bag', error, BAD_INPUT)
    except OSError as error:
        print(f'import-bag: {options.output}: {sentence(error)}', file=sys.stderr)
        return FAILED
    print(f'{options.output}: all up to t = {seconds_text(found.end_us)}')
    if found.problem:
        print(f'import-bag: {found.problem}', file=sys.stderr)
        return FAILED
    return 0


def _configuration(options: argparse.Namespace) -> Configuration:
    """Return how the run was set up, as it is told, with how to record.

    :raises ParameterError: a parameter is not allowed
    """
    given = settings.settings(options)
    given[''] |= {'recorder': True}
    return load_configuration(options.params_file, given, options.namespace,
                              base=profile_parameters(options.profile))
