# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How far from the log a flight is after some times, in each way of predicting it.

Beside the model, as it turns in three ways (`open_loop.fly`), stand

- the model with its rates held and with the force that it lacked up to the start: what lasts, as a
  gust does, and a wind that was not measured, is then in it;
- no model: velocity and rate of the start stay;
- no model, and the acceleration up to the start stays as well;
- the accelerometer of the log in place of the model's forces, with the attitude as logged. No model
  can be nearer to the log than that, for it is the log's own error.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.open_loop import (
    FREE,
    HELD,
    LOGGED,
    Motors,
    P,
    Q,
    V,
    W,
    differences,
    drive,
    fly,
    lengths,
    logged,
    marks_of,
    product,
)
from px4_sim_ros.recording.analysis.attitudes import in_world

HORIZONS_S = 0.1, 0.5, 2.0
PAST_S = 0.5
"""Before each start: over it the missing force and the acceleration are averaged."""
EVERY_S = 0.1
"""From one start to the next."""

TRIMMED, NONE = f'{HELD}, trimmed', 'no model'
STEADY, MEASURED = f'{NONE}, acceleration stays', 'accelerometer of the log'


class Errors(typing.NamedTuple):
    """Errors over some times; each has its own starts, for which only its own window is whole."""

    horizons_s: tuple[float, ...]
    starts_s: tuple[np.ndarray, ...]       # by horizon, (starts,)
    ways: dict[str, tuple[np.ndarray, ...]]    # by horizon, (starts, 4) as `open_loop.QUANTITIES`


def errors(
    flight: RealFlight, vehicle: Vehicle, horizons_s: typing.Sequence[float] = HORIZONS_S,
) -> Errors:
    """Predict a log from many starts, all of which have a past.

    :param horizons_s: those for which no part of the log is long enough are left out
    """
    motors = drive(flight, vehicle)
    found: dict[float, tuple[np.ndarray, dict[str, np.ndarray]]] = {}
    *marks, every = marks_of(flight, [*horizons_s, EVERY_S])
    for horizon_s, mark in zip(horizons_s, marks):
        starts = starts_of(flight, mark, every)
        if len(starts):
            found[horizon_s] = starts, _errors(flight, vehicle, starts, mark, motors)
    if not found:
        raise ParameterError(f'log {flight.name}: no part without gaps is as long as'
                             f' {min(horizons_s):g} s and {PAST_S:g} s before')
    _, first = next(iter(found.values()))
    return Errors(
        tuple(found), tuple(flight.time_s[starts] for starts, _ in found.values()),
        {way: tuple(ways[way] for _, ways in found.values()) for way in first})


def _errors(
    flight: RealFlight, vehicle: Vehicle, starts: np.ndarray, mark: int, motors: Motors,
) -> dict[str, np.ndarray]:
    """Return the errors of each way after some samples, (starts, 4)."""
    marks = [mark]
    first = logged(flight, starts)[:, None]
    times_s = flight.period_s * np.array(marks)
    past, = marks_of(flight, [PAST_S])
    found = {turning: fly(flight, vehicle, starts, marks, motors, turning)
             for turning in (FREE, LOGGED, HELD)}
    lacked = (flight.velocity_m_s[starts] - fly(
        flight, vehicle, starts - past, [past], motors, LOGGED)[:, 0, V]) / PAST_S
    found[TRIMMED] = _pushed(found[HELD], lacked, times_s)
    found[NONE] = _held(first, times_s)
    found[STEADY] = _pushed(found[NONE], (
        flight.velocity_m_s[starts] - flight.velocity_m_s[starts - past]) / PAST_S, times_s)
    if flight.specific_force_m_s2 is not None:
        found[MEASURED] = _by_accelerometer(flight, flight.specific_force_m_s2, starts, marks)
    true = logged(flight, starts[:, None] + np.array(marks))
    return {way: lengths(differences(states, true))[:, 0] for way, states in found.items()}


def starts_of(flight: RealFlight, length: int, every: int) -> np.ndarray:
    """Return where windows begin that have a past; see `RealFlight.starts`."""
    past, = marks_of(flight, [PAST_S])
    return flight.starts(past + length, every) + past


def _pushed(states: np.ndarray, by_m_s2: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """Return states with an acceleration on top, (starts, 3), from the start on."""
    found, t = states.copy(), times_s[:, None]
    found[..., V] += by_m_s2[:, None] * t
    found[..., P] += by_m_s2[:, None] * (0.5 * t * t)
    return found


def _held(first: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """Return where velocity and rate lead that stay as they are, (starts, times, 13)."""
    found = np.repeat(first, len(times_s), axis=1)
    found[..., P] += found[..., V] * times_s[:, None]
    angle = np.linalg.norm(found[..., W], axis=-1, keepdims=True) * times_s[:, None]
    axis = found[..., W] * times_s[:, None] * 0.5 * np.sinc(angle / math.tau)
    found[..., Q] = product(found[..., Q], np.concatenate((np.cos(0.5 * angle), axis), axis=-1))
    return found


def _by_accelerometer(
    flight: RealFlight, specific_force: np.ndarray, starts: np.ndarray, marks: list[int],
) -> np.ndarray:
    """Return where the measured specific force leads, turned as the log is, (starts, times, 13)."""
    up = np.array([0.0, 0.0, flight.environment.gravity_m_s2(0.0)])
    acceleration = in_world(flight.attitude, specific_force) - up
    h = flight.period_s
    # From the first sample on; what a window has is the difference of its ends.
    velocity = np.concatenate((np.zeros((1, 3)), h * np.cumsum(
        0.5 * (acceleration[1:] + acceleration[:-1]), axis=0)))
    way = np.concatenate((np.zeros((1, 3)), h * np.cumsum(
        0.5 * (velocity[1:] + velocity[:-1]), axis=0)))
    last = starts[:, None] + np.array(marks)
    found = logged(flight, last)
    begin = starts[:, None]
    t = h * np.array(marks)[:, None]
    found[..., V] = flight.velocity_m_s[begin] + velocity[last] - velocity[begin]
    found[..., P] = (flight.position_m[begin] + way[last] - way[begin]
                     + t * (flight.velocity_m_s[begin] - velocity[begin]))
    return found
