# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Searching in place of drawing: the limit of an input, and where a margin is smallest."""
from __future__ import annotations

import concurrent.futures
import math
import typing
import warnings

from px4_sim_ros.campaign import inputs
from px4_sim_ros.campaign.executors import Opened, answer_of, asked
from px4_sim_ros.campaign.folder import Px4Build
from px4_sim_ros.campaign.jobs import Job, Row, row_in
from px4_sim_ros.campaign.plan import Campaign, Run
from px4_sim_ros.model.errors import ParameterError, check_installed, did_you_mean

# In place of a margin that a flight does not have: beyond all that are measured.
_HOLDS, _FAILS = 1e9, -1e9


class Case(typing.NamedTuple):
    """A run that was flown in a search."""

    run: Run
    row: Row

    @property
    def holds(self) -> bool:
        """Whether all that is expected holds."""
        return bool(self.row['outcome'] == 'held')


def said(run: Run) -> str:
    """Return the inputs of a run for the user."""
    return ', '.join(f'{name} {value:g}' if isinstance(value, float) else f'{name} {value}'
                     for name, value in run.inputs.items())


class Limit(typing.NamedTuple):
    """Between which values of an input a scenario begins to fail."""

    holds: float
    fails: float
    last_held: Case
    first_failed: Case
    flights: int


