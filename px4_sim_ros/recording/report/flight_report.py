# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a flight: one HTML page from a bag."""
from __future__ import annotations

import dataclasses
import math
import pathlib
import typing

import numpy as np

from px4_sim_ros.model.scenario.happening import is_verdict
from px4_sim_ros.process import atomic_write
from px4_sim_ros.recording.analysis import flight_facts
from px4_sim_ros.recording.analysis.attitudes import angle_rad, in_world, roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.flight_events import (
    MOST_MARKS,
    PLACES,
    BagContents,
    marks,
    px4_name,
    read_contents,
)
from px4_sim_ros.recording.analysis.lockstep_terms import (
    MISSES,
    REAL_TIME_FACTOR,
    SIMULATED_TIME,
    Counters,
    counters,
    from_zero,
)
from px4_sim_ros.recording.analysis.sensor_errors import ERRORS, SensorComparison, compare_sensors
from px4_sim_ros.recording.analysis.series import AllSeries, Mark, Series, Waypoint
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.report import report_page
from px4_sim_ros.recording.report.lockstep_health import (
    lockstep_facts,
    lockstep_rows,
    lockstep_table,
)
from px4_sim_ros.recording.report.plots import (
    AXIS_COLOURS,
    COLOURS,
    MARK_COLOURS,
    Line,
    Row,
    axis_lines,
    path_3d,
    path_from_above,
    path_points,
)
from px4_sim_ros.recording.report.report_page import (
    NOTHING_TO_PLOT,
    Section,
    figure,
    heading,
    paragraph,
    table,
    time_plot,
)
from px4_sim_ros.recording.report.stills import stills
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.side_topics import ESTIMATE, SET_POINT

# The plots of a flight over time.

_ENU, _XYZ = ('east', 'north', 'up'), ('x', 'y', 'z')


def motion_rows(series: AllSeries, comparisons: typing.Iterable[SensorComparison]) -> list[Row]:
    """Return height, velocity, attitude and rate."""
    if 'ground_truth/odom' not in series:
        return []
    odometry = series['ground_truth/odom']
    time_s = odometry['position_m'].time_s
    attitude = odometry['attitude_wxyz'].values
    velocity_enu = in_world(attitude, odometry['velocity_m_s'].values)
    angles = roll_pitch_yaw_deg(attitude)
    angles[:, 2] = np.unwrap(angles[:, 2], period=360.0)
    measured = [Line(c.sensor, c.time_s, c.measured[:, -1], colour, pale=True)
                for c, colour in zip(
                    (c for c in comparisons if _is_height(c)), COLOURS[1:])]
    return [
        Row('Height above home, truth and measured', 'm', [
            *measured, Line('truth', time_s, odometry['position_m'].values[:, 2],
                            AXIS_COLOURS[0])]),
        Row('Velocity, truth', 'm/s', axis_lines(_ENU, time_s, velocity_enu)),
        Row('Attitude, truth: roll, pitch, and yaw counter-clockwise from east', 'deg',
            axis_lines(('roll', 'pitch', 'yaw'), time_s, angles)),
        Row('Angular rate, truth', 'rad/s',
            axis_lines(_XYZ, time_s, odometry['rate_rad_s'].values))]


def _is_height(comparison: SensorComparison) -> bool:
    return comparison.unit == 'm' and comparison.axes[-1] == 'up'


def estimate_rows(series: AllSeries) -> list[Row]:
    """Return the autopilot's estimate, the truth, and the errors.

    Its place is from where its estimate has begun; so all are from the place of the first one.
    """
    if ESTIMATE.name not in series or 'ground_truth/odom' not in series:
        return []
    estimate, truth = series[ESTIMATE.name], series['ground_truth/odom']
    times_us = estimate['position_m'].times_us
    at = np.searchsorted(truth['position_m'].times_us, times_us, side='right') - 1
    known = at >= 0
    at, time_s = at[known], estimate['position_m'].time_s[known]
    if not known.any():
        return []

    def pair(field: str) -> tuple[np.ndarray, np.ndarray]:
        return estimate[field].values[known], truth[field].values[at]

    place, true_place = (values - values[0] for values in pair('position_m'))
    attitude, true_attitude = pair('attitude_wxyz')
    velocity, true_velocity = (in_world(*both) for both in zip(
        (attitude, true_attitude), pair('velocity_m_s')))
    rows = [
        Row('Place from where it began: estimate and truth', 'm', [
            *axis_lines(_ENU, time_s, place, 'estimate', pale=True),
            *axis_lines(_ENU, time_s, true_place, 'truth')]),
        Row('Error of the place: estimate minus truth', 'm',
            axis_lines(_ENU, time_s, place - true_place)),
        Row('Error of the velocity', 'm/s',
            axis_lines(_ENU, time_s, velocity - true_velocity)),
        Row('Angle between the attitude and the true one', 'deg', [
            Line('angle', time_s, np.degrees(angle_rad(attitude, true_attitude)),
                 AXIS_COLOURS[0])])]
    if SET_POINT.name in series:
        rows.append(Row('Set point of the place, by its own estimate', 'm', axis_lines(
            _ENU, *series[SET_POINT.name]['position_m'])))
    return rows


