# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Continuous turbulence with the Dryden spectra of MIL-F-8785C, sections 3.7.1 to 3.7.3.

The filters run on the distance that the vehicle has flown through the air, in scale
lengths: s = V dt / L. Then their states have a covariance of one whatever V and L are,
so that the variance stays right while height and airspeed change.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.random_streams import NormalStream

# Turbulence as one field in space, which the mean wind carries along unchanged.
#
# The field is a sum of waves across their own directions, so that no air is made or lost: u(x) =
# sum of (a cos k.x + b sin k.x), a and b across k (R. H. Kraichnan, Diffusion by a random
# velocity field, Physics of Fluids 13, 1970). Wave numbers are drawn from the energy spectrum of
# isotropic turbulence whose correlation along its own direction is Dryden's, exp(-r / L): E(k) =
# 8 sigma^2 L / pi (k L)^4 / (1 + (k L)^2)^3. That it does not change while it passes is Taylor's
# hypothesis (G. I. Taylor, The spectrum of turbulence, Proc. R. Soc. A 164, 1938).

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


M_PER_FT = 0.3048
LEAST_HEIGHT_FT = 10.0          # where the formulas for low altitude begin
LOW_FT, MEDIUM_FT = 1000.0, 2000.0
MEDIUM_LENGTH_FT = 1750.0
LEAST_AIRSPEED_M_S = 1.0

_COS_15_DEG = (1.0 + math.sqrt(3.0)) / math.sqrt(8.0)
_SIN_15_DEG = (math.sqrt(3.0) - 1.0) / math.sqrt(8.0)


class Scales(typing.NamedTuple):
    """Lengths in metres and standard deviations in m/s at a height."""

    horizontal_m: float
    vertical_m: float
    horizontal_m_s: float
    vertical_m_s: float


def scales(height_m: float, wind_at_20ft_m_s: float, medium_intensity_m_s: float) -> Scales:
    """Return the scales over flat ground.

    Below 1000 ft they follow the height and the wind (3.7.3.4), from 2000 ft on they are
    the same on all axes (3.7.2.1), and between they go over in a straight line. Below
    10 ft they are those of 10 ft.
    """
    feet = max(height_m / M_PER_FT, LEAST_HEIGHT_FT)
    low = min(feet, LOW_FT)
    ratio = (0.177 + 0.000823 * low) ** 0.4      # of the intensities, vertical to horizontal
    vertical = 0.1 * wind_at_20ft_m_s
    horizontal = vertical / ratio
    horizontal_ft, vertical_ft = low / ratio ** 3, low
    if feet > LOW_FT:
        share = min((feet - LOW_FT) / (MEDIUM_FT - LOW_FT), 1.0)
        horizontal_ft += share * (MEDIUM_LENGTH_FT - horizontal_ft)
        vertical_ft += share * (MEDIUM_LENGTH_FT - vertical_ft)
        horizontal += share * (medium_intensity_m_s - horizontal)
        vertical += share * (medium_intensity_m_s - vertical)
    return Scales(horizontal_ft * M_PER_FT, vertical_ft * M_PER_FT, horizontal, vertical)


class Longitudinal:
    """The gust along the flow, with standard deviation 1: sqrt(2) / (1 + s) on white noise.

    In the frequency w it has the spectrum 2 L / (pi V) / (1 + (L w / V)^2).
    """

    def __init__(self, stream: NormalStream) -> None:
        self._stream = stream
        self._gust = stream.next()

    def skip(self, steps: int) -> None:
        """Begin in the stationary state with what comes after so many steps."""
        self._stream.skip(steps)
        self._gust = self._stream.next()

    def next(self, distance: float) -> float:
        """Return the gust after `distance` scale lengths; the step is exact."""
        self._gust = math.exp(-distance) * self._gust + (
            math.sqrt(-math.expm1(-2.0 * distance)) * self._stream.next())
        return self._gust


class Transverse:
    """A gust across the flow, with standard deviation 1: (1 + sqrt(3) s) / (1 + s)^2.

    In the frequency w it has the spectrum L / (pi V) (1 + 3 x^2) / (1 + x^2)^2, x = L w / V.

    The states are p = sqrt(2) / (1 + s) and q = sqrt(2) (1 - s) / (1 + s)^2 on the same
    white noise n: p' = -p + sqrt(2) n, q' = -q + 2 p - sqrt(2) n. They are independent,
    each of variance 1, and the gust is p cos 15 deg - q sin 15 deg.
    """

    def __init__(self, stream: NormalStream) -> None:
        self._stream = stream
        self._p, self._q = stream.next(), stream.next()

    def skip(self, steps: int) -> None:
        """Begin in the stationary state with what comes after so many steps."""
        self._stream.skip(2 * steps)
        self._p, self._q = self._stream.next(), self._stream.next()

    def next(self, distance: float) -> float:
        """Return the gust after `distance` scale lengths.

        The step is exact: x <- F x + C n, where F = exp(-d) [[1, 0], [2 d, 1]] and C is the
        Cholesky root of 1 - F F^T.
        """
        decay = math.exp(-distance)
        mixed = 2.0 * distance * decay
        fresh = -math.expm1(-2.0 * distance)
        root = math.sqrt(fresh)
        own = math.sqrt(max(0.0, fresh - mixed * mixed / fresh))
        n, m = self._stream.next(), self._stream.next()
        p, q = self._p, self._q
        self._p = decay * p + root * n
        self._q = mixed * p + decay * q - mixed * decay / root * n + own * m
        return _COS_15_DEG * self._p - _SIN_15_DEG * self._q


class DrydenTurbulence:
    """The three gusts, in axes along the mean wind, to its left, and up."""

    def __init__(
        self, wind_at_20ft_m_s: float, medium_intensity_m_s: float, period_s: float,
        seed: int, name: str,
    ) -> None:
        """Start in the stationary state.

        :param medium_intensity_m_s: standard deviation on each axis from 2000 ft on
        :param name: of the streams of random numbers
        """
        self._wind_at_20ft = wind_at_20ft_m_s
        self._medium_intensity = medium_intensity_m_s
        self._period_s = period_s
        self._u = Longitudinal(NormalStream(seed, f'{name}/u'))
        self._v = Transverse(NormalStream(seed, f'{name}/v'))
        self._w = Transverse(NormalStream(seed, f'{name}/w'))

    def next(self, height_m: float, airspeed_m_s: float) -> Vector:
        """Return the gusts in m/s one period later.

        :param airspeed_m_s: of the vehicle through the mean air. The gusts are carried past
            it at this speed, of which at least 1 m/s is taken: at rest in the air, the
            spectra say nothing about how gusts change with time.
        """
        horizontal_m, vertical_m, horizontal, vertical = scales(
            height_m, self._wind_at_20ft, self._medium_intensity)
        flown_m = max(airspeed_m_s, LEAST_AIRSPEED_M_S) * self._period_s
        return (
            horizontal * self._u.next(flown_m / horizontal_m),
            horizontal * self._v.next(flown_m / horizontal_m),
            vertical * self._w.next(flown_m / vertical_m),
        )

    def skip(self, periods: int) -> None:
        """Begin in the stationary state, with new numbers, after so many periods.

        How fast the gusts went by meanwhile is not known.
        """
        for gust in (self._u, self._v, self._w):
            gust.skip(periods)
