# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The Earth by published formulas and tables: gravity, axes, magnetic field."""
from __future__ import annotations

import functools
import importlib.resources
import itertools
import math

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import lpmv

# NIMA TR8350.2: the four defining parameters.
SEMI_MAJOR_M, FLATTENING = 6378137.0, 1.0 / 298.257223563
GM_M3_S2, RATE_RAD_S = 3.986004418e14, 7292115e-11

# NOAA/BGS, WMM2025 test values (World Magnetic Model 2025 report): decimal year, height above
# the ellipsoid in km, latitude, longitude, then north, east and down in nT, rounded to 0.1 nT.
WMM2025_TEST_VALUES = [
    (2025.0, 0.0, 80.0, 0.0, 6521.6, 145.9, 54791.5),
    (2025.0, 0.0, 0.0, 120.0, 39677.8, -109.6, -10580.2),
    (2025.0, 0.0, -80.0, 240.0, 6117.5, 15751.9, -52022.5),
    (2025.0, 100.0, 80.0, 0.0, 6216.0, 92.4, 52598.8),
    (2025.0, 100.0, 0.0, 120.0, 37688.6, -96.2, -10152.1),
    (2025.0, 100.0, -80.0, 240.0, 5907.6, 14780.3, -49540.7),
    (2027.5, 0.0, 80.0, 0.0, 6500.8, 294.5, 54869.4),
    (2027.5, 0.0, 0.0, 120.0, 39701.6, -167.4, -10381.8),
    (2027.5, 0.0, -80.0, 240.0, 6200.7, 15730.3, -51783.7),
    (2027.5, 100.0, 80.0, 0.0, 6196.7, 233.8, 52670.5),
    (2027.5, 100.0, 0.0, 120.0, 37711.5, -148.7, -9969.8),
    (2027.5, 100.0, -80.0, 240.0, 5984.0, 14760.1, -49317.7),
    # Rows near the pole and on the equator of NOAA's file WMM2025_TEST_VALUES.txt.
    (2025.0, 28.0, 89.0, -121.0, -255.388723, -1482.460628, 56194.288771),
    (2026.5, 14.0, 0.0, 80.0, 39431.415992, -2133.456168, -12188.838466),
]


def closed_form(latitude_deg, height_m):
    """Return the exact magnitude of normal gravity, in ellipsoidal coordinates u and beta.

    NIMA TR8350.2, equations 4-5 to 4-19; Heiskanen and Moritz (1967), section 6-2.
    """
    b = SEMI_MAJOR_M * (1.0 - FLATTENING)
    e = math.sqrt(SEMI_MAJOR_M ** 2 - b ** 2)
    sin, cos = (f(math.radians(latitude_deg)) for f in (math.sin, math.cos))
    prime = SEMI_MAJOR_M / math.sqrt(1.0 - (e / SEMI_MAJOR_M * sin) ** 2)
    p, z = (prime + height_m) * cos, (prime * (b / SEMI_MAJOR_M) ** 2 + height_m) * sin
    d = p * p + z * z - e * e
    u = math.sqrt(0.5 * d * (1.0 + math.sqrt(1.0 + (2.0 * e * z / d) ** 2)))
    v = math.hypot(u, e)
    beta = math.atan2(z * v, u * p)
    sin, cos = math.sin(beta), math.cos(beta)

    def q(u):
        return 0.5 * ((1.0 + 3.0 * (u / e) ** 2) * math.atan(e / u) - 3.0 * u / e)

    q_slope = 3.0 * (1.0 + (u / e) ** 2) * (1.0 - u / e * math.atan(e / u)) - 1.0
    spin2 = RATE_RAD_S ** 2
    along_u = (
        GM_M3_S2 / v ** 2
        + spin2 * SEMI_MAJOR_M ** 2 * e / v ** 2 * q_slope / q(b) * (0.5 * sin * sin - 1.0 / 6.0)
        - spin2 * u * cos * cos)
    along_beta = (spin2 * SEMI_MAJOR_M ** 2 / v * q(u) / q(b) - spin2 * v) * sin * cos
    return math.hypot(along_u, along_beta) * v / math.hypot(u, e * sin)


