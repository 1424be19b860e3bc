# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a vehicle file for flight on the wing: stall, trim, glide, stability.

All are found with the models that fly. In trim the forces across the path carry the weight and the
moment about y is zero; elevator and throttle are what PX4 would have to find.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, wrench
from px4_sim_ros.model.body.surfaces import surface_wrench
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment

_STILL = (0.0, 0.0, 0.0)
_STEP = 1e-4
_MOST_ROUNDS = 50
_BISECTIONS = 30
_NEAR_N = 1e-6
# Of the stall speed, as PX4 wants its trim speed to be or more.
_TRIM_RATIO = 1.6


@dataclasses.dataclass(frozen=True)
class WingFigures(Parameters):
    """The figures of a vehicle that flies on its wing, for the air at home."""

    wing_loading_n_m2: float = parameter(
        'weight / area of the surfaces that lift', 'N/m^2', minimum=5, maximum=1000)
    stall_speed_m_s: float = parameter(
        'lowest at which its surfaces carry the weight while the elevator keeps it in trim', 'm/s',
        minimum=3, maximum=30)
    trim_speed_m_s: float = parameter('1.6 times that, which is what follows holds for', 'm/s',
                                      above=0)
    trim_attack_deg: float = parameter(
        'angle of attack in trim', 'deg', minimum=-8, maximum=12)
    trim_throttle: float = parameter('control of the propeller in trim', minimum=0.05, maximum=0.9)
    trim_deflection: float = parameter(
        'share of its travel that the elevator takes in trim', minimum=-0.5, maximum=0.5)
    glide_ratio: float = parameter('lift / drag in trim, propeller still', minimum=3, maximum=40)
    static_margin: float = parameter(
        'moment / lift per angle of attack / mean chord, stable if positive',
        minimum=0.03, maximum=0.6)
    roll_rate_rad_s: float = parameter(
        'steady, at full deflection and trim speed', 'rad/s', minimum=0.5, maximum=10)
    pitch_rate_rad_s: float = parameter(
        'the same of the elevator: its effect for small deflections, times the travel', 'rad/s',
        minimum=0.2, maximum=10)


class _Trim(typing.NamedTuple):
    attack_rad: float
    elevator_rad: float
    propeller_rad_s: float


class _Wing:
    """A vehicle in a steady flow."""

    def __init__(self, vehicle: Vehicle, environment: Environment) -> None:
        self.vehicle = vehicle
        self._plant = Plant.of(
            dataclasses.replace(vehicle, battery=None), environment, ground=False)
        self._density = environment.density_kg_m3(0.0)
        self.weight_n = vehicle.body.mass_kg * environment.gravity_m_s2(0.0)
        self.propellers = [not rotor.lifts for rotor in vehicle.rotors]
        pitching = np.array([self._effect(i)[1] for i in range(len(vehicle.servos))])
        self.elevator = int(np.argmax(np.abs(pitching)))
        # Two elevons are one elevator.
        strongest = pitching[self.elevator]
        self._elevators = np.where(
            np.abs(pitching) > 0.5 * abs(strongest), np.sign(pitching * strongest), 0.0)
        self.ailerons = np.array([
            math.copysign(servo.travel_rad, self._effect(i)[0]) if abs(self._effect(i)[0]) > 1e-6
            else 0.0 for i, servo in enumerate(vehicle.servos)])

    def _effect(self, servo: int) -> np.ndarray:
        """Return the moment of a servo per rad at 1 Pa, N m."""
        angles = np.zeros(len(self.vehicle.servos))
        rest = self.wrench(1.0, _Trim(0.0, 0.0, 0.0), angles)
        angles[servo] = 0.1
        turned = self.wrench(1.0, _Trim(0.0, 0.0, 0.0), angles)
        return np.array(10.0 * (turned - rest)[3:])

    def wrench(
        self, speed_m_s: float, trim: _Trim, angles: np.ndarray | None = None,
        rate_flu: tuple[float, float, float] = _STILL,
    ) -> np.ndarray:
        """Return force and torque in FLU, of the air alone."""
        plant, body = self._plant, self.vehicle.body
        if angles is None:
            angles = trim.elevator_rad * self._elevators
        speeds = np.array([
            trim.propeller_rad_s if propels else 0.0 for propels in self.propellers])
        flow = (speed_m_s * math.cos(trim.attack_rad), 0.0, -speed_m_s * math.sin(trim.attack_rad))
        total = np.array(wrench(
            plant.constants, plant.rotors, speeds, flow, rate_flu, self._density,
            OUT_OF_GROUND_EFFECT)[:6])
        total += surface_wrench(
            plant.surfaces, plant.rotors, angles, flow, rate_flu, self._density)
        drag = (body.linear_drag_n_s_m + body.quadratic_drag_n_s2_m2 * speed_m_s) * (
            self._density / self.vehicle.rotor_model.reference_density_kg_m3)
        total[:3] -= drag * np.multiply(body.drag_ratios, flow)
        return total

    def along_path(
        self, speed_m_s: float, trim: _Trim, rate_flu: tuple[float, float, float] = _STILL,
    ) -> tuple[float, float, float]:
        """Return lift, thrust less drag, and the moment about y."""
        force = self.wrench(speed_m_s, trim, rate_flu=rate_flu)
        sine, cosine = math.sin(trim.attack_rad), math.cos(trim.attack_rad)
        return (float(force[2] * cosine + force[0] * sine),
                float(force[0] * cosine - force[2] * sine), float(force[4]))

    def trim(self, speed_m_s: float) -> _Trim:
        """Return level flight at a speed, by Newton's method."""
        scale = np.array([0.1, 0.1, 100.0])
        # A slower propeller would give no thrust, and nothing to go by.
        windmilling = max((speed_m_s / self.vehicle.model_of(rotor).zero_thrust_inflow_m
                           for rotor in self.vehicle.rotors if not rotor.lifts), default=0.0)
        x = np.array([0.05, 0.0, max(5.0, 1.1 * windmilling / scale[2])])

        def residual(x: np.ndarray) -> np.ndarray:
            lift, ahead, moment = self.along_path(speed_m_s, _Trim(*(x * scale)))
            return np.array([lift - self.weight_n, ahead, moment])

        for _ in range(_MOST_ROUNDS):
            now = residual(x)
            if np.abs(now).max() < _NEAR_N:
                break
            slopes = np.array([
                (residual(x + _STEP * unit) - now) / _STEP for unit in np.eye(3)]).T
            x = x - np.clip(np.linalg.lstsq(slopes, now, rcond=None)[0], -1.0, 1.0)
        return _Trim(*(x * scale).tolist())


