# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flights under motion capture, in the files of those who published them."""
from __future__ import annotations

import math
import pathlib

import numpy as np
from scipy import ndimage

from px4_sim_ros.model.errors import ParameterError, check_installed
from px4_sim_ros.real.flight import RealFlight, kept, repairs

_POLE_PAIRS = 6                # of the Crazyflie 2.1 brushless' motors, 12 magnets
_MOST = 1e6                    # a value beyond is none that a flight has
_SHORTEST_S, _LONGEST_S = 0.001, 0.1           # of the distance of two rows
_GLITCH = 0.5                  # of the speed, away from the median of 50 ms
_POSE = 'x', 'y', 'z', 'vx', 'vy', 'vz', 'wx', 'wy', 'wz'
_TURN = 'qw', 'qx', 'qy', 'qz'
_NANODRONE = ('t', *_POSE, *_TURN, *(f'm{i}_erpm' for i in range(1, 5)))


def read_nanodrone(path: pathlib.Path) -> RealFlight:
    """Read a run of the nanodrone benchmark, a Crazyflie 2.1 brushless (Busetto et al. 2026).

    A parquet file with a row each 10 ms: motion in ENU and FLU, electrical revolutions per
    minute of each motor, its command, voltage of the battery.
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
        found = []
        for name in names:
            try:
                found.append(table[name].to_numpy().astype(float))     # None becomes NaN
            except (TypeError, ValueError) as error:
                raise ParameterError(
                    f'log {path}: column {name} has text, and no numbers') from error
        return np.stack(found, axis=1)

    motors = range(1, 5)
    times, turns = columns('t')[:, 0], columns(*_TURN)
    size = np.linalg.norm(turns, axis=1)
    speeds = columns(*(f'm{i}_erpm' for i in motors)) * math.tau / 60.0 / _POLE_PAIRS
    rows = np.concatenate((columns(*_POSE), turns / np.where(size > 0.0, size, 1.0)[:, None],
                           speeds), axis=1)
    found = kept(times, (np.abs(rows) <= _MOST).all(axis=1) & (size > 0.0))
    if len(found.rows) < 2:
        raise ParameterError(f'log {path}: has {len(found.rows)} rows that can be used, of'
                             f' {len(times)}; it takes 2')
    times = times[found.rows]
    period_s = float(np.median(np.diff(times)))
    if not _SHORTEST_S <= period_s <= _LONGEST_S:
        raise ParameterError(f'log {path}: has a row each {period_s:.3g} s; must be each'
                             f' {_SHORTEST_S:g} to {_LONGEST_S:g} s')
    # A row each period; one that is missing is that before, and not used.
    places = np.round((times - times[0]) / period_s).astype(int)
    grid = np.arange(places[-1] + 1)
    place = np.searchsorted(places, grid, side='right') - 1
    there, place = places[place] == grid, found.rows[place]
    rows, speeds = rows[place], speeds[place]
    usable = there & ~_glitches(speeds)

    def optional(*names: str) -> np.ndarray | None:
        """Return columns if the run has them whole."""
        if not set(names) <= set(table.column_names):
            return None
        values = columns(*names)[place]
        return values if np.isfinite(values).all() else None

    voltage = optional('Vbat')
    return RealFlight(
        path.stem, period_s, rows[:, :3], rows[:, 3:6], rows[:, 9:13], rows[:, 6:9], usable,
        commands=optional(*(f'm{i}_thrust' for i in motors)), rotor_speeds_rad_s=speeds,
        wind_m_s=np.zeros((len(rows), 3)), bus_voltage_v=None if voltage is None else voltage[:, 0],
        repaired=repairs(path.stem, {'rows': found}),
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
