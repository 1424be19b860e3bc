# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a benchmark as text."""
from __future__ import annotations

import typing

from px4_sim_ros.bench.kinds import CEILING, OTHERS, PEERS, Kind
from px4_sim_ros.bench.results import KindResult, Results, Spread
from px4_sim_ros.bench.unit_costs import CALIBRATION
from px4_sim_ros.flight.flight_plan import MODES

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
        'Parts alone: unit costs, not measured in place, times how often a step needs them\n'
        + _columns([('part', 'us a call', 'calls a step', 'us a step'), *(
            (part, f'{us:.2f}', f'{calls:.2f}', f'{us * calls:.1f}')
            for part, (us, calls) in results.costs().items() if part != CALIBRATION)]),
        'A step of dynamics alone by integrator, us: ' + ', '.join(
            f"{name} {spread.text('.0f')}" for name, spread in results.integrators_us().items())
        + '\nFrom the command to the first HIL_SENSOR, s: ' + ', '.join(
            f"{mode} {spread.text('.2f')}" for mode, spread in results.start_s().items())
        + f'\nA calibration loop: {results.calibration_us():.1f} us'])


def beside_peers(results: Results) -> list[tuple[str, ...]]:
    """Return the table that compares whoever flew PX4: a row for its names, one for each."""
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
    # Of a peer nobody knows what it waits.
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
