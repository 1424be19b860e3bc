# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What varies in a campaign: how each input is distributed, and what is drawn for each run."""
from __future__ import annotations

import csv
import dataclasses
import functools
import hashlib
import io
import statistics
import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.parameters import number
from px4_sim_ros.spec.resources import read_text

SAMPLINGS = RANDOM, LATIN_HYPERCUBE, SOBOL = ('random', 'latin_hypercube', 'sobol')
"""How the runs are spread over what varies."""
GROWS = RANDOM, SOBOL
"""Those whose first draws stay the same when there are more."""

# Of a normal distribution: tail probability treated as empty.
_LEAST_SHARE = 1e-12

Value = typing.Any
"""A number, a text, true or false, as a YAML file has it."""


class Distribution(typing.Protocol):
    """How an input is distributed."""

    def value(self, share: float, run: int) -> Value:
        """Return the value of a run.

        :param share: of the distribution that is below it, in [0, 1)
        :param run: its number, from 1 on
        """


@dataclasses.dataclass(frozen=True)
class Uniform:
    """All numbers of an interval alike."""

    low: float
    high: float

    def value(self, share: float, run: int) -> float:
        return self.low + share * (self.high - self.low)


@dataclasses.dataclass(frozen=True)
class Normal:
    """A normal distribution, cut off at given bounds."""

    mean: float
    sigma: float
    low: float | None = None
    high: float | None = None

    @functools.cached_property
    def _shares(self) -> tuple[float, float]:
        whole = statistics.NormalDist(self.mean, self.sigma)
        return (0.0 if self.low is None else whole.cdf(self.low),
                1.0 if self.high is None else whole.cdf(self.high))

    @property
    def is_empty(self) -> bool:
        """Whether it is cut off so far out that no share of it is left."""
        first, last = self._shares
        return last - first < _LEAST_SHARE

    def value(self, share: float, run: int) -> float:
        first, last = self._shares
        # A share of 0 would be at minus infinity.
        inside = min(max(first + share * (last - first), _LEAST_SHARE), 1.0 - _LEAST_SHARE)
        return statistics.NormalDist(self.mean, self.sigma).inv_cdf(inside)


@dataclasses.dataclass(frozen=True)
class Choice:
    """Each of some values as often as the others."""

    values: tuple[Value, ...]

    def value(self, share: float, run: int) -> Value:
        return self.values[int(share * len(self.values))]


@dataclasses.dataclass(frozen=True)
class Table:
    """The values of the runs in turn, and again from the first: rows of several tables match."""

    values: tuple[Value, ...]

    def value(self, share: float, run: int) -> Value:
        return self.values[(run - 1) % len(self.values)]


class Input(typing.NamedTuple):
    """A place in the scenario or the vehicle, and how its value is distributed."""

    name: str
    distribution: Distribution

    @property
    def is_drawn(self) -> bool:
        """Whether its values are at random: those of a table are not."""
        return not isinstance(self.distribution, Table)


_KINDS = 'uniform', 'normal', 'choice', 'table'


def read_distribution(owner: str, content: typing.Any) -> Distribution:
    """Return a distribution from what a file says."""
    if not isinstance(content, dict) or len(content) != 1:
        raise ParameterError(f'{owner} = {shown(content)}: must hold one of {", ".join(_KINDS)}')
    (kind, values), = content.items()
    if kind not in _KINDS:
        raise ParameterError(f'{owner}: {kind!r} is no distribution'
                             f'{did_you_mean(str(kind), _KINDS)}; there are {", ".join(_KINDS)}')
    owner = f'{owner}.{kind}'
    if kind == 'uniform':
        return _uniform(owner, values)
    if kind == 'normal':
        return _normal(owner, values)
    return (Choice if kind == 'choice' else Table)(_values(owner, values))


def _uniform(owner: str, content: typing.Any) -> Uniform:
    if not isinstance(content, list) or len(content) != 2:
        raise ParameterError(f'{owner} = {shown(content)}: must be [lowest, highest]')
    low, high = (number(f'{owner}[{i}]', value) for i, value in enumerate(content))
    if low >= high:
        raise ParameterError(f'{owner} = {shown(content)}: the first must be less than the second')
    return Uniform(low, high)


