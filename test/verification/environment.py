# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Air, gravity, the shape of the Earth and its magnetic field."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.integrate import quad

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.environment.magnetic_field import MagneticField, field_enu_t
from px4_sim_ros.model.sensors.barometer import Barometer
from px4_sim_ros.model.sensors.gnss import Gnss
from verification.checks import check
from verification.earth import (
    WMM2025_TEST_VALUES,
    closed_form,
    earth_fixed,
    field_by_differences_nt,
    geodesic,
)
from verification.plants import STILL_TRUTH, configuration, world

# By geopotential height: m, K, Pa, kg/m^3.
TABLE = [
    (0.0, 288.150, 101325.0, 1.22500),
    (500.0, 284.900, 95460.8, 1.16727),
    (1000.0, 281.650, 89874.6, 1.11164),
    (2000.0, 275.150, 79495.2, 1.00649),
    (5000.0, 255.650, 54019.9, 0.736116),
    (8000.0, 236.150, 35599.8, 0.525168),
    (11000.0, 216.650, 22632.1, 0.363918),
]

ISA = 'ISO 2533 / US Standard Atmosphere 1976, table by geopotential height'
ELLIPSOIDAL = 'closed form in ellipsoidal coordinates, NIMA TR8350.2, equations 4-5 to 4-19'
WMM = 'NOAA/BGS, WMM2025 test values'
POTENTIAL = "slope of the potential with NOAA's coefficients, summed with scipy.special.lpmv"


# Air.

@check('ISA temperature', model='atmosphere, 0 to 11 km', reference=ISA, tolerance=1e-9, unit='K')
def isa_temperature():
    """Return the largest difference."""
    air = Atmosphere()
    return np.max([abs(air.temperature_k(h) - t) for h, t, _, _ in TABLE])


@check(
    'ISA pressure', model='atmosphere, 0 to 11 km', reference=f'{ISA}, six digits',
    tolerance=5e-6, unit='relative')
def isa_pressure():
    """Return the largest difference."""
    air = Atmosphere()
    return np.max([abs(air.pressure_pa(h) / p - 1.0) for h, _, p, _ in TABLE])


@check(
    'ISA density', model='atmosphere, 0 to 11 km', reference=f'{ISA}, six digits',
    tolerance=5e-6, unit='relative')
def isa_density():
    """Return the largest difference."""
    air = Atmosphere()
    return np.max([abs(air.density_kg_m3(h) / d - 1.0) for h, _, _, d in TABLE])


@check(
    'pressure at 488 m', model='atmosphere at home',
    reference='hydrostatic equation, integrated by scipy.integrate.quad', tolerance=1e-12,
    unit='relative')
def pressure_at_home():
    """Return the difference."""
    def scale(height):
        return 9.80665 / (287.05287 * (288.15 - 0.0065 * height))

    expected = 101325.0 * math.exp(-quad(scale, 0.0, 488.0)[0])
    return abs(world().atmosphere().pressure_pa(488.0) / expected - 1.0)


# Gravity.

@check(
    'normal gravity', model='wgs84, all latitudes, up to 1 km over a home at 500 m',
    reference=ELLIPSOIDAL, tolerance=1.1e-7, unit='m/s^2')
def gravity_of_the_ellipsoid():
    """Return the largest difference."""
    return np.max([
        abs(Gravity.wgs84(latitude, 500.0).at(height) - closed_form(latitude, 500.0 + height))
        for latitude in range(-90, 91, 15) for height in (-500.0, 0.0, 500.0)])


@check(
    'normal gravity on the ellipsoid', model='wgs84, all latitudes', reference=ELLIPSOIDAL,
    tolerance=1e-9, unit='m/s^2')
def gravity_on_the_ellipsoid():
    """Return the largest difference."""
    return np.max([
        abs(Gravity.wgs84(latitude, 0.0).at_home - closed_form(latitude, 0.0))
        for latitude in range(-90, 91, 15)])


@check(
    'gravity at pole and equator', model='wgs84 on the ellipsoid, and at 45 deg',
    reference='NIMA TR8350.2, table 3.4: 9.8321849378 and 9.7803253359 m/s^2; 9.8061977694 m/s^2',
    tolerance=2e-10, unit='m/s^2')
def gravity_at_pole_and_equator():
    """Return the largest difference."""
    return np.max([
        abs(Gravity.wgs84(latitude, 0.0).at_home - expected) for latitude, expected in (
            (90.0, 9.8321849378), (-90.0, 9.8321849378), (0.0, 9.7803253359),
            (45.0, 9.8061977694))])


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
    return np.max([
        math.dist(frame.to_local(frame.to_geodetic(p)), p) for p in disc_of_positions()])


@check(
    'local frame', model='map around home, 10 and 50 km away, by eight directions',
    reference='shortest way on the ellipsoid of NIMA TR8350.2, integrated by SciPy, 535 m up',
    tolerance=1e-8, unit='of the way')
