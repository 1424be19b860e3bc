# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What all rounds of a benchmark come to: medians, ranges, ratios within a round."""
from __future__ import annotations

import dataclasses
import statistics
import typing

from px4_sim_ros.bench.kinds import (
    CEILING,
    CEILING_KIND,
    CEILING_ON_ALL_CORES,
    FLIGHTS_WITH_SUBSCRIBER,
    JMAVSIM,
    SIH,
    Kind,
)
from px4_sim_ros.bench.unit_costs import CALIBRATION, SECOND_DYNAMICS
from px4_sim_ros.step import graph

Figures = dict[str, typing.Any]
_CORE, _COMPOSED = Kind('core', 'px4'), Kind('composed', 'px4')
# Real-time factors that are worth comparing, besides those that each kind has in its row.
_COMPARED = (
    (_COMPOSED, _CORE), (Kind('composed', 'trivial'), Kind('core', 'trivial')),
    *((kind, kind._replace(subscriber=False)) for kind in FLIGHTS_WITH_SUBSCRIBER),
    *((ours, Kind(peer, 'px4').as_it_comes)
      for ours in (_CORE, _COMPOSED, _CORE.as_it_comes, _COMPOSED.as_it_comes)
      for peer in (JMAVSIM, SIH)))
# Whose parts have a budget: with nothing to wait for but a peer that costs nearly nothing.
_BUDGETED = (Kind('core', 'trivial'), Kind('composed', 'trivial'), Kind('separate', 'trivial'))
# In `separate` parts run at the same time.
_WITH_PARTS = ('core', 'composed')
_NO_PARTS_OF_OURS = ('autopilot', 'rest')
_NOT_BUDGETED = (
    CALIBRATION, SECOND_DYNAMICS, 'trivial peer alone', 'socket, with the trivial peer')
# The order of the parts in tables.
_PLACES = {part: place for place, part in enumerate(
    ['models', *graph.NODES, *_NO_PARTS_OF_OURS])}