def _normal(owner: str, content: typing.Any) -> Normal:
    names = [field.name for field in dataclasses.fields(Normal)]
    if isinstance(content, list) and len(content) == 2:
        content = dict(zip(names, content))
    if not isinstance(content, dict) or not {'mean', 'sigma'} <= set(content) <= set(names):
        raise ParameterError(f'{owner} = {shown(content)}: must be [mean, sigma], or a mapping of'
                             f' {", ".join(names)}')
    found = Normal(**{key: number(f'{owner}.{key}', value) for key, value in content.items()})
    if found.sigma <= 0.0:
        raise ParameterError(f'{owner}.sigma = {found.sigma:g}: must be greater than 0')
    if found.low is not None and found.high is not None and found.low >= found.high:
        raise ParameterError(f'{owner}.low = {found.low:g}: must be less than high ='
                             f' {found.high:g}')
    if found.is_empty:
        raise ParameterError(f'{owner} = {shown(content)}: between low and high there is nothing'
                             ' of it')
    return found


def _values(owner: str, content: typing.Any) -> tuple[Value, ...]:
    if not isinstance(content, list) or not content:
        raise ParameterError(f'{owner} = {shown(content)}: must be a list of values')
    return tuple(content)


def read_column(owner: str, content: typing.Any) -> list[Value]:
    """Return a column of a CSV file, numbers as numbers."""
    if set(content) != {'file', 'column'}:
        raise ParameterError(f'{owner} = {shown(content)}: must be a list of values, or a mapping'
                             ' of file and column')
    path, column = str(content['file']), str(content['column'])
    text = read_text(path, f'{owner}.file')
    try:
        read = csv.DictReader(io.StringIO(text, newline=''), restkey='', restval='')
        rows, known = list(read), [*(read.fieldnames or ())]
    except csv.Error as error:
        raise ParameterError(f'{owner}.file {path}: must be text of CSV') from error
    if not rows or column not in known:
        raise ParameterError(f'{owner}.column = {shown(column)}: {path} has no such column'
                             f"{did_you_mean(column, known)}; it has {', '.join(known) or 'none'}")
    return [_plain(row[column]) for row in rows]


def _plain(text: str) -> Value:
    for kind in int, float:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def shares(sampling: str, seed: int, runs: int, inputs: int) -> np.ndarray:
    """Return where each run is in each distribution, an array of (runs, inputs) in [0, 1)."""
    if not inputs:
        return np.empty((runs, 0))
    if sampling == RANDOM:
        return np.random.Generator(np.random.PCG64(seed)).random((runs, inputs))
    from scipy.stats import qmc
    generator = np.random.default_rng(seed)     # `rng=` is not known before SciPy 1.15
    if sampling == LATIN_HYPERCUBE:
        return np.asarray(qmc.LatinHypercube(inputs, seed=generator).random(runs))
    # As many as are balanced: a power of two.
    balanced = qmc.Sobol(inputs, seed=generator).random_base2(max(runs - 1, 1).bit_length())
    return np.asarray(balanced)[:runs]


def draw(
    inputs: typing.Sequence[Input], sampling: str, seed: int, runs: int,
) -> list[dict[str, Value]]:
    """Return the value of each input by name, for each run."""
    drawn = [found for found in inputs if found.is_drawn]
    columns = {found.name: i for i, found in enumerate(drawn)}
    table = shares(sampling, seed, runs, len(drawn))
    return [{found.name: on_its_grid(found.name, found.distribution.value(
        float(table[run - 1, columns[found.name]]) if found.is_drawn else 0.0, run))
        for found in inputs} for run in range(1, runs + 1)]


def on_its_grid(name: str, value: Value) -> Value:
    """Return a value of an input; times are whole microseconds."""
    return round(value, 6) if name.endswith('_s') and isinstance(value, float) else value


def seed_of(seed: int, run: int) -> int:
    """Return the seed of the noise in a run: another one for each, whatever else varies."""
    digest = hashlib.sha256(f'{seed} {run}'.encode()).digest()
    return int.from_bytes(digest[:4], 'big') >> 1
