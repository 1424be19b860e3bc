"""The report of a flight: one HTML page from a bag."""
from __future__ import annotations

import dataclasses
import math
import pathlib
import typing

import numpy as np

from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.recording.analysis import flight_facts
from px4_sim_ros.recording.analysis.counters import Counters, counters
from px4_sim_ros.recording.analysis.flight_events import MOST_MARKS, Contents, marks, read_contents
from px4_sim_ros.recording.analysis.lockstep_terms import MISSES, REAL_TIME_FACTOR, SIMULATED_TIME
from px4_sim_ros.recording.analysis.sensor_errors import ERRORS, Comparison, compare
from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.bag.bag_reader import BagReader
from px4_sim_ros.recording.report import report_page
from px4_sim_ros.recording.report.flight_plots import (
    AllSeries,
    battery_rows,
    motion_rows,
    rotor_rows,
    sensor_rows,
    wind_rows,
)
from px4_sim_ros.recording.report.lockstep_health import (
    lockstep_facts,
    lockstep_rows,
    lockstep_table,
)
from px4_sim_ros.recording.report.path_plots import Place, path_3d, path_from_above, path_points
from px4_sim_ros.recording.report.plots import MARK_COLOURS, Mark, Row
from px4_sim_ros.recording.report.report_page import (
    NOTHING_TO_PLOT,
    Section,
    figure,
    heading,
    paragraph,
    table,
    time_plot,
)

# What the page may have beside Plotly: a point is two numbers of 4 bytes, written in base 64.
_DATA_BYTES = 2_200_000
_BYTES_PER_POINT = 10.7
_LEAST_POINTS, _MOST_POINTS = 200, 2400
_PATH_POINTS = 3000


@dataclasses.dataclass(frozen=True)
class _Flight:
    """All that the page is made of."""

    bag: BagReader
    configuration: Configuration
    contents: Contents
    series: AllSeries
    marks: list[Mark]
    more_marks: int                    # that were left out
    comparisons: list[Comparison]
    counters: dict[str, Counters]
    places: list[Place]

    @property
    def span_s(self) -> tuple[float, float]:
        """The time that all plots show at first."""
        start_s, end_s = self.contents.span_s
        return start_s, max(end_s, start_s + 1e-3)


class _Part(typing.NamedTuple):
    """A section with plots over time."""

    anchor: str
    title: str
    before: str                        # HTML that comes before the plots
    figures: dict[str, list[Row]]      # by heading, '' for none


def write_report(bag: BagReader, path: pathlib.Path) -> None:
    """Write the report of a flight.

    :raises BagError: the bag cannot be read
    :raises OSError: the page cannot be written
    """
    path.write_text(report(bag), encoding='utf-8')


def report(bag: BagReader) -> str:
    """Return the report of a flight as HTML that needs no other file.

    :raises BagError: the bag cannot be read
    """
    # Numbers that are none, or too large for a plot, become gaps.
    with np.errstate(all='ignore'):
        return _page(_read(bag))


def _page(flight: _Flight) -> str:
    bag = flight.bag
    parts = [
        _Part('motion', 'Motion', '', {'': motion_rows(flight.series, flight.comparisons)}),
        _Part('rotors', 'Rotors', '', {'': rotor_rows(flight.series)}),
        _Part('power', 'Battery and wind', '',
              {'': [*battery_rows(flight.series), *wind_rows(flight.series)]}),
        _Part('sensors', 'Sensors against the truth', _statistics(flight),
              sensor_rows(flight.comparisons)),
        _Part('lockstep', 'Lockstep', lockstep_table(flight.counters),
              {'': lockstep_rows(flight.counters, flight.configuration.world.step_us)})]
    lines = [line for part in parts for rows in part.figures.values()
             for row in rows for line in row.lines]
    points = _points(len(lines))
    sections = [
        Section('path', 'Path', _path(flight)), Section('events', 'Events', _events(flight)),
        *(Section(part.anchor, part.title, part.before + _plots(flight, part, points))
          for part in parts),
        Section('facts', 'The run', _facts(flight))]
    name = flight_facts.name_in(bag.run.vehicle) or flight.configuration.world.vehicle
    return report_page.page(
        f'Flight of {name}', _head(flight, sum(len(line.values) for line in lines), points),
        sections)


def _read(bag: BagReader) -> _Flight:
    contents = read_contents(bag)
    series = read_series(bag)
    configuration = bag.run.configuration({})
    found = marks(bag.run, contents, series)
    odometry = series.get('ground_truth/odom')
    return _Flight(
        bag, configuration, contents, series, found[:MOST_MARKS],
        max(0, len(found) - MOST_MARKS), compare(configuration, series),
        counters(bag.run.namespace, bag.run.graph.nodes,
                 (message.content for message in contents.beside['/diagnostics'])),
        flight_facts.mission_places(bag.run, odometry['position_m'].values[0])
        if odometry else [])


def _points(lines: int) -> int:
    """Return how many points a line may have."""
    wanted = int(_DATA_BYTES / _BYTES_PER_POINT / max(lines, 1)) // 2 * 2
    return min(_MOST_POINTS, max(_LEAST_POINTS, wanted))


# What is on the page beside plots


