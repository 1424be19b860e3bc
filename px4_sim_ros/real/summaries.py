# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `validate` and `identify` print, and their figures as JSON holds them."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.real.held_out import HeldOut
from px4_sim_ros.real.named import NAMED
from px4_sim_ros.real.open_loop import QUANTITIES
from px4_sim_ros.real.pages import Identified, Validated


def of_validation(found: Validated) -> typing.Iterator[str]:
    """Yield the lines of a summary."""
    flight, errors = found.flight, found.errors
    if flight.repaired:
        yield flight.repaired
    yield (f'{flight.name}: {flight.usable_s:.1f} s of flight; mean errors of'
           f' {found.vehicle}')
    yield f"{'after':8}{'starts':8}{'':30}" + ''.join(
        f'{f"{q.name}, {q.unit}":>18}' for q in QUANTITIES)
    for i, horizon in enumerate(errors.horizons_s):
        for way, values in errors.ways.items():
            yield f'{horizon:g} s'.ljust(8) + f'{len(errors.starts_s[i]):<8}{way:30}' + ''.join(
                f'{mean:18.4g}' for mean in values[i].mean(axis=0))
    for pair in found.pairs:
        yield (f'{pair.name}: log {pair.log:.4g}, model {pair.model:.4g} {pair.unit}'.rstrip()
               + f' ({pair.error:+.1%})')
    for row in found.closed_loop:
        yield f'{row[0]:52}' + ''.join(f'{value:>10}' for value in row[1:])


def validation_json(found: Validated) -> dict[str, typing.Any]:
    errors = found.errors

    def figures(values: typing.Sequence[np.ndarray]) -> dict[str, typing.Any]:
        return {f'{horizon:g} s': {q.name: {
            'unit': q.unit, 'mean': float(values[i][:, k].mean()),
            'median': float(np.median(values[i][:, k])),
            '95 %': float(np.quantile(values[i][:, k], 0.95))}
            for k, q in enumerate(QUANTITIES)} for i, horizon in enumerate(errors.horizons_s)}
    return {
        'log': found.flight.name, 'vehicle': found.vehicle,
        'usable_s': found.flight.usable_s, 'starts': {
            f'{horizon:g} s': len(starts)
            for horizon, starts in zip(errors.horizons_s, errors.starts_s)},
        'errors': {way: figures(values) for way, values in errors.ways.items()},
        'torque_shares': list(found.shares),
        'steady': {pair.name: {'unit': pair.unit, 'log': pair.log, 'model': pair.model}
                   for pair in found.pairs},
        'closed_loop': {row[0]: list(row[1:]) for row in found.closed_loop},
        'unknown': list(found.flight.unknown), 'repaired': found.flight.repaired}


def of_identification(found: Identified) -> typing.Iterator[str]:
    """Yield the lines of a summary."""
    yield from found.repaired
    for one in found.estimates:
        yield (f'{one.name:42} {one.before:10.4g} -> {one.value:10.4g} +- {one.half_width:.2g}'
               f' {NAMED[one.name].unit}').rstrip()
    for name, why in found.refused:
        yield f'{name:42} not determined: {why}'
    yield from _held_out(found.held_out)
    for name, before, after in found.pairs:
        for old, new in zip(before, after):
            yield (f'{name}: {old.name}: log {old.log:.4g}, {old.error:+.1%} as it came,'
                   f' {new.error:+.1%} identified')


def _held_out(held: HeldOut | str) -> typing.Iterator[str]:
    if isinstance(held, str):
        yield f'no held-out parts: {held}'
        return
    yield f'held-out parts, {held.turning}, mean errors'
    for i, horizon in enumerate(held.horizons_s):
        for name, means in held.means.items():
            yield f'{horizon:g} s'.ljust(8) + f'{name:30}' + ''.join(
                f'{f"{mean:.4g} {q.unit}":>18}' for mean, q in zip(means[i], QUANTITIES))


def identification_json(found: Identified) -> dict[str, typing.Any]:
    return {
        'numbers': {one.name: {
            'unit': NAMED[one.name].unit, 'before': one.before, 'value': one.value,
            'low': one.low, 'high': one.high} for one in found.estimates},
        'refused': dict(found.refused), 'repaired': found.repaired,
        'held_out': held if isinstance(held := found.held_out, str) else {
            'turning': held.turning} | {name: {
                f'{horizon:g} s': dict(zip([q.name for q in QUANTITIES], means[i].tolist()))
                for i, horizon in enumerate(held.horizons_s)}
                for name, means in held.means.items()}}
