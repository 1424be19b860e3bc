"""Gravity: published values of WGS-84, and the closed form of the normal field."""
from __future__ import annotations

import dataclasses
import math

import pytest

from px4_sim_ros.model.environment.gravity import Gravity

# NIMA TR8350.2: the four defining parameters, and the value for m that it derives.
A_M, FLATTENING = 6378137.0, 1.0 / 298.257223563
GM_M3_S2, RATE_RAD_S = 3.986004418e14, 7292115e-11
M = 0.00344978650684
LATITUDES = (0.0, 30.0, 45.0, 47.397742, -60.0, 90.0)


def series(latitude_deg, height_m):
    """Return gravity as equations 4-1 and 4-3 have it, from the two published ends."""
    b = A_M * (1.0 - FLATTENING)
    sin2 = math.sin(math.radians(latitude_deg)) ** 2
    cos2 = 1.0 - sin2
    surface = (A_M * 9.7803253359 * cos2 + b * 9.8321849378 * sin2) / math.sqrt(
        A_M ** 2 * cos2 + b ** 2 * sin2)
    return surface * (
        1.0 - 2.0 / A_M * (1.0 + FLATTENING + M - 2.0 * FLATTENING * sin2) * height_m
        + 3.0 / A_M ** 2 * height_m ** 2)


def closed_form(latitude_deg, height_m):
    """Return the exact magnitude of normal gravity, in ellipsoidal coordinates u and beta.

    NIMA TR8350.2, equations 4-5 to 4-19; Heiskanen and Moritz (1967), section 6-2.
    """
    b = A_M * (1.0 - FLATTENING)
    e = math.sqrt(A_M ** 2 - b ** 2)
    sin, cos = (f(math.radians(latitude_deg)) for f in (math.sin, math.cos))
    prime = A_M / math.sqrt(1.0 - (e / A_M * sin) ** 2)
    p, z = (prime + height_m) * cos, (prime * (b / A_M) ** 2 + height_m) * sin
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
        + spin2 * A_M ** 2 * e / v ** 2 * q_slope / q(b) * (0.5 * sin * sin - 1.0 / 6.0)
        - spin2 * u * cos * cos)
    along_beta = (spin2 * A_M ** 2 / v * q(u) / q(b) - spin2 * v) * sin * cos
    return math.hypot(along_u, along_beta) * v / math.hypot(u, e * sin)


@pytest.mark.parametrize(('latitude', 'gravity'), [
    (0.0, 9.7803253359), (90.0, 9.8321849378), (-90.0, 9.8321849378), (45.0, 9.8061977694)])
def test_published_values_on_the_ellipsoid(latitude, gravity):
    """NIMA TR8350.2: the equator and the poles; and 45 degrees."""
    assert Gravity.wgs84(latitude, 0.0).at(0.0) == pytest.approx(gravity, abs=2e-10)


def test_gradient_in_free_air():
    """The textbooks' -0.3086 mgal/m at 45 degrees."""
    gravity = Gravity.wgs84(45.0, 0.0)
    assert (gravity.at(1.0) - gravity.at(0.0)) == pytest.approx(-3.086e-6, abs=1e-9)


@pytest.mark.parametrize('latitude', LATITUDES)
@pytest.mark.parametrize('home_m', [0.0, 535.3, 4000.0])
def test_polynomial_is_the_series_of_the_report(latitude, home_m):
    """From home on upwards and a little below."""
    gravity = Gravity.wgs84(latitude, home_m)
    for height in (-100.0, 0.0, 1.0, 500.0, 1000.0):
        assert gravity.at(height) == pytest.approx(series(latitude, home_m + height), abs=1e-9)


@pytest.mark.parametrize('latitude', LATITUDES)
def test_polynomial_against_the_closed_form(latitude):
    """To 1e-9 m/s^2 on the ellipsoid; the series itself leaves 1.1e-7 m/s^2 at 1 km."""
    gravity = Gravity.wgs84(latitude, 0.0)
    assert gravity.at(0.0) == pytest.approx(closed_form(latitude, 0.0), abs=1e-9)
    for height in (250.0, 500.0, 1000.0):
        assert gravity.at(height) == pytest.approx(closed_form(latitude, height), abs=1.1e-7)


def test_uniform_gravity(world):
    """The same at every height: what the world has by default."""
    assert world.gravity() == Gravity.uniform(world.gravity_m_s2)
    assert [world.gravity().at(h) for h in (-1e4, 0.0, 1e4)] == [world.gravity_m_s2] * 3


def test_normal_gravity_at_home(world):
    """Home's height above the ellipsoid is that above the sea and the geoid's."""
    altered = dataclasses.replace(
        world, gravity_model='wgs84', home_latitude_deg=47.397742, home_altitude_m=488.0,
        geoid_height_m=47.3)
    assert altered.gravity().at(0.0) == pytest.approx(closed_form(47.397742, 535.3), abs=1e-7)
