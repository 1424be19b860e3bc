# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `replay`: fly the recorded commands again and compare all that comes of it."""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
import tempfile

from px4_sim_ros.cli import output
from px4_sim_ros.cli.arguments import namespace, speed_factor
from px4_sim_ros.cli.compare import report_comparison
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED
from px4_sim_ros.config.resources import check_page, check_writable
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.run import replay as replaying
from px4_sim_ros.run import settings
from px4_sim_ros.run.flight import MODES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bag', help='folder of a recording')
    parser.add_argument('--mode', choices=MODES, default='core',
                        help='how the graph is run; the results are the same')
    parser.add_argument('--record', metavar='DIR', help='keep what comes of it as a recording')
    settings.add_arguments(parser)
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='write the figures here')
    parser.add_argument('--plot', type=pathlib.Path, metavar='FILE.html',
                        help='write a plot of the deviation here')
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
    try:
        check_page('plot', options.plot)
        bag = BagReader(options.bag)
        overrides = _overrides(options)
        is_what_if = bool(overrides[''] or len(overrides) > 1 or options.profile)
        if options.play:
            if is_what_if or options.record or options.json or options.plot:
                raise ParameterError('play: it only publishes; leave out what is for a flight')
            from px4_sim_ros.ros.bag_player import play
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
    except (BagError, ParameterError) as error:
        print(f'replay: {sentence(error)}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return output.interrupted('replay: interrupted')
    except (OSError, RuntimeError) as error:
        print(f'replay: {sentence(error)}', file=sys.stderr)
        return FAILED


def _check_no_playing(options: argparse.Namespace) -> None:
    """Check that nothing is asked for that only --play does.

    :raises ParameterError: it is
    """
    given = {'rate': options.rate is not None, 'start': options.start is not None,
             'paused': options.paused, 'loop': options.loop}
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f'{name}: only with --play, since a replay flies all steps')


def _overrides(options: argparse.Namespace) -> settings.Settings:
    """Return what is not as it was.

    :raises ParameterError: it is nothing that is flown
    """
    found = settings.settings(options)
    if options.seed is not None:
        found['']['seed'] = options.seed
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
    """Report how a replay compares with its recording; return the exit code.

    A what-if is expected to differ: how far it is apart is the result.
    """
    found = dataclasses.replace(compare_bags(bag, flown), names=(str(bag.folder), 'the replay'))
    report_comparison(bag, flown, found, options, is_what_if=is_what_if)
    return 0 if is_what_if or found.identical else FAILED
