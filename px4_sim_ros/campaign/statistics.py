# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the rows of a campaign say, with how sure that is."""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.jobs import Row
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4.log import LogLoss

CONFIDENCE = 0.95


class Share(typing.NamedTuple):
    """A share of runs, and the interval that has the true one with some confidence."""

    held: int
    runs: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.held / self.runs if self.runs else math.nan

    @property
    def text(self) -> str:
        return (f'{self.held} of {self.runs}, {self.share:.1%}'
                f' ({CONFIDENCE:.0%} interval {self.low:.1%} to {self.high:.1%})')


def success(rows: typing.Sequence[Row]) -> Share:
    """Return how many runs hold what is expected; the interval is that of Clopper and Pearson."""
    return share(held(rows), len(rows))


def held(rows: typing.Sequence[Row]) -> int:
    """Count the runs that hold what is expected."""
    return sum(row['outcome'] == 'held' for row in rows)


def share(held: int, runs: int) -> Share:
    """Return a share with its interval; without runs it may be any."""
    if not runs:
        return Share(0, 0, 0.0, 1.0)
    from scipy.stats import binomtest
    found = binomtest(held, runs).proportion_ci(CONFIDENCE, method='exact')
    return Share(held, runs, float(found.low), float(found.high))


class Mean(typing.NamedTuple):
    """A mean, and the interval that has the true one with some confidence."""

    runs: int
    mean: float
    low: float
    high: float


def mean(values: np.ndarray) -> Mean:
    """Return the mean of values with Student's interval; of fewer than two it has no width."""
    count = len(values)
    middle = float(np.mean(values)) if count else math.nan
    if count < 2:
        return Mean(count, middle, middle, middle)
    from scipy import stats
    half = float(stats.sem(values)) * float(stats.t.ppf(0.5 + CONFIDENCE / 2, count - 1))
    return Mean(count, middle, middle - half, middle + half)


def at_least(rows: typing.Sequence[Row]) -> float:
    """Return the share that the true one exceeds with `CONFIDENCE`: a bound on one side."""
    from scipy.stats import binomtest
    found = binomtest(held(rows), len(rows), alternative='greater').proportion_ci(CONFIDENCE)
    return float(found.low)


def runs_to_show(at_least: float) -> int:
    """Return how many runs show a share if all of them hold, with `CONFIDENCE`.

    If the share is s, n runs hold with s^n.
    """
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log(at_least))


class Influence(typing.NamedTuple):
    """How an input and a figure go together."""

    name: str                  # of the input
    rank_correlation: float    # Spearman's, -1 to 1
    p_value: float             # how likely so much is by chance


def influences(
    rows: typing.Sequence[Row], names: typing.Iterable[str], figure: str,
) -> list[Influence]:
    """Return which inputs matter for a figure, the one that matters most first.

    Inputs that are no numbers are left out, and so are runs that do not have the figure.
    """
    from scipy.stats import spearmanr
    found = []
    for name in names:
        pairs = numbers(rows, name, figure)
        if len(pairs) > 2 and all(np.ptp(pairs, axis=0) > 0.0):
            result = spearmanr(pairs[:, 0], pairs[:, 1])
            found.append(Influence(name, float(result.statistic), float(result.pvalue)))
    return sorted(found, key=lambda influence: -abs(influence.rank_correlation))


def numbers(rows: typing.Sequence[Row], *names: str) -> np.ndarray:
    """Return the columns of some names for the runs that have numbers in all of them.

    :returns: an array of (runs, names)
    """
    kept = [[row.get(name) for name in names] for row in rows]
    return np.array([values for values in kept if all(map(_is_number, values))],
                    dtype=float).reshape(-1, len(names))


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def margins(rows: typing.Sequence[Row]) -> dict[str, str]:
    """Return the columns of margins that there are, with what they are margins of.

    Of a condition on several quantities a margin may have another unit in another run.
    """
    meanings: dict[str, str] = {}
    units: dict[str, dict[str, None]] = {}
    for row in rows:
        for name in row:
            if name.startswith('margin_') and row[name] is not None:
                number = name.removeprefix('margin_')
                meanings.setdefault(name, row[f'expect_{number}'])
                units.setdefault(name, {})[row[f'unit_{number}'] or '1'] = None
    return {name: meaning + ('' if [*units[name]] == ['1'] else f", {' or '.join(units[name])}")
            for name, meaning in meanings.items()}


