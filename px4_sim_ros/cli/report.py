# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `report`: a page about a recorded flight."""
from __future__ import annotations

import argparse
import pathlib
import sys

from px4_sim_ros.cli.output import BAD_INPUT
from px4_sim_ros.model.errors import sentence
from px4_sim_ros.spec.resources import check_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', metavar='BAG', type=pathlib.Path,
                        help='folder that was recorded with --record')
    parser.add_argument('-o', '--out', '--output', dest='output', metavar='FILE.html',
                        type=pathlib.Path,
                        help='page to write; by default the name of the bag, here')


def report(options: argparse.Namespace) -> int:
    """Write the page; return the exit code."""
    # It draws, which takes a while to import, and other commands do without.
    from px4_sim_ros.recording.report.fleet_report import write_any_report
    page = options.output or pathlib.Path(f'{options.bag.absolute().name}.html')
    check_page('output', page)
    try:
        write_any_report(options.bag, page)
    except OSError as error:
        print(f'report: {page}: {sentence(error)}', file=sys.stderr)
        return BAD_INPUT
    print(f'{page}: {page.stat().st_size / 1e6:.1f} MB')
    return 0
