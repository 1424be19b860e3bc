# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which input matters: the part of a campaign's page on what varies."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.campaign import statistics
from px4_sim_ros.campaign.jobs import Row
from px4_sim_ros.recording.report.plots import TRUTH_COLOUR, empty
from px4_sim_ros.recording.report.report_page import figure, heading, paragraph, table, text

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

_BINS = 10
_HEIGHT_PX, _RIGHT_PX = 320, 120


def inputs(
    rows: typing.Sequence[Row], names: typing.Sequence[str], chosen: typing.Collection[str],
    margins: typing.Mapping[str, str], colours: typing.Mapping[str, str],
) -> str:
    """Return the section, as HTML.

    :param names: of the inputs
    :param chosen: those with a choice of values, also where these are numbers
    :param margins: columns of margins, and what they are margins of
    :param colours: by outcome
    """
    found = [(meaning, one.name, f'{one.rank_correlation:+.2f}', f'{one.p_value:.2g}')
             for column, meaning in margins.items()
             for one in statistics.influences(rows, names, column)]
    correlations = table(('margin', 'input', 'rank correlation', 'p'), found, 2) if found else (
        paragraph('There is no input that is a number, or no margin.'))
    told = ''.join(heading(name) + _by_value(rows, name, margins) for name in names
                   if name in chosen or not _are_numbers(rows, name))
    plots = ''.join(heading(name) + '<div class="pair">' + figure(_share(rows, name, colours))
                    + ''.join(figure(_margin(rows, name, column, meaning))
                              for column, meaning in margins.items()) + '</div>'
                    for name in names if name not in chosen
                    and len(np.unique(statistics.numbers(rows, name))) > 1)
    return paragraph(
        "Spearman's rank correlation: +1 if the margin always grows with the input, -1 if it always"
        ' falls. p is how likely so much is by chance. Below, the share of runs that hold and the'
        f' mean of each margin, with their {statistics.CONFIDENCE:.0%} intervals: by value of what'
        f' has a choice, and in up to {_BINS} groups of equally many runs along each other input.'
        ' What is drawn is drawn independently, so all else has all its values in each group: it is'
        ' the partial dependence on this one.') + correlations + told + plots


def _are_numbers(rows: typing.Sequence[Row], name: str) -> bool:
    return len(statistics.numbers(rows, name)) == len(rows)


def _by_value(
    rows: typing.Sequence[Row], name: str, margins: typing.Mapping[str, str],
) -> str:
    """Return a row for each value, the one that holds least often first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_text(row.get(name)), []).append(row)
    shares = {value: statistics.success(group) for value, group in groups.items()}
    return table(('value', 'holds', *(f'margin: {meaning}' for meaning in margins.values())), [
        (value, shares[value].text, *(
            _mean_text(statistics.mean(statistics.numbers(groups[value], column)[:, 0]),
                       len(groups[value]))
            for column in margins))
        for value in sorted(groups, key=lambda value: (shares[value].share, value))], 1)


def _text(value: typing.Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def _mean_text(mean: statistics.Mean, runs: int) -> str:
    if not mean.runs:
        return ''
    return f'{mean.mean:.4g}' + (
        f' ({mean.low:.4g} to {mean.high:.4g})' if mean.runs > 1 else '') + (
        f', of {mean.runs} of {runs}' if mean.runs < runs else '')


def _groups(rows: typing.Sequence[Row], name: str) -> list[list[Row]]:
    """Return groups of equally many runs along an input that is a number."""
    usable = [row for row in rows if len(statistics.numbers([row], name))]
    usable.sort(key=lambda row: float(row[name]))
    count = min(_BINS, max(1, len(usable) // 5))
    return [[usable[i] for i in group]
            for group in np.array_split(np.arange(len(usable)), count) if len(group)]


def _share(
    rows: typing.Sequence[Row], name: str, colours: typing.Mapping[str, str],
) -> go.Figure:
    """Return how the share of runs that hold goes along an input."""
    groups = _groups(rows, name)
    shares = [statistics.success(group) for group in groups]
    plot = _along(name, groups, [(one.low, one.share, one.high) for one in shares],
                  colours['held'])
    plot.update_layout(
        yaxis={'title': {'text': 'share that holds'}, 'range': [-0.02, 1.02]})
    return plot


def _margin(rows: typing.Sequence[Row], name: str, column: str, meaning: str) -> go.Figure:
    """Return how the mean of a margin goes along an input."""
    groups = _groups([row for row in rows if len(statistics.numbers([row], column))], name)
    means = [statistics.mean(statistics.numbers(group, column)[:, 0]) for group in groups]
    plot = _along(name, groups, [(one.low, one.mean, one.high) for one in means], TRUTH_COLOUR)
    plot.add_hline(y=0, line={'color': TRUTH_COLOUR, 'dash': 'dot'})
    plot.update_layout(yaxis={'title': {'text': f'margin: {text(meaning)}'}})
    return plot


def _along(
    name: str, groups: typing.Sequence[typing.Sequence[Row]],
    values: typing.Sequence[tuple[float, float, float]], colour: str,
) -> go.Figure:
    """Return values with their intervals along an input.

    :param values: of each group: lower end, value, upper end
    """
    import plotly.graph_objects as go
    plot = empty(_HEIGHT_PX, _RIGHT_PX)
    plot.add_trace(go.Scatter(
        x=[float(np.mean([row[name] for row in group])) for group in groups],
        y=[value for _, value, _ in values], mode='lines+markers', showlegend=False,
        line={'color': colour}, error_y={
            'type': 'data', 'symmetric': False,
            'array': [high - value for _, value, high in values],
            'arrayminus': [value - low for low, value, _ in values]}))
    plot.update_layout(xaxis={'title': {'text': text(name)}})
    return plot
