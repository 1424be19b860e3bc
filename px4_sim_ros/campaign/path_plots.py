# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Paths of a campaign's flights, laid over each other."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.campaign.jobs import Row
from px4_sim_ros.campaign.paths import FlownPath
from px4_sim_ros.recording.report.plots import empty
from px4_sim_ros.recording.report.report_page import NOTHING_TO_PLOT, figure, heading, paragraph

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST = 200
"""Paths of each outcome that are drawn."""
_RIGHT_PX, _ABOVE_PX, _BESIDE_PX = 120, 560, 320
_GAP = np.full((1, 4), np.nan)


def paths(
    rows: typing.Sequence[Row], flown: typing.Mapping[int, FlownPath],
    colours: typing.Mapping[str, str],
) -> str:
    """Return the paths seen from above, and their heights over time, as HTML.

    :param colours: by outcome, in the order in which they are drawn
    """
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
