# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG that stands in a page: its text and axes take the page's colours."""
from __future__ import annotations

import html
import io
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from verification.checks import Plot, Series

COLOURS = ('#3b82c4', '#d97b29', '#3a9d5d', '#c2504c', '#8f6cc0', '#8a8a8a')
STYLES = {
    'model': {'linestyle': '-', 'linewidth': 1.6},
    'reference': {'linestyle': '--', 'linewidth': 1.4},
    'limit': {'linestyle': ':', 'linewidth': 1.4},
    'dots': {'linestyle': '', 'marker': 'o', 'markersize': 4.0, 'markerfacecolor': 'none'},
}
# Placeholders: matplotlib does not know the names that CSS has for them.
INK, GRID = '#010203', '#040506'
SETTINGS = {
    'svg.fonttype': 'none', 'svg.hashsalt': 'verification', 'font.family': 'sans-serif',
    'font.size': 9.0, 'text.color': INK, 'axes.labelcolor': INK, 'axes.edgecolor': INK,
    'xtick.color': INK, 'ytick.color': INK, 'axes.titlesize': 10.0, 'legend.fontsize': 8.0,
    'grid.color': GRID, 'grid.linewidth': 0.6, 'axes.spines.top': False,
    'axes.spines.right': False,
}


def subject(series: Series) -> str:
    """Return what a series is about; those about the same have the same colour."""
    return re.split('[,:]', series.name)[0]


def svg(plot: Plot, number: int) -> str:
    """Return the plot as an SVG element; all its identifiers begin with `p` and the number."""
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(5.4, 3.3))
        _draw(figure.add_subplot(), plot)
        file = io.StringIO()
        figure.savefig(
            file, format='svg', transparent=True, bbox_inches='tight',
            metadata={'Creator': None, 'Date': None, 'Format': None, 'Type': None})
    return _inline(file.getvalue(), plot.title, f'p{number}-')


def _draw(axes: matplotlib.axes.Axes, plot: Plot) -> None:
    subjects = list(dict.fromkeys(map(subject, plot.series)))
    for series in plot.series:
        axes.plot(
            series.x, series.y, label=series.name,
            color=COLOURS[subjects.index(subject(series)) % len(COLOURS)], **STYLES[series.style])
    if 'x' in plot.log:
        axes.set_xscale('log')
    if 'y' in plot.log:
        axes.set_yscale('log')
    for axis in (axes.xaxis, axes.yaxis):
        _label_few_decades(axis)
    axes.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
    axes.grid(True)
    if len(plot.series) > 1:
        _legend(axes, plot)


def _label_few_decades(axis: matplotlib.axis.Axis) -> None:
    """Label 2 and 5 as well where a logarithmic axis has hardly a power of ten."""
    least, most = axis.get_view_interval()
    if axis.get_scale() != 'log':
        return
    axis.set_minor_formatter(NullFormatter())
    if most < 50.0 * least:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter('{x:g}'))


def _legend(axes: matplotlib.axes.Axes, plot: Plot) -> None:
    """Put the legend below, in each row a series and what it is compared with."""
    handles, labels = axes.get_legend_handles_labels()
    seen: set[str] = set()
    first, second = [], []
    for series, handle, label in zip(plot.series, handles, labels):
        (second if subject(series) in seen else first).append((handle, label))
        seen.add(subject(series))
    ordered = first + second
    axes.legend(
        *zip(*ordered), loc='upper center', bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False)


def _inline(text: str, title: str, prefix: str) -> str:
    """Return the SVG without what belongs to a file of its own."""
    text = text[text.index('<svg'):]
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', '', text)
    text = re.sub(r'<style.*?</style>', '', text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = text.replace('xlink:href="#', f'href="#{prefix}').replace('url(#', f'url(#{prefix}')
    # The width is the page's affair; the view box keeps the shape.
    box = re.search(r'viewBox="[^"]*"', text)[0]
    text = re.sub('<svg [^>]*>', f'<svg {box} role="img" aria-label="{html.escape(title)}">', text,
                  count=1)
    return text.replace(INK, 'currentColor').replace(GRID, 'var(--grid)')
