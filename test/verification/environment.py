"""Air, gravity, the shape of the Earth and its magnetic field."""
from __future__ import annotations

import functools
import math

import numpy as np
from scipy.integrate import quad
from test_atmosphere_table import TABLE
from test_geodesy_and_field import (
    FLATTENING,
    SEMI_MAJOR_M,
    WMM2025_TEST_VALUES,
    field_by_differences_nt,
)
from test_gravity import closed_form

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.environment.magnetic_field import MagneticField, field_enu_t
from verification.checks import Plot, Result, Series, check
from verification.plants import world

ISA = 'ISO 2533 / US Standard Atmosphere 1976, table by geopotential height'
WMM = 'NOAA/BGS, WMM2025 test values'


# Air.

@functools.cache
def profile():
    """Return the plot of temperature, pressure and density up to 11 km."""
    air, heights = Atmosphere(), np.linspace(0.0, 11_000.0, 111)
    table = np.array(TABLE)
    series = []
    for i, (name, law) in enumerate((
            ('temperature', air.temperature_k), ('pressure', air.pressure_pa),
            ('density', air.density_kg_m3))):
        top = law(0.0)
        series += [
            Series(name, heights / 1e3, [law(h) / top for h in heights]),
            Series(f'{name}, table', table[:, 0] / 1e3, table[:, i + 1] / table[0, i + 1], 'dots')]
    return Plot('Standard atmosphere', 'height in km', 'share of that at sea level', tuple(series))


@check('ISA temperature', model='atmosphere, 0 to 11 km', reference=ISA, tolerance=1e-9, unit='K')
def isa_temperature():
    """Return the largest difference."""
    air = Atmosphere()
    return Result(max(abs(air.temperature_k(h) - t) for h, t, _, _ in TABLE), profile())


@check(
    'ISA pressure', model='atmosphere, 0 to 11 km', reference=f'{ISA}, six digits',
    tolerance=5e-6, unit='relative')
def isa_pressure():
    """Return the largest difference."""
    air = Atmosphere()
    return Result(max(abs(air.pressure_pa(h) / p - 1.0) for h, _, p, _ in TABLE), profile())


@check(
    'ISA density', model='atmosphere, 0 to 11 km', reference=f'{ISA}, six digits',
    tolerance=5e-6, unit='relative')
def isa_density():
    """Return the largest difference."""
    air = Atmosphere()
    return Result(max(abs(air.density_kg_m3(h) / d - 1.0) for h, _, _, d in TABLE), profile())


@check(
    'pressure at 488 m', model='atmosphere at home',
    reference='hydrostatic equation, integrated by scipy.integrate.quad', tolerance=1e-3,
    unit='relative')
def pressure_at_home():
    """Return the difference."""
    def scale(height):
        return 9.80665 / (287.05287 * (288.15 - 0.0065 * height))

    expected = 101325.0 * math.exp(-quad(scale, 0.0, 488.0)[0])
    return Result(abs(world().atmosphere().pressure_pa(488.0) / expected - 1.0))


# Gravity.

@check(
    'normal gravity', model='wgs84, all latitudes, up to 1 km over a home at 500 m',
    reference='closed form in ellipsoidal coordinates, NIMA TR8350.2, equations 4-5 to 4-19',
    tolerance=1e-6, unit='m/s^2')
def gravity_of_the_ellipsoid():
    """Return the largest difference."""
    latitudes, finer = list(range(-90, 91, 15)), list(range(-90, 91, 3))
    return Result(
        max(abs(Gravity.wgs84(latitude, 500.0).at(height) - closed_form(latitude, 500.0 + height))
            for latitude in latitudes for height in (-500.0, 0.0, 500.0)),
        Plot(
            'Normal gravity on the ellipsoid', 'latitude in deg', 'm/s^2', (
                Series('wgs84', finer, [Gravity.wgs84(v, 0.0).at_home for v in finer]),
                Series('closed form', latitudes, [closed_form(v, 0.0) for v in latitudes],
                       'dots'))))


