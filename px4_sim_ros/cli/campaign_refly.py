# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`campaign refly`: a run of a campaign once more, here or on another machine."""
from __future__ import annotations

import argparse
import os
import sys

from px4_sim_ros.campaign.conduct import fly_again
from px4_sim_ros.campaign.executors import THREADS, opened
from px4_sim_ros.campaign.folder import Folder, Px4Build
from px4_sim_ros.campaign.jobs import Row
from px4_sim_ros.cli import flown_again
from px4_sim_ros.cli.exit_codes import FAILED
from px4_sim_ros.flight.px4 import Px4
from px4_sim_ros.model.errors import ParameterError


def refly(options: argparse.Namespace, path: str, run: str) -> int:
    """Fly a run again and compare its fingerprint; return the exit code."""
    folder = Folder.read(path)
    if not run.isdecimal():
        raise ParameterError(f'run {run!r}: must be the number of a run')
    px4 = _px4(options, folder)
    with flown_again.only_allowed(options.allow or []), opened(THREADS, 1) as found:
        before, now = fly_again(folder, int(run), found.fly, px4)
    if before['fingerprint'] == now['fingerprint']:
        print(f"run {run}: the same flight, fingerprint {now['fingerprint']}")
        return 0
    print(f"campaign: run {run}: the fingerprint was {before['fingerprint']} and is"
          f" {now['fingerprint']}; {_difference(before, now, folder.px4, px4)}", file=sys.stderr)
    return FAILED


def _px4(options: argparse.Namespace, folder: Folder) -> Px4Build:
    """Return which PX4 flies: that of the options, or PX4_DIR.

    The folder is data: the PX4 that it names is not started, unless the user names it too.

    :raises ParameterError: there is none, or one is named for nothing
    """
    if folder.px4 is None:
        for name in 'px4_dir', 'px4_schedule':
            if (value := getattr(options, name)) is not None:
                raise ParameterError(
                    f'{name} = {value}: is for nothing: the embedded autopilot flies {folder.path}')
        return None
    build, schedule = folder.px4
    named = options.px4_dir or os.environ.get('PX4_DIR')
    if not named:
        raise ParameterError(f'px4_dir: {folder.path} was flown by {build}; --px4-dir or PX4_DIR'
                             ' names the PX4 that may be started')
    found = Px4.find(named, options.px4_schedule or schedule)
    return str(found.build), found.schedule


def _difference(before: Row, now: Row, old: Px4Build, new: Px4Build) -> str:
    """Return what is not as it was then, of all that the numbers depend on."""
    then, today = (dict(part.split(' ', 1) for part in row['versions'].split(', '))
                   for row in (before, now))
    found = [f'{name} was {then.get(name, "not there")} and is {today.get(name, "not there")}'
             for name in dict.fromkeys([*then, *today]) if then.get(name) != today.get(name)]
    if old is not None and new is not None and old != new:
        found.append(f'PX4 was {" ".join(old)} and is {" ".join(new)}')
    return ', '.join(found) or 'all versions are the same'
