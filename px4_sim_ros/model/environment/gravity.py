# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Acceleration of gravity: uniform, or normal gravity of WGS-84.

It points down the local frame's z axis, everywhere. Not modelled: that the plumb line
turns with the place (0.09 degrees over 10 km), that gravity changes with the latitude
(8e-5 m/s^2 over 10 km north), and the anomalies of the real Earth (some 1e-3 m/s^2).
"""
from __future__ import annotations

import math
import typing

GRAVITY_MODELS = ('uniform', 'wgs84')

# NIMA TR8350.2, third edition: tables 3.1 and 3.4, and 3.3 for the last one.
_SEMI_MAJOR_AXIS_M = 6378137.0
_FLATTENING = 1.0 / 298.257223563
_EQUATORIAL_GRAVITY_M_S2 = 9.7803253359
_SOMIGLIANA_CONSTANT = 0.00193185265241
_CENTRIFUGAL_RATIO = 0.00344978650684     # m = omega^2 a^2 b / GM


class Gravity(typing.NamedTuple):
    """Gravity over home: a polynomial in the height, m/s^2 with the height in metres."""

    at_home: float
    per_m: float = 0.0
    per_m2: float = 0.0

    @classmethod
    def uniform(cls, acceleration_m_s2: float) -> Gravity:
        """Return gravity that is the same everywhere."""
        return cls(acceleration_m_s2)

    @classmethod
    def wgs84(cls, latitude_deg: float, ellipsoid_height_m: float) -> Gravity:
        """Return normal gravity on the vertical through a place.

        On the ellipsoid it is Somigliana's formula, NIMA TR8350.2 equation 4-1; above it
        the series in the height h to the second order, equation 4-3, rearranged for the
        height over the place instead. Up to 1 km the series is within 1.1e-7 m/s^2 of
        the closed form.
        """
        sin2 = math.sin(math.radians(latitude_deg)) ** 2
        eccentricity2 = _FLATTENING * (2.0 - _FLATTENING)
        surface = (
            _EQUATORIAL_GRAVITY_M_S2 * (1.0 + _SOMIGLIANA_CONSTANT * sin2)
            / math.sqrt(1.0 - eccentricity2 * sin2))
        a, h = _SEMI_MAJOR_AXIS_M, ellipsoid_height_m
        linear = -2.0 / a * (1.0 + _FLATTENING + _CENTRIFUGAL_RATIO - 2.0 * _FLATTENING * sin2)
        square = 3.0 / (a * a)
        return cls(
            surface * (1.0 + h * (linear + h * square)),
            surface * (linear + 2.0 * h * square),
            surface * square)

    def at(self, height_m: float) -> float:
        """Return the acceleration downwards, m/s^2, at a height above home."""
        return gravity_m_s2(height_m, self.at_home, self.per_m, self.per_m2)


def gravity_m_s2(height_m: float, at_home: float, per_m: float, per_m2: float) -> float:
    """Return the polynomial of a `Gravity`."""
    return at_home + height_m * (per_m + height_m * per_m2)
