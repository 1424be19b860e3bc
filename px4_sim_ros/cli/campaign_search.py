# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`campaign limit` and `campaign worst`: what they print, and the scenarios that they leave."""
from __future__ import annotations

import argparse
import contextlib
import math
import pathlib
import typing

from px4_sim_ros.campaign.conduct import command
from px4_sim_ros.campaign.executors import opened
from px4_sim_ros.campaign.folder import ROWS, Lines, Px4Build, made, writing
from px4_sim_ros.campaign.jobs import PATH, write_files
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.campaign.search import Case, Search, said
from px4_sim_ros.model.errors import ParameterError

_REPEATS, _MARGIN = 3, 1


def limit(
    options: argparse.Namespace, campaign: Campaign, px4: Px4Build, workers: int,
) -> int:
    """Find the limit of an input; return the exit code."""
    if options.input is None:
        names = ', '.join(one.name for one in campaign.vary)
        raise ParameterError(f'limit: name an input with --input; there are {names}')
    folder = made(options.out or pathlib.Path('campaigns') / f'{campaign.name}_limit')
    with (_kept(folder, f'limit {options.input}') as keep,
          opened(options.executor, workers, options.scheduler) as flying):
        found = Search(campaign, px4, flying, keep).limit(
            options.input, options.tolerance,
            _REPEATS if options.repeats is None else options.repeats,
            lambda value, cases: print(
                f'{options.input} {value:g}: {sum(case.holds for case in cases)} of {len(cases)}'
                ' hold', flush=True))
    print(f'holds at {found.holds:g}, fails at {found.fails:g}; {found.flights} flights')
    for name, case in (('holds', found.last_held), ('fails', found.first_failed)):
        _leave(folder, f'limit_{options.input}_{name}', case, px4)
    return 0


def worst(
    options: argparse.Namespace, campaign: Campaign, px4: Px4Build, workers: int,
) -> int:
    """Find where a margin is smallest; return the exit code."""
    number = _MARGIN if options.margin is None else options.margin
    folder = made(options.out or pathlib.Path('campaigns') / f'{campaign.name}_worst')
    with (_kept(folder, f'worst {number}') as keep,
          opened(options.executor, workers, options.scheduler) as flying):
        search = Search(campaign, px4, flying, keep)
        case, margin = search.worst(number, lambda case, margin: print(
            f'margin {_text(margin)}: {said(case.run)}', flush=True))
    print(f'least margin {_text(margin)} after {search.flights} flights')
    _leave(folder, f'worst_{number}', case, px4)
    return 0


def _text(margin: float) -> str:
    return 'none, it fails by a yes or no' if math.isinf(margin) else f'{margin:.4g}'


@contextlib.contextmanager
def _kept(
    folder: pathlib.Path, search: str,
) -> typing.Iterator[typing.Callable[[Case], None]]:
    """Yield a function that adds a case to the flown ones of a folder, behind other searches."""
    with contextlib.closing(Lines(folder / ROWS, dict, keeps=False)) as lines:
        def keep(case: Case) -> None:
            row = {key: value for key, value in case.row.items() if key != PATH}
            with writing(folder):
                lines.add({'search': search, **case.run.inputs, 'noise_seed': case.run.seed, **row})
        yield keep


def _leave(folder: pathlib.Path, name: str, case: Case, px4: Px4Build) -> None:
    """Write a case as a scenario that can be flown and tested."""
    file = write_files(folder, name, case.run.scenario, case.run.own_vehicle)
    print(f"{file}: {case.row['outcome']}: {command(file, px4, case.row['fingerprint'])}")
