# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pages of `validate` and `identify`."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.real import open_loop, predictions, statics
from px4_sim_ros.real.fit import CONFIDENCE, Estimate, Fit
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.held_out import HeldOut
from px4_sim_ros.real.named import NAMED
from px4_sim_ros.real.open_loop import FREE, QUANTITIES
from px4_sim_ros.real.predictions import Errors
from px4_sim_ros.recording.report.plots import COLOURS, TRUTH_COLOUR, Line, Row, empty
from px4_sim_ros.recording.report.report_page import (
    NOTHING_TO_PLOT,
    Section,
    figure,
    folded,
    heading,
    page,
    paragraph,
    table,
    text,
    tiles,
    time_plot,
)

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go


_HEIGHT_PX, _KEY_PX, _RIGHT_PX, _POINTS = 320, 120, 190, 4000
_SHARES = np.linspace(0.0, 1.0, 101)
_COLOURS = (*COLOURS, TRUTH_COLOUR)


class Validated(typing.NamedTuple):
    """A log, flown through a model."""

    flight: RealFlight
    vehicle: str
    errors: Errors
    shares: tuple[float, float, float]     # of `open_loop.torque_shares`
    samples: statics.Sampled
    pairs: list[statics.Pair]
    tilts: statics.Tilts | None
    closed_loop: typing.Sequence[tuple[str, ...]]  # of `closed_loop.compared`; () without logs


def validation_page(found: Validated) -> str:
    """Return the page of `validate` as HTML that needs no other file."""
    flight = found.flight
    head = tiles([
        ('usable flight', f'{flight.usable_s:.1f} s'),
        ('starts', ', '.join(str(len(starts)) for starts in found.errors.starts_s)),
        *((pair.name, f'{pair.error:+.1%}') for pair in found.pairs)])
    return page(f'{flight.name} through {found.vehicle}', head, [
        Section('open', 'Open loop', _open_loop(found)),
        Section('statics', 'Steady flight', _statics(found)),
        *([Section('closed', 'Closed loop', _closed_loop(found.closed_loop))]
          if found.closed_loop else []),
        Section('unknown', 'What the log does not determine', _list(_unknown(found))),
        Section('facts', 'The log', table((), [
            *flight.facts, *([('repaired', flight.repaired)] if flight.repaired else [])]))])


def _closed_loop(rows: typing.Sequence[tuple[str, ...]]) -> str:
    head = ('', 'log', *(f'simulated {i}' for i in range(1, len(rows[0]) - 1)))
    return paragraph('PX4 flew both: each with its own set points, while it was in the air.'
                     ) + table(head, rows, 1)


def _unknown(found: Validated) -> list[str]:
    explained = ', '.join(f'{share:.0%}' for share in found.shares)
    return [*found.flight.unknown,
            f'torques: the motors of the log explain {explained} of how roll, pitch and yaw rate'
            ' change; what is missing is noise and what happens between samples']


def _list(items: typing.Sequence[str]) -> str:
    return '<ul>' + ''.join(f'<li>{text(item)}</li>' for item in items) + '</ul>'


def _open_loop(found: Validated) -> str:
    errors, plots = found.errors, ''
    rows = [(f'{horizon:g} s', name, len(errors.starts_s[i]), *(
        f'{np.mean(values[i][:, k]):.3g} / {np.quantile(values[i][:, k], 0.95):.3g}'
        for k in range(len(QUANTITIES))))
        for i, horizon in enumerate(errors.horizons_s) for name, values in errors.ways.items()]
    for i, horizon in enumerate(errors.horizons_s):
        plots += folded(f'Distributions over {horizon:g} s', '<div class="pair">' + ''.join(
            figure(_distribution(errors, i, k)) for k in range(len(QUANTITIES))) + '</div>')
    return paragraph(
        'From many starts the model has the state of the log, and then only its motor commands,'
        ' voltage and wind. Each time has its own starts: all after which the log has no break.'
        ' The table has mean / 95 % of the errors after a time. Free is the whole'
        ' model; with the attitude as logged only forces err; with the rate of the start held'
        ' there are no torques, as in published physical models; trimmed, it has the force that it'
        f' lacked in the {predictions.PAST_S:g} s before. Without a model velocity and rate of the'
        ' start stay. The accelerometer of the log shows how far the log agrees with itself.'
    ) + table(
        ('after', '', 'starts', *(f'{q.name}, {q.unit}' for q in QUANTITIES)), rows, 2
    ) + plots + heading('Along the flight') + _along(found)


