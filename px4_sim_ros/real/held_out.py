# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cross-validation: numbers from some parts of the logs, errors over the other parts."""
from __future__ import annotations

import itertools
import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import open_loop, predictions
from px4_sim_ros.real.fit import Fit, fit
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.named import Content, changed, with_values
from px4_sim_ros.recording.analysis.attitudes import in_body

# A linear fit to flights, to compare the model with: what is there without any physics.
#
# For each horizon least squares find the change of velocity, attitude and rate, and of position
# beyond the velocity of the start, in body axes of the start, from velocity, vertical and rate in
# body axes at the start and the squared motor speeds in each fifth of the time since. It is
# fitted to the horizon itself, which a model that is flown step by step is not.

_PARTS = 5
_LEARNT_EVERY_S = 0.05
_SCALE = 1e-8                  # brings sums of squared speeds near 1


def linear_fit(
    flights: typing.Sequence[RealFlight], vehicle: Vehicle, horizon_s: float,
) -> np.ndarray:
    """Return the coefficients for a horizon, (causes, 12).

    :raises ParameterError: no part of the flights is so long
    """
    length, every = open_loop.marks_of(flights[0], [horizon_s, _LEARNT_EVERY_S])
    causes, effects = zip(*(_rows(flight, vehicle, flight.starts(length, every), length)
                            for flight in flights))
    if not any(map(len, causes)):
        raise ParameterError('the log is too short to be parted')
    found: np.ndarray = np.linalg.lstsq(
        np.concatenate(causes), np.concatenate(effects), rcond=None)[0]
    return found


def linear_errors(
    flight: RealFlight, vehicle: Vehicle, coefficients: np.ndarray, horizon_s: float,
    starts: np.ndarray | None = None,
) -> np.ndarray:
    """Return the errors of a linear fit, (starts, 4)."""
    length, every = open_loop.marks_of(flight, [horizon_s, predictions.EVERY_S])
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
    inputs = np.diff(sums[edges], axis=1).reshape(
        len(starts), _PARTS * flight.rotors)
    up = in_body(attitude, np.tile((0.0, 0.0, 1.0), (len(starts), 1)))
    return np.concatenate((
        in_body(attitude, first[:, open_loop.V]), up, first[:, open_loop.W],
        inputs * _SCALE, np.ones((len(starts), 1))), axis=1), effects


FOLDS = 4
CAME, IDENTIFIED, LINEAR = 'as it came', 'identified', 'linear fit'
TRIMMED = f'{IDENTIFIED}, trimmed'
_NO_MODEL = predictions.NONE, predictions.STEADY


class HeldOut(typing.NamedTuple):
    """Mean errors over held-out parts."""

    horizons_s: tuple[float, ...]
    turning: str                           # how the models flew, see `open_loop.fly`
    means: dict[str, np.ndarray]           # by model: (horizons, 4), as `open_loop.QUANTITIES`
    starts: int


def parts_of(flights: typing.Sequence[RealFlight]) -> list[list[RealFlight]]:
    """Return parts of logs: some logs each if there are enough, else pieces of each log."""
    if len(flights) >= FOLDS:
        return [list(flights[i::FOLDS]) for i in range(FOLDS)]
    pieces: list[list[RealFlight]] = [[] for _ in range(FOLDS)]
    for flight in flights:
        edges = np.linspace(0, flight.samples, FOLDS + 1).astype(int).tolist()
        for place, (first, last) in zip(pieces, itertools.pairwise(edges)):
            if flight.usable[first:last].any():
                place.append(flight.part(first, last))
    return [piece for piece in pieces if piece]


def held_out(
    flights: typing.Sequence[RealFlight], content: Content, found: Fit, horizon_s: float,
) -> HeldOut:
    """Fit on all parts but one and fly that one, for each part.

    Horizons for which a part is too short are left out for it.

    :param found: of all logs: its numbers are fitted again, and the models fly as in it
    """
    turning = open_loop.HELD if found.turning == open_loop.LOGGED else open_loop.FREE
    parts = parts_of(flights)
    if len(parts) < 2:
        raise ParameterError('the log is too short to be parted')
    before = Vehicle.from_mapping('vehicle file', content)
    means: dict[str, list[list[np.ndarray]]] = {
        name: [[] for _ in predictions.HORIZONS_S]
        for name in (CAME, IDENTIFIED, TRIMMED, LINEAR, *_NO_MODEL)}
    for k, tested in enumerate(parts):
        learnt = [flight for i, part in enumerate(parts) if i != k for flight in part]
        values = fit(learnt, content, list(found.values), horizon_s).values
        after = Vehicle.from_mapping('vehicle file', changed(content, values))
        for i, horizon in enumerate(predictions.HORIZONS_S):
            coefficients = linear_fit(learnt, before, horizon)
            for flight in tested:
                length, every = open_loop.marks_of(flight, [horizon, predictions.EVERY_S])
                if not len(predictions.starts_of(flight, length, every)):
                    continue
                came = predictions.errors(flight, before, [horizon]).ways
                now = predictions.errors(with_values(flight, values), after, [horizon]).ways
                for name, errors in (
                        (CAME, came[turning]), (IDENTIFIED, now[turning]),
                        (TRIMMED, now[predictions.TRIMMED]),
                        *((name, came[name]) for name in _NO_MODEL)):
                    means[name][i].append(errors[0])
                means[LINEAR][i].append(
                    linear_errors(flight, before, coefficients, horizon))
    flown = [i for i, its in enumerate(means[CAME]) if its]
    return HeldOut(
        tuple(predictions.HORIZONS_S[i] for i in flown), turning,
        {name: np.array([np.concatenate(rows[i]).mean(axis=0) for i in flown])
         for name, rows in means.items()},
        sum(len(rows) for rows in means[CAME][flown[0]]))