class Spread(typing.NamedTuple):
    """A figure over the rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: typing.Iterable[float]) -> Spread:
        """Return the spread of some values."""
        values = sorted(values)
        return cls(statistics.median(values), values[0], values[-1])

    def text(self, form: str = '.2f') -> str:
        """Return median and range; of a single figure only that."""
        if self.least == self.most:
            return f'{self.median:{form}}'
        return f'{self.median:{form}} ({self.least:{form}}-{self.most:{form}})'


@dataclasses.dataclass
class Round:
    """One turn through all kinds."""

    costs: dict[str, tuple[float, float]]           # us a call, calls a step; of parts alone
    integrators_us: dict[str, float]
    flights: dict[Kind, Figures]
    start_s: dict[str, float] = dataclasses.field(default_factory=dict)
    """From the command to the first HIL_SENSOR, by mode."""

    @property
    def calibration_us(self) -> float:
        """A calibration loop without anybody else."""
        return self.costs[CALIBRATION][0]

    def loops(self) -> dict[str, float]:
        """Return what has a budget, in calibration loops a step.

        A flight is compared with the loops around it, which others on the machine slow down as
        well.
        """
        loops = {f'alone: {part}': call_us * calls / self.calibration_us
                 for part, (call_us, calls) in self.costs.items() if part not in _NOT_BUDGETED}
        for kind in _BUDGETED:
            if kind not in self.flights:
                continue
            flight = self.flights[kind]
            parts_us = {'all of ours': own_us(flight)}
            if kind.mode in _WITH_PARTS:
                parts_us |= {part: flight['parts_us'][part]
                             for part in _in_order(flight['parts_us'])
                             if part not in _NO_PARTS_OF_OURS}
            loops |= {f'{kind.name}: {part}': part_us / flight['calibration_us']
                      for part, part_us in parts_us.items()}
        return loops


def _in_order(parts: typing.Iterable[str]) -> list[str]:
    return sorted(parts, key=lambda part: _PLACES.get(part, len(_PLACES)))


def own_us(flight: Figures) -> float:
    """Return the wall time of a step without the waiting for the autopilot."""
    return flight['total_us'] - flight['parts_us'].get('autopilot', 0.0)


@dataclasses.dataclass
class KindResult:
    """A kind over all rounds."""

    kind: Kind
    real_time_factor: Spread
    to_ceiling: Spread | None           # of the real-time factors, within a round
    to_ceiling_on_all_cores: Spread | None
    to_recorder_off: Spread | None
    own_us: Spread
    waiting_us: Spread
    parts_us: dict[str, float]
    processes: dict[str, dict[str, float]]
    misses: int


class Results:
    """All rounds."""

    def __init__(self, rounds: typing.Sequence[Round]) -> None:
        self.rounds = list(rounds)

    def kinds(self) -> list[KindResult]:
        """Return the kinds, in the order in which they were flown."""
        return [self._kind(kind) for kind in self.rounds[0].flights]

    def _kind(self, kind: Kind) -> KindResult:
        flights = [r.flights[kind] for r in self.rounds]
        compared = kind.autopilot == 'px4' and kind.mode != CEILING
        return KindResult(
            kind, Spread.of(f['real_time_factor'] for f in flights),
            self._ratio(kind, CEILING_KIND) if compared and not kind.all_cores else None,
            self._ratio(kind, CEILING_ON_ALL_CORES) if compared else None,
            self._ratio(kind, kind._replace(recorder=False)) if kind.recorder else None,
            Spread.of(map(own_us, flights)),
            Spread.of(f['parts_us'].get('autopilot', 0.0) for f in flights),
            {part: statistics.median(f['parts_us'][part] for f in flights)
             for part in _in_order(flights[0]['parts_us'])},
            _processes(flights), sum(f['misses'] for f in flights))

    def ratios(self) -> dict[str, Spread]:
        """Return real-time factors over those of others, by both names, each within its round."""
        found = {f'{kind.name} / {other.name}': self._ratio(kind, other)
                 for kind, other in _COMPARED}
        return {names: ratio for names, ratio in found.items() if ratio is not None}

    def _ratio(self, kind: Kind, other: Kind) -> Spread | None:
        """Return the ratio of two kinds' real-time factors, each within its round."""
        if not {kind, other} <= set(self.rounds[0].flights):
            return None
        return Spread.of(r.flights[kind]['real_time_factor'] / r.flights[other]['real_time_factor']
                         for r in self.rounds)

    def costs(self) -> dict[str, tuple[float, float]]:
        """Return us a call and calls a step of each part alone."""
        return {part: (statistics.median(r.costs[part][0] for r in self.rounds), calls)
                for part, (_, calls) in self.rounds[0].costs.items()}

    def integrators_us(self) -> dict[str, Spread]:
        """Return what a step of dynamics takes by integrator."""
        return {name: Spread.of(r.integrators_us[name] for r in self.rounds)
                for name in self.rounds[0].integrators_us}

    def start_s(self) -> dict[str, Spread]:
        """Return the wall time from the command to the first HIL_SENSOR, by mode."""
        return {mode: Spread.of(r.start_s[mode] for r in self.rounds)
                for mode in self.rounds[0].start_s}

    def calibration_us(self) -> float:
        """Return what a calibration loop takes."""
        return statistics.median(r.calibration_us for r in self.rounds)

    def loops(self) -> dict[str, float]:
        """Return what has a budget, in calibration loops; ratios are taken within a round."""
        each = [r.loops() for r in self.rounds]
        return {part: statistics.median(loops[part] for loops in each) for part in each[0]}

    def to_json(self) -> Figures:
        """Return all figures as plain values."""
        def plain(value: typing.Any) -> typing.Any:
            return value._asdict() if isinstance(value, Spread) else value

        kinds = {}
        for result in self.kinds():
            values = {f.name: plain(getattr(result, f.name))
                      for f in dataclasses.fields(result) if f.name != 'kind'}
            kinds[result.kind.name] = values | {
                'rounds': [r.flights[result.kind] for r in self.rounds]}
        return {
            'calibration_us': self.calibration_us(), 'kinds': kinds,
            'ratios': {names: ratio._asdict() for names, ratio in self.ratios().items()},
            'alone': {part: {'us': us, 'calls_a_step': calls, 'us_a_step': us * calls}
                      for part, (us, calls) in self.costs().items()},
            'start_s': {mode: s._asdict() for mode, s in self.start_s().items()},
            'integrators_us': {n: s._asdict() for n, s in self.integrators_us().items()},
            'loops': self.loops()}


def _processes(flights: typing.Sequence[Figures]) -> dict[str, dict[str, float]]:
    """Return the medians of each process; names are unique within a flight."""
    found: dict[str, list[Figures]] = {}
    for flight in flights:
        for process in flight['processes']:
            found.setdefault(process['name'], []).append(process)
    return {name: {key: statistics.median(p[key] for p in processes)
                   for key in ('cpu_percent', 'memory_mib')}
            for name, processes in found.items()}
