# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The air that a multirotor blows at others: one turbulent jet below all of its rotors.

L. Bauersfeld, K. Muller, D. Ziegler, F. Coletti, D. Scaramuzza, "Robotics meets fluid dynamics: a
characterization of the induced airflow below a quadrotor as a turbulent jet", IEEE Robotics and
Automation Letters 2025 (arXiv:2403.13321), eq. 9: the mean flow below quadrotors of several sizes
in hover, measured. Speeds are in units of the induced velocity of hover by momentum theory,
U_H = sqrt(T / (2 rho A)), and lengths in units of the motor distance l.

It was measured from 2.5 l below the rotors on. Nearer the same formula is used, up to 1.74 U_H at
the rotors, where in truth each rotor has a jet of its own. A jet keeps its momentum, which is the
thrust. That of the formula is within 10 % of it for quadrotors of the measured shapes; for other
numbers and places of rotors the speed is scaled until it is the thrust.

Not modelled: that the air takes time to come down, that wind and the motion of the vehicle bend the
jet, swirl, turbulence, what flows to the rotors from above, and the ground, on which the jet
spreads.
"""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import difference, dot, matrix, scaled, to_world, total
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment

# Eq. 9: U / U_H = DECAY / (s / l - ORIGIN) on the axis, at a distance s below the rotors; half of
# that at a distance SPREAD (s - l ORIGIN) from the axis.
DECAY, SPREAD, ORIGIN = 10.11, 0.07668, -5.817
_PROFILE = math.sqrt(2.0) - 1.0
_AS_MEASURED = 0.1        # of the thrust

# A rotor lifts if it is mounted within 30 degrees of body z; with fewer there is no such jet.
_LIFTS_FROM = math.cos(math.radians(30.0))
_FEWEST_ROTORS = 3

_NOTHING: Vector = (0.0, 0.0, 0.0)


class Wake(typing.NamedTuple):
    """What the rotors of a vehicle do to the air below them."""

    position_enu: Vector       # the middle of the rotors, m
    direction_enu: Vector      # to where the air goes; of length 1
    induced_m_s: float         # U_H, scaled for the momentum
    motor_distance_m: float    # l: twice the mean distance of the rotors from their middle


class WakeSource:
    """The rotors of a vehicle that lift it."""

    def __init__(self, vehicle: Vehicle, environment: Environment) -> None:
        self._environment = environment
        lifting = [i for i, r in enumerate(vehicle.rotors) if r.direction[2] > _LIFTS_FROM]
        self.rotors = lifting if len(lifting) >= _FEWEST_ROTORS else []
        """The indices of those that lift; none if there is no wake."""
        its = [vehicle.rotors[i] for i in self.rotors]
        if its:
            share = 1.0 / len(its)
            places = [rotor.position_m for rotor in its]
            x, y, z = (share * math.fsum(axis) for axis in zip(*places))
            self._middle_flu = x, y, z
            self._distance_m = 2.0 * share * math.fsum(
                math.dist(place, self._middle_flu) for place in places)
            area_m2 = math.fsum(vehicle.model_of(rotor).disc_area_m2 for rotor in its)
            # Momentum of the formula / thrust: the integral of rho U^2 over a plane below.
            momentum = math.pi * (DECAY * SPREAD * self._distance_m) ** 2 / (
                6.0 * _PROFILE * area_m2)
            self._area_m2 = area_m2 * (
                1.0 if abs(momentum - 1.0) <= _AS_MEASURED else momentum)

    def wake(self, truth: Truth, lift_n: float) -> Wake:
        """Return the wake of a vehicle, without any air that moves if nothing lifts it.

        :param truth: the motion of the vehicle now
        :param lift_n: thrust of these rotors now, as far as it is along body z
        """
        if lift_n <= 0.0 or not self.rotors:
            return Wake(truth.position_enu, _NOTHING, 0.0, 0.0)
        r = matrix(truth.attitude)
        density = self._environment.density_kg_m3(truth.position_enu[2])
        return Wake(
            total(truth.position_enu, to_world(r, self._middle_flu)),
            to_world(r, (0.0, 0.0, -1.0)),
            math.sqrt(lift_n / (2.0 * density * self._area_m2)), self._distance_m)


def downwash_m_s(wake: Wake, below_m: float, aside_m: float) -> float:
    """Return the speed of the air along the axis of a wake.

    :param below_m: distance from the rotors along the axis; above them, below 0, is none
    :param aside_m: distance from the axis
    """
    if below_m <= 0.0 or wake.induced_m_s <= 0.0:
        return 0.0
    from_origin_m = below_m - ORIGIN * wake.motor_distance_m
    eta = aside_m / (SPREAD * from_origin_m)
    shape = 1.0 + _PROFILE * eta * eta
    on_axis = wake.induced_m_s * DECAY * wake.motor_distance_m / from_origin_m
    return on_axis / (shape * shape)


def downwash_at(wakes: typing.Iterable[Wake], position_enu: Vector) -> Vector:
    """Return the velocity of the air, ENU in m/s, that wakes together add at a place."""
    found = _NOTHING
    for wake in wakes:
        away = difference(position_enu, wake.position_enu)
        below_m = dot(away, wake.direction_enu)
        aside_m = math.sqrt(max(0.0, dot(away, away) - below_m * below_m))
        found = total(found, scaled(downwash_m_s(wake, below_m, aside_m), wake.direction_enu))
    return found


class WakeTarget:
    """A vehicle that wakes of others blow at: it feels the mean of what is at its rotors."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._places_flu = [rotor.position_m for rotor in vehicle.rotors] or [_NOTHING]

    def felt(self, wakes: typing.Sequence[Wake], truth: Truth) -> Vector:
        """Return the velocity that wakes add to the air around a vehicle, ENU in m/s."""
        if not wakes:
            return _NOTHING
        r, found = matrix(truth.attitude), _NOTHING
        for place in self._places_flu:
            found = total(found, downwash_at(
                wakes, total(truth.position_enu, to_world(r, place))))
        return scaled(1.0 / len(self._places_flu), found)