def radii_m(latitude_deg):
    """Return the radii of curvature of the ellipsoid along the meridian and across it."""
    e2 = FLATTENING * (2.0 - FLATTENING)
    root = math.sqrt(1.0 - e2 * math.sin(math.radians(latitude_deg)) ** 2)
    return SEMI_MAJOR_M * (1.0 - e2) / root ** 3, SEMI_MAJOR_M / root


def geodesic(position, azimuth_rad, distance_m):
    """Return latitude and longitude in degrees, and the azimuth, at the end of the shortest way.

    Its equations are integrated by SciPy, at the height of the position: phi' = cos(A) / (M + h),
    lambda' = sin(A) / ((N + h) cos(phi)), A' = sin(A) tan(phi) / (N + h).
    """
    def derivative(_, x):
        latitude, _, azimuth = x
        meridian, parallel = radii_m(math.degrees(latitude))
        meridian += position.ellipsoid_altitude_m
        parallel += position.ellipsoid_altitude_m
        return (math.cos(azimuth) / meridian, math.sin(azimuth) / parallel / math.cos(latitude),
                math.sin(azimuth) * math.tan(latitude) / parallel)

    start = (math.radians(position.latitude_deg), math.radians(position.longitude_deg), azimuth_rad)
    latitude, longitude, azimuth = solve_ivp(
        derivative, (0.0, distance_m), start, rtol=1e-12, atol=1e-15).y[:, -1]
    return math.degrees(latitude), math.degrees(longitude), azimuth


def earth_fixed(position):
    """Return Cartesian coordinates of a WGS-84 position, m."""
    latitude, longitude = (
        math.radians(v) for v in (position.latitude_deg, position.longitude_deg))
    height = position.ellipsoid_altitude_m
    e2 = FLATTENING * (2.0 - FLATTENING)
    prime = SEMI_MAJOR_M / math.sqrt(1.0 - e2 * math.sin(latitude) ** 2)
    return np.array([
        (prime + height) * math.cos(latitude) * math.cos(longitude),
        (prime + height) * math.cos(latitude) * math.sin(longitude),
        (prime * (1.0 - e2) + height) * math.sin(latitude)])


def east_north_up(position):
    """Return the axes at a position as rows in earth-fixed coordinates."""
    lat, lon = math.radians(position.latitude_deg), math.radians(position.longitude_deg)
    return np.array([
        (-math.sin(lon), math.cos(lon), 0.0),
        (-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)),
        (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))])


@functools.cache
def coefficients():
    """Return the rows of NOAA's file: n, m, g, h and the rates of both a year."""
    file = importlib.resources.files('pygeomag') / 'wmm' / 'WMM_2025.COF'
    rows = [[float(v) for v in line.split()] for line in file.read_text().splitlines()[1:]]
    return list(itertools.takewhile(lambda row: len(row) == 6, rows))


def potential(ecef, year):
    """Return the magnetic potential in nT m at an earth-fixed position.

    V = a sum (a/r)^(n+1) (g cos(m lon) + h sin(m lon)) P(n, m)(sin lat), with the Schmidt
    functions P and NOAA's published coefficients (WMM2025 report, equation 4).
    """
    a = 6371200.0
    r, longitude = math.hypot(*ecef), math.atan2(ecef[1], ecef[0])
    total = 0.0
    for n, m, g, h, g_rate, h_rate in coefficients():
        schmidt = (-1.0) ** m * lpmv(m, n, ecef[2] / r)
        if m > 0:
            schmidt *= math.sqrt(2.0 * math.factorial(int(n - m)) / math.factorial(int(n + m)))
        g, h = g + (year - 2025.0) * g_rate, h + (year - 2025.0) * h_rate
        total += (a / r) ** (n + 1) * schmidt * (
            g * math.cos(m * longitude) + h * math.sin(m * longitude))
    return a * total


def field_by_differences_nt(place, year, step_m=100.0):
    """Return the field east, north and up as the slope of the potential, in nT."""
    centre, axes = earth_fixed(place), east_north_up(place)
    return [
        (potential(centre - step_m * axis, year) - potential(centre + step_m * axis, year))
        / (2.0 * step_m) for axis in axes]
