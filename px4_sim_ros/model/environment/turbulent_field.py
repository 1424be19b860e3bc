# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Turbulence as one field in space, which the mean wind carries along unchanged.

The field is a sum of waves across their own directions, so that no air is made or lost:
u(x) = sum of (a cos k.x + b sin k.x), a and b across k (R. H. Kraichnan, Diffusion by a random
velocity field, Physics of Fluids 13, 1970). Wave numbers are drawn from the energy spectrum of
isotropic turbulence whose correlation along its own direction is Dryden's, exp(-r / L):
E(k) = 8 sigma^2 L / pi (k L)^4 / (1 + (k L)^2)^3. That it does not change while it passes is
Taylor's hypothesis (G. I. Taylor, The spectrum of turbulence, Proc. R. Soc. A 164, 1938).
"""
from __future__ import annotations

import math

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.random_streams import NormalStream

_WAVES = 200
_LARGEST = 1e6                  # wave number times L; a share of 1e-6 of the energy is beyond


class TurbulentField:
    """The velocity of the air at each place, without the mean."""

    def __init__(self, intensity_m_s: float, length_m: float, seed: int, name: str) -> None:
        """Draw the waves.

        :param intensity_m_s: standard deviation on each axis
        :param length_m: L, the integral of the correlation along its own direction
        :param name: of the stream of random numbers
        """
        stream = NormalStream(seed, name)
        # Of the three axes of a and b two are left across the wave.
        scale = intensity_m_s * math.sqrt(1.5 / _WAVES)
        waves = []
        for i in range(_WAVES):
            # One in each of so many equal shares of the energy: then few waves are enough.
            number = _wave_number((i + stream.uniform()) / _WAVES) / length_m
            direction = np.array(stream.next3())
            direction /= math.sqrt(float(direction @ direction))
            a, b = (scale * np.array(stream.next3()) for _ in range(2))
            waves.append([*(number * direction), *(a - direction * (a @ direction)),
                          *(b - direction * (b @ direction))])
        self._waves = np.array(waves)
        self._velocity = np.zeros(3)
        self.at((0.0, 0.0, 0.0))       # what is compiled is so now, not in the first step

    def at(self, position_m: Vector) -> Vector:
        """Return the velocity at a place that moves with the mean wind, m/s."""
        _sum(self._waves, *position_m, self._velocity)
        east, north, up = self._velocity.tolist()
        return east, north, up


def _energy_below(x: float) -> float:
    """Return the share of the energy of the waves up to a wave number x, in units of 1 / L."""
    return 2.0 / math.pi * (
        math.atan(x) - x * (5.0 * x * x + 3.0) / (3.0 * (1.0 + x * x) * (1.0 + x * x)))


def _wave_number(share: float) -> float:
    """Return the wave number in units of 1 / L below which a share of the energy is."""
    low, high = 0.0, _LARGEST
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        if _energy_below(middle) < share:
            low = middle
        else:
            high = middle
    return high


@compiled
def _sum(waves: np.ndarray, x: float, y: float, z: float, velocity: np.ndarray) -> None:
    """Add up all waves at a place."""
    east = north = up = 0.0
    for i in range(waves.shape[0]):
        phase = waves[i, 0] * x + waves[i, 1] * y + waves[i, 2] * z
        c, s = math.cos(phase), math.sin(phase)
        east += waves[i, 3] * c + waves[i, 6] * s
        north += waves[i, 4] * c + waves[i, 7] * s
        up += waves[i, 5] * c + waves[i, 8] * s
    velocity[0], velocity[1], velocity[2] = east, north, up