def without_margin(rows: typing.Sequence[Row], margin: str) -> str:
    """Return how many runs have no number in a column of margins, as a sentence, '' for none."""
    number = margin.removeprefix('margin_')
    found = [row.get(f'holds_{number}') for row in rows if not _is_number(row.get(margin))]
    return '' if not found else (
        f'{len(found)} of {len(rows)} runs have no such margin: {found.count(True)} hold,'
        f' {found.count(False)} fail, {found.count(None)} were not judged.')


def worst_margin(row: Row) -> float:
    """Return the least margin of a run; infinite if it has none."""
    found = [row[name] for name in row if name.startswith('margin_')]
    return min((value for value in found if _is_number(value)), default=math.inf)


def log_losses(rows: typing.Sequence[Row]) -> list[LogLoss]:
    """Return the gaps in PX4's logs, of the runs that have some."""
    return [loss for loss in map(LogLoss.of, rows) if loss and loss.log_dropouts]


class Paired(typing.NamedTuple):
    """A column of two campaigns over the same draws."""

    column: str
    runs: int
    mean: float                # of the second minus the first
    low: float                 # the interval of the mean
    high: float
    p_value: float             # of Wilcoxon's signed ranks: how likely it is by chance


def paired(first: np.ndarray, second: np.ndarray, column: str) -> Paired:
    """Compare a column run by run; with fewer than two runs there is no interval."""
    from scipy import stats
    difference = second - first
    found = mean(difference)
    differs = bool(np.any(difference))
    p_value = float(stats.wilcoxon(difference).pvalue) if differs else 1.0
    return Paired(column, *found, p_value)


# Two campaigns over the same draws, run by run: which verdicts change, and by how much.

_FIGURES = ('sim_time_s', 'max_height_m', 'max_distance_m', 'max_tilt_deg', 'max_speed_m_s',
            'end_distance_m')
Pairs = list[tuple[Row, Row]]


def compare(first: Folder, second: Folder) -> typing.Iterator[str]:
    """Yield the differences, a line each."""
    pairs = _pairs(first, second)
    worse = [two for one, two in pairs if (one['outcome'], two['outcome']) == ('held', 'failed')]
    better = [one for one, two in pairs if (one['outcome'], two['outcome']) == ('failed', 'held')]
    yield f'{"runs of both":28} {len(pairs)}'
    for name, index in (('held in the first', 0), ('held in the second', 1)):
        yield f'{name:28} {success([pair[index] for pair in pairs]).text}'
    yield f'{"changed":28} {len(worse)} fail, {len(better)} hold in the second only;' \
          f' by chance as uneven with p = {_mcnemar(len(worse), len(better)):.3g}'
    for what, rows in (('fails in the second', worse), ('fails in the first', better)):
        for row in rows:
            yield f'run {row["run"]} {what}: {row["failure"]}: {row["command"]}'
    same = sum(one['fingerprint'] == two['fingerprint'] for one, two in pairs)
    yield f'{"same flight in both":28} {same}'
    for column in [*margins([row for pair in pairs for row in pair]), *_FIGURES]:
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


def _difference(pairs: Pairs, column: str) -> Paired | None:
    both = [(one[column], two[column]) for one, two in pairs
            if len(numbers([one], column)) and len(numbers([two], column))]
    if not both:
        return None
    values = numbers([{'a': a, 'b': b} for a, b in both], 'a', 'b')
    return paired(values[:, 0], values[:, 1], column)
