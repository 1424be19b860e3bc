# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plots of the path of a vehicle."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.recording.analysis.annotations import Waypoint
from px4_sim_ros.recording.report.plots import AXIS_COLOURS, COLOURS, TRUTH_COLOUR, empty, extremes

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

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
    """Return several paths in space.

    :param paths: colour and positions, (n, 3) in m, by name
    """
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
    """Return several paths from above, north up.

    :param paths: as for `paths_3d`
    """
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
