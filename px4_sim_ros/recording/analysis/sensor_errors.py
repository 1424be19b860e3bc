# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each sensor of a flight against the truth.

The truth is what the same sensor with the same mounting would have measured without errors: its
own model, with all error parameters at 0.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np
import numpy.typing as npt

from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.truth import STILL, SensorInputs, Truth
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.recording.analysis.attitudes import roll_pitch_yaw_deg
from px4_sim_ros.recording.analysis.series import AllSeries
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step import graph

_MICROTESLA = 1e6
# The error parameters of a sensor, by its kind. Its others are its mounting and its range.
ERRORS: dict[str, tuple[str, ...]] = {
    'imu': tuple(f'{part}_{error}' for part in ('gyro', 'accel') for error in (
        'noise_density', 'random_walk', 'turn_on_bias', 'scale_error', 'misalignment',
        'resolution')),
    'magnetometer': ('noise_density', 'random_walk', 'turn_on_bias', 'hard_iron', 'soft_iron',
                     'field_per_current', 'resolution'),
    'barometer': ('noise_pa', 'drift_pa_s', 'wander_pa', 'warm_up_pa',
                  'wind_pressure_coefficient'),
    'gps': ('horizontal_error_m', 'vertical_error_m', 'velocity_noise_m_s', 'outage_rate_hz'),
    'airspeed': ('noise_pa', 'offset_pa'),
    'range_finder': ('noise_m',),
    'optical_flow': ('noise_rad_s',),
    'visual_odometry': ('position_noise_m', 'attitude_noise_rad', 'velocity_noise_m_s',
                        'position_random_walk'),
}


# Of samples of one sensor, each an object of its model.
_Ideal = typing.Callable[[list[typing.Any], WorldParameters], npt.ArrayLike]


class _Quantity(typing.NamedTuple):
    """What is compared of a topic: how to get it from its series, and from ideal samples."""

    field: str
    name: str
    unit: str
    axes: tuple[str, ...]
    measured: typing.Callable[[np.ndarray, WorldParameters], np.ndarray]
    ideal: _Ideal
    is_angle: bool = False     # in degrees: 359 and -1 are the same


def _unchanged(values: np.ndarray, world: WorldParameters) -> np.ndarray:
    return values


def _of(name: str) -> _Ideal:
    return lambda samples, world: [getattr(sample, name) for sample in samples]


def _heights_m(pressures_pa: typing.Iterable[float], world: WorldParameters) -> np.ndarray:
    """Return the heights over home at which the pressure is this; NaN for none."""
    height_m = world.atmosphere().pressure_altitude_m
    return np.array([[height_m(p) - world.home_altitude_m if p > 0.0 else math.nan]
                     for p in pressures_pa])


def _local_m(positions: typing.Iterable[GeodeticPosition], world: WorldParameters) -> np.ndarray:
    frame = world.local_frame()
    return np.array([frame.to_local(position) for position in positions])


_XYZ, _ENU, _ANGLES = ('x', 'y', 'z'), ('east', 'north', 'up'), ('roll', 'pitch', 'yaw')

# By topic of the first instance.
_QUANTITIES: dict[str, tuple[_Quantity, ...]] = {
    'imu/data_raw': (
        _Quantity('specific_force_m_s2', 'specific force', 'm/s²', _XYZ, _unchanged,
                  _of('specific_force_flu')),
        _Quantity('rate_rad_s', 'angular rate', 'rad/s', _XYZ, _unchanged, _of('rate_flu'))),
    'mag': (
        _Quantity('field_t', 'magnetic field', 'µT', _XYZ, lambda v, _: v * _MICROTESLA,
                  lambda s, _: [[b * _MICROTESLA for b in m.field_flu_t] for m in s]),),
    'baro': (
        _Quantity('pressure_pa', 'height from pressure', 'm', ('up',),
                  lambda v, world: _heights_m(v[:, 0], world),
                  lambda s, world: _heights_m((m.pressure_pa for m in s), world)),),
    'gps/fix': (
        _Quantity('geodetic_deg_m', 'position', 'm', _ENU,
                  lambda v, world: _local_m((GeodeticPosition(*row) for row in v), world),
                  lambda s, world: _local_m((m.position for m in s), world)),),
    'gps/vel': (
        _Quantity('velocity_m_s', 'velocity', 'm/s', _ENU, _unchanged, _of('velocity_enu')),),
    'airspeed': (
        _Quantity('pressure_pa', 'differential pressure', 'Pa', ('forward',), _unchanged,
                  lambda s, _: [[m.differential_pressure_pa] for m in s]),),
    'range': (
        _Quantity('range_m', 'distance', 'm', ('beam',), _unchanged,
                  lambda s, _: [[m.range_m] for m in s]),),
    'optical_flow': (
        _Quantity('rate_rad_s', 'flow', 'rad/s', ('x', 'y'), lambda v, _: v[:, :2],
                  lambda s, _: [m.rate_flu[:2] for m in s]),),
    'visual_odometry': (
        _Quantity('position_m', 'position', 'm', _ENU, _unchanged, _of('position_enu')),
        _Quantity('attitude_wxyz', 'attitude', 'deg', _ANGLES,
                  lambda v, _: roll_pitch_yaw_deg(v),
                  lambda s, _: roll_pitch_yaw_deg(np.array([m.attitude for m in s])), True),
        _Quantity('velocity_m_s', 'velocity', 'm/s', _XYZ, _unchanged, _of('velocity_flu'))),
}


class ErrorStatistics(typing.NamedTuple):
    """Of the error of one axis; NaN when nothing was measured."""

    samples: int
    mean: float
    standard_deviation: float
    largest: float             # by its magnitude


