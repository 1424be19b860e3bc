# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Gravity: the series of WGS-84, and what the world takes of it."""
from __future__ import annotations

import dataclasses
import math

import pytest
from verification.earth import FLATTENING, SEMI_MAJOR_M, closed_form

from px4_sim_ros.model.environment.gravity import Gravity

M = 0.00344978650684                    # derived in NIMA TR8350.2
LATITUDES = (0.0, 30.0, 45.0, 47.397742, -60.0, 90.0)


def series(latitude_deg, height_m):
    """Return gravity as equations 4-1 and 4-3 have it, from the two published ends."""
    b = SEMI_MAJOR_M * (1.0 - FLATTENING)
    sin2 = math.sin(math.radians(latitude_deg)) ** 2
    cos2 = 1.0 - sin2
    surface = (SEMI_MAJOR_M * 9.7803253359 * cos2 + b * 9.8321849378 * sin2) / math.sqrt(
        SEMI_MAJOR_M ** 2 * cos2 + b ** 2 * sin2)
    return surface * (
        1.0 - 2.0 / SEMI_MAJOR_M * (1.0 + FLATTENING + M - 2.0 * FLATTENING * sin2) * height_m
        + 3.0 / SEMI_MAJOR_M ** 2 * height_m ** 2)


@pytest.mark.parametrize('latitude', LATITUDES)
@pytest.mark.parametrize('home_m', [0.0, 535.3, 4000.0])
def test_polynomial_is_the_series_of_the_report(latitude, home_m):
    """From home on upwards and a little below."""
    gravity = Gravity.wgs84(latitude, home_m)
    for height in (-100.0, 0.0, 1.0, 500.0, 1000.0):
        assert gravity.at(height) == pytest.approx(series(latitude, home_m + height), abs=1e-9)


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
