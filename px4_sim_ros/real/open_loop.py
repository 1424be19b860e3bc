# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A logged flight flown through the model: open loop, from many starts, over given times.

From each start the model has the logged state and then only the logged commands of the motors (or
their measured speeds), the logged voltage of the bus and the logged wind. How far it is from the
log after a time is its error over that time: the metric of the nanodrone benchmark (Busetto et
al. 2026, Nonlinear system identification for a nano-drone benchmark, section 5), in its units.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import allocating
from px4_sim_ros.model.body.contact import no_anchors
from px4_sim_ros.model.body.integrators import WORK_ROWS
from px4_sim_ros.model.body.motion import integrate
from px4_sim_ros.model.body.motion_memory import QW, ROTORS, HeldInputs
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.rotors import (
    AXIS_X,
    AXIS_Z,
    INERTIA,
    LAG_DOWN,
    LAG_UP,
    MAX_SPEED,
)
from px4_sim_ros.model.body.scene_contact import no_touches
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.flight import RealFlight

_SUBSTEP_S = 0.005            # the lag of a small motor is 10 ms and more
_RATES_CHANGE_OVER_S = 0.1

P, V, Q, W = slice(0, 3), slice(3, 6), slice(6, 10), slice(10, ROTORS)
"""Where position, velocity, attitude and rate are in a state."""


class Quantity(typing.NamedTuple):
    """A part of the state, and the unit in which its error is said."""

    name: str
    unit: str


QUANTITIES = (Quantity('position', 'm'), Quantity('velocity', 'm/s'), Quantity('attitude', 'deg'),
              Quantity('rate', 'rad/s'))


FREE, HELD, LOGGED = 'free', 'rates held', 'attitude as logged'
"""How the model turns: by its torques; with the rate of its start; as the log does.

The second is what the benchmark's own physical model comes to: its errors of the rate are those
of a held one. The third shows forces alone, without the torques of which logs tell little.
"""
_STIFF_KG_M2 = 1e9             # of a body that no torque turns


class Motors(typing.NamedTuple):
    """What drives the rotors over a flight, held from each sample to the next."""

    references: np.ndarray     # (n, rotors), rad/s
    speeds: np.ndarray         # (n, rotors), rad/s: at the beginning of each step
    measured: bool             # the speeds are those of the log, and not those of a model's lag


def drive(flight: RealFlight, vehicle: Vehicle) -> Motors:
    """Return the drive of a vehicle's rotors by the log."""
    if flight.rotors != len(vehicle.rotors):
        raise ParameterError(
            f'log {flight.name}: has {flight.rotors} motors, and the vehicle {vehicle.name}'
            f' has {len(vehicle.rotors)} rotors')
    if not vehicle.is_multirotor:
        raise ParameterError(
            f'vehicle {vehicle.name}: must be a multirotor to be flown by a log, which has no'
            ' commands of servos and wheels')
    if flight.rotor_speeds_rad_s is not None:
        speeds = flight.rotor_speeds_rad_s
        # Half way to the next sample: what it is on average.
        middle = 0.5 * (speeds + np.concatenate((speeds[1:], speeds[-1:])))
        return Motors(middle, middle, True)
    references = references_rad_s(flight, vehicle)
    rotors = plant_of(vehicle, flight).rotors
    return Motors(references, _lagged(
        references, rotors, flight.period_s, references[0]), False)


def references_rad_s(flight: RealFlight, vehicle: Vehicle) -> np.ndarray:
    """Return the speeds that the logged commands ask for, by the logged voltage, (n, rotors)."""
    assert flight.commands is not None
    model = vehicle.rotor_model
    asked = np.clip(
        model.command_offset_rad_s + model.command_gain_rad_s * flight.commands, 0.0,
        model.max_speed_rad_s)
    if flight.bus_voltage_v is None or vehicle.battery is None:
        return asked
    found: np.ndarray = asked * (flight.bus_voltage_v / vehicle.battery.nominal_voltage_v)[:, None]
    return found


def plant_of(vehicle: Vehicle, flight: RealFlight) -> Plant:
    """Return a vehicle in the air of a flight, away from the ground, with the bus as logged."""
    return Plant.of(dataclasses.replace(vehicle, battery=None), flight.environment, ground=False)


