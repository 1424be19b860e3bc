# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a vehicle does in steady states: hover, full control, climb, level flight, an empty pack.

Found with the models that fly, by bisection where there is no closed form.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.body.battery import Battery
from px4_sim_ros.model.body.integrators import rk4
from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.model.frames import vector
from px4_sim_ros.model.vehicle.sections import LOW_CHARGE, Pack
from px4_sim_ros.model.vehicle.vehicle import Vehicle

_TILT_RAD = math.radians(30.0)
_STILL = (0.0, 0.0, 0.0)
_NO_PACKS = np.empty(0)
_BISECTIONS = 60
_SHORTEST_SHARE = 1e-4     # of the endurance: what settles faster does so at once
_MOST_STEPS = 20_000       # of the endurance; more than any real battery takes


class SteadyStates:
    """A vehicle in air of one density: what its models do in steady states.

    A state of charge is the battery's state, empty for a vehicle without a battery.
    """

    def __init__(self, vehicle: Vehicle, density: float, gravity: float) -> None:
        model = vehicle.rotor_model
        self._vehicle = vehicle
        self._density = density
        self._gravity = gravity
        self._weight = vehicle.body.mass_kg * gravity
        self._rotors = RotorSet(model, vehicle.rotors, vehicle.motor_model)
        self._battery = Battery(vehicle.battery) if vehicle.battery else None
        share = density / model.reference_density_kg_m3
        linear, quadratic = (share * drag for drag in (
            vehicle.body.linear_drag_n_s_m, vehicle.body.quadratic_drag_n_s2_m2))
        ahead, _, upwards = vehicle.body.drag_ratios
        self._drag_ahead = ahead * linear, ahead * quadratic
        self._drag_upwards = upwards * linear, upwards * quadratic
        self._rotor_drag = share * model.drag_coefficient_n_s2_m * len(vehicle.rotors)
        self.arm_m = max(math.hypot(*r.position_m[:2]) for r in vehicle.rotors)
        self.hover_speed = vehicle.hover_speed_rad_s(gravity, density)
        self.full_speed = min(
            model.command_gain_rad_s + model.command_offset_rad_s, model.max_speed_rad_s)
        self.hover_power_w = self._lift_and_power(self.hover_speed, 0.0)[1]

    def full_charge(self) -> np.ndarray:
        """Return the state of full packs that have rested."""
        return self._battery.initial(1.0) if self._battery else _NO_PACKS

    def low_charge(self) -> np.ndarray:
        """Return the state of packs at LOW_CHARGE that have long been hovering."""
        if self._battery is None:
            return _NO_PACKS
        model = self._battery.model
        settled = Battery(dataclasses.replace(
            model, packs=tuple(_all_resistance(pack) for pack in model.packs)))
        state = settled.initial(LOW_CHARGE)
        currents = settled.currents_a(state, settled.voltage_v(state, self.hover_power_w))
        state[1::2] = [
            pack.polarisation_resistance_ohm * current
            for pack, current in zip(model.packs, currents)]
        return state

    def hover_command(self, state: np.ndarray) -> float:
        """Return the motor control that hovers; above 1 it cannot."""
        voltage = self._battery.voltage_v(state, self.hover_power_w) if self._battery else None
        return self._vehicle.hover_command(self._gravity, self._density, voltage)

    def hover_current_a(self, state: np.ndarray) -> float | None:
        """Return the current of all packs together in hover."""
        if self._battery is None:
            return None
        voltage = self._battery.voltage_v(state, self.hover_power_w)
        return sum(self._battery.currents_a(state, voltage))

    def full_thrust_n(self, state: np.ndarray, climb_m_s: float = 0.0) -> float:
        """Return the thrust of all rotors at full control."""
        speed = self._full_speed_and_voltage(state, climb_m_s)[0]
        return self._lift_and_power(speed, climb_m_s)[0]

    def motor_voltage_share(self, state: np.ndarray) -> float | None:
        """Return the voltage that a motor takes at full control / that of the bus."""
        motor = self._vehicle.motor_model
        if self._battery is None or motor is None:
            return None
        speed, voltage = self._full_speed_and_voltage(state, 0.0)
        thrust = self._lift_and_power(speed, 0.0)[0] / len(self._vehicle.rotors)
        current = (
            motor.motor_kv_rad_s_v * motor.shaft_torque_coefficient_m * thrust
            + motor.no_load_current_a)
        return (speed / motor.motor_kv_rad_s_v + motor.winding_resistance_ohm * current) / voltage

    def climb_speed_m_s(self, state: np.ndarray) -> float:
        """Return the speed straight up at which full thrust carries weight and drag."""
        def surplus(speed: float) -> float:
            linear, quadratic = self._drag_upwards
            drag = (linear + quadratic * speed) * speed
            return self.full_thrust_n(state, speed) - drag - self._weight
        highest = 2.0 * self.full_speed * self._vehicle.rotor_model.zero_thrust_inflow_m
        return _falling_root(surplus, 0.0, highest)

    def drag_n(self, airspeed_m_s: np.ndarray) -> np.ndarray:
        """Return the drag in forward flight at airspeeds, (n,); rotors turn as in hover."""
        linear, quadratic = self._drag_ahead
        linear += self._rotor_drag * self.hover_speed
        drag: np.ndarray = (linear + quadratic * airspeed_m_s) * airspeed_m_s
        return drag

    def tilted_speed_m_s(self) -> float:
        """Return the speed, level and ahead, at which drag is weight times tangent of the tilt.

        Rotors turn as in hover. Their thrust has no part along body x, so what drag there is
        along z does not matter.
        """
        linear, quadratic = self._drag_ahead
        return _drag_speed_m_s(
            linear + self._rotor_drag * self.hover_speed, quadratic,
            self._weight * math.tan(_TILT_RAD))

    def fall_speed_m_s(self) -> float:
        """Return the speed straight down at which drag of the body alone is the weight."""
        return _drag_speed_m_s(*self._drag_upwards, self._weight)

    def angular_accelerations(self) -> tuple[float, float, float]:
        """Return the largest about each axis while all thrusts together carry the weight.

        At nominal voltage; torques about the other axes are left free.
        """
        model = self._vehicle.rotor_model
        levers = zip(*(
            (r.position_m[1], -r.position_m[0], -r.spin * model.moment_coefficient_m)
            for r in self._vehicle.rotors))
        coefficient = self._lift_and_power(1.0, 0.0)[0] / len(self._vehicle.rotors)
        least, most = (
            coefficient * speed ** 2 for speed in (
                min(model.command_offset_rad_s, self.full_speed), self.full_speed))
        spare = self._weight - least * len(self._vehicle.rotors)
        return vector(
            _largest_moment(lever, least, most, spare) / inertia
            for lever, inertia in zip(levers, self._vehicle.body.inertia_kg_m2))

    def endurance_s(self, charge: float) -> float | None:
        """Return how long it hovers from full packs until this share of the charge is left.

        It ends earlier where full control no longer hovers.
        """
        if self._battery is None:
            return None
        model, power, state = self._battery.model, self.hover_power_w, self.full_charge()
        estimate = 3600.0 * model.capacity_ah * self._battery.voltage_v(state, 0.0) / power
        packs = [_without_stiffness(pack, estimate * _SHORTEST_SHARE) for pack in model.packs]
        step = min(estimate / 1000.0, *(_settling_s(pack) for pack in packs))
        battery = Battery(dataclasses.replace(model, packs=tuple(packs)))

        def rates(state: np.ndarray) -> np.ndarray:
            return battery.rates(state, battery.voltage_v(state, power))

        def hovers() -> bool:
            voltage = battery.voltage_v(state, power)
            return voltage > 0.0 and self._vehicle.hover_command(
                self._gravity, self._density, voltage) <= 1.0

        time, left = 0.0, 1.0
        for _ in range(_MOST_STEPS):
            if left <= charge + 1e-4 or not hovers():
                break
            before, state = left, rk4(rates, state, step)
            left = battery.charge_ah(state) / model.capacity_ah
            time += step * ((before - charge) / (before - left) if left < charge else 1.0)
        return time

    def _full_speed_and_voltage(
        self, state: np.ndarray, climb_m_s: float,
    ) -> tuple[float, float]:
        """Return the rotor speed at full control, and the bus voltage; 0 without a battery."""
        battery = self._battery
        if battery is None:
            return self.full_speed, 0.0
        per_volt = self.full_speed / battery.model.nominal_voltage_v
        rested = battery.voltage_v(state, 0.0)
        voltage = _falling_root(
            lambda v: battery.voltage_v(
                state, self._lift_and_power(per_volt * v, climb_m_s)[1]) - v,
            0.0, rested)
        return per_volt * voltage, voltage

    def _lift_and_power(self, speed_rad_s: float, climb_m_s: float) -> tuple[float, float]:
        """Return the thrust of all rotors at this speed, and the power from the bus."""
        wrench = self._rotors.wrench(
            (speed_rad_s,) * len(self._vehicle.rotors), (0.0, 0.0, climb_m_s), _STILL,
            self._density, OUT_OF_GROUND_EFFECT)
        return wrench[2], wrench[6]


