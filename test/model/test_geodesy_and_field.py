# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Places on the WGS-84 ellipsoid, and the Earth's magnetic field there."""
from __future__ import annotations

import dataclasses

import numpy as np
import pymap3d
import pytest
from verification.environment import HOMES

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
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
def test_positions_are_those_of_another_library(latitude, position):
    """To a micrometre."""
    origin = latitude, 8.5, 535.0
    got = LocalFrame(GeodeticPosition(*origin)).to_geodetic(position)
    back = pymap3d.geodetic2enu(*dataclasses.astuple(got), *origin)
    assert back == pytest.approx(position, abs=1e-6)


def test_home_is_over_the_ellipsoid_by_altitude_and_geoid(frame, world):
    """The altitude is over mean sea level."""
    assert frame.origin.ellipsoid_altitude_m == world.home_altitude_m + world.geoid_height_m


def test_the_field_is_turned_as_by_another_library(frame):
    """Its axes 10 km away and 300 m up."""
    position = (6e3, -8e3, 300.0)
    place, home = frame.to_geodetic(position), frame.origin
    fixed = pymap3d.enu2uvw(*field_enu_t(place, 2026.0), place.latitude_deg, place.longitude_deg)
    expected = pymap3d.uvw2enu(*fixed, home.latitude_deg, home.longitude_deg)
    assert local_field_t(frame, position, 2026.0) == pytest.approx(expected, abs=1e-17)


@pytest.mark.parametrize(('latitude', 'longitude'), HOMES)
def test_the_field_at_home_is_that_of_the_place(latitude, longitude):
    """Nothing is added or turned where the local frame begins."""
    frame = LocalFrame(GeodeticPosition(latitude, longitude, 500.0))
    assert MagneticField(frame, 2026.5).at((0.0, 0.0, 0.0)) == pytest.approx(
        field_enu_t(frame.origin, 2026.5), abs=1e-15)


@pytest.mark.parametrize(('latitude', 'longitude'), HOMES)
def test_magnetic_field_has_neither_sources_nor_curl(latitude, longitude):
    """In air the matrix of its slopes, some 20 nT/km, is symmetric and its trace is zero."""
    field = MagneticField(LocalFrame(GeodeticPosition(latitude, longitude, 0.0)), 2026.5)
    home = np.array(field.at((0.0, 0.0, 0.0)))
    slopes = np.array([field.at(tuple(axis)) - home for axis in np.eye(3) * 1000.0])
    assert np.abs(slopes).max() > 5e-9
    assert slopes == pytest.approx(slopes.T, abs=1e-13)
    assert np.trace(slopes) == pytest.approx(0.0, abs=1e-13)
