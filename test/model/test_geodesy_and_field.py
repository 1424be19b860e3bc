"""Places on the WGS-84 ellipsoid, and the Earth's magnetic field there."""
from __future__ import annotations

import dataclasses
import importlib.resources
import math

import numpy as np
import pymap3d
import pytest
from scipy.special import lpmv

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.environment.magnetic_field import MagneticField, field_enu_t, local_field_t

SEMI_MAJOR_M, FLATTENING = 6378137.0, 1.0 / 298.257223563


def radii_of_curvature_m(latitude_deg):
    """Return the meridional and the prime vertical radius of the ellipsoid."""
    e2 = FLATTENING * (2.0 - FLATTENING)
    w = 1.0 - e2 * math.sin(math.radians(latitude_deg)) ** 2
    return SEMI_MAJOR_M * (1.0 - e2) / w ** 1.5, SEMI_MAJOR_M / math.sqrt(w)


@pytest.fixture(scope='module')
def frame(world):
    """Return the local frame at home."""
    return world.local_frame()


@pytest.mark.parametrize('position', [
    (0.0, 0.0, 0.0), (50e3, 0.0, 0.0), (0.0, -50e3, 0.0), (35e3, 35e3, 500.0),
    (-30e3, 40e3, -200.0), (1.0, 2.0, 3.0)])
def test_local_to_geodetic_and_back(frame, position):
    """Over 50 km to a micrometre."""
    assert frame.to_local(frame.to_geodetic(position)) == pytest.approx(position, abs=1e-6)


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


def test_the_field_is_turned_as_by_another_library(frame):
    """Its axes 10 km away and 300 m up."""
    position = (6e3, -8e3, 300.0)
    place, home = frame.to_geodetic(position), frame.origin
    fixed = pymap3d.enu2uvw(*field_enu_t(place, 2026.0), place.latitude_deg, place.longitude_deg)
    expected = pymap3d.uvw2enu(*fixed, home.latitude_deg, home.longitude_deg)
    assert local_field_t(frame, position, 2026.0) == pytest.approx(expected, abs=1e-17)


def test_axes_are_east_north_up(frame, world):
    """10 m along an axis: d(lat) = north / (M + h), d(lon) = east / ((N + h) cos lat)."""
    home = frame.origin
    assert home.ellipsoid_altitude_m == world.home_altitude_m + world.geoid_height_m
    meridional, prime = radii_of_curvature_m(home.latitude_deg)
    height = home.ellipsoid_altitude_m
    north, east = frame.to_geodetic((0.0, 10.0, 0.0)), frame.to_geodetic((10.0, 0.0, 0.0))
    assert math.radians(north.latitude_deg - home.latitude_deg) == pytest.approx(
        10.0 / (meridional + height), rel=1e-5)
    assert math.radians(east.longitude_deg - home.longitude_deg) == pytest.approx(
        10.0 / ((prime + height) * math.cos(math.radians(home.latitude_deg))), rel=1e-5)
    assert frame.to_geodetic((0.0, 0.0, 10.0)).ellipsoid_altitude_m == pytest.approx(
        height + 10.0, abs=1e-6)


# NOAA/BGS, WMM2025 test values (World Magnetic Model 2025 report): decimal year, height above
# the ellipsoid in km, latitude, longitude, then north, east and down in nT.
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


@pytest.mark.parametrize(
    ('year', 'height_km', 'latitude', 'longitude', 'north', 'east', 'down'), WMM2025_TEST_VALUES)
def test_magnetic_field_against_the_test_values_of_the_model(
    year, height_km, latitude, longitude, north, east, down,
):
    """East-North-Up in tesla; the published values are rounded to 0.1 nT."""
    field = field_enu_t(GeodeticPosition(latitude, longitude, height_km * 1000.0), year)
    assert [1e9 * b for b in field] == pytest.approx([east, north, -down], abs=0.1)


def potential(ecef, year):
    """Return the magnetic potential in nT m at an earth-fixed position.

    V = a sum (a/r)^(n+1) (g cos(m lon) + h sin(m lon)) P(n, m)(sin lat), with the Schmidt
    functions P and NOAA's published coefficients (WMM2025 report, equation 4).
    """
    a = 6371200.0
    r, longitude = math.hypot(*ecef), math.atan2(ecef[1], ecef[0])
    file = importlib.resources.files('pygeomag') / 'wmm' / 'WMM_2025.COF'
    total = 0.0
    for line in file.read_text().splitlines()[1:]:
        row = [float(v) for v in line.split()]
        if len(row) != 6:
            break
        n, m, g, h, g_rate, h_rate = row
        schmidt = (-1.0) ** m * lpmv(m, n, ecef[2] / r)
        if m > 0:
            schmidt *= math.sqrt(2.0 * math.factorial(int(n - m)) / math.factorial(int(n + m)))
        g, h = g + (year - 2025.0) * g_rate, h + (year - 2025.0) * h_rate
        total += (a / r) ** (n + 1) * schmidt * (
            g * math.cos(m * longitude) + h * math.sin(m * longitude))
    return a * total


