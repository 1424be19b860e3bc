# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The page of a campaign: how often it holds, by how much, what matters, and where it fails."""
from __future__ import annotations

import pathlib
import typing
import urllib.parse

import numpy as np

from px4_sim_ros.campaign import statistics
from px4_sim_ros.campaign.folder import Folder, Session, run_name
from px4_sim_ros.campaign.inputs import Choice
from px4_sim_ros.campaign.jobs import FlownPath, Row
from px4_sim_ros.process import atomic_write
from px4_sim_ros.px4.log import LACKS, LogLoss
from px4_sim_ros.recording.report.plots import MARK_COLOURS, TRUTH_COLOUR, empty
from px4_sim_ros.recording.report.report_page import (
    NOTHING_TO_PLOT,
    Html,
    Section,
    figure,
    heading,
    page,
    paragraph,
    table,
    text,
    tiles,
)

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

# Which input matters: the part of a campaign's page on what varies.

_BINS = 10


def inputs(
    rows: typing.Sequence[Row], names: typing.Sequence[str], chosen: typing.Collection[str],
    margins: typing.Mapping[str, str], colours: typing.Mapping[str, str],
) -> str:
    """Return the section, as HTML."""
    found = [(meaning, one.name, f'{one.rank_correlation:+.2f}', f'{one.p_value:.2g}')
             for column, meaning in margins.items()
             for one in statistics.influences(rows, names, column)]
    correlations = table(('margin', 'input', 'rank correlation', 'p'), found, 2) if found else (
        paragraph('There is no input that is a number, or no margin.'))
    by_value = ''.join(heading(name) + _by_value(rows, name, margins) for name in names
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
        ' the partial dependence on this one.') + correlations + by_value + plots


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


# Paths of a campaign's flights, laid over each other.

_MOST = 200
"""Paths of each outcome that are drawn."""
_ABOVE_PX, _BESIDE_PX = 560, 320
_GAP = np.full((1, 4), np.nan)


def paths(
    rows: typing.Sequence[Row], flown: typing.Mapping[int, FlownPath],
    colours: typing.Mapping[str, str],
) -> str:
    """Return the paths seen from above, and their heights over time, as HTML."""
    chosen = {outcome: _spread([flown[row['run']] for row in rows if row['run'] in flown
                                and row['outcome'] == outcome]) for outcome in colours}
    if not any(chosen.values()):
        return NOTHING_TO_PLOT
    drawn = sum(map(len, chosen.values()))
    return paragraph(
        f'{drawn} of {len(rows)} flights; of more than {_MOST} with an outcome every so many-th.'
    ) + heading('From above') + figure(_from_above(chosen, colours)) + heading(
        'Height') + figure(_heights(chosen, colours))


