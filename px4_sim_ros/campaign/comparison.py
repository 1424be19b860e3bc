# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two campaigns over the same draws, run by run: which verdicts change, and by how much."""
from __future__ import annotations

import typing

from px4_sim_ros.campaign import statistics
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.jobs import Row
from px4_sim_ros.model.errors import ParameterError

_FIGURES = ('sim_time_s', 'max_height_m', 'max_distance_m', 'max_tilt_deg', 'max_speed_m_s',
            'end_distance_m')
Pairs = list[tuple[Row, Row]]


def compare(first: Folder, second: Folder) -> typing.Iterator[str]:
    """Yield what is different, a line each.

    :raises ParameterError: they have no run in common, or a run with other inputs
    """
    pairs = _pairs(first, second)
    worse = [two for one, two in pairs if (one['outcome'], two['outcome']) == ('held', 'failed')]
    better = [one for one, two in pairs if (one['outcome'], two['outcome']) == ('failed', 'held')]
    yield f'{"runs of both":28} {len(pairs)}'
    for name, index in (('held in the first', 0), ('held in the second', 1)):
        yield f'{name:28} {statistics.success([pair[index] for pair in pairs]).text}'
    yield f'{"changed":28} {len(worse)} fail, {len(better)} hold in the second only;' \
          f' by chance as uneven with p = {_mcnemar(len(worse), len(better)):.3g}'
    for what, rows in (('fails in the second', worse), ('fails in the first', better)):
        for row in rows:
            yield f'run {row["run"]} {what}: {row["failure"]}: {row["command"]}'
    same = sum(one['fingerprint'] == two['fingerprint'] for one, two in pairs)
    yield f'{"same flight in both":28} {same}'
    for column in [*statistics.margins([row for pair in pairs for row in pair]), *_FIGURES]:
        found = _difference(pairs, column)
        if found is not None:
            yield (f'{column:28} {found.mean:+.4g} ({found.low:+.4g} to {found.high:+.4g}) in'
                   f' {found.runs} runs, p = {found.p_value:.3g}')


def _pairs(first: Folder, second: Folder) -> Pairs:
    names = {one.name for one in (*first.campaign.vary, *second.campaign.vary)}
    theirs = {row['run']: row for row in second.rows()}
    pairs = [(row, theirs[row['run']]) for row in first.rows() if row['run'] in theirs]
    if not pairs:
        raise ParameterError(f'{first.path} and {second.path}: have no run in common')
    for one, two in pairs:
        for name in sorted(names | {'noise_seed'}):
            if one.get(name) != two.get(name):
                raise ParameterError(
                    f'{first.path} and {second.path}: run {one["run"]} has {name} ='
                    f' {one.get(name)!r} in one and {two.get(name)!r} in the other; they must have'
                    ' the same draws')
    return pairs


def _mcnemar(worse: int, better: int) -> float:
    """Return how likely so uneven a change is by chance: McNemar's exact test."""
    from scipy.stats import binomtest
    return float(binomtest(worse, worse + better).pvalue) if worse + better else 1.0


def _difference(pairs: Pairs, column: str) -> statistics.Paired | None:
    both = [(one[column], two[column]) for one, two in pairs
            if len(statistics.numbers([one], column)) and len(statistics.numbers([two], column))]
    if not both:
        return None
    values = statistics.numbers([{'a': a, 'b': b} for a, b in both], 'a', 'b')
    return statistics.paired(values[:, 0], values[:, 1], column)
