# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What rotors shake a sensor with: harmonics of their speeds.

An unbalanced rotor pulls with m e w^2, once a turn; its blades push as often as they pass, with
their thrust, which grows with w^2 as well (Den Hartog 1956, Mechanical Vibrations, sections 2.4 and
6.1). A body that gives way freely has accelerations of that amplitude, and rates, which are those
over the frequency, of an amplitude that grows with w. Of the structure between rotor and sensor
nothing is known: each axis has the same amplitude, and a phase of its own, drawn once.

A sensor's sample is the mean since the one before. A harmonic n turns by x = n w h meanwhile; its
mean is its value x/2 earlier, times sin(x/2) / (x/2).
"""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.truth import Truth

HARMONICS = 3
ACCELERATION, RATE = 2, 1
"""With which power of the rotor's speed an amplitude grows."""


def passed(angle_rad: float) -> float:
    """Return which share of a harmonic is left in the mean over a period.

    :param angle_rad: by which it turns in the period
    """
    half = 0.5 * angle_rad
    return math.sin(half) / half if half else 1.0


class RotorVibration:
    """What all rotors together add to the three axes of a sensor."""

    def __init__(
        self, amplitudes: typing.Sequence[float], at_rad_s: float, power: int, period_s: float,
        seed: int, name: str,
    ) -> None:
        """Draw nothing yet: how many rotors there are, the truth will tell.

        :param amplitudes: of one rotor on each axis, at 1, 2 and 3 times its speed
        :param at_rad_s: speed of the rotors at which these are the amplitudes
        :param power: ACCELERATION or RATE
        :param name: of the streams of random numbers
        """
        self._amplitudes = [(n, amplitude) for n, amplitude in enumerate(amplitudes, 1)
                            if amplitude]
        self._at_rad_s, self._power, self._period_s = at_rad_s, power, period_s
        self._stream = NormalStream(seed, name)
        self._phases: dict[tuple[int, int], Vector] = {}       # by rotor and harmonic

    def add_to(self, value: Vector, truth: Truth) -> Vector:
        """Return a value with what the rotors add at the truth's time."""
        x, y, z = value
        for rotor, (speed, angle) in enumerate(zip(
                truth.rotor_speeds_rad_s, truth.rotor_angles_rad)):
            share = abs(speed / self._at_rad_s) ** self._power
            for n, amplitude in self._amplitudes:
                turned = n * speed * self._period_s
                size = amplitude * share * passed(turned)
                a, b, c = self._phase(rotor, n)
                middle = n * angle - 0.5 * turned
                x += size * math.cos(middle + a)
                y += size * math.cos(middle + b)
                z += size * math.cos(middle + c)
        return x, y, z

    def _phase(self, rotor: int, harmonic: int) -> Vector:
        if (rotor, harmonic) not in self._phases:
            a, b, c = (math.tau * self._stream.uniform() for _ in range(3))
            self._phases[rotor, harmonic] = a, b, c
        return self._phases[rotor, harmonic]
