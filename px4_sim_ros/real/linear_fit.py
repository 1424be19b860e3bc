# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A linear fit to flights, to compare the model with: what is there without any physics.

For each horizon least squares find the change of velocity, attitude and rate, and of position
beyond the velocity of the start, in body axes of the start, from velocity, vertical and rate in
body axes at the start and the squared motor speeds in each fifth of the time since. It is fitted
to the horizon itself, which a model that is flown step by step is not.
"""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import open_loop, predictions
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.recording.analysis.attitudes import in_body

_PARTS = 5
_SCALE = 1e-8                  # brings sums of squared speeds near 1


def fitted(
    flights: typing.Sequence[RealFlight], vehicle: Vehicle, horizon_s: float, every_s: float = 0.05,
) -> np.ndarray:
    """Return the coefficients for a horizon, (causes, 12).

    :param vehicle: from which the motor speeds follow if they are not measured
    """
    length, every = (open_loop.marks_of(flights[0], [s])[0] for s in (horizon_s, every_s))
    causes, effects = zip(*(_rows(flight, vehicle, flight.starts(length, every), length)
                            for flight in flights))
    found: np.ndarray = np.linalg.lstsq(
        np.concatenate(causes), np.concatenate(effects), rcond=None)[0]
    return found


def errors(
    flight: RealFlight, vehicle: Vehicle, coefficients: np.ndarray, horizon_s: float,
    starts: np.ndarray | None = None, every_s: float = predictions.EVERY_S,
) -> np.ndarray:
    """Return the errors of a linear fit, (starts, 4).

    :param starts: samples of the flight; by default those of `predictions.errors`
    """
    length, every = (open_loop.marks_of(flight, [s])[0] for s in (horizon_s, every_s))
    if starts is None:
        starts = predictions.starts_of(flight, length, every)
    causes, effects = _rows(flight, vehicle, starts, length)
    return open_loop.lengths(causes @ coefficients - effects)


def _rows(
    flight: RealFlight, vehicle: Vehicle, starts: np.ndarray, length: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return causes and effects of each start over a number of samples, (starts, ...)."""
    first, last = (open_loop.logged(flight, rows) for rows in (starts, starts + length))
    moved = open_loop.differences(last, first)
    moved[:, open_loop.P] -= first[:, open_loop.V] * length * flight.period_s
    attitude = first[:, open_loop.Q]
    effects = np.concatenate((
        in_body(attitude, moved[:, 0:3]), in_body(attitude, moved[:, 3:6]), moved[:, 6:]), axis=1)
    sums = np.concatenate((np.zeros((1, flight.rotors)), np.cumsum(
        open_loop.drive(flight, vehicle).speeds ** 2, axis=0)))
    edges = starts[:, None] + np.linspace(0, length, _PARTS + 1).astype(int)
    inputs = np.diff(sums[edges], axis=1).reshape(len(starts), -1)
    up = in_body(attitude, np.tile((0.0, 0.0, 1.0), (len(starts), 1)))
    return np.concatenate((
        in_body(attitude, first[:, open_loop.V]), up, first[:, open_loop.W],
        inputs * _SCALE, np.ones((len(starts), 1))), axis=1), effects