def px4_rows(series: AllSeries) -> list[Row]:
    """Return where PX4 is by its own topics, and where ROS 2 nodes want it to be."""
    lines = []
    for topic, fields in series.items():
        name = px4_name(topic)
        if name == PLACES[0]:
            north, east, down = (fields[axis].values[:, 0] for axis in _XYZ)
            time_s, word = fields['x'].time_s, 'estimate'
        elif name == PLACES[1]:
            time_s, values = fields['position']
            (north, east, down), word = values.T, 'set point'
        else:
            continue
        lines += axis_lines(
            _ENU, time_s, np.column_stack((east, north, -down)), word, pale=name == PLACES[1])
    return [Row('Place from where the estimate began, by topics of PX4', 'm', lines)] \
        if lines else []


def rotor_rows(series: AllSeries) -> list[Row]:
    """Return the speeds of the rotors and their references."""
    lines = []
    for topic, field, word in (('actuators/command', 'rotor_speed_reference_rad_s', 'reference'),
                               ('joint_states', 'rotor_speed_rad_s', 'speed')):
        if topic in series:
            lines += _numbered_lines('rotor', series[topic][field], word)
    rows = [Row('Rotor speeds (truth) and the references of the autopilot', 'rad/s', lines)]
    if 'joint_states' in series and series['joint_states']['servo_angle_rad'].values.size:
        rows.append(Row('Angles of the servos (truth)', 'rad', _numbered_lines(
            'servo', series['joint_states']['servo_angle_rad'], 'angle')))
    if 'joint_states' in series and series['joint_states']['wheel_speed_rad_s'].values.size:
        rows.append(Row('Speeds of the wheels (truth)', 'rad/s', _numbered_lines(
            'wheel', series['joint_states']['wheel_speed_rad_s'], 'speed')))
    return rows


def _numbered_lines(part: str, values: Series, word: str) -> list[Line]:
    names = [f'{part} {i + 1} {word}' for i in range(values.values.shape[1])]
    return axis_lines(names, *values, pale=word == 'reference')


def battery_rows(series: AllSeries) -> list[Row]:
    """Return voltage, current and charge of the battery."""
    if 'battery_state' not in series:
        return []
    battery = series['battery_state']

    def line(name: str, field: str, colour: str, factor: float = 1.0) -> Line:
        column: Series = battery[field]
        return Line(name, column.time_s, factor * column.values[:, 0], colour)

    return [
        Row('Voltage of the battery', 'V', [line('voltage', 'voltage_v', COLOURS[3])]),
        # The message counts it negative while the battery discharges.
        Row('Current drawn from it', 'A', [line('current', 'current_a', COLOURS[0], -1.0)]),
        Row('Charge left', '%', [line('charge', 'percentage', COLOURS[1], 100.0)])]


def wind_rows(series: AllSeries) -> list[Row]:
    if 'wind' not in series:
        return []
    velocity = series['wind']['velocity_m_s']
    return [Row('Wind: where it blows to', 'm/s', axis_lines(_ENU, *velocity))]


def sensor_rows(comparisons: typing.Iterable[SensorComparison]) -> dict[str, list[Row]]:
    """Return measurements and errors, by sensor."""
    figures: dict[str, list[Row]] = {}
    for c in comparisons:
        axes = c.axes if len(c.axes) > 1 else ('',)
        figures.setdefault(c.sensor, []).extend([
            Row(c.quantity.capitalize(), c.unit, [
                *axis_lines(axes, c.time_s, c.measured, 'measured', pale=True),
                *axis_lines(axes, c.time_s, c.truth, 'truth')]),
            Row(f'Error of the {c.quantity}: measured minus truth', c.unit,
                axis_lines(axes, c.time_s, c.error, 'error', pale=len(axes) > 1))])
    return figures


# With it a page has less than 2 MB, of which Plotly takes 1.7.
_DATA_BYTES = 190_000
_BYTES_PER_POINT = 2.4         # of two numbers, packed
_LEAST_POINTS, _MOST_POINTS = 200, 2400
_PATH_POINTS = 3000


