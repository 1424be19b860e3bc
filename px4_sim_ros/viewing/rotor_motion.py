# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How rotors are shown: angles slow enough to see, and thrusts as arrows."""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import scaled
from px4_sim_ros.model.vehicle.vehicle import Vehicle

# At 25 Hz a rotor that hovers at 600 rad/s would be aliased. A hundredth of that is a turn a
# second, in the right sense and in proportion.
SLOWED_DOWN = 100.0
# The arrow of a rotor that carries its share of the weight.
_HOVER_ARROW_M = 0.35


class RotorAngles:
    """Integrates speeds to angles, a hundred times slower than the rotors turn."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._spins = tuple(rotor.spin for rotor in vehicle.rotors)
        self._time_s: float | None = None
        self.angles_rad: tuple[float, ...] = (0.0,) * len(self._spins)

    @property
    def joints_rad(self) -> tuple[float, ...]:
        """The angles about the axes that the rotors turn about, as in `joint_states`."""
        return tuple(spin * angle for spin, angle in zip(self._spins, self.angles_rad))

    def at(self, time_s: float, speeds_rad_s: typing.Sequence[float]) -> tuple[float, ...]:
        """Return the angles about body z; they are reset to 0 when time goes back.

        :param speeds_rad_s: at this time, of each rotor
        """
        elapsed_s = 0.0 if self._time_s is None else time_s - self._time_s
        self._time_s = time_s
        if elapsed_s < 0.0:
            self.angles_rad = (0.0,) * len(self._spins)
        else:
            self.angles_rad = tuple(
                math.remainder(angle + spin * speed * elapsed_s / SLOWED_DOWN, math.tau)
                for angle, spin, speed in zip(self.angles_rad, self._spins, speeds_rad_s))
        return self.angles_rad


class ThrustArrows:
    """Arrows along the axes of rotors, as long as their thrust in still air of sea level."""

    def __init__(self, vehicle: Vehicle, gravity_m_s2: float) -> None:
        servos = {servo.name: i for i, servo in enumerate(vehicle.servos)}
        self._rotors = [
            (rotor, rotor.direction, servos.get(rotor.tilted_by, -1)) for rotor in vehicle.rotors]
        self._coefficients_n_s2 = [
            vehicle.model_of(rotor).thrust_coefficient_n_s2 for rotor in vehicle.rotors]
        share_n = vehicle.body.mass_kg * gravity_m_s2 / max(1, len(vehicle.rotors))
        self._m_per_n = _HOVER_ARROW_M / share_n if share_n > 0.0 else 0.0

    def vectors_m(
        self, speeds_rad_s: typing.Sequence[float], servo_angles_rad: typing.Sequence[float],
    ) -> list[Vector]:
        """Return them in FLU.

        :param servo_angles_rad: of all servos; none: 0
        """
        found = []
        for length_m, (rotor, axis, servo) in zip(self._lengths_m(speeds_rad_s), self._rotors):
            if 0 <= servo < len(servo_angles_rad):
                axis = rotor.direction_at(servo_angles_rad[servo])
            found.append(scaled(length_m, axis))
        return found

    def _lengths_m(self, speeds_rad_s: typing.Sequence[float]) -> list[float]:
        """Return how long they are: T = k w^2, in proportion to a share of the weight."""
        return [coefficient * speed * speed * self._m_per_n
                for coefficient, speed in zip(self._coefficients_n_s2, speeds_rad_s)]
