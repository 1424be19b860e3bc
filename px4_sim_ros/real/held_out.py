# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cross-validation: numbers from some parts of the logs, errors over the other parts."""
from __future__ import annotations

import itertools
import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import linear_fit, open_loop, predictions
from px4_sim_ros.real.fit import Fit, fit
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.named import Content, changed, with_values

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
    horizons_s: typing.Sequence[float] = predictions.HORIZONS_S,
) -> HeldOut:
    """Fit on all parts but one and fly that one, for each part.

    :param found: of all logs: its numbers are fitted again, and the models fly as in it
    :param horizons_s: those for which a part is too short are left out for it
    :raises ParameterError: the logs are too short to be parted
    """
    turning = open_loop.HELD if found.turning == open_loop.LOGGED else open_loop.FREE
    parts = parts_of(flights)
    if len(parts) < 2:
        raise ParameterError('the log is too short to be parted')
    before = Vehicle.from_mapping('vehicle file', content)
    means: dict[str, list[list[np.ndarray]]] = {
        name: [[] for _ in horizons_s]
        for name in (CAME, IDENTIFIED, TRIMMED, LINEAR, *_NO_MODEL)}
    for k, tested in enumerate(parts):
        learnt = [flight for i, part in enumerate(parts) if i != k for flight in part]
        values = fit(learnt, content, list(found.values), horizon_s).values
        after = Vehicle.from_mapping('vehicle file', changed(content, values))
        for i, horizon in enumerate(horizons_s):
            coefficients = linear_fit.fitted(learnt, before, horizon)
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
                    linear_fit.errors(flight, before, coefficients, horizon))
    told = [i for i in range(len(horizons_s)) if means[CAME][i]]
    return HeldOut(
        tuple(horizons_s[i] for i in told), turning,
        {name: np.array([np.concatenate(rows[i]).mean(axis=0) for i in told])
         for name, rows in means.items()},
        sum(len(rows) for rows in means[CAME][told[0]]))
