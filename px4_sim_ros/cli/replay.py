# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `replay`: fly the recorded commands again and compare all that comes of it."""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import tempfile

from px4_sim_ros.cli import compare, flown_again, output
from px4_sim_ros.cli.compare import report_comparison
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.flight import replay as replaying
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.recording.playback import commands
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.resources import check_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    flown_again.add_arguments(parser)


def replay(options: argparse.Namespace) -> int:
    """Fly a recording again and report; return the exit code."""
    return flown_again.run('replay', options, lambda: _replay(options))


def _replay(options: argparse.Namespace) -> int:
    check_page('plot', options.plot)
    return compare.each(
        options, _flown(vehicles_of(options.bag)), ('record', 'json', 'plot'),
        lambda bag: _replay_one(options, bag))


def _flown(bags: list[BagReader]) -> list[BagReader]:
    """Leave out the vehicles that were in reserve to the end."""
    return [bag for bag in bags if len(bags) == 1 or bag.run.joins_us is not None
            or any(True for _ in commands(bag))]


def _replay_one(options: argparse.Namespace, bag: BagReader) -> int:
    overrides = _overrides(options)
    is_what_if = flown_again.is_what_if(options, overrides)
    output.check_json(options)
    found = replaying.survey(bag)
    with tempfile.TemporaryDirectory() as folder:
        prepared = replaying.prepare(
            bag, options.mode, found, overrides, pathlib.Path(folder),
            profile=options.profile, record=options.record)
        replaying.run(prepared, pathlib.Path(folder))
        return _report(bag, BagReader(prepared.bag), options, is_what_if)


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
