# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `export`: the signals of a recording as tables."""
from __future__ import annotations

import argparse
import pathlib
import sys

from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.analysis.export import CSV, FORMATS
from px4_sim_ros.recording.analysis.export import export as export_bag
from px4_sim_ros.recording.bag.reader import BagReader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', type=pathlib.Path, help='folder that was recorded with --record')
    parser.add_argument('-o', '--out', '--output', dest='output', type=pathlib.Path,
                        metavar='FOLDER',
                        help='for a file of each topic; by default the name of the bag, here')
    parser.add_argument('--format', choices=FORMATS, default=CSV, help='of the files')
    parser.add_argument('--topics', nargs='+', default=(), metavar='TOPIC',
                        help='which; by default all that have signals')
    parser.add_argument('--every', type=int, default=1, metavar='N',
                        help='write one of N messages of each topic')


def export(options: argparse.Namespace) -> int:
    """Write the tables; return the exit code."""
    folder = options.output or pathlib.Path(f'{options.bag.absolute().name}_{options.format}')
    if options.every < 1:
        raise ParameterError(f'every = {options.every}: must be at least 1')
    try:
        files = export_bag(
            BagReader(options.bag), folder, options.format, options.topics, options.every)
    except OSError as error:
        print(f'export: {folder}: {sentence(error)}', file=sys.stderr)
        return FAILED
    for file in files:
        print(file)
    return 0