def _spread(found: list[FlownPath]) -> list[FlownPath]:
    """Return not too many of them, from first to last."""
    return found[::max(1, -(-len(found) // _MOST))]


def _table(chosen: typing.Sequence[FlownPath]) -> np.ndarray:
    """Return time, east, north and up of all points, with a gap behind each path, (n, 4)."""
    parts: list[np.ndarray] = []
    for path in chosen:
        points = np.array(path.points).reshape(-1, 3)
        times = path.every_s * np.arange(len(points))
        parts += [np.column_stack((times, points)), _GAP]
    return np.concatenate(parts).astype(np.float32)


def _lines(
    chosen: typing.Mapping[str, list[FlownPath]], colours: typing.Mapping[str, str], height_px: int,
    columns: tuple[int, int],
) -> go.Figure:
    import plotly.graph_objects as go
    plot = empty(height_px, _RIGHT_PX)
    for outcome, found in chosen.items():
        if found:
            table = _table(found)
            plot.add_trace(go.Scatter(
                x=table[:, columns[0]], y=table[:, columns[1]], name=outcome, mode='lines',
                opacity=0.5, line={'color': colours[outcome], 'width': 1}, hoverinfo='skip'))
    return plot


def _from_above(
    chosen: typing.Mapping[str, list[FlownPath]], colours: typing.Mapping[str, str],
) -> go.Figure:
    plot = _lines(chosen, colours, _ABOVE_PX, (1, 2))
    plot.update_layout(
        xaxis={'title': {'text': 'east of the start, m'}},
        yaxis={'title': {'text': 'north of the start, m'}, 'scaleanchor': 'x'})
    return plot


def _heights(
    chosen: typing.Mapping[str, list[FlownPath]], colours: typing.Mapping[str, str],
) -> go.Figure:
    plot = _lines(chosen, colours, _BESIDE_PX, (0, 3))
    plot.update_layout(xaxis={'title': {'text': 'simulated time, s'}},
                       yaxis={'title': {'text': 'height over the start, m'}})
    return plot


_COLOURS = {'held': '#2a9d8f', 'failed': MARK_COLOURS['error']}
_WORST = 20
_HEIGHT_PX, _RIGHT_PX = 320, 120


def write_report(folder: Folder) -> pathlib.Path:
    """Write the page of all rows that there are; return its file.

    :raises OSError: it cannot be written
    """
    path = folder.path / 'report.html'
    atomic_write.write(path, report(folder))
    return path


def report(folder: Folder) -> str:
    """Return the page as HTML that needs no other file; its links lead into the folder."""
    rows, flown, sessions = folder.rows(), folder.paths(), folder.sessions()
    names = [found.name for found in folder.campaign.vary]
    chosen = [found.name for found in folder.campaign.vary
              if isinstance(found.distribution, Choice)]
    margins = statistics.margins(rows)
    damages = ''.join(paragraph(damage, 'warning') for damage in folder.damages.values())
    return page(f'Campaign {folder.campaign.name}', damages + _head(folder, rows), [
        Section('margins', 'Margins', _margins(rows, margins)),
        Section('inputs', 'Which input matters', inputs(
            rows, names, chosen, margins, _COLOURS)),
        Section('fails', 'Where it fails', _fails(folder, rows, names, margins)),
        Section('paths', 'Paths', paths(rows, flown, _COLOURS)),
        Section('time', 'Time', _sessions(sessions, rows)),
        Section('facts', 'The campaign', _facts(folder, rows))])


def _head(folder: Folder, rows: typing.Sequence[Row]) -> str:
    found = statistics.success(rows)
    return tiles([
        ('held', f'{found.share:.1%}' if rows else '-'),
        (f'{statistics.CONFIDENCE:.0%} interval', f'{found.low:.1%} to {found.high:.1%}'),
        ('runs', f'{len(rows)} of {folder.campaign.settings.runs}'),
        ('failed', sum(row['outcome'] == 'failed' for row in rows)),
        ('autopilot', folder.campaign.settings.autopilot)]) + paragraph(
        'The interval is that of Clopper and Pearson: it has the true share with at least'
        f' {statistics.CONFIDENCE:.0%} confidence, if the runs are drawn at random.')


def _margins(rows: typing.Sequence[Row], margins: dict[str, str]) -> str:
    plots = []
    for name, meaning in margins.items():
        found = statistics.numbers(rows, name)[:, 0]
        if len(found):
            low, middle, high = np.quantile(found, (0.05, 0.5, 0.95))
            plots.append(heading(meaning) + figure(_histogram(rows, name, meaning)) + paragraph(
                f'5 % of the runs are below {low:.4g}, half below {middle:.4g}, 95 % below'
                f' {high:.4g}; the least is {found.min():.4g}. '
                f'{statistics.without_margin(rows, name)}'))
    return paragraph(
        'How far a run stayed from failing, at worst, over what was flown; at or below 0 it has'
        ' failed.') + ''.join(
        plots) if plots else NOTHING_TO_PLOT


def _histogram(rows: typing.Sequence[Row], name: str, meaning: str) -> go.Figure:
    import plotly.graph_objects as go
    plot = empty(_HEIGHT_PX, _RIGHT_PX)
    edges = np.histogram_bin_edges(statistics.numbers(rows, name)[:, 0], bins='auto')
    for outcome, colour in _COLOURS.items():
        values = statistics.numbers([r for r in rows if r['outcome'] == outcome], name)[:, 0]
        counts, _ = np.histogram(values, edges)        # Plotly's own leaves out the greatest value
        plot.add_trace(go.Bar(
            x=edges[:-1] / 2 + edges[1:] / 2, y=counts, width=np.diff(edges), name=outcome,
            marker={'color': colour}))
    plot.add_vline(x=0, line={'color': TRUTH_COLOUR, 'dash': 'dot'})
    plot.update_layout(barmode='stack', xaxis={'title': {'text': f'margin: {meaning}'}},
                       yaxis={'title': {'text': 'runs'}})
    return plot


def _fails(
    folder: Folder, rows: typing.Sequence[Row], names: typing.Sequence[str],
    margins: dict[str, str],
) -> str:
    worst = sorted(rows, key=lambda row: (row['outcome'] == 'held', statistics.worst_margin(row)))
    cells = [(_link(f'scenarios/{run_name(row["run"])}.yaml', str(row['run'])),
              row['outcome'], *(_short(row.get(name)) for name in names),
              *(_short(row.get(column)) for column in margins), row['failure'],
              _recording(folder, row), row['fingerprint'])
             for row in worst[:_WORST]]
    return _scatter_of(rows, names, margins) + heading('The worst runs') + paragraph(
        'Those that failed come first, by their least margin of any expectation. `campaign refly'
        f' {folder.path} RUN` flies one again.') + table(
        ('run', 'outcome', *names, *(f'margin: {meaning}' for meaning in margins.values()),
         'why', 'recording', 'fingerprint'), cells)


def _recording(folder: Folder, row: Row) -> str:
    name = run_name(row['run'])
    return _link(f'recordings/{name}/', name) if row.get('recording') else ''


def _link(place: str, label: str) -> Html:
    return Html(f'<a href="{urllib.parse.quote(place)}">{text(label)}</a>')


def _short(value: typing.Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else '' if value is None else str(value)


def _scatter_of(
    rows: typing.Sequence[Row], names: typing.Sequence[str], margins: dict[str, str],
) -> str:
    """Return the runs over the two inputs that matter most for the first margin."""
    order = [one.name for column in list(margins)[:1]
             for one in statistics.influences(rows, names, column)]
    numeric = [name for name in names if len(statistics.numbers(rows, name))]
    shown = list(dict.fromkeys([*order, *numeric]))[:2]
    if not shown:
        return NOTHING_TO_PLOT
    across, up = shown[0], shown[1] if len(shown) > 1 else next(iter(margins), shown[0])
    return figure(_scatter(rows, across, up, margins))


def _scatter(
    rows: typing.Sequence[Row], across: str, up: str, margins: dict[str, str],
) -> go.Figure:
    import plotly.graph_objects as go
    plot = empty(480, _RIGHT_PX)
    for outcome, colour in _COLOURS.items():
        found = [r for r in rows if r['outcome'] == outcome and len(
            statistics.numbers([r], across, up))]
        plot.add_trace(go.Scatter(
            x=[row[across] for row in found], y=[row[up] for row in found], mode='markers',
            name=outcome, marker={'color': colour, 'size': 7, 'symbol': (
                'circle' if outcome == 'held' else 'x')},
            text=[f"run {row['run']}, least margin {_short(statistics.worst_margin(row))}"
                  for row in found], hovertemplate='%{text}<br>%{x:.4g}, %{y:.4g}'))
    plot.update_layout(
        xaxis={'title': {'text': text(across)}},
        yaxis={'title': {'text': text(margins.get(up, up))}})
    return plot


def _sessions(sessions: typing.Sequence[Session], rows: typing.Sequence[Row]) -> str:
    cells = [(s.flown, s.slots, f'{s.elapsed_s:.1f}', f'{s.flights_per_hour:.0f}',
              f'{s.real_time_factor:.1f}', f'{s.share_not_flying:.1%}') for s in sessions]
    again = sum(row['again'] > 0 for row in rows)
    return table(('flights', 'at the same time', 'wall time, s', 'flights an hour',
                  'simulated over wall time', 'not flying'), cells, 0) + paragraph(
        'What is not flying: the start of processes, loading, PX4 until its first step, recording'
        f' failed flights again. {again} of the runs were begun again after their process, or'
        ' their PX4, had been killed.')


def _facts(folder: Folder, rows: typing.Sequence[Row]) -> str:
    settings = folder.campaign.settings
    varied = [(found.name, f'{type(found.distribution).__name__.lower()}: ' + ', '.join(
        f'{key} {value}' for key, value in vars(found.distribution).items()
        if value is not None and not key.startswith('_'))) for found in folder.campaign.vary]
    unrepeatable = sum(not row.get('repeatable', True) for row in rows)
    return (heading('What varies') + table((), varied) + heading('How it was flown')
            + table((), vars(settings).items())
            + table((), [('runs that may not repeat', unrepeatable), *_log_loss(rows),
                         *(('versions', one) for one in dict.fromkeys(
                             row.get('versions', '') for row in rows))]))


def _log_loss(rows: typing.Sequence[Row]) -> list[tuple[str, str]]:
    """Return the gaps in PX4's logs as a fact, if there are any."""
    losses = statistics.log_losses(rows)
    return [(LACKS, f'{LogLoss.total(losses).text}, in {len(losses)} runs')] if losses else []