def local_frame():
    """Return the largest distance between both ends of a way, over its length."""
    frame, worst = world().local_frame(), 0.0
    for distance in (1e4, 5e4):
        for azimuth in np.linspace(0.1, 6.2, 8).tolist():
            got = frame.to_geodetic(
                (distance * math.sin(azimuth), distance * math.cos(azimuth), 0.0))
            latitude, longitude, _ = geodesic(frame.origin, azimuth, distance)
            expected = dataclasses.replace(
                got, latitude_deg=latitude, longitude_deg=longitude)
            worst = np.maximum(
                worst, math.dist(earth_fixed(got), earth_fixed(expected)) / distance)
    return worst


@check(
    'barometer against GNSS', model='both without noise, 1 to 50 km from home, at one height',
    reference='the same height over the sea; a plane that touches the Earth is off by d^2 / 2R',
    tolerance=1e-6, unit='m')
def barometer_against_gnss():
    """Return the largest difference of their altitudes."""
    nodes = configuration().nodes
    gnss = Gnss('gps', dataclasses.replace(
        nodes['gps'], horizontal_error_m=0.0, vertical_error_m=0.0, delay_s=0.0), world())
    barometer = Barometer(
        'barometer', dataclasses.replace(nodes['barometer'], noise_pa=0.0), world())
    worst = 0.0
    for time_us, distance in enumerate((1e3, 3e3, 1e4, 5e4)):
        truth = STILL_TRUTH._replace(
            time_us=time_us, position_enu=(0.6 * distance, 0.8 * distance, 50.0))
        pressure = barometer.measure(truth).pressure_pa
        worst = np.maximum(worst, abs(
            gnss.measure(truth).position.ellipsoid_altitude_m - world().geoid_height_m
            - world().atmosphere().pressure_altitude_m(pressure)))
    return worst


# The magnetic field.

def _published(rows):
    """Return the largest difference of a component from published values."""
    return np.max([
        _off_nt(field_enu_t(GeodeticPosition(lat, lon, 1e3 * height_km), year),
                (east, north, -down))
        for year, height_km, lat, lon, north, east, down in rows])


def _from_the_potential(*position):
    """Return the largest difference of a component from the slope of the potential."""
    place = GeodeticPosition(*position)
    return _off_nt(field_enu_t(place, 2026.5), field_by_differences_nt(place, 2026.5))


def _off_nt(field_t, reference_nt):
    return np.abs(1e9 * np.array(field_t) - reference_nt).max()


@check(
    'magnetic field near the pole', model='World Magnetic Model 2025, 80 to 89.9 deg',
    reference=f'{WMM}; {POTENTIAL}', tolerance=0.1, unit='nT')
def field_near_the_pole():
    """Return the largest difference of a component."""
    rows = [row for row in WMM2025_TEST_VALUES if abs(row[2]) >= 80.0]
    return np.maximum(_published(rows), _from_the_potential(89.9, 30.0, 0.0))


@check(
    'magnetic field on the equator', model='World Magnetic Model 2025',
    reference=f'{WMM}; {POTENTIAL}', tolerance=0.1, unit='nT')
def field_on_the_equator():
    """Return the largest difference of a component."""
    rows = [row for row in WMM2025_TEST_VALUES if row[2] == 0.0]
    return np.maximum(_published(rows), _from_the_potential(0.0, 0.0, 0.0))


@check(
    'magnetic field at Zurich', model='World Magnetic Model 2025, home', reference=POTENTIAL,
    tolerance=0.1, unit='nT')
def field_at_zurich():
    """Return the largest difference of a component; NOAA's test values have no place near."""
    home = world().local_frame().origin
    return _from_the_potential(*dataclasses.astuple(home))


HOMES = ((47.397742, 8.545594), (0.0, 179.99), (80.0, -100.0), (-65.0, 140.0), (90.0, 0.0))


@check(
    'magnetic field around home', reference=f"{POTENTIAL}, turned to home's axes", tolerance=1.0,
    unit='nT', model='field with constant slopes, 10 km around five homes, 500 m up')
def field_around_home():
    """Return the largest distance."""
    worst = 0.0
    for latitude, longitude in HOMES:
        frame = LocalFrame(GeodeticPosition(latitude, longitude, 500.0))
        field = MagneticField(frame, 2026.5)
        for position in ((0.0, 0.0, 0.0), *_around()):
            worst = np.maximum(worst, math.dist(
                1e9 * np.array(field.at(position)), _turned(frame, position)))
    return worst


def _around():
    return [
        (1e4 * math.cos(angle), 1e4 * math.sin(angle), height)
        for angle in np.linspace(0.0, math.tau, 8, endpoint=False).tolist()
        for height in (0.0, 500.0)]


def _turned(frame, position):
    """Return the field at a local position on the axes of the map, nT.

    It turns with the course of the shortest way from home, which is straight on the map.
    """
    place = frame.to_geodetic(position)
    east, north, up = field_by_differences_nt(place, 2026.5)
    course, distance = math.atan2(position[0], position[1]), math.hypot(*position[:2])
    if frame.origin.latitude_deg == 90.0:
        there = math.pi if distance else 0.0       # all ways lead south
    else:
        there = geodesic(frame.origin, course, distance)[2]
    cosine, sine = math.cos(there - course), math.sin(there - course)
    return cosine * east - sine * north, sine * east + cosine * north, up
