# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Places on the WGS-84 ellipsoid, and the Earth's magnetic field there."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from pymap3d.vincenty import vdist
from verification.earth import radii_m
from verification.environment import HOMES
from verification.plants import STILL_TRUTH, configuration

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.environment.magnetic_field import MagneticField, field_enu_t, local_field_t
from px4_sim_ros.model.sensors.barometer import Barometer
from px4_sim_ros.model.sensors.gnss import Gnss


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


def test_a_barometer_and_gnss_agree_far_away(world):
    """10 km off, at the same height over the sea: on a plane they would differ by 8 m."""
    truth = STILL_TRUTH._replace(position_enu=(6e3, 8e3, 100.0))
    fix = Gnss('gps', dataclasses.replace(
        configuration().nodes['gps'], horizontal_error_m=0.0, vertical_error_m=0.0), world)
    pressure = Barometer('barometer', dataclasses.replace(
        configuration().nodes['barometer'], noise_pa=0.0), world)
    altitude_m = fix.measure(truth).position.ellipsoid_altitude_m - world.geoid_height_m
    assert world.atmosphere().pressure_altitude_m(
        pressure.measure(truth).pressure_pa) == pytest.approx(altitude_m, abs=1e-6)


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