class Search:
    """Flies runs with values of its choice."""

    def __init__(
        self, campaign: Campaign, px4: Px4Build, flying: Opened,
        keep: typing.Callable[[Case], None] = lambda case: None,
    ) -> None:
        """Begin.

        :param keep: called with each case as soon as it is flown
        """
        self._campaign, self._px4, self._flying, self._keep = campaign, px4, flying, keep
        self.flights = 0

    def fly(self, runs: typing.Sequence[Run]) -> list[Case]:
        """Fly runs, as many at the same time as there are slots; one that is lost once more.

        :raises RunError: a run has not come to its end, twice
        """
        waiting = {self._submit(run): run for run in runs}
        cases: dict[int, Case] = {}
        lost: set[int] = set()
        while waiting:
            done, _ = concurrent.futures.wait(
                waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                run = waiting.pop(future)
                answer = answer_of(future)
                if 'lost' in answer and run.number not in lost:
                    lost.add(run.number)
                    waiting[self._submit(run)] = run
                    continue
                cases[run.number] = Case(run, row_in(answer, said(run)))
                self._keep(cases[run.number])
        self.flights += len(runs)
        return [cases[run.number] for run in runs]

    def _submit(self, run: Run) -> concurrent.futures.Future[typing.Any]:
        job = Job.of(run, self._px4, self._campaign.settings.limit_s)
        with asked():
            return self._flying.executor.submit(self._flying.fly, job)

    def limit(
        self, name: str, tolerance: float | None, repeats: int,
        report: typing.Callable[[float, list[Case]], None],
    ) -> Limit:
        """Return where a scenario begins to fail, by bisection.

        The other inputs have their medians. It is taken for granted that it holds on one side of
        the limit and fails on the other.

        :param name: of an input with a uniform distribution: where it is looked for
        :param tolerance: how near the two values are; None: a hundredth of the range
        :param repeats: flights of each value with other noise, of which all have to hold
        :param report: called with each value and its flights
        """
        uniform = self._uniform(name)
        tolerance = (uniform.high - uniform.low) / 100 if tolerance is None else tolerance
        if not tolerance > 0.0 or repeats < 1:
            raise ParameterError(
                f'tolerance = {tolerance:g}, repeats = {repeats}: must be greater than 0')

        flown: dict[float, list[Case]] = {}

        def holds_at(value: float) -> bool:
            flown[value] = self._at(name, value, repeats)
            report(value, flown[value])
            return all(case.holds for case in flown[value])

        low_holds, high_holds = map(holds_at, (uniform.low, uniform.high))
        if low_holds == high_holds:
            raise ParameterError(
                f'limit of {name}: there is none between {uniform.low:g} and {uniform.high:g}:'
                f' it {"holds" if low_holds else "fails"} at both')
        holds, fails = (uniform.low, uniform.high)[::1 if low_holds else -1]
        while abs(fails - holds) > tolerance and (      # and a value is between them
                middle := inputs.on_its_grid(name, (holds + fails) / 2)) not in flown:
            holds, fails = (middle, fails) if holds_at(middle) else (holds, middle)
        return Limit(holds, fails, flown[holds][0],
                     next(case for case in flown[fails] if not case.holds), self.flights)

    def _uniform(self, name: str) -> inputs.Uniform:
        there = {one.name: one.distribution for one in self._campaign.vary}
        if (found := there.get(name)) is None:
            raise ParameterError(f'input {name!r}: the campaign has no such input'
                                 f"{did_you_mean(name, there)}; it has {', '.join(there)}")
        if not isinstance(found, inputs.Uniform):
            raise ParameterError(f'input {name}: must be uniform, so that it is known between'
                                 ' which values the limit is looked for')
        return found

    def _at(self, name: str, value: float, repeats: int) -> list[Case]:
        values = self._values([0.5] * self._drawn) | {name: value}
        seed = self._campaign.settings.seed
        return self.fly([self._campaign.run_with(i, values, inputs.seed_of(seed, i))
                         for i in range(1, repeats + 1)])

    @property
    def _drawn(self) -> int:
        return sum(one.is_drawn for one in self._campaign.vary)

    def _values(self, shares: typing.Sequence[float]) -> dict[str, inputs.Value]:
        """Return the inputs at shares of their distributions; tables give their first values."""
        left = iter(shares)
        return {one.name: inputs.on_its_grid(one.name, one.distribution.value(
            float(next(left)) if one.is_drawn else 0.0, 1)) for one in self._campaign.vary}

    def worst(
        self, margin: int, report: typing.Callable[[Case, float], None],
    ) -> tuple[Case, float]:
        """Return the flight with the least margin that CMA-ES finds, all with the same noise.

        One that fails by a yes or no, without a margin, is worse than all that have one; its is
        infinite.

        :param margin: the number of its expectation, from 1 on
        :param report: called with each flight that is worse than all before
        """
        expectations = len(self._campaign.scenario.get('expect') or ())
        if not 1 <= margin <= expectations:
            raise ParameterError(f'margin = {margin}: must be the number of an expectation, and the'
                                 f' scenario has {expectations}')
        if self._drawn < 2:
            raise ParameterError('worst: at least two inputs must vary; `campaign limit` finds the'
                                 ' limit of one')
        check_installed('cma')
        settings = self._campaign.settings
        # It takes 0 for a seed of the clock.
        strategy = _cma().CMAEvolutionStrategy([0.5] * self._drawn, 0.3, {
            'bounds': [0.0, 1.0], 'seed': settings.seed + 1, 'verbose': -9,
            'maxfevals': settings.runs})
        worst: tuple[Case, float] | None = None
        while not strategy.stop():
            points = strategy.ask()
            cases = self.fly([self._campaign.run_with(
                self.flights + i, self._values([min(share, 1.0 - 1e-12) for share in point]),
                inputs.seed_of(settings.seed, 1)) for i, point in enumerate(points, 1)])
            found = [_margin(case.row, margin) for case in cases]
            strategy.tell(points, found)
            for case, value in zip(cases, found):
                if value < (worst[1] if worst else _HOLDS):
                    worst = case, value
                    report(case, _reported(value))
        if worst is None:
            raise ParameterError(f'margin {margin}: no flight has one')
        return worst[0], _reported(worst[1])


def _cma() -> typing.Any:
    """Return the package; it warns that matplotlib is missing, with which nothing is drawn here."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        import cma
    return cma


def _margin(row: Row, number: int) -> float:
    value = row.get(f'margin_{number}')
    if value is None:
        return _FAILS if row.get(f'holds_{number}') is False else _HOLDS
    return float(value)


def _reported(margin: float) -> float:
    return -math.inf if margin == _FAILS else margin
