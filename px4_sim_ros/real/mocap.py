# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flights under motion capture, in the files of those who published them."""
from __future__ import annotations

import math
import pathlib

import numpy as np
from scipy import ndimage

from px4_sim_ros.model.errors import ParameterError, check_installed
from px4_sim_ros.real.flight import RealFlight

_POLE_PAIRS = 6                # of the Crazyflie 2.1 brushless' motors, 12 magnets
_GLITCH = 0.5                  # of the speed, away from the median of 50 ms
_POSE = 'x', 'y', 'z', 'vx', 'vy', 'vz', 'wx', 'wy', 'wz'
_TURN = 'qw', 'qx', 'qy', 'qz'
_NANODRONE = ('t', *_POSE, *_TURN, *(f'm{i}_erpm' for i in range(1, 5)))


def read_nanodrone(path: pathlib.Path) -> RealFlight:
    """Read a run of the nanodrone benchmark, a Crazyflie 2.1 brushless (Busetto et al. 2026).

    A parquet file with a row each 10 ms: motion in ENU and FLU, electrical revolutions per
    minute of each motor, its command, voltage of the battery.

    :raises ParameterError: pyarrow is not installed, the file cannot be read or lacks a column
    """
    check_installed('pyarrow')
    import pyarrow
    import pyarrow.parquet
    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise ParameterError(f'log {path}: no parquet file: {error}') from error
    missing = [name for name in _NANODRONE if name not in table.column_names]
    if missing:
        raise ParameterError(f'log {path}: has no column {missing[0]}; it must be a run of the'
                             ' nanodrone benchmark')

    def columns(*names: str) -> np.ndarray:
        return np.stack([table[name].to_numpy().astype(float) for name in names], axis=1)

    attitude = columns(*_TURN)
    attitude /= np.linalg.norm(attitude, axis=1, keepdims=True)
    motors = range(1, 5)
    rows = columns(*_POSE)
    speeds = columns(*(f'm{i}_erpm' for i in motors)) * math.tau / 60.0 / _POLE_PAIRS
    usable = np.isfinite(np.concatenate((rows, attitude, speeds), axis=1)).all(axis=1) & (
        ~_glitches(speeds))
    names = table.column_names
    return RealFlight(
        path.stem, float(np.median(np.diff(columns('t')[:, 0]))), rows[:, :3], rows[:, 3:6],
        attitude, rows[:, 6:], usable,
        commands=columns(*(f'm{i}_thrust' for i in motors)) if 'm1_thrust' in names else None,
        rotor_speeds_rad_s=speeds, wind_m_s=np.zeros((len(rows), 3)),
        bus_voltage_v=columns('Vbat')[:, 0] if 'Vbat' in names else None,
        facts=(('motion', 'motion capture and the estimator on board, 100 Hz'),
               ('rotor speeds', f'measured by the speed controllers, {_POLE_PAIRS} pole pairs')),
        unknown=('wind: it was indoors, and the air is taken as still',
                 'density of the air: taken as that of the standard atmosphere at sea level',
                 'mass: only forces per mass can be seen in a motion',
                 'current of the battery'))


def _glitches(speeds: np.ndarray) -> np.ndarray:
    """Return which samples have a speed that no motor can have between those around it."""
    usual = ndimage.median_filter(speeds, size=(5, 1))
    found: np.ndarray = (np.abs(speeds - usual) > _GLITCH * np.maximum(usual, 1.0)).any(axis=1)
    return found