def field_by_differences_nt(place, year, step_m=100.0):
    """Return the field east, north and up as the slope of the potential, in nT."""
    sin_lat, cos_lat, sin_lon, cos_lon = (
        f(math.radians(v)) for v in (place.latitude_deg, place.longitude_deg)
        for f in (math.sin, math.cos))
    _, prime = radii_of_curvature_m(place.latitude_deg)
    height = place.ellipsoid_altitude_m
    centre = np.array([
        (prime + height) * cos_lat * cos_lon, (prime + height) * cos_lat * sin_lon,
        (prime * (1.0 - FLATTENING) ** 2 + height) * sin_lat])
    axes = np.array([
        (-sin_lon, cos_lon, 0.0),
        (-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat),
        (cos_lat * cos_lon, cos_lat * sin_lon, sin_lat)])
    return [
        (potential(centre - step_m * axis, year) - potential(centre + step_m * axis, year))
        / (2.0 * step_m) for axis in axes]


@pytest.mark.parametrize(('latitude', 'longitude', 'height'), [
    (47.397742, 8.545594, 535.3), (89.9, 30.0, 0.0), (0.0, 0.0, 0.0)])
def test_magnetic_field_at_zurich_the_pole_and_the_equator(latitude, longitude, height):
    """Against the slope of the potential, summed here with SciPy's Legendre functions.

    The coefficients are NOAA's file as pygeomag carries it; the sum is independent of it.
    """
    place = GeodeticPosition(latitude, longitude, height)
    field = field_enu_t(place, 2026.5)
    assert [1e9 * b for b in field] == pytest.approx(
        field_by_differences_nt(place, 2026.5), abs=0.1)


HOMES = [(47.397742, 8.545594), (0.0, 179.99), (80.0, -100.0), (-65.0, 140.0), (90.0, 0.0)]
AROUND_10_KM = [
    (1e4 * math.cos(angle), 1e4 * math.sin(angle), height)
    for angle in np.linspace(0.0, 2.0 * math.pi, 8, endpoint=False) for height in (0.0, 500.0)]


@pytest.mark.parametrize(('latitude', 'longitude'), HOMES)
def test_magnetic_field_around_home(latitude, longitude):
    """10 km away and 500 m up within 1 nT of the model; at home the same."""
    frame = LocalFrame(GeodeticPosition(latitude, longitude, 500.0))
    field = MagneticField(frame, 2026.5)
    assert field.at((0.0, 0.0, 0.0)) == pytest.approx(
        field_enu_t(frame.origin, 2026.5), abs=1e-15)
    for position in AROUND_10_KM:
        assert math.dist(field.at(position), local_field_t(frame, position, 2026.5)) < 1e-9


def test_magnetic_field_on_the_axes_of_the_local_frame(frame):
    """20 km east: the model's own north, east and up there, turned by a rotation written here.

    Both frames' axes are columns in earth-fixed axes.
    """
    def axes(place):
        lat, lon = math.radians(place.latitude_deg), math.radians(place.longitude_deg)
        return np.array([
            (-math.sin(lon), -math.sin(lat) * math.cos(lon), math.cos(lat) * math.cos(lon)),
            (math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat) * math.sin(lon)),
            (0.0, math.cos(lat), math.sin(lat))])

    position = (20e3, -3e3, 100.0)
    place = frame.to_geodetic(position)
    turned = axes(frame.origin).T @ axes(place) @ field_enu_t(place, 2026.5)
    assert local_field_t(frame, position, 2026.5) == pytest.approx(turned, abs=1e-15)


@pytest.mark.parametrize(('latitude', 'longitude'), HOMES)
def test_magnetic_field_has_neither_sources_nor_curl(latitude, longitude):
    """In air the matrix of its slopes, some 20 nT/km, is symmetric and its trace is zero."""
    field = MagneticField(LocalFrame(GeodeticPosition(latitude, longitude, 0.0)), 2026.5)
    home = np.array(field.at((0.0, 0.0, 0.0)))
    slopes = np.array([field.at(tuple(axis)) - home for axis in np.eye(3) * 1000.0])
    assert np.abs(slopes).max() > 5e-9
    assert slopes == pytest.approx(slopes.T, abs=1e-13)
    assert np.trace(slopes) == pytest.approx(0.0, abs=1e-13)
