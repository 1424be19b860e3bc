# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `view`: a running graph, or a recording, in the viewer Rerun."""
from __future__ import annotations

import argparse
import functools
import os
import pathlib
import sys

from px4_sim_ros.cli.arguments import namespace
from px4_sim_ros.cli.exit_codes import FAILED
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.spec import settings
from px4_sim_ros.viewing.rerun_target import OPEN, RerunTarget, ViewerError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', nargs='?', metavar='BAG',
                        help='folder of a recording; without it a graph that runs is shown')
    parser.add_argument('--viewer', default=OPEN, metavar='rerun|FILE.rrd|URL',
                        help='open the viewer, write a file for it, or send to one that runs')
    parser.add_argument('--namespace', type=namespace, default='', help='of the graph that runs')
    settings.add_graph_arguments(parser)


def view(options: argparse.Namespace) -> int:
    """Show what is asked for; return the exit code."""
    # Rerun's own log; what matters comes as an exception.
    os.environ.setdefault('RUST_LOG', 'off')
    try:
        target = RerunTarget(options.viewer)
        if options.bag is not None:
            _show_bag(vehicles_of(options.bag), pathlib.Path(options.bag), target)
        else:
            _show_graph(options, target)
    except (ViewerError, OSError) as error:
        print(f'view: {sentence(error)}', file=sys.stderr)
        if target.hangs:
            sys.stderr.flush()
            os._exit(FAILED)
        return FAILED
    return 0


def _show_bag(bags: list[BagReader], folder: pathlib.Path, target: RerunTarget) -> None:
    """Write a whole recording."""
    open_run = functools.cache(lambda: target.open_run(folder.name))
    try:
        if bags[0].folder == folder.expanduser():
            from px4_sim_ros.viewing.rerun_bag import write_vehicle
            write_vehicle(bags[0], open_run)
        else:
            from px4_sim_ros.viewing.rerun_bag import write_fleet
            write_fleet(bags, open_run)
    except ParameterError:       # the recording does not fit its vehicle
        target.discard_run()
        raise
    target.close_run(open_run())


def _show_graph(options: argparse.Namespace, target: RerunTarget) -> None:
    """Show the graph that runs, and each that comes after it, until a signal comes."""
    from px4_sim_ros.ros.tools.rerun_view import show_graph
    configuration = settings.graph_configuration(options, options.namespace)
    show_graph(configuration, options.namespace, target)
