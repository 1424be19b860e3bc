# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`campaign limit` and `campaign worst`: what they print, and the scenarios that they leave."""
from __future__ import annotations

import argparse
import pathlib

from px4_sim_ros.campaign import executors
from px4_sim_ros.campaign.conduct import check, command
from px4_sim_ros.campaign.executors import opened
from px4_sim_ros.campaign.folder import Px4Build
from px4_sim_ros.campaign.jobs import write_files
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.campaign.search import Case, Search
from px4_sim_ros.model.errors import ParameterError


def limit(options: argparse.Namespace, campaign: Campaign, px4: Px4Build) -> int:
    """Find the limit of an input; return the exit code."""
    if options.input is None:
        names = ', '.join(one.name for one in campaign.vary)
        raise ParameterError(f'limit: name an input with --input; there are {names}')
    executors.check(options.executor)
    check(campaign, px4)
    with opened(options.executor, options.workers, options.scheduler) as flying:
        found = Search(campaign, px4, flying).limit(
            options.input, options.tolerance, options.repeats,
            lambda value, cases: print(
                f'{options.input} {value:g}: {sum(case.holds for case in cases)} of {len(cases)}'
                ' hold', flush=True))
    folder = _folder(options, campaign)
    print(f'holds at {found.holds:g}, fails at {found.fails:g}; {found.flights} flights')
    for name, case in (('limit_holds', found.last_held), ('limit_fails', found.first_failed)):
        _leave(folder, name, case, px4)
    return 0


def worst(options: argparse.Namespace, campaign: Campaign, px4: Px4Build) -> int:
    """Find where a margin is smallest; return the exit code."""
    executors.check(options.executor)
    check(campaign, px4)
    with opened(options.executor, options.workers, options.scheduler) as flying:
        search = Search(campaign, px4, flying)
        case, margin = search.worst(options.margin, lambda case, margin: print(
            f'margin {margin:.4g}: {_inputs(case)}', flush=True))
    print(f'least margin {margin:.4g} after {search.flights} flights')
    _leave(_folder(options, campaign), 'worst', case, px4)
    return 0


def _inputs(case: Case) -> str:
    return ', '.join(f'{name} {value:g}' if isinstance(value, float) else f'{name} {value}'
                     for name, value in case.run.inputs.items())


def _folder(options: argparse.Namespace, campaign: Campaign) -> pathlib.Path:
    folder = pathlib.Path(options.out or pathlib.Path('campaigns') / campaign.name).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _leave(folder: pathlib.Path, name: str, case: Case, px4: Px4Build) -> None:
    """Write a case as a scenario that can be flown and tested."""
    file = write_files(folder, name, case.run.scenario,
                       case.run.vehicle if case.run.is_own_vehicle else None)
    print(f"{file}: {case.row['outcome']}: {command(file, px4, case.row['fingerprint'])}")
