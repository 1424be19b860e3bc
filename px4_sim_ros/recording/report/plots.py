# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plots of a flight: what they look like, and how few points are enough for them."""
from __future__ import annotations

import html
import typing

import numpy as np

from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.series import Mark, Waypoint

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

# Of x, y, z, and of what else comes in threes: east, north, up and roll, pitch, yaw.
AXIS_COLOURS = '#d1603d', '#2a9d8f', '#4a7fd4'
COLOURS = (*AXIS_COLOURS, '#b0883b', '#9a6fc0', '#c2577f', '#6b9a3c', '#5a9fb5', '#a0694b',
           '#e0a36f', '#7fc4a4', '#8e9ee6', '#8c8c4a', '#d48fd0', '#e58080', '#4f7f5f', '#7f7fa0')
TRUTH_COLOUR = '#7d8792'
MARK_COLOURS = {
    'pilot': '#4a7fd4', 'scenario': '#c4568f', 'autopilot': '#3f8f5f', 'link': '#9a6fc0',
    'simulation': '#7d8792', 'dynamics': '#a0694b', 'sensor': '#b0883b',
    'battery': '#c2577f', 'warning': '#d98a1f', 'error': '#cf3f3f'}

_ROW_PX, _GAP_PX, _TOP_PX, _BOTTOM_PX = 180, 40, 46, 48
# The title of the first row stands over the numbers of the marks.
_NUMBERS_PX = 14
_LEFT_PX, _RIGHT_PX = 66, 216
_LEGEND_PX = 19                # of a line
# Marks closer than this share of the time shown have their numbers in one place.
_CLOSE = 0.016
_FONT = 'system-ui, sans-serif'


class Line(typing.NamedTuple):
    """One line of a time plot; where a value is not finite, and in a gap, it is broken."""

    name: str
    time_s: np.ndarray
    values: np.ndarray
    colour: str
    pale: bool = False         # so that what lies over or under it can be seen
    steps: bool = False        # a value holds until the next one
    spans: bool = False        # a value is of the time since the one before


class Row(typing.NamedTuple):
    """Lines over the same time and of the same unit, with a title."""

    title: str
    unit: str
    lines: typing.Sequence[Line]


def rgb(colour: str) -> list[int]:
    """Return the parts of a colour such as '#2a9d8f', from 0 to 255."""
    return [int(colour[i:i + 2], 16) for i in (1, 3, 5)]


def axis_lines(
    names: typing.Sequence[str], time_s: np.ndarray, values: np.ndarray, suffix: str = '',
    pale: bool = False,
) -> list[Line]:
    """Return a line for each column, with the colours of the axes."""
    return [Line(f'{name} {suffix}'.strip(), time_s, column, colour, pale)
            for name, column, colour in zip(names, values.T, COLOURS)]


# Fewer points


def extremes(
    time_s: np.ndarray, values: np.ndarray, span_s: tuple[float, float], points: int,
) -> np.ndarray:
    """Return which of finite values to show: the lowest and the highest in each bucket of time."""
    if len(values) <= points:
        return np.arange(len(values))
    buckets = points // 2
    place = (time_s - span_s[0]) / max(span_s[1] - span_s[0], 1e-9) * buckets
    bucket = np.clip(place.astype(int), 0, buckets - 1)
    order = np.lexsort((values, bucket))
    begins = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    ends = np.append(begins[1:], len(order)) - 1
    return np.unique(order[np.concatenate((begins, ends))])