def wing_figures(vehicle: Vehicle, environment: Environment) -> WingFigures:
    """Return the figures of a vehicle with surfaces, servos and propellers along its path."""
    wing = _Wing(vehicle, environment)
    stall = _stall_speed_m_s(wing)
    speed = _TRIM_RATIO * stall
    trim = wing.trim(speed)
    chord = max(vehicle.surfaces, key=lambda s: s.area_m2 * abs(s.normal[2])).chord_m
    one, other = (
        wing.along_path(speed, trim._replace(attack_rad=trim.attack_rad + d))
        for d in (-_STEP, _STEP))
    lift, ahead, _ = wing.along_path(speed, trim._replace(propeller_rad_s=0.0))
    model = next(vehicle.model_of(r) for r in vehicle.rotors if not r.lifts)
    area = sum(s.area_m2 * abs(s.normal[2]) for s in vehicle.surfaces)
    return WingFigures(
        wing_loading_n_m2=wing.weight_n / area, stall_speed_m_s=stall, trim_speed_m_s=speed,
        trim_attack_deg=math.degrees(trim.attack_rad),
        trim_throttle=(abs(trim.propeller_rad_s) - model.command_offset_rad_s)
        / model.command_gain_rad_s,
        trim_deflection=trim.elevator_rad / vehicle.servos[wing.elevator].travel_rad,
        glide_ratio=-lift / ahead,
        # Nose up is negative about y in FLU.
        static_margin=(other[2] - one[2]) / (other[0] - one[0]) / chord,
        roll_rate_rad_s=_roll_rate_rad_s(wing, speed, trim),
        pitch_rate_rad_s=_pitch_rate_rad_s(wing, speed, trim))


def _stall_speed_m_s(wing: _Wing) -> float:
    """Return the speed at which the largest lift without a moment about y is the weight.

    Propellers stand still. Of a vehicle whose elevator can trim no angle of attack, it is the
    largest lift with a moment.
    """
    lifts = [_trimmed_lift_n(wing, math.radians(0.5 * i)) for i in range(81)]
    is_trimmed = any(trimmed for _, trimmed in lifts)
    return math.sqrt(wing.weight_n / max(lift for lift, ok in lifts if ok or not is_trimmed))


def _trimmed_lift_n(wing: _Wing, attack_rad: float) -> tuple[float, bool]:
    """Return the lift at 1 m/s with the elevator nearest to trim, and whether that is trim."""
    travel = wing.vehicle.servos[wing.elevator].travel_rad

    def at(elevator_rad: float) -> tuple[float, float, float]:
        return wing.along_path(1.0, _Trim(attack_rad, elevator_rad, 0.0))

    low, high = -travel, travel
    lowest, highest = at(low)[2], at(high)[2]
    if lowest * highest > 0.0:
        return at(low if abs(lowest) < abs(highest) else high)[0], False
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if at(middle)[2] * lowest > 0.0:
            low = middle
        else:
            high = middle
    return at(0.5 * (low + high))[0], True


def _roll_rate_rad_s(wing: _Wing, speed_m_s: float, trim: _Trim) -> float:
    still = wing.wrench(speed_m_s, trim)[3]
    deflected = wing.wrench(speed_m_s, trim, wing.ailerons)[3] - still
    damping = (wing.wrench(speed_m_s, trim, rate_flu=(_STEP, 0.0, 0.0))[3] - still) / _STEP
    return float(abs(deflected / damping))


def _pitch_rate_rad_s(wing: _Wing, speed_m_s: float, trim: _Trim) -> float:
    """Return the steady rate of a pull-up: no moment, and lift turns the path as fast."""
    def per(step: float, rate_rad_s: float = 0.0, **changes: float) -> tuple[float, float]:
        found = (wing.along_path(speed_m_s, trim._replace(**{
            name: getattr(trim, name) + sign * change for name, change in changes.items()}),
            (0.0, -sign * rate_rad_s, 0.0)) for sign in (1.0, -1.0))
        (lift, _, moment), (other_lift, _, other_moment) = found
        return 0.5 * (lift - other_lift) / step, 0.5 * (moment - other_moment) / step

    (lift_a, moment_a), (lift_q, moment_q), (lift_e, moment_e) = (
        per(_STEP, attack_rad=_STEP), per(_STEP, rate_rad_s=_STEP), per(_STEP, elevator_rad=_STEP))
    momentum = wing.vehicle.body.mass_kg * speed_m_s
    rate = (lift_a * moment_e - lift_e * moment_a) / (
        (lift_q - momentum) * moment_a - lift_a * moment_q)
    return abs(rate) * wing.vehicle.servos[wing.elevator].travel_rad