@dataclasses.dataclass(frozen=True)
class _ReportData:
    bag: BagReader
    configuration: Configuration
    contents: BagContents
    marks: list[Mark]
    more_marks: int                    # that are left out
    comparisons: list[SensorComparison]
    counters: dict[str, Counters]
    waypoints: list[Waypoint]
    setup: dict[str, str]              # facts, by name
    results: dict[str, str]
    verdicts: list[str]                # of the scenario

    @property
    def series(self) -> AllSeries:
        """The time series of the bag."""
        return self.contents.series

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
    atomic_write.write(path, report(bag))


def report(bag: BagReader) -> str:
    """Return the report of a flight as HTML that needs no other file.

    :raises BagError: the bag cannot be read
    """
    # NaN and numbers too large for a plot become gaps.
    with np.errstate(all='ignore'):
        return _page(_read(bag))


def _page(data: _ReportData) -> str:
    parts = [
        _Part('motion', 'Motion', '', {'': motion_rows(data.series, data.comparisons)}),
        _Part('estimate', "The autopilot's estimate against the truth", '',
              {'': [*estimate_rows(data.series), *px4_rows(data.series)]}),
        _Part('rotors', 'Rotors', '', {'': rotor_rows(data.series)}),
        _Part('power', 'Battery and wind', '',
              {'': [*battery_rows(data.series), *wind_rows(data.series)]}),
        _Part('sensors', 'Sensors against the truth', _statistics(data),
              sensor_rows(data.comparisons)),
        _Part('lockstep', 'Lockstep', lockstep_table(data.counters),
              {'': lockstep_rows({name: from_zero(own) for name, own in data.counters.items()},
                                 data.configuration.world.step_us)})]
    lines = [line for part in parts for rows in part.figures.values()
             for row in rows for line in row.lines]
    points = _points(len(lines))
    seen = stills(data.bag, data.contents.counts)
    sections = [
        Section('path', 'Path', _path(data)), Section('events', 'Events', _events(data)),
        *([Section('stills', 'What the cameras saw', seen)] if seen else []),
        *(Section(part.anchor, part.title, part.before + _plots(data, part, points))
          for part in parts),
        Section('facts', 'The run', _facts(data))]
    return report_page.page(
        f"Flight of {data.setup['vehicle']}",
        _head(data, sum(len(line.values) for line in lines), points), sections)


def _read(bag: BagReader) -> _ReportData:
    contents = read_contents(bag)
    series = contents.series
    configuration = bag.run.configuration({})
    found = marks(bag.run, contents)
    odometry = series.get('ground_truth/odom')
    return _ReportData(
        bag, configuration, contents, found[:MOST_MARKS],
        max(0, len(found) - MOST_MARKS), compare_sensors(configuration, series),
        counters(bag.run.namespace, bag.run.graph.nodes,
                 (message.content for message in contents.side[side_topics.DIAGNOSTICS.name])),
        flight_facts.mission_waypoints(bag.run, odometry['position_m'].values[0])
        if odometry else [],
        dict(flight_facts.setup_facts(bag.run, configuration)),
        dict(flight_facts.motion_facts(contents, series)
             + flight_facts.repeat_facts(bag.run, contents) + flight_facts.log_facts(bag)),
        [mark.text for mark in found if is_verdict(mark.text)])


def _points(lines: int) -> int:
    """Return how many points a line may have."""
    wanted = int(_DATA_BYTES / _BYTES_PER_POINT / max(lines, 1)) // 2 * 2
    return min(_MOST_POINTS, max(_LEAST_POINTS, wanted))


# All but plots


def _head(data: _ReportData, values: int, points: int) -> str:
    facts = data.results | dict(lockstep_facts(data.counters))
    shown = [('recorded', flight_facts.date_text(data.bag))]
    shown += [(name, data.setup[name]) for name in ('mission', 'autopilot', 'mode', 'seed')]
    shown.append(('wind', data.configuration.world.wind))
    shown += [(name, facts[name]) for name in (
        SIMULATED_TIME, 'greatest height over the take-off', 'greatest speed',
        'distance from the take-off at the end', 'lowest voltage', REAL_TIME_FACTOR,
        MISSES, 'fingerprint') if name in facts]
    damage = data.bag.damage
    return (
        (paragraph(damage, 'warning') if damage else '') + _verdict(data.verdicts)
        + report_page.tiles(shown)
        + paragraph(
            f'From the recording {data.bag.folder.name}. Truth is the state of the simulated'
            ' vehicle; measured is the output of a sensor. All plots over time show the same'
            ' time: drag over one to look closer in all, double-click to see all of it again.'
            ' Numbers over the plots are those of the events.')
        + paragraph(
            f'The plots are made of {values:,} values. A line shows at most {points:,} of its own:'
            ' the lowest and the highest of each interval of time. So no peak is lost, but what'
            ' is between them is not drawn. Values are drawn to 1/65,000 of the height of their'
            ' line; those of tables are exact.'))


