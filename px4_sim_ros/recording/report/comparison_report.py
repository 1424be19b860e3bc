# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Comparisons of recordings as tables, as JSON and as a page."""
from __future__ import annotations

import math
import pathlib
import typing

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.process import atomic_write
from px4_sim_ros.recording.analysis.comparison import BagComparison, Difference, value_text
from px4_sim_ros.recording.analysis.deviation import Deviation
from px4_sim_ros.recording.report import report_page
from px4_sim_ros.recording.report.plots import COLOURS, Line, Row

_PLOTTED_POINTS = 4000         # of a curve


def comparison_table(comparison: BagComparison) -> Group:
    """Return how many messages of each topic agree, and the first of each that does not."""
    counts = _table('topic', *(f'>{head}' for head in ('equal', 'differ', 'only 1st', 'only 2nd')))
    firsts = _table('topic\nfirst at t', 'field', '1st\n2nd')
    for name, topic in comparison.topics.items():
        counts.add_row(name, *map(str, topic[:4]), style='bold' if topic.first else '')
        if topic.first:
            when, field, one, other = _first_texts(topic.first)
            firsts.add_row(f'{name}\n{when}', field, f'{one}\n{other}')
    for topics, run in zip(comparison.topics_of_one_run, ('1st', '2nd')):
        for name in topics:
            counts.add_row(name, f'{run} only')
    heads = (f'{run} {name}' for run, name in zip(('1st', '2nd'), comparison.names))
    return Group(*heads, counts, *([firsts] if firsts.row_count else []))


def deviation_table(deviation: Deviation) -> Table:
    """Return the deviation of two runs, by groups of the state."""
    table = _table('deviation', '>maximum', '>at t', '>rms', 'what is measured')
    for name, group in deviation.groups.items():
        table.add_row(f'{name}, {group.group.unit}', f'{group.maximum:.3g}',
                      f'{group.maximum_at_s:.3f} s', f'{group.rms:.3g}', group.group.meaning)
    return table


def comparison_json(comparison: BagComparison) -> dict[str, typing.Any]:
    """Return a comparison as JSON holds it; values of fields are texts."""
    return {
        'bags': list(comparison.names), 'identical': comparison.identical,
        'agree': comparison.agree, 'sentence': comparison.sentence,
        'ends_us': list(comparison.ends_us), 'damages': list(comparison.damages),
        'topics_of_one_run': [list(names) for names in comparison.topics_of_one_run],
        'topics_left_out': list(comparison.topics_left_out),
        'differing_versions': {name: list(pair) for name, pair in comparison.versions.items()},
        'first': _difference_json(comparison.first),
        'topics': {name: topic._asdict() | {'first': _difference_json(topic.first)}
                   for name, topic in comparison.topics.items()}}


def deviation_json(deviation: Deviation) -> dict[str, typing.Any]:
    """Return the figures of a deviation as JSON holds them; None is no number."""
    return {name: {
        'unit': group.group.unit, 'meaning': group.group.meaning,
        'maximum': _finite(group.maximum), 'maximum_at_s': group.maximum_at_s,
        'rms': _finite(group.rms)} for name, group in deviation.groups.items()}


def write_plot(deviation: Deviation, path: str | pathlib.Path) -> None:
    """Write a page with the deviation of each group over time.

    :raises OSError: it cannot be written
    """
    groups = deviation.groups.values()
    span_s = (min(float(its.time_s[0]) for its in groups),
              max(float(its.time_s[-1]) for its in groups))
    plot = report_page.time_plot([
        Row(group.name, group.unit, [Line(group.name, time_s, values, COLOURS[0])])
        for group, time_s, values in ((its.group, its.time_s, its.values) for its in groups)],
        [], span_s, _PLOTTED_POINTS)
    atomic_write.write(pathlib.Path(path), report_page.page(
        'deviation of ' + ' and '.join(deviation.names), '',
        [report_page.Section('plot', 'Over time', plot)]))


def _table(*heads: str) -> Table:
    """Return an empty table; numbers are below a head that begins with `>`."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for head in heads:
        is_number = head.startswith('>')
        table.add_column(head.removeprefix('>'), justify='right' if is_number else 'left',
                         overflow='fold', no_wrap=is_number or head == heads[0])
    return table


def _first_texts(difference: Difference) -> tuple[str, str, str, str]:
    """Return when it is, the field and both values."""
    when = seconds_text(difference.time_us)
    if not difference.field:
        one, other = ('missing' if value is None else 'present'
                      for value in (difference.one, difference.other))
        return when, '', one, other
    return when, difference.field, value_text(difference.one), value_text(difference.other)


def _difference_json(difference: Difference | None) -> dict[str, typing.Any] | None:
    if difference is None:
        return None
    _, field, one, other = _first_texts(difference)
    return {'topic': difference.topic, 'time_us': difference.time_us, 'field': field,
            'one': one, 'other': other}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
