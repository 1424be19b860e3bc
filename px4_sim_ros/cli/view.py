# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `view`: a running graph, or a recording, in the viewer Rerun."""
from __future__ import annotations

import argparse
import os
import sys

from px4_sim_ros.cli import output
from px4_sim_ros.cli.arguments import namespace
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.run import settings
from px4_sim_ros.viewing.rerun_target import OPEN, RerunTarget, ViewerError

_LEVELS = {'warning': 'WARN', 'error': 'ERROR'}


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
            _show_bag(BagReader(options.bag), target)
        else:
            _show_graph(options, target)
    except (ParameterError, BagError) as error:
        return output.failed('view', error, BAD_INPUT)
    except (ViewerError, OSError) as error:
        print(f'view: {sentence(error)}', file=sys.stderr)
        if target.hangs:
            sys.stderr.flush()
            os._exit(FAILED)
        return FAILED
    return 0


def _show_bag(bag: BagReader, target: RerunTarget) -> None:
    """Write a whole recording."""
    from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
    from px4_sim_ros.recording.analysis.flight_facts import mission_waypoints
    from px4_sim_ros.viewing.rerun_log import RerunLog
    contents = read_contents(bag)
    series = contents.series
    odometry = series.get('ground_truth/odom')
    places = mission_waypoints(bag.run, odometry['position_m'].values[0]) if odometry else []
    configuration, lines = bag.run.configuration({}), marks(bag.run, contents)
    stream = target.open_run(bag.folder.name)
    log = RerunLog(stream, configuration, places, whole=True)
    try:
        log.add(series)
    except ParameterError:       # the recording does not fit its vehicle
        target.discard_run()
        raise
    for mark in lines:
        log.log_text(mark.start_s, _LEVELS.get(mark.kind, 'INFO'), mark.who or mark.kind, mark.text)
    target.close_run(stream)
    if bag.damage:
        print(bag.damage, file=sys.stderr)


def _show_graph(options: argparse.Namespace, target: RerunTarget) -> None:
    """Show the graph that runs, and each that comes after it, until a signal comes."""
    from px4_sim_ros.ros.rerun_view import show_graph
    configuration = settings.graph_configuration(options, options.namespace)
    show_graph(configuration, options.namespace, target)