def _settling_s(pack: Pack) -> float:
    """Return the shortest time in which the polarisation of a pack settles."""
    return pack.polarisation_capacitance_f * min(
        pack.series_resistance_ohm, pack.polarisation_resistance_ohm)


def _without_stiffness(pack: Pack, shortest_s: float) -> Pack:
    """Return a pack that settles no faster than this: one that does is all resistance."""
    return pack if _settling_s(pack) >= shortest_s else _all_resistance(pack)


def _all_resistance(pack: Pack) -> Pack:
    """Return a pack whose polarisation has always settled: R0 and R1 in series."""
    return dataclasses.replace(
        pack, polarisation_capacitance_f=math.inf,
        series_resistance_ohm=pack.series_resistance_ohm + pack.polarisation_resistance_ohm)


def _largest_moment(
    levers: typing.Sequence[float], least: float, most: float, spare: float,
) -> float:
    """Return the largest sum of lever * thrust of thrusts within limits that have a given sum.

    :param spare: that sum, less the least thrust of all
    """
    moment = least * sum(levers)
    for lever in sorted(levers, reverse=True):
        share = min(max(spare, 0.0), most - least)
        moment += lever * share
        spare -= share
    return moment


def _drag_speed_m_s(linear: float, quadratic: float, force_n: float) -> float:
    """Return the speed at which linear and quadratic drag together are a force."""
    slowing = 0.5 * (linear + math.sqrt(linear * linear + 4.0 * quadratic * force_n))
    return force_n / slowing if slowing > 0.0 else math.inf


def _falling_root(f: typing.Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function is zero; `low` if it begins below."""
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if f(middle) > 0.0:
            low = middle
        else:
            high = middle
    return low