def _verdict(verdicts: typing.Sequence[str]) -> str:
    """Return a paragraph with PASS or FAIL and the expectations that failed; '' without any."""
    failed = [verdict for verdict in verdicts if ': fails' in verdict]
    if not verdicts:
        return ''
    return paragraph(f"FAIL: {'; '.join(failed)}", 'warning') if failed else paragraph(
        f"PASS: {'; '.join(verdicts)}")


def _events(data: _ReportData) -> str:
    if not data.marks:
        return paragraph('There are no log messages and no changes of state.')
    rows = [(i, f'{mark.start_s:.3f}', f'{mark.end_s:.3f}' if mark.end_s > mark.start_s else '',
             report_page.dot(MARK_COLOURS[mark.kind], mark.kind), mark.who, mark.text)
            for i, mark in enumerate(data.marks, 1)]
    left_out = paragraph(f'{data.more_marks} later ones are left out.', 'warning') \
        if data.more_marks else ''
    content = table(('', 'time, s', 'until, s', 'kind', 'who', 'what'), rows) + left_out
    if 'ground_truth/odom' in data.series:
        found = flight_facts.arrivals(data.marks, data.waypoints, data.series)
        if found:
            content += heading('Arrivals against the truth') + table(
                ('mission', 'time, s', 'off by, m', 'of that in height, m'),
                [(a.waypoint.name, f'{a.time_s:.3f}', f'{a.error_m:.3f}', f'{a.height_error_m:.3f}')
                 for a in found], 1)
    return content


def _statistics(data: _ReportData) -> str:
    """Return the table of errors."""
    rows = [
        # The sensor and the quantity stand there once.
        (c.sensor if first else '', f'{c.quantity}, {c.unit}' if first else '', axis, s.samples,
         *map(_digits, s[1:]))
        for c in data.comparisons
        for first, axis, s in zip((True, False, False), c.axes, c.statistics())]
    silent = [name for name, spec in data.configuration.graph.nodes.items()
              if spec.kind in ERRORS and name not in {c.sensor for c in data.comparisons}]
    remark = paragraph(f"Nothing was measured by: {', '.join(silent)}.") if silent else ''
    if not rows:
        return remark
    return paragraph(
        'The error is what was measured minus what the same sensor, where it is mounted and at the'
        ' age that its parameters give, would have measured without errors. Where a sensor was'
        ' stopped, had no fix or saw nothing there is no error.') + remark + table(
        ('sensor', 'quantity', 'axis', 'samples', 'mean error', 'standard deviation',
         'largest error'), rows, 3)


def _digits(value: float) -> str:
    """Return a number with three digits, also when the last ones are 0."""
    return f'{value:#.3g}' if math.isfinite(value) else '-'


def _facts(data: _ReportData) -> str:
    run, counts = data.bag.run, data.contents.counts
    topics = [(topic, f'{count}') for topic, count in sorted(counts.items())]
    return (
        heading('How it was set up') + table((), data.setup.items())
        + heading('What came of it')
        + table((), data.results.items())
        + heading('Messages') + table(('topic', 'messages'), topics, 1)
        + paragraph(f'{sum(counts.values()):,} messages in all.')
        + report_page.folded('vehicle file', f'<pre>{report_page.text(run.vehicle)}</pre>')
        + report_page.folded('mission file', f'<pre>{report_page.text(run.mission)}</pre>')
        + report_page.folded('parameters', ''.join(
            heading(node) + table((), sorted(values.items()))
            for node, values in run.parameters.items())))


# Plots


def _plots(data: _ReportData, part: _Part, points: int) -> str:
    content = ''
    for title, rows in part.figures.items():
        plot = time_plot(rows, data.marks, data.span_s, points)
        content += heading(title) + plot if plot and title else plot
    return content or NOTHING_TO_PLOT


def _path(data: _ReportData) -> str:
    if 'ground_truth/odom' not in data.series:
        return NOTHING_TO_PLOT
    position = data.series['ground_truth/odom']['position_m']
    known = np.isfinite(position.values).all(axis=1)
    if not known.any():
        return NOTHING_TO_PLOT
    time_s, values = position.time_s[known], position.values[known]
    kept = path_points(time_s, values, _PATH_POINTS)
    shown = values[kept]
    return ('<div class="pair">'
            f'<div>{figure(path_3d(time_s[kept], shown, data.waypoints))}</div>'
            f'<div>{figure(path_from_above(shown, data.waypoints))}</div></div>')
