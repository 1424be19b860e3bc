# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Samples of a plain IMU, a magnetometer and a barometer, compiled: from the memory of the motion.

The laws are those of the sensors' own files. A sample is what these would return, to the bit.
"""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled, record
from px4_sim_ros.model import rotation
from px4_sim_ros.model.body.felt import SAMPLE
from px4_sim_ros.model.body.motion_memory import QW, QX, QY, QZ, X, Y, Z
from px4_sim_ros.model.environment import atmosphere, magnetic_field
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.sensors import barometer, magnetometer, noise
from px4_sim_ros.model.timebase import US_PER_S

# The fields of the record of constants.
_CONSTANTS = (
    'accel_limit', 'gyro_limit', 'mag_limit', 'drift_pa_s', 'warm_up_pa', 'warm_up_time_s',
    'wind_pressure_coefficient', 'home_altitude_m', 'sea_level_pressure_pa',
    'sea_level_temperature_k', *(f'{name}_{i}' for name in (
        'field', 'field_east', 'field_north', 'field_up', 'hard_iron', 'field_per_current')
        for i in range(3)), *(f'mag_axes_{i}' for i in range(9)))

_density_kg_m3 = compiled(atmosphere.density_kg_m3)
_dynamic_pressure_pa = compiled(barometer.dynamic_pressure_pa)
_field_at = compiled(magnetic_field.field_at)
_field_in_vehicle = compiled(magnetometer.field_in_vehicle)
_matrix = compiled(rotation.matrix)
_pressure_pa = compiled(atmosphere.pressure_pa)
_sampled_pressure_pa = compiled(barometer.sampled_pressure_pa)
_to_body = compiled(rotation.to_body)
_to_world = compiled(rotation.to_world)
_within = compiled(noise.within)


def sensing_record(*sensors: typing.Any) -> np.ndarray:
    """Return the constants of an IMU, a magnetometer and a barometer, those that are there."""
    found = dict.fromkeys(_CONSTANTS, 0.0)
    for sensor in sensors:
        found |= sensor.constants()
    return record(**found)


@compiled
def limit_imu(imu: np.ndarray, constants: np.ndarray) -> None:
    """Limit the sample of an IMU to its ranges, in place.

    :param imu: its numbers, see `body.felt`
    """
    c, i = constants[0], SAMPLE
    imu[i], imu[i + 1], imu[i + 2] = _within((imu[i], imu[i + 1], imu[i + 2]), c.accel_limit)
    imu[i + 3], imu[i + 4], imu[i + 5] = _within(
        (imu[i + 3], imu[i + 4], imu[i + 5]), c.gyro_limit)


@compiled
def magnetic_field_t(
    x: np.ndarray, constants: np.ndarray, errors: np.ndarray, current_a: float,
) -> Vector:
    """Return a sample of the magnetometer, T, in the sensor's axes.

    :param x: the state of the motion
    :param errors: the row of its noise
    :param current_a: out of the battery
    """
    c = constants[0]
    earth = _field_at(
        (x[X], x[Y], x[Z]), (c.field_0, c.field_1, c.field_2),
        ((c.field_east_0, c.field_east_1, c.field_east_2),
         (c.field_north_0, c.field_north_1, c.field_north_2),
         (c.field_up_0, c.field_up_1, c.field_up_2)))
    fx, fy, fz = _field_in_vehicle(
        _to_world(
            (c.mag_axes_0, c.mag_axes_1, c.mag_axes_2, c.mag_axes_3, c.mag_axes_4, c.mag_axes_5,
             c.mag_axes_6, c.mag_axes_7, c.mag_axes_8),
            _to_body(_matrix((x[QW], x[QX], x[QY], x[QZ])), earth)),
        (c.hard_iron_0, c.hard_iron_1, c.hard_iron_2),
        (c.field_per_current_0, c.field_per_current_1, c.field_per_current_2), current_a)
    return _within((fx + errors[0] + errors[3], fy + errors[1] + errors[4],
                    fz + errors[2] + errors[5]), c.mag_limit)


@compiled
def static_pressure_pa(
    x: np.ndarray, velocity_flu: Vector, wind_enu: Vector, time_us: int, constants: np.ndarray,
    errors: np.ndarray,
) -> float:
    """Return a sample of the barometer.

    :param x: the state of the motion
    :param errors: the row of its noise
    """
    c = constants[0]
    altitude = c.home_altitude_m + x[Z]
    pressure = _pressure_pa(altitude, c.sea_level_pressure_pa, c.sea_level_temperature_k)
    if c.wind_pressure_coefficient != 0.0:
        pressure -= c.wind_pressure_coefficient * _dynamic_pressure_pa(
            _density_kg_m3(altitude, c.sea_level_pressure_pa, c.sea_level_temperature_k),
            _to_world(_matrix((x[QW], x[QX], x[QY], x[QZ])), velocity_flu), wind_enu)
    return _sampled_pressure_pa(
        pressure, time_us / US_PER_S, errors[0], errors[1], c.drift_pa_s, c.warm_up_pa,
        c.warm_up_time_s)
