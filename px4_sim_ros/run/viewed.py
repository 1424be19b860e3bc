"""Which graph a viewer looks at: its parameters, given as for `fly`, or those of a recording."""
from __future__ import annotations

import argparse
import pathlib

from px4_sim_ros.config.configuration import Configuration, load_configuration, profile_parameters
from px4_sim_ros.run import settings

# Of processes that look on, added to that of whoever starts them.
NICENESS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options that say what the graph is like."""
    settings.add_arguments(parser)
    parser.add_argument('--params-file', type=pathlib.Path,
                        help='the parameter file that the graph was started with')


def configuration_of(options: argparse.Namespace, namespace: str = '') -> Configuration:
    """Return the parameters of the graph that these options tell of.

    :raises ParameterError: one of them is not allowed
    """
    return load_configuration(
        options.params_file, settings.settings(options), namespace,
        base=profile_parameters(options.profile))