def drawn(
    line: Line, span_s: tuple[float, float], points: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return times and values to draw, with a NaN where the line has to be broken."""
    finite = np.isfinite(line.values)
    time_s, values = line.time_s[finite], line.values[finite]
    if not len(values):
        return np.empty(0, np.float32), np.empty(0, np.float32)
    kept = extremes(time_s, values, span_s, points)
    # Missing samples and those without a value are a gap in the line.
    usual_s = np.median(np.diff(line.time_s)) if len(line.time_s) > 1 else 0.0
    piece = np.cumsum(np.diff(time_s, prepend=time_s[0]) > 2.5 * usual_s)
    breaks = np.flatnonzero(np.diff(piece[kept])) + 1
    if line.steps or line.spans:
        breaks = breaks[:0]
    shown_s, shown = time_s[kept], values[kept]
    return (np.insert(shown_s, breaks, shown_s[breaks - 1]).astype(np.float32),
            np.insert(shown, breaks, np.nan).astype(np.float32))


# Plots over time


def time_figure(
    rows: typing.Sequence[Row], marks: typing.Sequence[Mark], span_s: tuple[float, float],
    points: int, time: str = terms.SIMULATED_TIME,
) -> go.Figure:
    """Return rows of lines over one time axis, with marks in all of them."""
    heights_px = [max(_ROW_PX, _LEGEND_PX * len(row.lines) + 10) for row in rows]
    plot_px = sum(heights_px) + (len(rows) - 1) * _GAP_PX
    figure = empty(plot_px + _TOP_PX + _BOTTOM_PX, _RIGHT_PX)
    figure.update_layout(hovermode='x unified', dragmode='zoom')
    top_px = plot_px
    for number, (row, height_px) in enumerate(zip(rows, heights_px), 1):
        suffix = _suffix(number)
        figure.add_traces([
            _trace(line, span_s, points, suffix, row.unit) for line in row.lines])
        figure.update_layout(_axes(
            row, suffix, span_s, (top_px - height_px) / plot_px, top_px / plot_px,
            time if number == len(rows) else ''))
        figure.add_annotation(
            text=f'<b>{html.escape(row.title)}</b>', x=0, y=top_px / plot_px, xref='paper',
            yref='paper', xanchor='left', yanchor='bottom', showarrow=False,
            yshift=_NUMBERS_PX if number == 1 else 0)
        top_px -= height_px + _GAP_PX
    # All at once: one by one they would take longer than all the rest.
    figure.layout.shapes = [
        _shape(mark, _suffix(number)) for number in range(1, len(rows) + 1) for mark in marks]
    figure.layout.annotations += tuple(_labels(marks, span_s))
    return figure


def _suffix(number: int) -> str:
    """Return Plotly's suffix of the axes of a row, from 1 on."""
    return str(number) if number > 1 else ''


def _axes(
    row: Row, suffix: str, span_s: tuple[float, float], bottom: float, top: float, time: str,
) -> dict[str, typing.Any]:
    """Return the axes and the legend of a row between two shares of the figure's height."""
    time_axis = {
        'anchor': f'y{suffix}', 'range': list(span_s), 'hoverformat': '.3f',
        'showticklabels': bool(time), 'title': {'text': f'{time}, s'} if time else {}}
    if suffix:
        time_axis['matches'] = 'x'
    return {
        f'xaxis{suffix}': time_axis,
        f'yaxis{suffix}': {
            'anchor': f'x{suffix}', 'domain': [max(0.0, bottom), top],
            'title': {'text': html.escape(row.unit), 'standoff': 6}},
        f'legend{suffix}': {
            'x': 1.005, 'y': top, 'yanchor': 'top', 'bgcolor': 'rgba(0,0,0,0)',
            'tracegroupgap': 0}}


def empty(height_px: int, right_px: int) -> go.Figure:
    """Return a figure without a look; the page gives it one, by `template`."""
    import plotly.graph_objects as go
    return go.Figure(layout={
        'template': go.layout.Template(), 'height': height_px,
        # All plots over time are of one width, whatever their legends say.
        'margin': {'l': _LEFT_PX, 'r': right_px, 't': _TOP_PX, 'b': _BOTTOM_PX,
                   'autoexpand': False}})


def _trace(
    line: Line, span_s: tuple[float, float], points: int, suffix: str, unit: str,
) -> go.Scatter:
    import plotly.graph_objects as go
    time_s, values = drawn(line, span_s, points)
    return go.Scatter(
        x=time_s, y=values, name=html.escape(line.name), mode='lines', showlegend=True,
        opacity=0.7 if line.pale else 1.0, xaxis=f'x{suffix}', yaxis=f'y{suffix}',
        legend=f'legend{suffix}', hovertemplate='%{y:.5~g} ' + html.escape(unit),
        line={'color': line.colour, 'width': 1 if line.pale else 1.5,
              'shape': 'hv' if line.steps else 'vh' if line.spans else 'linear'})


def _shape(mark: Mark, suffix: str) -> dict[str, typing.Any]:
    """Return the line or the band of a mark in a row."""
    colour = MARK_COLOURS[mark.kind]
    shape = {'xref': f'x{suffix}', 'yref': f'y{suffix} domain', 'x0': mark.start_s,
             'x1': mark.end_s, 'y0': 0, 'y1': 1, 'layer': 'below'}
    if mark.end_s > mark.start_s:
        return shape | {'type': 'rect', 'fillcolor': colour, 'opacity': 0.13,
                        'line': {'width': 0}}
    return shape | {'type': 'line', 'opacity': 0.8,
                    'line': {'color': colour, 'width': 1, 'dash': 'dot'}}


def _labels(
    marks: typing.Sequence[Mark], span_s: tuple[float, float],
) -> typing.Iterator[dict[str, typing.Any]]:
    """Yield the numbers of marks, from 1 on, at the top of the first row."""
    group: list[int] = []
    for i in range(len(marks)):
        group.append(i)
        last = i + 1 == len(marks)
        if last or marks[i + 1].start_s - marks[group[0]].start_s > _CLOSE * (
                span_s[1] - span_s[0]):
            yield _label(group, marks)
            group = []


def _label(group: list[int], marks: typing.Sequence[Mark]) -> dict[str, typing.Any]:
    first, last = group[0] + 1, group[-1] + 1
    return {
        'text': str(first) if first == last else f'{first}-{last}',
        'hovertext': '<br>'.join(
            f'{i + 1}: {marks[i].start_s:.3f} s {html.escape(marks[i].who)}:'
            f' {html.escape(marks[i].text)}' for i in group),
        'x': marks[group[0]].start_s, 'y': 1, 'xref': 'x', 'yref': 'y domain',
        'xanchor': 'center', 'yanchor': 'bottom', 'showarrow': False,
        'font': {'size': 10, 'color': MARK_COLOURS[marks[group[0]].kind]}}


# The look


def template(dark: bool) -> dict[str, typing.Any]:
    """Return the look of all figures, on light or on dark paper."""
    ink, grid, paper = ('#c9ced4', '#31373d', '#1b1f23') if dark else (
        '#3a424a', '#e4e7ea', '#ffffff')
    clear = 'rgba(0,0,0,0)'
    axis = {'gridcolor': grid, 'linecolor': grid, 'zerolinecolor': grid, 'ticks': ''}
    flat = axis | {'automargin': False, 'zeroline': True, 'zerolinewidth': 1}
    solid = axis | {'backgroundcolor': clear, 'showbackground': False}
    return {'layout': {
        'paper_bgcolor': clear, 'plot_bgcolor': clear,
        'font': {'family': _FONT, 'size': 12, 'color': ink},
        'xaxis': flat, 'yaxis': flat,
        'scene': {'xaxis': solid, 'yaxis': solid, 'zaxis': solid},
        'hoverlabel': {'bgcolor': paper, 'bordercolor': grid, 'font': {'color': ink}},
        'modebar': {'bgcolor': clear, 'color': TRUTH_COLOUR, 'activecolor': ink}}}


# Plots of the path of a vehicle.

_PATH_PX = 470
# From the first to the last time; none is lost on light or on dark paper.
_TIME_COLOURS = [(0.0, AXIS_COLOURS[2]), (0.5, AXIS_COLOURS[1]), (1.0, AXIS_COLOURS[0])]
_LONGEST = 0.9       # axis of the plot in space, so that its titles fit


def path_points(time_s: np.ndarray, position_m: np.ndarray, points: int) -> np.ndarray:
    """Return which positions to draw: the extremes of each coordinate, the first and the last."""
    span_s = float(time_s[0]), float(time_s[-1])
    kept = [extremes(time_s, column, span_s, points // 3) for column in position_m.T]
    return np.unique(np.concatenate([*kept, [0, len(time_s) - 1]]).astype(int))


def path_3d(
    time_s: np.ndarray, position_enu_m: np.ndarray, waypoints: typing.Sequence[Waypoint],
) -> go.Figure:
    """Return the path in space, coloured by time, with its shadow on the ground."""
    east, north, up = position_enu_m.T.astype(np.float32)
    time_s = time_s.astype(np.float32)
    figure = empty(_PATH_PX, 10)
    figure.add_scatter3d(
        x=east, y=north, z=np.zeros_like(up), mode='lines', name='shadow on the ground',
        line={'color': TRUTH_COLOUR, 'width': 2}, opacity=0.5, hoverinfo='skip')
    figure.add_scatter3d(
        x=east, y=north, z=up, mode='lines', name='path (truth)', customdata=time_s,
        line={'width': 5, 'color': time_s, 'colorscale': _TIME_COLOURS,
              'colorbar': {'title': {'text': 'time, s'}, 'thickness': 10, 'len': 0.6, 'x': 1.0}},
        hovertemplate='%{customdata:.2f} s<br>%{x:.2f} m east<br>%{y:.2f} m north'
        '<br>%{z:.2f} m up<extra></extra>')
    for name, colour, symbol, points in _points(position_enu_m, waypoints):
        figure.add_scatter3d(
            x=points[:, 0], y=points[:, 1], z=points[:, 2], mode='markers', name=name,
            marker={'size': 4, 'color': colour, 'symbol': symbol},
            hovertemplate='%{x:.2f} m east<br>%{y:.2f} m north<br>%{z:.2f} m up')
    ranges = _ranges(np.vstack([position_enu_m, *[[p.position_enu_m] for p in waypoints]]))
    figure.update_layout(_scene(ranges))
    return figure


def _scene(ranges: list[list[float]]) -> dict[str, typing.Any]:
    """Return the layout of a plot in space, from the limits of its axes."""
    lengths = _LONGEST * np.diff(ranges, axis=1)[:, 0] / np.diff(ranges).max()
    axes = zip(('xaxis', 'yaxis', 'zaxis'), ('east, m', 'north, m', 'up, m'), ranges)
    return {
        'showlegend': False, 'margin': {'l': 0, 'r': 0, 't': 0, 'b': 0, 'autoexpand': True},
        # One metre is as long on each axis; the longest axis fits the picture.
        'scene': {'aspectmode': 'manual', 'aspectratio': dict(zip('xyz', lengths.tolist())),
                  'camera': {'eye': {'x': -1.2, 'y': -1.4, 'z': 0.7},
                             'center': {'x': 0.0, 'y': 0.0, 'z': -0.1}}} | {
            axis: {'title': {'text': title}, 'range': limits} for axis, title, limits in axes}}


def path_from_above(
    position_enu_m: np.ndarray, waypoints: typing.Sequence[Waypoint],
) -> go.Figure:
    """Return the path as seen from above; both axes have the same scale."""
    figure = empty(_PATH_PX, 10)
    figure.add_scatter(
        x=position_enu_m[:, 0].astype(np.float32), y=position_enu_m[:, 1].astype(np.float32),
        mode='lines', name='path (truth)', line={'color': AXIS_COLOURS[2], 'width': 1.5})
    for name, colour, symbol, points in _points(position_enu_m, waypoints):
        figure.add_scatter(
            x=points[:, 0], y=points[:, 1], mode='markers', name=name,
            marker={'size': 10, 'color': colour, 'symbol': symbol, 'line': {'width': 1}})
    seen = np.vstack([position_enu_m, *[[p.position_enu_m] for p in waypoints]]) * (1.0, 1.0, 0.0)
    east, north, _ = _ranges(seen)
    figure.update_layout(_map_axes(east, north))
    return figure


def _map_axes(east: list[float], north: list[float]) -> dict[str, typing.Any]:
    """Return the layout of a plot from above, from the limits of its axes."""
    return {
        'xaxis': {'title': {'text': 'east, m'}, 'range': east, 'constrain': 'domain'},
        'yaxis': {'title': {'text': 'north, m'}, 'range': north, 'scaleanchor': 'x',
                  'constrain': 'domain'},
        'legend': {'orientation': 'h', 'x': 0, 'y': 1.0, 'yanchor': 'bottom'},
        'hovermode': 'closest'}


def paths_3d(paths: typing.Mapping[str, tuple[str, np.ndarray]]) -> go.Figure:
    """Return several paths in space."""
    figure = empty(_PATH_PX, 10)
    for name, (colour, position_enu_m) in paths.items():
        east, north, up = position_enu_m.T.astype(np.float32)
        figure.add_scatter3d(
            x=east, y=north, z=up, mode='lines', name=name, line={'width': 4, 'color': colour},
            hovertemplate='%{x:.2f} m east<br>%{y:.2f} m north<br>%{z:.2f} m up')
    ranges = _ranges(np.vstack([position for _, position in paths.values()]))
    figure.update_layout(_scene(ranges))
    return figure


def paths_from_above(paths: typing.Mapping[str, tuple[str, np.ndarray]]) -> go.Figure:
    """Return several paths from above, north up."""
    figure = empty(_PATH_PX, 20)
    for name, (colour, position_enu_m) in paths.items():
        east, north, _ = position_enu_m.T.astype(np.float32)
        figure.add_scatter(x=east, y=north, mode='lines', name=name,
                           line={'color': colour, 'width': 1.5})
    east, north, _ = _ranges(np.vstack(
        [position * (1.0, 1.0, 0.0) for _, position in paths.values()]))
    figure.update_layout(_map_axes(east, north))
    return figure


def _points(
    position_enu_m: np.ndarray, waypoints: typing.Sequence[Waypoint],
) -> typing.Iterator[tuple[str, str, str, np.ndarray]]:
    """Yield name, colour, symbol and positions of the markers of a path."""
    yield 'take-off', AXIS_COLOURS[1], 'circle', position_enu_m[:1]
    yield 'end', AXIS_COLOURS[0], 'square', position_enu_m[-1:]
    if waypoints:
        yield 'mission', COLOURS[4], 'diamond', np.array([p.position_enu_m for p in waypoints])


def _ranges(position_enu_m: np.ndarray) -> list[list[float]]:
    """Return the limits of the axes: none is much shorter than the longest."""
    low, high = position_enu_m.min(axis=0), position_enu_m.max(axis=0)
    half = np.maximum(0.55 * (high - low), max(0.5, 0.3 * float((high - low).max())))
    middle = 0.5 * (low + high)
    lowest_up = min(0.0, float(low[2]))
    limits = np.stack([middle - half, middle + half], axis=1)
    limits[2] = [lowest_up, max(float(high[2]) + 0.05 * float(half[2]), lowest_up + 2 * half[2])]
    ranges: list[list[float]] = limits.tolist()
    return ranges
