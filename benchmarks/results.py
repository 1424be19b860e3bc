# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The results of all rounds: medians, ranges, ratios within a round, as tables and JSON."""
from __future__ import annotations

import dataclasses
import statistics
import typing

from benchmarks.kinds import (
    CEILING,
    CEILING_KIND,
    CEILING_ON_ALL_CORES,
    FLIGHTS_WITH_SUBSCRIBER,
    JMAVSIM,
    OTHERS,
    PEERS,
    SIH,
    Kind,
)
from px4_sim_ros.spec.flight_spec import MODES
from px4_sim_ros.step import graph

Figures = dict[str, typing.Any]
_CORE, _COMPOSED = Kind('core', 'px4'), Kind('composed', 'px4')
# Real-time factors that are worth comparing, besides those that each kind has in its row.
_COMPARED = (
    (_COMPOSED, _CORE), (Kind('composed', 'trivial'), Kind('core', 'trivial')),
    *((kind, kind._replace(subscriber='')) for kind in FLIGHTS_WITH_SUBSCRIBER),
    *((ours, Kind(peer, 'px4').as_it_comes)
      for ours in (_CORE, _COMPOSED, _CORE.as_it_comes, _COMPOSED.as_it_comes)
      for peer in (JMAVSIM, SIH)))
# The order of the parts in tables.
_PLACES = {part: place for place, part in enumerate(
    ['models', *graph.NODES, 'autopilot', 'rest'])}


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

    flights: dict[Kind, Figures]
    start_s: dict[str, float] = dataclasses.field(default_factory=dict)
    """From the command to the first HIL_SENSOR, by mode."""


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

    def start_s(self) -> dict[str, Spread]:
        """Return the wall time from the command to the first HIL_SENSOR, by mode."""
        return {mode: Spread.of(r.start_s[mode] for r in self.rounds)
                for mode in self.rounds[0].start_s}

    def calibration_us(self) -> float:
        """Return the median of what a calibration loop took around the flights, in us."""
        return statistics.median(
            flight['calibration_us'] for r in self.rounds for flight in r.flights.values())

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
            'start_s': {mode: s._asdict() for mode, s in self.start_s().items()}}


def _processes(flights: typing.Sequence[Figures]) -> dict[str, dict[str, float]]:
    """Return the medians of each process; names are unique within a flight."""
    found: dict[str, list[Figures]] = {}
    for flight in flights:
        for process in flight['processes']:
            found.setdefault(process['name'], []).append(process)
    return {name: {key: statistics.median(p[key] for p in processes)
                   for key in ('cpu_percent', 'memory_mib')}
            for name, processes in found.items()}


# The tables.

Rows = typing.Sequence[typing.Sequence[str]]


def text(results: Results) -> str:
    """Return the tables."""
    kinds = results.kinds()
    first = beside_peers(results)
    return '\n\n'.join([
        *(['We, others and the ceiling with PX4, simulated over wall time: median (range)\n'
           + _columns(first)] if first else []),
        *([_ratios_text(results)] if results.ratios() else []),
        'Hovering, simulated over wall time, and wall time of a step in us: median (range)\n'
        + _columns([_HEADS, *map(_row, kinds)]),
        'Wall time of a step by part, us, measured in place; the bridge without the waiting\n'
        + _columns([('mode/autopilot', 'part'), *(
            (k.kind.name, ', '.join(f'{part} {us:.0f}' for part, us in k.parts_us.items()))
            for k in kinds if k.kind.mode not in OTHERS)]),
        'Processes: share of a core, resident memory\n' + _columns([
            ('mode/autopilot', 'process'), *(
                (k.kind.name, ', '.join(
                    f"{name} {p['cpu_percent']:.0f} % {p['memory_mib']:.0f} MiB"
                    for name, p in k.processes.items())) for k in kinds)]),
        'From the command to the first HIL_SENSOR, s: ' + ', '.join(
            f"{mode} {spread.text('.2f')}" for mode, spread in results.start_s().items())
        + f'\nA calibration loop: {results.calibration_us():.1f} us'])


def beside_peers(results: Results) -> list[tuple[str, ...]]:
    """Return the table that compares all that flew PX4: a row for its names, one for each."""
    found = {result.kind: result for result in results.kinds()}
    rows: list[tuple[str, ...]] = [
        ('simulator', 'PX4 as in flights', 'of the ceiling', 'PX4 as it comes',
         'of its ceiling')]
    for mode in (*MODES, *PEERS, CEILING):
        kind = Kind(mode, 'px4')
        if {kind, kind.as_it_comes} & found.keys():
            rows.append(_beside_peers(mode, found.get(kind), found.get(kind.as_it_comes)))
    return rows if len(rows) > 1 else []


def _beside_peers(
    name: str, flown: KindResult | None, as_it_comes: KindResult | None,
) -> tuple[str, ...]:
    return (
        name,
        *((flown.real_time_factor.text('.1f'), _or_nothing(flown.to_ceiling))
          if flown else ('', '')),
        *((as_it_comes.real_time_factor.text('.1f'),
           _or_nothing(as_it_comes.to_ceiling_on_all_cores)) if as_it_comes else ('', '')))


def markdown(results: Results) -> str:
    """Return the tables that a document has."""
    ratios = [('ratio within a round', 'median (range)'),
              *((names, ratio.text()) for names, ratio in results.ratios().items())]
    start = [('mode', 'to the first HIL_SENSOR, s'),
             *((mode, spread.text()) for mode, spread in results.start_s().items())]
    memory = [('mode/autopilot', 'resident memory, MiB'),
              *((k.kind.name, ', '.join(f"{name} {p['memory_mib']:.0f}"
                                        for name, p in k.processes.items()))
                for k in results.kinds())]
    return '\n\n'.join(
        _markdown_table(rows) for rows in (
            beside_peers(results), ratios, [_HEADS, *map(_row, results.kinds())], start, memory)
        if len(rows) > 1) + '\n'


def _markdown_table(rows: Rows) -> str:
    lines = [' | '.join(row) for row in rows]
    lines.insert(1, ' | '.join('---' for _ in rows[0]))
    return '\n'.join(f'| {line} |' for line in lines)


def _ratios_text(results: Results) -> str:
    return 'Real-time factors over one another, within a round: median (range)\n' + _columns(
        [(names, ratio.text()) for names, ratio in results.ratios().items()])


_HEADS = ('mode/autopilot', 'real-time factor', 'of the ceiling', 'of that on all cores',
          'of recorder off', 'ours', 'waiting')


def _row(result: KindResult) -> tuple[str, ...]:
    ratios = result.to_ceiling, result.to_ceiling_on_all_cores, result.to_recorder_off
    # What a peer waits is not known.
    shares = ('', '') if result.kind.mode in PEERS else (
        result.own_us.text('.0f'), result.waiting_us.text('.0f'))
    return result.kind.name, result.real_time_factor.text('.1f'), *map(_or_nothing, ratios), *shares


def _or_nothing(spread: Spread | None) -> str:
    return spread.text() if spread is not None else ''


def _columns(rows: Rows) -> str:
    """Return rows with cells side by side; the last ones are as long as they are."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return '\n'.join('  '.join(
        cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