@check(
    'gravity at pole and equator', model='wgs84 on the ellipsoid',
    reference='NIMA TR8350.2, table 3.4: 9.8321849378 and 9.7803253359 m/s^2', tolerance=1e-9,
    unit='m/s^2')
def gravity_at_pole_and_equator():
    """Return the larger difference."""
    return Result(max(
        abs(Gravity.wgs84(90.0, 0.0).at_home - 9.8321849378),
        abs(Gravity.wgs84(0.0, 0.0).at_home - 9.7803253359)))


# The Earth.

def disc_of_positions():
    """Return positions up to 50 km from home and between -200 m and 1000 m."""
    return [
        (radius * math.cos(angle), radius * math.sin(angle), up)
        for radius in (0.0, 1.0, 1e3, 1e4, 5e4) for angle in np.arange(0.3, 6.3, 0.5).tolist()
        for up in (-200.0, 0.0, 1000.0)]


@check(
    'local to WGS-84 and back', model='local frame at home, 50 km around',
    reference='the position itself', tolerance=1e-6, unit='m')
def local_round_trip():
    """Return the largest distance."""
    frame = world().local_frame()
    return Result(max(
        math.dist(frame.to_local(frame.to_geodetic(p)), p) for p in disc_of_positions()))


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


@check(
    'local frame', model='local frame at home, 50 km around',
    reference='ellipsoid of NIMA TR8350.2, equation 4-14, turned into east, north and up',
    tolerance=1e-6, unit='m')
def local_frame():
    """Return the largest distance."""
    frame = world().local_frame()
    home = frame.origin
    axes = east_north_up(home)
    return Result(max(
        math.dist(axes @ (earth_fixed(frame.to_geodetic(p)) - earth_fixed(home)), p)
        for p in disc_of_positions()))


# The magnetic field.

def _percent(field_t, reference_nt):
    """Return the length of the difference in percent of the field."""
    field = 1e9 * np.array(field_t)
    return 100.0 * np.linalg.norm(field - reference_nt) / np.linalg.norm(reference_nt)


def _published(rows):
    return Result(max(
        _percent(field_enu_t(GeodeticPosition(lat, lon, 1e3 * height_km), year),
                 (east, north, -down))
        for year, height_km, lat, lon, north, east, down in rows))


@check(
    'magnetic field near the pole', model='World Magnetic Model 2025, 80 to 89 deg',
    reference=WMM, tolerance=1.0, unit='%')
def field_near_the_pole():
    """Return the largest difference."""
    return _published([row for row in WMM2025_TEST_VALUES if abs(row[2]) >= 80.0])


@check(
    'magnetic field on the equator', model='World Magnetic Model 2025',
    reference=WMM, tolerance=1.0, unit='%')
def field_on_the_equator():
    """Return the largest difference."""
    return _published([row for row in WMM2025_TEST_VALUES if row[2] == 0.0])


@check(
    'magnetic field at Zurich', model='World Magnetic Model 2025, home',
    reference="slope of the potential with NOAA's coefficients, summed with scipy.special.lpmv",
    tolerance=1.0, unit='%')
def field_at_zurich():
    """Return the difference; NOAA's test values have no place near."""
    home = world().local_frame().origin
    return Result(_percent(field_enu_t(home, 2026.5), field_by_differences_nt(home, 2026.5)))


@check(
    'magnetic field around home', model='field with constant slopes, 10 km around, 500 m up',
    reference="slope of the potential with NOAA's coefficients, turned to home's axes",
    tolerance=1.0, unit='%')
def field_around_home():
    """Return the largest difference."""
    frame = world().local_frame()
    field = MagneticField(frame, 2026.5)
    return Result(max(
        _percent(field.at(position), _turned(frame, position))
        for position in ((10e3, 0.0, 0.0), (0.0, -10e3, 0.0), (7e3, 7e3, 500.0))))


def _turned(frame, position):
    """Return the field at a local position on the axes of the local frame, nT."""
    place = frame.to_geodetic(position)
    field = np.array(field_by_differences_nt(place, 2026.5))
    return east_north_up(frame.origin) @ east_north_up(place).T @ field