def _distribution(errors: Errors, horizon: int, quantity: int) -> go.Figure:
    """Return which share of the starts has less than an error."""
    import plotly.graph_objects as go
    plot = empty(_HEIGHT_PX + _KEY_PX, _RIGHT_PX)
    for (name, values), colour in zip(errors.ways.items(), _COLOURS):
        plot.add_trace(go.Scatter(
            x=np.quantile(values[horizon][:, quantity], _SHARES), y=_SHARES, name=name,
            mode='lines', line={'color': colour}))
    what = QUANTITIES[quantity]
    plot.update_layout(
        xaxis={'title': {'text': f'error of {what.name}, {what.unit}'}, 'type': 'log'},
        yaxis={'title': {'text': 'share of starts below'}, 'range': [0, 1]},
        # Above the plot: beside it, two of them in a row would have no room.
        legend={'orientation': 'h', 'y': 1.02, 'yanchor': 'bottom'}, margin={'t': _KEY_PX, 'r': 20})
    return plot


def _along(found: Validated) -> str:
    """Return errors over the time of their starts."""
    errors = found.errors
    middle = min(1, len(errors.horizons_s) - 1)
    rows = [Row(f'{what.name} after {errors.horizons_s[middle]:g} s', what.unit, [
        Line(name, errors.starts_s[middle], values[middle][:, k], colour)
        for (name, values), colour in zip(errors.ways.items(), _COLOURS)])
        for k, what in enumerate(QUANTITIES)]
    return time_plot(rows, (), (0.0, float(errors.starts_s[middle][-1])), _POINTS,
                     'time of the log')


def _statics(found: Validated) -> str:
    samples = found.samples
    rows = [(f'{pair.name}{", " + pair.unit if pair.unit else ""}', f'{pair.log:.4g}',
             f'{pair.model:.4g}', f'{pair.error:+.1%}') for pair in found.pairs]
    drive = samples.command if np.isfinite(samples.command).any() else samples.speed_rad_s
    name = 'motor command, mean of all' if drive is samples.command else 'rotor speed, rad/s'
    plots = heading('Lift of the rotors by command') + figure(_clouds(
        drive, name, 'lift / mass, m/s^2', samples.lift_m_s2, samples.model_lift_m_s2))
    if np.isfinite(samples.current_a).all() and samples.model_power_w.any():
        plots += heading('Current by command') + figure(_clouds(
            drive, name, 'current, A', samples.current_a,
            samples.model_power_w / samples.voltage_v))
    return table(('', 'log', 'model', 'error of the model'), rows, 1) + plots + heading(
        'Tilt by airspeed') + (figure(_tilt(found.tilts)) if found.tilts else NOTHING_TO_PLOT)


def _clouds(
    x: np.ndarray, x_name: str, y_name: str, log: np.ndarray, model: np.ndarray,
) -> go.Figure:
    import plotly.graph_objects as go
    plot = empty(_HEIGHT_PX, _RIGHT_PX)
    for name, values, colour in (('log', log, TRUTH_COLOUR), ('model', model, COLOURS[0])):
        plot.add_trace(go.Scatter(
            x=x.astype(np.float32), y=values.astype(np.float32), name=name, mode='markers',
            marker={'color': colour, 'size': 4, 'opacity': 0.6}))
    plot.update_layout(xaxis={'title': {'text': x_name}}, yaxis={'title': {'text': y_name}})
    return plot