@dataclasses.dataclass(frozen=True)
class SensorComparison:
    """A quantity of a sensor, measured and true; a row a time, a column an axis."""

    sensor: str
    quantity: str
    unit: str
    axes: tuple[str, ...]
    time_s: np.ndarray
    measured: np.ndarray
    truth: np.ndarray
    is_angle: bool = False     # in degrees

    @property
    def error(self) -> np.ndarray:
        """Measured minus true; NaN where one of them is not finite."""
        finite = np.isfinite(self.measured) & np.isfinite(self.truth)
        difference = np.full(self.measured.shape, np.nan)
        np.subtract(self.measured, self.truth, out=difference, where=finite)
        return (difference + 180.0) % 360.0 - 180.0 if self.is_angle else difference

    def statistics(self) -> list[ErrorStatistics]:
        return [_statistics(column[np.isfinite(column)]) for column in self.error.T]


def _statistics(error: np.ndarray) -> ErrorStatistics:
    if not len(error):
        return ErrorStatistics(0, math.nan, math.nan, math.nan)
    return ErrorStatistics(
        len(error), float(error.mean()), float(error.std()), float(np.abs(error).max()))


def compare_sensors(
    configuration: Configuration, series: AllSeries,
) -> list[SensorComparison]:
    """Return each quantity that each sensor has measured, in the order of the graph."""
    truth = _Truths(series)
    comparisons: list[SensorComparison] = []
    for sensor in configuration.graph.sensors:
        if graph.spec_of(sensor).kind in ERRORS:
            topics = [topic for topic in configuration.graph.outputs(sensor)
                      if topic.kind in _QUANTITIES and topic.name in series]
            if topics:
                comparisons += _comparisons_of(
                    sensor, _ideal_sensor(configuration, sensor), configuration.world, topics,
                    series, truth)
    return comparisons


def _comparisons_of(
    sensor: str, ideal: typing.Any, world: WorldParameters, topics: list[graph.Topic],
    series: AllSeries, truth: _Truths,
) -> typing.Iterator[SensorComparison]:
    # A truncated bag may have one topic of a time and not the other.
    times_us = np.unique(np.concatenate([
        next(iter(series[topic.name].values())).times_us for topic in topics]))
    samples = {t.time_us: ideal.measure(t, around) for t, around in truth.at(times_us)}
    no_fix_us = _without_fix_us(topics, series)
    for topic in topics:
        for quantity in _QUANTITIES[topic.kind]:
            column = series[topic.name][quantity.field]
            of_us = column.times_us
            kept = np.array([t in samples for t in of_us.tolist()], bool)
            if not kept.any():
                continue
            matching = [samples[t] for t in of_us[kept].tolist()]
            measured = np.array(quantity.measured(column.values[kept], world), float)
            measured[np.isin(of_us[kept], no_fix_us)] = np.nan
            yield SensorComparison(
                sensor, quantity.name, quantity.unit, quantity.axes, column.time_s[kept],
                measured, np.array(quantity.ideal(matching, world), float), quantity.is_angle)


def _ideal_sensor(configuration: Configuration, name: str) -> typing.Any:
    spec = graph.spec_of(name)
    return graph.load(spec.model)(
        name, _without_errors(spec.kind, configuration.of_node(name, Parameters)),
        configuration.world)


def _without_errors(kind: str, parameters: Parameters) -> Parameters:
    zeros = {}
    for name in ERRORS[kind]:
        value = getattr(parameters, name)
        zeros[name] = (0.0,) * len(value) if isinstance(value, tuple) else 0.0
    return dataclasses.replace(parameters, **zeros)


def _without_fix_us(
    topics: list[graph.Topic], series: AllSeries,
) -> np.ndarray:
    """Return the times at which a receiver had no fix: its position is then an old one."""
    for topic in topics:
        status = series[topic.name].get('status')
        if status is not None:
            times_us: np.ndarray = status.times_us[status.values[:, 0] < 0]
            return times_us
    return np.empty(0, int)


class _Truths:
    """The true motion and the wind by time."""

    def __init__(self, series: AllSeries) -> None:
        odometry, accel = series.get('ground_truth/odom'), series.get('ground_truth/accel')
        self._columns: list[list[typing.Any]] = []
        self._times_us = np.empty(0, int)
        if odometry and accel:
            fields = [*odometry.values(), *accel.values()]
            odometry_us, accel_us = fields[0].times_us, fields[-1].times_us
            self._times_us, *places = np.intersect1d(odometry_us, accel_us, return_indices=True)
            # In the order of `Truth`, which is that of `series.FIELDS`.
            columns = [f.values[places[i >= len(odometry)]] for i, f in enumerate(fields)]
            finite = np.all([np.isfinite(column).all(axis=1) for column in columns], axis=0)
            self._times_us = self._times_us[finite]
            self._columns = [column[finite].tolist() for column in columns]
        wind = series.get('wind')
        self._wind_us = wind['velocity_m_s'].times_us if wind else np.empty(0, int)
        self._wind = wind['velocity_m_s'].values.tolist() if wind else []

    def at(self, times_us: np.ndarray) -> typing.Iterator[tuple[Truth, SensorInputs]]:
        """Yield the truth and the last wind of those times of which the truth is known."""
        known = times_us[np.isin(times_us, self._times_us)]
        places = np.searchsorted(self._times_us, known).tolist()
        winds = np.searchsorted(self._wind_us, known, side='right').tolist()
        for time_us, place, wind in zip(known.tolist(), places, winds):
            around = SensorInputs(tuple(self._wind[wind - 1])) if wind else STILL
            position, attitude, velocity, rate, acceleration, angular = (
                column[place] for column in self._columns)
            yield Truth(time_us, position, attitude, velocity, rate, acceleration, angular,
                        (), ()), around