def fly(
    flight: RealFlight, vehicle: Vehicle, starts: np.ndarray, marks: typing.Sequence[int],
    motors: Motors | None = None, turning: str = FREE,
) -> np.ndarray:
    """Return the states of the model at some samples after each start, (starts, marks, 13).

    They are position, velocity, attitude and rate as in `model.body.motion`.

    :param starts: samples of the flight, from `RealFlight.starts`
    :param marks: samples after a start, ascending
    :param motors: of `drive`, if they are known already
    :param turning: FREE, HELD or LOGGED
    """
    motors = motors or drive(flight, vehicle)
    if turning != FREE:
        vehicle = dataclasses.replace(vehicle, body=dataclasses.replace(
            vehicle.body, inertia_kg_m2=(_STIFF_KG_M2,) * 3,
            inertia_products_kg_m2=(0.0, 0.0, 0.0)))
    inputs = np.zeros((flight.samples, 6 + vehicle.reference_count))
    if flight.wind_m_s is not None:
        inputs[:, :3] = flight.wind_m_s
    inputs[:, 6:6 + flight.rotors] = motors.references
    states = np.zeros((len(starts), ROTORS + vehicle.reference_count))
    states[:, :ROTORS] = logged(flight, starts)
    states[:, ROTORS:ROTORS + flight.rotors] = motors.speeds[starts]
    # A speed that is measured has no lag to follow.
    substeps = 1 if motors.measured else math.ceil(flight.period_s / _SUBSTEP_S - 1e-9)
    found: np.ndarray = _fly(
        np.asarray(starts), states, inputs, motors.speeds if motors.measured else _NOTHING,
        np.asarray(marks), *plant_of(vehicle, flight), flight.period_s / substeps, substeps,
        no_anchors(0), no_touches(0, has_scene=False),
        np.concatenate((flight.attitude, flight.rate_rad_s), axis=1)
        if turning == LOGGED else _NOTHING)
    return found


_NOTHING = np.empty((0, 0))


def logged(flight: RealFlight, samples: np.ndarray) -> np.ndarray:
    """Return the states of the log, (..., 13), in the order of `fly`."""
    return np.concatenate([values[samples] for values in (
        flight.position_m, flight.velocity_m_s, flight.attitude, flight.rate_rad_s)], axis=-1)


def differences(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return found less true, (..., 12); of attitudes the rotation vector between them, rad."""
    turn = _turn(true[..., Q], found[..., Q])
    return np.concatenate((
        found[..., :6] - true[..., :6], turn, found[..., W] - true[..., W]), axis=-1)


def lengths(difference: np.ndarray) -> np.ndarray:
    """Return differences as errors, (..., 4), in the order and the units of `QUANTITIES`."""
    found: np.ndarray = np.linalg.norm(
        difference.reshape(*difference.shape[:-1], 4, 3), axis=-1)
    found[..., 2] = np.degrees(found[..., 2])
    return found


def marks_of(flight: RealFlight, horizons_s: typing.Sequence[float]) -> list[int]:
    """Return times as numbers of samples."""
    return [max(1, round(h / flight.period_s)) for h in horizons_s]


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the product of quaternions, (..., 4)."""
    scalar = p[..., :1] * q[..., :1] - np.sum(p[..., 1:] * q[..., 1:], axis=-1, keepdims=True)
    return np.concatenate((
        scalar, p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:]
        + np.cross(p[..., 1:], q[..., 1:])), axis=-1)


def _turn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rotation vector from attitude a to attitude b, in the axes of a, (..., 3)."""
    q = product(a * np.array([1.0, -1.0, -1.0, -1.0]), b)
    q = np.where(q[..., :1] < 0.0, -q, q)
    size = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, q[..., :1])
    found: np.ndarray = q[..., 1:] * np.where(
        size > 1e-9, angle / np.maximum(size, 1e-9), 2.0)
    return found


def turned(attitude: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return attitudes turned further by quaternions in body axes, (..., 4)."""
    return product(attitude, by)


