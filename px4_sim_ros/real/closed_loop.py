# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The closed loop of a real flight and of simulated ones, from logs of PX4."""
from __future__ import annotations

import math
import os
import pathlib
import typing

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from px4_sim_ros.model.errors import ParameterError, within
from px4_sim_ros.real.flight import RealFlight, between, has_samples
from px4_sim_ros.real.ulog import Topics, read_ulog

_HOVER_M_S = 1.0
_MOTION_HZ = 15.0              # below it the vehicle moves; above it is shaken
_IMU = 'sensor_combined'       # as PX4 integrates it
_LEAST_HZ = 50.0
_LEAST_ROWS = 50               # a second of the slowest; a filter needs rows before its first


class Figure(typing.NamedTuple):
    """A figure of a flight; NaN is what its log does not tell."""

    name: str
    unit: str
    value: float


def figures(path: str | pathlib.Path) -> list[Figure]:
    """Return the figures of a flight, while it is in the air."""
    path = pathlib.Path(os.path.expanduser(path))
    topics, flight = Topics(path), read_ulog(path)
    return [*_tracking(topics, flight), *_attitude(topics, flight), *_motors(flight),
            *_shaking(topics, flight)]


def _grid(flight: RealFlight) -> np.ndarray:
    found: np.ndarray = flight.start_s + flight.time_s
    return found


def _rms(values: np.ndarray) -> float:
    return math.sqrt(np.mean(np.square(values))) if len(values) else math.nan


def _tracking(topics: Topics, flight: RealFlight) -> typing.Iterator[Figure]:
    """Yield how far the vehicle is from where it is asked to be."""
    topic, grid = 'vehicle_local_position_setpoint', _grid(flight)
    across, up = math.nan, math.nan
    if topics.has(topic):
        times, rows = topics.samples(topic, 'y', 'x', 'z', gaps=True)
        asked = between(times, rows, grid)         # NaN: not asked for
        asked[:, 2] *= -1.0
        known = flight.usable & has_samples(times, grid)
        off = (flight.position_m - asked)[known]
        across, up = (_rms(np.linalg.norm(part, axis=1)[np.isfinite(part).all(axis=1)])
                      for part in (off[:, :2], off[:, 2:]))
    yield Figure('off the set point along the ground, rms', 'm', across)
    yield Figure('off the set point in height, rms', 'm', up)
    speed = np.linalg.norm(flight.velocity_m_s[flight.usable], axis=1)
    yield Figure('greatest speed', 'm/s', float(speed.max()))


def _attitude(topics: Topics, flight: RealFlight) -> typing.Iterator[Figure]:
    """Yield how far attitude and rates are from what is asked for."""
    topic, grid = 'vehicle_attitude_setpoint', _grid(flight)
    turned_s, turns = topics.samples(
        'vehicle_attitude', *(f'q[{i}]' for i in range(4)), turns=True)
    tilt = np.degrees(np.arccos(np.clip(Rotation.from_quat(
        flight.attitude[flight.usable], scalar_first=True).apply((0.0, 0.0, 1.0))[:, 2], -1, 1)))
    off = math.nan
    times, asked = topics.samples(
        topic, *(f'q_d[{i}]' for i in range(4)), gaps=True) if topics.has(topic) else (
        np.zeros(0), np.zeros((0, 4)))
    is_asked = np.abs(np.linalg.norm(asked, axis=1) - 1.0) < 0.01     # NaN and 0: not asked for
    times, asked = times[is_asked], asked[is_asked]
    if len(times) > 1:
        inside = flight.usable & has_samples(times, grid)
        wanted = Slerp(times, Rotation.from_quat(asked, scalar_first=True))(grid[inside])
        down = np.array((0.0, 0.0, 1.0))
        true = Slerp(turned_s, Rotation.from_quat(turns, scalar_first=True))(grid[inside])
        off = _rms(np.degrees(np.arccos(np.clip(np.sum(
            wanted.apply(down) * true.apply(down), axis=1), -1.0, 1.0))))
    yield Figure('tilt, mean', 'deg', float(tilt.mean()))
    yield Figure('tilt off the set point, rms', 'deg', off)
    for axis, name in enumerate(('roll', 'pitch', 'yaw')):
        yield Figure(f'{name} rate, rms', 'rad/s', _rms(flight.rate_rad_s[flight.usable, axis]))


def _motors(flight: RealFlight) -> typing.Iterator[Figure]:
    """Yield motor commands in hover, and what the battery gives."""
    hovers = flight.usable & (np.linalg.norm(flight.velocity_m_s, axis=1) < _HOVER_M_S)
    mean = deviation = math.nan
    if flight.commands is not None and hovers.any():
        commands = flight.commands[hovers]
        mean, deviation = float(commands.mean()), float(commands.std(axis=0).mean())
    yield Figure('motor command in hover, mean', '', mean)
    yield Figure('deviation of a motor command in hover', '', deviation)
    for name, unit, values in (('current, mean', 'A', flight.bus_current_a),
                               ('voltage, mean', 'V', flight.bus_voltage_v)):
        yield Figure(name, unit, math.nan if values is None else float(
            values[flight.usable].mean()))


def _shaking(topics: Topics, flight: RealFlight) -> typing.Iterator[Figure]:
    """Yield the IMU's samples less the motion."""
    from scipy import signal  # takes a while to load
    times, rows = topics.samples(_IMU, *(
        f'{name}[{i}]' for name in ('accelerometer_m_s2', 'gyro_rad') for i in range(3)))
    if len(times) < _LEAST_ROWS:
        raise ParameterError(f'log {topics.name}: has {len(times)} rows of {_IMU} that can be used;'
                             f' it takes at least {_LEAST_ROWS}')
    rate_hz = 1.0 / float(np.median(np.diff(times)))
    if rate_hz < _LEAST_HZ:
        raise ParameterError(f'log {topics.name}: has {_IMU} at {rate_hz:.3g} Hz; it takes at'
                             f' least {_LEAST_HZ:g} Hz')
    inside = np.interp(times, _grid(flight), flight.usable, left=0.0, right=0.0) > 0.99
    keep = signal.butter(4, _MOTION_HZ, 'highpass', fs=rate_hz, output='sos')
    quick = signal.sosfiltfilt(keep, rows, axis=0)[inside]
    for name, unit, first in ('accelerometer', 'm/s^2', 0), ('gyro', 'rad/s', 3):
        yield Figure(f'{name} above {_MOTION_HZ:g} Hz, rms of an axis', unit,
                     _rms(quick[:, first:first + 3].ravel()))


def compared(
    log: str | pathlib.Path, others: typing.Sequence[str | pathlib.Path],
) -> list[tuple[str, ...]]:
    """Return a table: a row a figure, with its unit, of the log and of each of the others."""
    columns = []
    for path in (log, *others):
        with within('closed loop'):
            columns.append(figures(path))
    return [(f'{row[0].name}, {row[0].unit}' if row[0].unit else row[0].name,
             *('-' if math.isnan(one.value) else f'{one.value:.3g}' for one in row))
            for row in zip(*columns)]
