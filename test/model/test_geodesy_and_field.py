# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Places on the WGS-84 ellipsoid, and the Earth's magnetic field there."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from pymap3d.vincenty import vdist
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import quat2mat
from verification.earth import FLATTENING, SEMI_MAJOR_M, closed_form, radii_m
from verification.environment import HOMES

from px4_sim_ros.model import frames, rotation
from px4_sim_ros.model.environment.atmosphere import STANDARD, Atmosphere
from px4_sim_ros.model.environment.geodesy import (
    GeodeticPosition,
    LocalFrame,
    about_up,
    place_in,
)
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.environment.magnetic_field import MagneticField, field_enu_t, local_field_t


@pytest.fixture(scope='module')
def frame(world):
    """Return the local frame at home."""
    return world.local_frame()


@pytest.mark.parametrize('latitude', [-89.0, -33.0, 0.0, 70.0])
def test_round_trip_anywhere_on_earth(latitude):
    """Other hemispheres, the date line, near a pole."""
    frame = LocalFrame(GeodeticPosition(latitude, 179.99, 20.0))
    position = (30e3, -40e3, 1000.0)
    assert frame.to_local(frame.to_geodetic(position)) == pytest.approx(position, abs=1e-6)


@pytest.mark.parametrize('latitude', [-89.0, -33.0, 0.0, 47.4])
@pytest.mark.parametrize('position', [(10.0, -20.0, 5.0), (-30e3, 40e3, 1000.0)])
def test_distance_and_direction_are_those_of_another_library(latitude, position):
    """By Vincenty's formulas, which are good for a millimetre; heights are just added."""
    origin = GeodeticPosition(latitude, 8.5, 0.0)
    got = LocalFrame(origin).to_geodetic(position)
    distance_m, azimuth_deg = vdist(
        latitude, 8.5, got.latitude_deg, got.longitude_deg)[:2]
    east, north, up = position
    assert distance_m == pytest.approx(math.hypot(east, north), abs=2e-3)
    assert math.radians(azimuth_deg) == pytest.approx(
        math.atan2(east, north) % math.tau, abs=1e-6 + 2e-3 / distance_m)
    assert got.ellipsoid_altitude_m == up


@pytest.mark.parametrize('latitude', [-80.0, -33.0, 0.0, 47.4])
@pytest.mark.parametrize('distance_m', [5.0, 64.0, 900.0, 50e3])
def test_a_place_in_a_square_is_that_on_the_map(latitude, distance_m):
    """On both sides of the date line."""
    frame = LocalFrame(GeodeticPosition(latitude, 179.9999, 500.0))
    metres = math.radians(1.0) * 6.4e6
    for angle in range(8):
        east, north = (distance_m * f(angle) for f in (math.cos, math.sin))
        there = frame.to_geodetic((east, north, 0.0))
        latitude_deg, longitude_deg, half = place_in(frame.square_at(east, north), east, north)
        assert -180.0 <= longitude_deg <= 180.0
        assert latitude_deg == pytest.approx(there.latitude_deg, abs=1e-7 / metres)
        off_deg = math.remainder(longitude_deg - there.longitude_deg, 360.0)
        assert abs(off_deg) * math.cos(math.radians(latitude)) < 1e-7 / metres
        assert about_up(half) == pytest.approx(about_up(frame.half_turn_at(there)), abs=1e-9)


@pytest.mark.parametrize('latitude', [-89.9, -79.99, 0.0, 47.4, 79.99, 80.01, 88.0])
def test_a_fix_is_that_of_the_map_at_each_latitude(latitude):
    """Also where its squares end, and near a pole, where they are left to PROJ."""
    frame = LocalFrame(GeodeticPosition(latitude, -179.9999, 500.0))
    metres = math.radians(1.0) * 6.4e6
    for angle in range(8):
        position = 900.0 * math.cos(angle), 900.0 * math.sin(angle), 7.0
        place, velocity = frame.fix_at(position, (3.0, -2.0, 1.0))
        exact = frame.to_geodetic(position)
        assert place.latitude_deg == pytest.approx(exact.latitude_deg, abs=1e-7 / metres)
        off_deg = math.remainder(place.longitude_deg - exact.longitude_deg, 360.0)
        assert abs(off_deg) * math.cos(math.radians(exact.latitude_deg)) < 1e-7 / metres
        assert place.ellipsoid_altitude_m == exact.ellipsoid_altitude_m
        assert velocity == pytest.approx(
            frame.turned_to_place(exact, (3.0, -2.0, 1.0)), abs=1e-8)


def test_home_is_over_the_ellipsoid_by_altitude_and_geoid(frame, world):
    """The altitude is over mean sea level."""
    assert frame.origin.ellipsoid_altitude_m == world.home_altitude_m + world.geoid_height_m


def test_the_field_is_turned_as_the_way_from_home_turns(frame):
    """Its axes 10 km away: by how much the course of the shortest way changes (Vincenty)."""
    position = (6e3, -8e3, 300.0)
    place, home = frame.to_geodetic(position), frame.origin
    _, there_deg, *_ = vdist(
        home.latitude_deg, home.longitude_deg, place.latitude_deg, place.longitude_deg)
    _, back_deg, *_ = vdist(
        place.latitude_deg, place.longitude_deg, home.latitude_deg, home.longitude_deg)
    turned = math.radians(back_deg - 180.0 - there_deg)
    east, north, up = field_enu_t(place, 2026.0)
    expected = (
        math.cos(turned) * east - math.sin(turned) * north,
        math.sin(turned) * east + math.cos(turned) * north, up)
    assert abs(turned) > 5e-4
    assert local_field_t(frame, position, 2026.0) == pytest.approx(expected, abs=5e-12)