def torque_shares(flight: RealFlight, vehicle: Vehicle) -> tuple[float, float, float]:
    """Return how much of the changes of roll, pitch and yaw rate the motors can explain, 0..1.

    It is R^2 of the best linear function of the squared speeds of the rotors, summed over a time,
    and of the angular momentum about the same axis that the shafts have taken, by the inertia of
    the vehicle file. The change of each speed would explain more, but not as a cause: a controller
    changes speeds because rates have changed.
    A log that samples commands more slowly than they change, or has noise in them, cannot explain
    much; then a fit of torques finds the noise, and moments of inertia that are far too large.
    """
    length, = marks_of(flight, [_RATES_CHANGE_OVER_S])
    starts = flight.starts(length, 1)
    last = starts + length
    speeds = drive(flight, vehicle).speeds
    sums = np.concatenate((np.zeros((1, flight.rotors)), np.cumsum(speeds ** 2, axis=0)))
    table = plant_of(vehicle, flight).rotors
    momentum = (speeds[last] - speeds[starts]) @ (table[:, [INERTIA]] * table[:, AXIS_X:AXIS_Z + 1])
    air = sums[last] - sums[starts]
    change = flight.rate_rad_s[last] - flight.rate_rad_s[starts]
    roll, pitch, yaw = (
        _explained(change[:, axis], np.column_stack((air, momentum[:, axis])))
        for axis in range(3))
    return roll, pitch, yaw


def _explained(effect: np.ndarray, causes: np.ndarray) -> float:
    """Return R^2 of the best linear function of causes, (n, k), and a constant."""
    effect, causes = effect - effect.mean(), causes - causes.mean(axis=0)
    causes /= np.maximum(np.linalg.norm(causes, axis=0), 1e-30)      # their units differ
    rest = effect - causes @ np.linalg.lstsq(causes, effect, rcond=None)[0]
    return 1.0 - float(rest @ rest) / max(float(effect @ effect), 1e-30)


@allocating
def _fly(
    starts: np.ndarray, states: np.ndarray, inputs: np.ndarray, speeds: np.ndarray,
    marks: np.ndarray, constants: np.ndarray, rotors: np.ndarray, surfaces: np.ndarray,
    actuators: np.ndarray, packs: np.ndarray, feet: np.ndarray, shapes: np.ndarray,
    relief: np.ndarray, paths: np.ndarray, substep_s: float, substeps: int, anchors: np.ndarray,
    touches: np.ndarray, turns: np.ndarray,
) -> np.ndarray:
    """Return the result of `fly`; rotors turn at measured speeds, the body as logged, if given."""
    found = np.empty((len(starts), len(marks), ROTORS))
    plant = Plant(constants, rotors, surfaces, actuators, packs, feet, shapes, relief, paths)
    angles, work = np.zeros(len(rotors)), np.zeros((WORK_ROWS, states.shape[1]))
    for i in range(len(starts)):
        x = states[i].copy()
        step = starts[i]
        for j in range(len(marks)):
            while step < starts[i] + marks[j]:
                for k in range(speeds.shape[1]):
                    x[ROTORS + k] = speeds[step, k]
                for k in range(turns.shape[1]):
                    x[QW + k] = turns[step, k]
                now = inputs[step]
                held = HeldInputs(now[6:], now[:3], now[3:6], anchors, touches)
                integrate(x, angles, plant, held, work, substep_s, substeps, True)
                step += 1
            for k in range(ROTORS):        # as a slice it takes a second to compile
                found[i, j, k] = x[k]
    return found


@allocating
def _lagged(
    references: np.ndarray, rotors: np.ndarray, period_s: float, first: np.ndarray,
) -> np.ndarray:
    """Return the speeds at each sample of rotors that follow references with their lag.

    It is the solution of `rotors.speed_rate` for a reference that is held over a step.
    """
    speeds = np.empty(references.shape)
    for k in range(references.shape[1]):
        speeds[0, k] = first[k]
    for i in range(1, len(references)):
        for k in range(references.shape[1]):
            most = rotors[k, MAX_SPEED]
            goal = max(-most, min(references[i - 1, k], most))
            before = speeds[i - 1, k]
            lag_s = rotors[k, LAG_UP] if goal > before else rotors[k, LAG_DOWN]
            speeds[i, k] = goal + (before - goal) * math.exp(-period_s / lag_s)
    return speeds
