# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plots of a flight over time."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.recording.analysis.attitudes import angle_rad, in_world, roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.sensor_errors import SensorComparison
from px4_sim_ros.recording.analysis.series import AllSeries, Series
from px4_sim_ros.recording.report.plots import AXIS_COLOURS, COLOURS, Line, Row, axis_lines
from px4_sim_ros.step.side_topics import ESTIMATE, SET_POINT

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
    """Return what the autopilot takes for its motion, the truth, and the errors.

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
    """Return the wind."""
    if 'wind' not in series:
        return []
    velocity = series['wind']['velocity_m_s']
    return [Row('Wind: where it blows to', 'm/s', axis_lines(_ENU, *velocity))]


def sensor_rows(comparisons: typing.Iterable[SensorComparison]) -> dict[str, list[Row]]:
    """Return what each sensor has measured, and its error, by sensor."""
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
