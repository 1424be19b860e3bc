# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a log and the model say of steady flight: hover, current, thrust, tilt against speed."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.model.frames import vector
from px4_sim_ros.model.vehicle.steady_states import SteadyStates
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.open_loop import Motors, drive
from px4_sim_ros.recording.analysis.attitudes import in_body, in_world

_EVERY_S = 0.1
_HOVER_M_S = 1.0               # slower than this it hovers
_STEADY_M_S2 = 0.5             # less than this it is not speeding up
_LEAST_S = 1.0                 # of hover, for a mean
_SMOOTH_S = 0.3                # over which a velocity is differentiated
_BIN_M_S = 0.5


class Sampled(typing.NamedTuple):
    """A flight every 0.1 s, and what the model's rotors do at that time."""

    command: np.ndarray            # (n,), mean of all motors; NaN without commands
    speed_rad_s: np.ndarray        # (n,), root of the mean square of the rotor speeds
    voltage_v: np.ndarray          # (n,); NaN if the log does not have it
    current_a: np.ndarray          # (n,); NaN if the log does not have it
    model_power_w: np.ndarray      # (n,)
    lift_m_s2: np.ndarray          # (n,), acceleration along body z that is not gravity
    model_lift_m_s2: np.ndarray    # (n,)
    airspeed_m_s: np.ndarray       # (n,), horizontal
    tilt_deg: np.ndarray           # (n,), into the direction of the airspeed
    steady: np.ndarray             # (n,), bool: not speeding up
    hovers: np.ndarray             # (n,), bool
    time_s: np.ndarray             # (n,)


class Pair(typing.NamedTuple):
    """A figure of the log and of the model."""

    name: str
    unit: str
    log: float
    model: float

    @property
    def error(self) -> float:
        """Of the model, as a share of the log's."""
        return self.model / self.log - 1.0


def sampled(flight: RealFlight, vehicle: Vehicle) -> Sampled:
    """Return a flight and the model's rotors, where the log can be used."""
    motors = drive(flight, vehicle)
    half = max(1, round(0.5 * _SMOOTH_S / flight.period_s))
    rows = flight.starts(2 * half, max(1, round(_EVERY_S / flight.period_s))) + half
    acceleration = (flight.velocity_m_s[rows + half] - flight.velocity_m_s[rows - half]) / (
        2 * half * flight.period_s)
    gravity = flight.environment.gravity_m_s2(0.0)
    air = airspeed_enu(flight, rows)
    attitude = flight.attitude[rows]
    specific = in_body(attitude, acceleration + np.array([0.0, 0.0, gravity]))
    model = wrenches(flight, vehicle, motors, rows)
    up = in_world(attitude, np.tile((0.0, 0.0, 1.0), (len(rows), 1)))
    speed = np.linalg.norm(air[:, :2], axis=1)
    along = np.sum(up[:, :2] * air[:, :2], axis=1) / np.maximum(speed, 1e-9)
    return Sampled(
        _of(None if flight.commands is None else flight.commands.mean(axis=1), rows),
        np.sqrt(np.mean(motors.speeds[rows] ** 2, axis=1)),
        _of(flight.bus_voltage_v, rows), _of(flight.bus_current_a, rows), model[:, 6],
        specific[:, 2], model[:, 2] / vehicle.body.mass_kg, speed,
        np.degrees(np.arcsin(np.clip(along, -1.0, 1.0))),
        np.linalg.norm(acceleration, axis=1) < _STEADY_M_S2,
        np.linalg.norm(flight.velocity_m_s[rows], axis=1) < _HOVER_M_S, flight.time_s[rows])


def _of(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
    return np.full(len(rows), np.nan) if values is None else values[rows]


def wrenches(
    flight: RealFlight, vehicle: Vehicle, motors: Motors, rows: np.ndarray,
) -> np.ndarray:
    """Return force and torque of the rotors in FLU and their power, `rotors.wrench`, (rows, 7)."""
    rotors = RotorSet(vehicle.rotor_model, vehicle.rotors, vehicle.motor_model,
                      vehicle.rotor_models, vehicle.motor_models)
    air = in_body(flight.attitude[rows], airspeed_enu(flight, rows))
    return np.array([rotors.wrench(
        motors.speeds[row], vector(flow), vector(flight.rate_rad_s[row]),
        flight.environment.density_kg_m3(0.0), OUT_OF_GROUND_EFFECT)
        for row, flow in zip(rows, air)])


def airspeed_enu(flight: RealFlight, rows: np.ndarray) -> np.ndarray:
    """Return the velocity relative to the air, (rows, 3)."""
    ground: np.ndarray = flight.velocity_m_s[rows]
    return ground if flight.wind_m_s is None else ground - flight.wind_m_s[rows]


def pairs(flight: RealFlight, vehicle: Vehicle, samples: Sampled) -> list[Pair]:
    """Return the figures of hover and of the whole flight that the log has."""
    found = []
    hover = samples.hovers
    gravity = flight.environment.gravity_m_s2(0.0)
    density = flight.environment.density_kg_m3(0.0)
    if hover.sum() * _EVERY_S >= _LEAST_S:
        voltage = float(samples.voltage_v[hover].mean())
        if flight.rotor_speeds_rad_s is not None:
            found.append(Pair('rotor speed in hover', 'rad/s',
                              float(samples.speed_rad_s[hover].mean()),
                              vehicle.hover_speed_rad_s(gravity, density)))
        elif flight.commands is not None:
            found.append(Pair('motor command in hover', '', float(samples.command[hover].mean()),
                              vehicle.hover_command(
                                  gravity, density, voltage if np.isfinite(voltage) else None)))
    found.append(Pair('lift of the rotors / mass, mean', 'm/s^2',
                      float(samples.lift_m_s2.mean()), float(samples.model_lift_m_s2.mean())))
    if np.isfinite(samples.current_a).all() and vehicle.motor_model is not None:
        found.append(Pair('current, mean', 'A', float(samples.current_a.mean()),
                          float(np.mean(samples.model_power_w / samples.voltage_v))))
    return found


class Tilts(typing.NamedTuple):
    airspeed_m_s: np.ndarray       # (bins,), middle of each
    log_deg: np.ndarray            # (bins,), mean
    spread_deg: np.ndarray         # (bins,), standard deviation
    model_deg: np.ndarray          # (bins,), of level flight at that airspeed


def tilts(flight: RealFlight, vehicle: Vehicle, samples: Sampled) -> Tilts | None:
    """Return how far the vehicle leans into its airspeed; None without steady flight.

    The model's tilt is that at which drag of body and rotors is the horizontal part of the thrust,
    its rotors turning as in hover.
    """
    steady = samples.steady
    if steady.sum() * _EVERY_S < _LEAST_S:
        return None
    number = (samples.airspeed_m_s[steady] / _BIN_M_S).astype(int)
    bins = [i for i in np.unique(number) if (number == i).sum() >= 5]
    groups = [samples.tilt_deg[steady][number == i] for i in bins]
    speed = (np.array(bins) + 0.5) * _BIN_M_S
    gravity = flight.environment.gravity_m_s2(0.0)
    states = SteadyStates(vehicle, flight.environment.density_kg_m3(0.0), gravity)
    force = states.drag_n(speed)
    return Tilts(speed, np.array([group.mean() for group in groups]),
                 np.array([group.std() for group in groups]),
                 np.degrees(np.arctan(force / (vehicle.body.mass_kg * gravity))))