def _tilt(tilts: statics.Tilts) -> go.Figure:
    import plotly.graph_objects as go
    plot = empty(_HEIGHT_PX, _RIGHT_PX)
    plot.add_trace(go.Scatter(
        x=tilts.airspeed_m_s, y=tilts.log_deg, name='log', mode='markers',
        marker={'color': TRUTH_COLOUR}, error_y={'type': 'data', 'array': tilts.spread_deg}))
    plot.add_trace(go.Scatter(x=tilts.airspeed_m_s, y=tilts.model_deg, name='model',
                              mode='lines', line={'color': COLOURS[0]}))
    plot.update_layout(xaxis={'title': {'text': 'airspeed, m/s'}},
                       yaxis={'title': {'text': 'tilt into the airspeed, deg'}})
    return plot


class Identified(typing.NamedTuple):
    """What `identify` found."""

    title: str
    estimates: tuple[Estimate, ...]
    refused: tuple[tuple[str, str], ...]
    fit: Fit
    held_out: HeldOut | str                # a text says why there are no parts
    pairs: list[tuple[str, list[statics.Pair], list[statics.Pair]]]    # by log: before, after
    facts: list[tuple[str, str]]
    unknown: list[str]
    repaired: list[str]                    # a sentence for each log that was


def identification_page(found: Identified) -> str:
    """Return the page of `identify` as HTML that needs no other file."""
    numbers = table(
        ('number', 'meaning', 'it was', 'it is', f'{CONFIDENCE:.0%} interval', 'unit'),
        [(one.name, NAMED[one.name].meaning, f'{one.before:.4g}', f'{one.value:.4g}',
          f'{one.low:.4g} to {one.high:.4g}', NAMED[one.name].unit)
         for one in found.estimates], 2, 5)
    return page(found.title, tiles([
        ('numbers', len(found.estimates)), ('not determined', len(found.refused)),
        ('windows', found.fit.windows), ('blocks', found.fit.blocks)]), [
        Section('numbers', 'What the logs say', numbers),
        Section('refused', 'What they do not determine', table(
            ('number', 'why it stays as it was'), found.refused) + _list(found.unknown)),
        Section('held', 'Held-out parts', _held_out(found.held_out)),
        Section('statics', 'Steady flight', _before_and_after(found)),
        Section('facts', 'The logs', table((), found.facts) + _list(found.repaired))])


def _held_out(found: HeldOut | str) -> str:
    if isinstance(found, str):
        return paragraph(f'There are none: {found}.')
    rows = [(f'{horizon:g} s', name, *(f'{mean:.4g}' for mean in means[i]))
            for i, horizon in enumerate(found.horizons_s) for name, means in found.means.items()]
    return paragraph(
        'Mean errors of open-loop flight over parts that the numbers are not from; models'
        f' {"are " + FREE if found.turning == FREE else "have their rates held"}. The linear fit is'
        ' one to each time itself.') + table(
        ('after', '', *(f'{q.name}, {q.unit}' for q in QUANTITIES)), rows, 2)


def _before_and_after(found: Identified) -> str:
    return table(('log', '', 'log', 'as it came', 'identified'), [
        (name, f'{old.name}{", " + old.unit if old.unit else ""}', f'{old.log:.4g}',
         f'{old.model:.4g} ({old.error:+.1%})', f'{new.model:.4g} ({new.error:+.1%})')
        for name, before, after in found.pairs for old, new in zip(before, after)], 2)


def validated(
    flight: RealFlight, name: str, vehicle: typing.Any,
    closed_loop: typing.Sequence[tuple[str, ...]] = (),
) -> Validated:
    """Fly a log through a vehicle, and compare what can be compared."""
    errors = predictions.errors(flight, vehicle)
    samples = statics.sampled(flight, vehicle)
    return Validated(flight, name, errors, open_loop.torque_shares(flight, vehicle), samples,
                     statics.pairs(flight, vehicle, samples),
                     statics.tilts(flight, vehicle, samples), closed_loop)


# What `validate` and `identify` print, and their figures as JSON holds them.

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
    yield from _of_held_out(found.held_out)
    for name, before, after in found.pairs:
        for old, new in zip(before, after):
            yield (f'{name}: {old.name}: log {old.log:.4g}, {old.error:+.1%} as it came,'
                   f' {new.error:+.1%} identified')


def _of_held_out(held: HeldOut | str) -> typing.Iterator[str]:
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
