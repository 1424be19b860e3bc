# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a log tells beside its motion: battery, motors' power, trim.

Each is a least-squares problem of its own; intervals are those of `fit`.
"""
from __future__ import annotations

import math
import typing

import numpy as np
from scipy import optimize

from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import open_loop, statics
from px4_sim_ros.real.fit import BLOCK_S, SELDOM, Estimate, lasting_half_widths
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.named import Content, changed, value_of

SHAFT_TORQUE = 'motor_model.shaft_torque_coefficient_m'
RESISTANCE = 'battery.packs[0].series_resistance_ohm'
CENTRE = 'center_of_mass_m[0]', 'center_of_mass_m[1]'
_LEAST_BLOCKS = 5
_TRIM_EVERY_S = 0.05
_S_PER_H = 3600.0


def shaft_torque(
    flights: typing.Sequence[RealFlight], content: Content, thrust_share: float = 0.0,
) -> Estimate | str:
    """Return the torque of the shafts with which the model draws the logged current, or why not.

    :param content: of the vehicle file, with what is identified already: it sets rotor speeds
    :param thrust_share: half width of the thrust coefficient / it; power tells only the product
    """
    told = [flight for flight in flights if flight.bus_current_a is not None]
    if not told:
        return 'the log has no current'
    if 'motor_model' not in content:
        return 'the vehicle file has no motor_model'

    def errors(
        values: np.ndarray, told: typing.Sequence[RealFlight] = told,
    ) -> tuple[np.ndarray, np.ndarray]:
        vehicle = Vehicle.from_mapping('vehicle', changed(content, {SHAFT_TORQUE: values[0]}))
        found, blocks, before = [], [], 0
        for flight in told:
            at = statics.sampled(flight, vehicle)
            found.append(at.model_power_w / at.voltage_v - at.current_a)
            numbers = np.unique((at.time_s / BLOCK_S).astype(int), return_inverse=True)[1]
            blocks.append(numbers + before)
            before += numbers.max() + 1
        return np.concatenate(found), np.concatenate(blocks)

    begin = value_of(content, SHAFT_TORQUE)
    solution = optimize.least_squares(
        lambda values: errors(values)[0], [begin], x_scale=[begin], bounds=(1e-6, np.inf),
        diff_step=1e-4)
    width = lasting_half_widths(solution.jac, solution.fun, errors(solution.x)[1])[0]
    seldom = max(abs(float(np.linalg.lstsq(solution.jac, errors(
        solution.x, flights_of)[0] - solution.fun, rcond=None)[0][0]))
        for flights_of in zip(*(flight.perturbed()[0] for flight in told)))
    return _estimate(content, SHAFT_TORQUE, float(solution.x[0]), float(np.linalg.norm((
        width, SELDOM * seldom, thrust_share * solution.x[0]))))


def resistance(flights: typing.Sequence[RealFlight], content: Content) -> Estimate | str:
    """Return how far the voltage of a pack falls with its current, or why the log cannot tell.

    Least squares of V = E + s Q - R I with the charge Q that is taken, E and s of each log.
    """
    told = [flight for flight in flights if flight.bus_current_a is not None]
    if not told:
        return 'the log has no current'
    if len(content.get('battery', {}).get('packs', ())) != 1:
        return 'the vehicle file has not one pack'
    rows, volts, blocks, before = [], [], [], 0
    for i, flight in enumerate(told):
        assert flight.bus_current_a is not None and flight.bus_voltage_v is not None
        at = np.flatnonzero(flight.usable)
        charge = np.cumsum(flight.bus_current_a) * flight.period_s / _S_PER_H
        columns = np.zeros((len(at), 1 + 2 * len(told)))
        columns[:, 0] = -flight.bus_current_a[at]
        columns[:, 1 + 2 * i], columns[:, 2 + 2 * i] = 1.0, charge[at]
        numbers = np.unique((at * flight.period_s / BLOCK_S).astype(int), return_inverse=True)[1]
        rows.append(columns)
        volts.append(flight.bus_voltage_v[at])
        blocks.append(numbers + before)
        before += int(numbers.max()) + 1
    table, voltage = np.concatenate(rows), np.concatenate(volts)
    values = np.linalg.lstsq(table, voltage, rcond=None)[0]
    return _estimate(content, RESISTANCE, float(values[0]), lasting_half_widths(
        table, voltage - table @ values, np.concatenate(blocks))[0])


def centre_of_mass(
    flights: typing.Sequence[RealFlight], content: Content,
) -> list[Estimate | str]:
    """Return where the rotors have no torque on average, as it is over a flight, or why not.

    Of each axis. One whose interval has the centre of the file in it stays where it is. Without
    angular acceleration no moment of inertia is needed; a shift c of the centre changes the
    torque of a force F by -c x F.

    :param content: of the vehicle file, with the forces that are identified already
    """
    vehicle = Vehicle.from_mapping('vehicle', content)
    found = _centres(flights, vehicle)
    if len(found) < _LEAST_BLOCKS:
        return ['the log is too short'] * 2
    means = found.mean(axis=0)
    seldom = np.max([np.abs(_centres(flights_of, vehicle).mean(axis=0) - means)
                     for flights_of in zip(*(flight.perturbed()[0] for flight in flights))], axis=0)
    widths = [math.hypot(float(lasting_half_widths(
        np.ones((len(found), 1)), column, np.arange(len(found)))[0]), SELDOM * moved)
        for column, moved in zip((found - means).T, seldom.tolist())]
    return [Estimate(name, 0.0, float(mean), width) if abs(mean) > width else (
        f'that of the file is within {mean:.2g} +- {width:.2g} m')
        for name, mean, width in zip(CENTRE, means, widths)]


def _centres(flights: typing.Sequence[RealFlight], vehicle: Vehicle) -> np.ndarray:
    """Return where the rotors have no torque over each block, m forward and left, (blocks, 2)."""
    centres = []
    for flight in flights:
        motors = open_loop.drive(flight, vehicle)
        length, every = (round(s / flight.period_s) for s in (BLOCK_S, _TRIM_EVERY_S))
        for start in flight.starts(length, length):
            _, _, lift, roll, pitch, _, _ = statics.wrenches(
                flight, vehicle, motors, np.arange(start, start + length, every)).mean(axis=0)
            centres.append((-pitch / lift, roll / lift))
    return np.array(centres)


def _estimate(content: Content, name: str, value: float, half_width: float) -> Estimate | str:
    """Return an estimate, or why it says nothing."""
    if value <= 0.0 or half_width > value:
        return f'its interval would be {value:.3g} +- {half_width:.2g}'
    return Estimate(name, value_of(content, name), value, float(half_width))