def _head(flight: _Flight, values: int, points: int) -> str:
    run, world = flight.bag.run, flight.configuration.world
    mission = flight_facts.name_in(run.mission) or 'none'
    facts = dict(flight_facts.motion_facts(flight.contents, flight.series)
                 + lockstep_facts(flight.counters))
    shown = [('mission', mission), ('autopilot', run.autopilot), ('mode', run.mode),
             ('seed', str(world.seed)), ('wind', world.wind)]
    shown += [(name, facts[name]) for name in (
        SIMULATED_TIME, 'greatest height over the take-off', 'greatest speed',
        'distance from the take-off at the end', 'lowest voltage', REAL_TIME_FACTOR,
        MISSES) if name in facts]
    damage = flight.bag.damage
    return (
        (paragraph(damage, 'warning') if damage else '')
        + report_page.tiles(shown)
        + paragraph(
            f'From the recording {flight.bag.folder.name}. Truth is the state of the simulated'
            ' vehicle; measured is what a sensor has told. All plots over time show the same'
            ' time: drag over one to look closer in all, double-click to see all of it again.'
            ' Numbers over the plots are those of the events.')
        + paragraph(
            f'The plots are made of {values:,} values. A line shows at most {points:,} of its own:'
            ' the lowest and the highest of each interval of time. So no peak is lost, but what'
            ' is between them is not drawn.'))


def _events(flight: _Flight) -> str:
    if not flight.marks:
        return paragraph('Nothing was said and no state has changed.')
    rows = [(i, f'{mark.start_s:.3f}', f'{mark.end_s:.3f}' if mark.end_s > mark.start_s else '',
             report_page.dot(MARK_COLOURS[mark.kind], mark.kind), mark.who, mark.text)
            for i, mark in enumerate(flight.marks, 1)]
    left_out = paragraph(f'{flight.more_marks} later ones are left out.', 'warning') \
        if flight.more_marks else ''
    content = table(('', 'time, s', 'until, s', 'kind', 'who', 'what'), rows) + left_out
    if 'ground_truth/odom' in flight.series:
        found = flight_facts.arrivals(flight.marks, flight.places, flight.series)
        if found:
            content += heading('Arrivals against the truth') + table(
                ('mission', 'time, s', 'off by, m', 'of that in height, m'),
                [(a.place.name, f'{a.time_s:.3f}', f'{a.error_m:.3f}', f'{a.height_error_m:.3f}')
                 for a in found], 1)
    return content


def _statistics(flight: _Flight) -> str:
    """Return the table of errors."""
    rows = [
        # The sensor and the quantity stand there once.
        (c.sensor if first else '', f'{c.quantity}, {c.unit}' if first else '', axis, s.samples,
         *map(_digits, s[1:]))
        for c in flight.comparisons
        for first, axis, s in zip((True, False, False), c.axes, c.statistics())]
    silent = [name for name, spec in flight.configuration.graph.nodes.items()
              if spec.kind in ERRORS and name not in {c.sensor for c in flight.comparisons}]
    told = paragraph(f"Nothing was measured by: {', '.join(silent)}.") if silent else ''
    if not rows:
        return told
    return paragraph(
        'The error is what was measured minus what the same sensor, where it is mounted and at the'
        ' age that its parameters give, would have measured without errors. Where a sensor was'
        ' stopped, had no fix or saw nothing there is no error.') + told + table(
        ('sensor', 'quantity', 'axis', 'samples', 'mean error', 'standard deviation',
         'largest error'), rows, 3)


def _digits(value: float) -> str:
    """Return a number with three digits, also when the last ones are 0."""
    return f'{value:#.3g}' if math.isfinite(value) else '-'


def _facts(flight: _Flight) -> str:
    run, counts = flight.bag.run, flight.contents.counts
    topics = [(topic, f'{count}') for topic, count in sorted(counts.items())]
    return (
        heading('How it was set up') + table((), flight_facts.setup_facts(run))
        + heading('What came of it')
        + table((), flight_facts.motion_facts(flight.contents, flight.series))
        + heading('Messages') + table(('topic', 'messages'), topics, 1)
        + paragraph(f'{sum(counts.values()):,} messages in all.')
        + report_page.folded('vehicle file', f'<pre>{report_page.text(run.vehicle)}</pre>')
        + report_page.folded('mission file', f'<pre>{report_page.text(run.mission)}</pre>')
        + report_page.folded('parameters', ''.join(
            heading(node) + table((), sorted(values.items()))
            for node, values in run.parameters.items())))


# Plots


def _plots(flight: _Flight, part: _Part, points: int) -> str:
    content = ''
    for title, rows in part.figures.items():
        plot = time_plot(rows, flight.marks, flight.span_s, points)
        content += heading(title) + plot if plot and title else plot
    return content or NOTHING_TO_PLOT


def _path(flight: _Flight) -> str:
    if 'ground_truth/odom' not in flight.series:
        return NOTHING_TO_PLOT
    position = flight.series['ground_truth/odom']['position_m']
    known = np.isfinite(position.values).all(axis=1)
    if not known.any():
        return NOTHING_TO_PLOT
    time_s, values = position.time_s[known], position.values[known]
    kept = path_points(time_s, values, _PATH_POINTS)
    shown = values[kept]
    return ('<div class="pair">'
            f'<div>{figure(path_3d(time_s[kept], shown, flight.places))}</div>'
            f'<div>{figure(path_from_above(shown, flight.places))}</div></div>')