@pytest.mark.parametrize(('latitude', 'longitude'), HOMES)
def test_the_field_at_home_is_that_of_the_place(latitude, longitude):
    """Nothing is added or turned where the local frame begins."""
    frame = LocalFrame(GeodeticPosition(latitude, longitude, 500.0))
    assert MagneticField(frame, 2026.5).at((0.0, 0.0, 0.0)) == pytest.approx(
        field_enu_t(frame.origin, 2026.5), abs=1e-15)


@pytest.mark.parametrize(('latitude', 'longitude'), HOMES)
def test_magnetic_field_has_neither_sources_nor_curl(latitude, longitude):
    """In air the matrix of its slopes, some 20 nT/km, is symmetric and its trace is zero.

    Up turns with the place on a map, so that the field turns by as much: up to 10 nT/km.
    """
    field = MagneticField(LocalFrame(GeodeticPosition(latitude, longitude, 0.0)), 2026.5)
    home = np.array(field.at((0.0, 0.0, 0.0)))
    slopes = np.array([field.at(tuple(axis)) - home for axis in np.eye(3) * 1000.0])
    assert np.abs(slopes).max() > 5e-9
    east, north, up = home
    along_meridian_m, along_parallel_m = radii_m(latitude)
    slopes[0] -= np.array((-up, 0.0, east)) * 1000.0 / along_parallel_m
    slopes[1] -= np.array((0.0, -up, north)) * 1000.0 / along_meridian_m
    assert slopes == pytest.approx(slopes.T, abs=1e-13)
    assert np.trace(slopes) == pytest.approx(0.0, abs=1e-13)


# Gravity: the series of WGS-84, and what the world takes of it.

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


# The atmosphere over any sea level, against hydrostatics.

HOT = Atmosphere(sea_level_pressure_pa=99000.0, sea_level_temperature_k=308.15)


@pytest.mark.parametrize('height', [-100.0, 0.0, 488.0, 5000.0, 11000.0])
def test_pressure_altitude_undoes_pressure(height):
    """There and back to a micrometre."""
    for air in (STANDARD, HOT):
        assert air.pressure_altitude_m(air.pressure_pa(height)) == pytest.approx(
            height, abs=1e-6)


def test_density_at_sea_level():
    """It is that of the table, to the digits that it has."""
    assert STANDARD.density_kg_m3(0.0) == pytest.approx(1.225, rel=1e-6)


@pytest.mark.parametrize('height', [0.0, 488.0, 3000.0, 11000.0])
def test_air_over_another_sea_level(height):
    """It is a gas, p = rho R T, and carries its own weight: dp/dh = -rho g."""
    density = HOT.density_kg_m3(height)
    assert HOT.pressure_pa(0.0) == 99000.0
    assert HOT.temperature_k(height) == pytest.approx(308.15 - 0.0065 * height, abs=1e-9)
    assert HOT.pressure_pa(height) == pytest.approx(
        density * 287.05287 * HOT.temperature_k(height), rel=1e-12)
    slope = (HOT.pressure_pa(height + 1.0) - HOT.pressure_pa(height - 1.0)) / 2.0
    assert slope == pytest.approx(-density * 9.80665, rel=1e-6)


def test_no_air_above_the_layer():
    """Where the formula would take the root of a negative number there is a vacuum."""
    assert (STANDARD.pressure_pa(60e3), STANDARD.density_kg_m3(60e3)) == (0.0, 0.0)


def test_world_has_the_air_of_its_parameters(world):
    """Standard by default."""
    assert world.atmosphere() == STANDARD
    altered = dataclasses.replace(
        world, sea_level_pressure_pa=99000.0, sea_level_temperature_k=308.15)
    assert altered.atmosphere() == HOT


# Attitudes that one can picture, tiny turns, headings and whole turns.

HALF = math.sqrt(0.5)


@pytest.mark.parametrize(('enu_flu', 'ned_frd'), [
    ((1.0, 0.0, 0.0, 0.0), (HALF, 0.0, 0.0, HALF)),     # facing east is a heading of 90 deg
    ((HALF, 0.0, 0.0, HALF), (1.0, 0.0, 0.0, 0.0)),     # facing north is no turn at all
])
def test_attitudes_that_one_can_picture(enu_flu, ned_frd):
    """Level, facing east and north; the sign of the quaternion does not matter."""
    q = frames.quaternion_enu_flu_to_ned_frd(enu_flu)
    assert abs(np.dot(q, ned_frd)) == pytest.approx(1.0, abs=1e-15)


def test_tiny_turns_do_not_divide_by_zero():
    """A turn by |v| about v, against transforms3d."""
    v = (1e-10, 2e-10, 0.0)
    assert quat2mat(rotation.from_rotation_vector(v)) == pytest.approx(
        axangle2mat(v, math.hypot(*v)), abs=1e-15)
    assert rotation.from_rotation_vector((0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)


def test_cross_product_and_heading():
    """The product a x b by NumPy; the heading is counter-clockwise from east, whatever the tilt."""
    assert rotation.cross((1, 2, 3), (4, 6, 5)) == tuple(np.cross((1, 2, 3), (4, 6, 5)))
    yaw = rotation.from_rotation_vector((0.0, 0.0, 0.7))
    pitch = rotation.from_rotation_vector((0.0, 0.4, 0.0))
    assert rotation.yaw_rad(rotation.multiply(yaw, pitch)) == pytest.approx(0.7, abs=1e-15)


@pytest.mark.parametrize('turns', [-3, -1, 0, 2])
def test_wrapped_angle_differs_by_whole_turns(turns):
    """The result lies within half a turn of zero."""
    assert rotation.wrap_rad(2.5 + turns * math.tau) == pytest.approx(2.5, abs=1e-14)
    assert abs(rotation.wrap_rad(3.5 + turns * math.tau)) <= math.pi
