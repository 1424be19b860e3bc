# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `replay`: fly the recorded commands again and compare all that comes of it."""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import tempfile

from px4_sim_ros.cli import compare, flown_again
from px4_sim_ros.cli.arguments import namespace, speed_factor
from px4_sim_ros.cli.compare import report_comparison
from px4_sim_ros.cli.exit_codes import FAILED
from px4_sim_ros.flight import replay as replaying
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.recording.playback import commands
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.resources import check_page, check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    flown_again.add_arguments(parser)
    # For the launch file: the graph runs already and records into this folder.
    parser.add_argument('--join', help=argparse.SUPPRESS)
    parser.add_argument('--namespace', type=namespace, default='',
                        help='of the graph, or of what is played')
    play = parser.add_argument_group('playing', 'only publish what was recorded, for viewers')
    play.add_argument('--play', action='store_true', help='fly nothing, play')
    play.add_argument('--rate', type=speed_factor, metavar='X|max',
                      help='simulated over wall time, 1 by default')
    play.add_argument('--start', type=float, metavar='S', help='simulated time, 0 by default')
    play.add_argument('--paused', action='store_true', help='begin paused')
    play.add_argument('--loop', action='store_true', help='begin again at the end')


def replay(options: argparse.Namespace) -> int:
    """Fly a recording again and report; return the exit code."""
    return flown_again.run('replay', options, lambda: _replay(options))


def _replay(options: argparse.Namespace) -> int:
    check_page('plot', options.plot)
    return compare.each(
        options, _flown(vehicles_of(options.bag)), ('play', 'join', 'record', 'json', 'plot'),
        lambda bag: _replay_one(options, bag))


def _flown(bags: list[BagReader]) -> list[BagReader]:
    """Leave out the vehicles that were in reserve to the end."""
    return [bag for bag in bags if len(bags) == 1 or bag.run.joins_us is not None
            or any(True for _ in commands(bag))]


def _replay_one(options: argparse.Namespace, bag: BagReader) -> int:
    overrides = _overrides(options)
    is_what_if = flown_again.is_what_if(options, overrides)
    if options.play:
        if is_what_if or options.record or options.json or options.plot:
            raise ParameterError('play: it only publishes; leave out what is for a flight')
        from px4_sim_ros.ros.tools.bag_player import play
        return play(bag, rate=1.0 if options.rate is None else options.rate,
                    start_s=options.start or 0.0, paused=options.paused,
                    loop=options.loop, namespace=options.namespace or None)
    _check_no_playing(options)
    check_writable('json', options.json)
    found = replaying.survey(bag)
    if options.join is not None:
        replaying.conduct(options.namespace, found, [])
        return _report(bag, BagReader(options.join), options, is_what_if)
    with tempfile.TemporaryDirectory() as folder:
        prepared = replaying.prepare(
            bag, options.mode, found, overrides, pathlib.Path(folder),
            profile=options.profile, record=options.record)
        replaying.run(prepared, pathlib.Path(folder))
        return _report(bag, BagReader(prepared.bag), options, is_what_if)


def _check_no_playing(options: argparse.Namespace) -> None:
    """Check that nothing is asked for that only --play does."""
    given = {'rate': options.rate is not None, 'start': options.start is not None,
             'paused': options.paused, 'loop': options.loop}
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f'{name}: only with --play, since a replay flies all steps')


def _overrides(options: argparse.Namespace) -> settings.Settings:
    """Return the differences from the recording."""
    found = flown_again.overrides(options)
    if 'hil_bridge' in found:
        raise ParameterError('hil_bridge: a replay has no bridge, since the commands are those of'
                             ' the recording')
    for node in ('manager', 'player', 'recorder'):
        if node in found:
            raise ParameterError(f'{node}: a replay sets the parameters of this node itself')
    return found


def _report(
    bag: BagReader, flown: BagReader, options: argparse.Namespace, is_what_if: bool,
) -> int:
    """Report how a replay compares with its recording; return the exit code."""
    found = dataclasses.replace(compare_bags(bag, flown), names=(str(bag.folder), 'the replay'))
    report_comparison(bag, flown, found, options, is_what_if=is_what_if)
    return 0 if is_what_if or found.identical else FAILED
