# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a benchmark as text."""
from __future__ import annotations

import typing

from px4_sim_ros.bench.kinds import CEILING
from px4_sim_ros.bench.results import KindResult, Results
from px4_sim_ros.bench.unit_costs import CALIBRATION


def text(results: Results) -> str:
    """Return the tables."""
    kinds = results.kinds()
    return '\n\n'.join([
        'Hovering, simulated over wall time, and wall time of a step in us: median (range)\n'
        + _columns([
            ('mode/autopilot', 'real-time factor', 'of the ceiling', 'of that on all cores',
             'of recorder off', 'ours', 'waiting'), *map(_row, kinds)]),
        'Wall time of a step by part, us, measured in place; the bridge without the waiting\n'
        + _columns([('mode/autopilot', 'part'), *(
            (k.kind.name, ', '.join(f'{part} {us:.0f}' for part, us in k.parts_us.items()))
            for k in kinds if k.kind.mode != CEILING)]),
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
        + f'\nA calibration loop: {results.calibration_us():.1f} us'])


def _row(result: KindResult) -> tuple[str, ...]:
    def or_nothing(spread: typing.Any) -> str:
        return spread.text() if spread is not None else ''

    ratios = result.to_ceiling, result.to_ceiling_on_all_cores, result.to_recorder_off
    return (result.kind.name, result.real_time_factor.text('.1f'), *map(or_nothing, ratios),
            result.own_us.text('.0f'), result.waiting_us.text('.0f'))


def _columns(rows: typing.Sequence[typing.Sequence[str]]) -> str:
    """Return rows with cells side by side; the last ones are as long as they are."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return '\n'.join('  '.join(
        cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
