# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the commands that fly a recording again have in common: `replay` and `refly`."""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import typing

from px4_sim_ros.cli import output
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.model.faults.actions import ALLOWED
from px4_sim_ros.process import signals
from px4_sim_ros.spec import settings
from px4_sim_ros.spec.flight_spec import MODES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options that both have."""
    parser.add_argument('bag', help='folder of a recording')
    parser.add_argument('--mode', choices=MODES, default='core',
                        help='how the graph is run; the results are the same')
    parser.add_argument('--record', metavar='DIR', help='keep what comes of it as a recording')
    add_allow(parser)
    settings.add_arguments(parser)
    parser.add_argument('--seed', type=int, help='seed of all random streams')
    output.add_json(parser)
    parser.add_argument('--report', '--plot', dest='plot', type=pathlib.Path, metavar='FILE.html',
                        help='write a plot of the deviation here')


def add_allow(parser: argparse.ArgumentParser) -> None:
    """Describe the option `--allow`."""
    parser.add_argument('--allow', action='append', default=[], metavar='MODULE:CLASS',
                        help='a class that what was recorded may import: an action or a block of'
                        ' yours; can be given for several')


def overrides(options: argparse.Namespace) -> settings.Settings:
    found = settings.settings(options)
    if options.seed is not None:
        found['']['seed'] = options.seed
    return found


def is_what_if(options: argparse.Namespace, found: settings.Settings) -> bool:
    """Return whether anything is not as it was: then it is expected to differ."""
    return bool(found[''] or len(found) > 1 or options.profile)


@contextlib.contextmanager
def only_allowed(paths: typing.Sequence[str]) -> typing.Iterator[None]:
    """Let data import no other classes, in this process and in those that it starts."""
    before = os.environ.get(ALLOWED)
    os.environ[ALLOWED] = ','.join(paths)
    try:
        yield
    finally:
        if before is None:
            del os.environ[ALLOWED]
        else:
            os.environ[ALLOWED] = before


def run(command: str, options: argparse.Namespace, action: typing.Callable[[], int]) -> int:
    """Return the exit code of an action, or that of how it fails, with its sentence printed."""
    try:
        with signals.unwrapped(), only_allowed(options.allow):
            return action()
    except KeyboardInterrupt:
        return output.interrupted(command)
    except (OSError, RuntimeError) as error:
        return output.failed(command, error, FAILED)
