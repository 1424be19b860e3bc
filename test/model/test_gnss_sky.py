# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""GNSS under the sky that is left: where satellites are, what hides them, and what follows."""
import dataclasses
import math

import numpy as np
import pyproj
import pytest
from pymavlink.dialects.v20 import common as mavlink
from transforms3d.axangles import axangle2mat

from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.model.environment.geodesy import GeodeticPosition, geocentric_m
from px4_sim_ros.model.environment.satellites import (
    SIDEREAL_DAY_S,
    SYSTEMS,
    dilution,
    directions_enu,
)
from px4_sim_ros.model.faults.action import ActionContext
from px4_sim_ros.model.faults.sensors import GnssDenied
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.model.sensors.gnss import FixType, Gnss
from px4_sim_ros.model.sensors.sky import Sky

ZURICH = GeodeticPosition(47.397742, 8.545594, 535.3)
PLACES = [ZURICH, GeodeticPosition(0.0, -160.0, 0.0), GeodeticPosition(-78.0, 30.0, 3000.0)]
DAY_S, PERIOD_US = 86400, 100_000
MASK_DEG, HEIGHT_M = 5.0, 1.0
GM_M3_S2, RATE_RAD_S = 3.986004418e14, 7292115e-11
TO_EARTH_FIXED = pyproj.Transformer.from_crs(4979, 4978)

X, Y, Z = np.eye(3)


def seen(place, time_s, systems=tuple(SYSTEMS), mask_deg=MASK_DEG):
    """Return the directions of all satellites above a mask, (n, 3)."""
    found = np.array([its for system in systems for its in directions_enu(system, place, time_s)])
    return found[found[:, 2] >= math.sin(math.radians(mask_deg))]


# Where they are.

@pytest.mark.parametrize('place', PLACES)
def test_a_place_on_the_earth(place):
    x, y, z = TO_EARTH_FIXED.transform(*dataclasses.astuple(place))
    assert geocentric_m(place) == pytest.approx((math.hypot(x, y), z), abs=1e-6)


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('system', SYSTEMS)
@pytest.mark.parametrize('time_s', [0.0, 12345.6, 3e8])
def test_directions_are_those_of_rotated_orbits(system, place, time_s):
    """By matrices: the orbit is turned by argument, inclination and node, and the Earth below."""
    its = SYSTEMS[system]
    latitude, longitude = math.radians(place.latitude_deg), math.radians(place.longitude_deg)
    axes = np.array([[-math.sin(longitude), math.cos(longitude), 0.0],
                     np.cross((math.cos(latitude) * math.cos(longitude),
                               math.cos(latitude) * math.sin(longitude), math.sin(latitude)),
                              (-math.sin(longitude), math.cos(longitude), 0.0)), [0, 0, 0]])
    axes[2] = np.cross(axes[0], axes[1])
    own = np.array(TO_EARTH_FIXED.transform(*dataclasses.astuple(place)))
    turned = axangle2mat(Z, -(math.radians(its.epoch_greenwich_deg) + RATE_RAD_S * time_s))
    found = iter(directions_enu(system, place, time_s))
    for node_deg, arguments_deg in its.planes:
        for argument_deg in arguments_deg:
            u = math.radians(argument_deg) + its.rounds * RATE_RAD_S * time_s
            orbit = axangle2mat(Z, math.radians(node_deg)) @ axangle2mat(
                X, math.radians(its.inclination_deg)) @ axangle2mat(Z, u)
            ray = turned @ orbit @ (its.radius_m * X) - own
            assert next(found) == pytest.approx(axes @ ray / np.linalg.norm(ray), abs=1e-7)
    assert next(found, None) is None


@pytest.mark.parametrize('system', SYSTEMS)
def test_periods_are_those_of_the_radii(system):
    """Kepler's third law, within what the flattening of the Earth does to it."""
    its = SYSTEMS[system]
    assert math.sqrt(GM_M3_S2 / its.radius_m ** 3) == pytest.approx(
        its.rounds * RATE_RAD_S, rel=2e-4)


@pytest.mark.parametrize(('system', 'days'), [('gps', 1), ('galileo', 10)])
def test_they_come_back(system, days):
    """After one sidereal day, and after ten; not before."""
    first = np.array(directions_enu(system, ZURICH, 100.0))
    again = np.array(directions_enu(system, ZURICH, 100.0 + days * SIDEREAL_DAY_S))
    assert again == pytest.approx(first, abs=1e-9)
    before = np.array(directions_enu(system, ZURICH, 100.0 + (days - 0.5) * SIDEREAL_DAY_S))
    assert np.abs(before - first).max() > 0.1
    assert abs(SIDEREAL_DAY_S - 86164.1) < 0.01


@pytest.mark.parametrize('place', PLACES)
def test_a_day_of_gps(place):
    """Six satellites or more 5 degrees above the horizon, and a PDOP of 6: GPS SPS PS, 3.2.

    Its design: the PDOP of the best four of 24 satellites is at most 6 nearly always.
    """
    counts, pdops = zip(*((len(above), dilution(above.tolist()).position) for above in (
        seen(place, t, ('gps',)) for t in range(0, DAY_S, 300))))
    assert 5 <= min(counts) < max(counts) <= 12
    assert 7.0 < np.mean(counts) < 10.0
    assert np.mean(np.array(pdops) < 6.0) > 0.99


# What their geometry is worth.

def reference(directions):
    """Return HDOP and VDOP by the inverse of the normal matrix."""
    g = np.column_stack([directions, np.ones(len(directions))])
    q = np.diag(np.linalg.inv(g.T @ g))
    return math.sqrt(q[0] + q[1]), math.sqrt(q[2])


def test_dilution_of_a_pyramid():
    """One above, three on the horizon 120 degrees apart: HDOP^2 = 4/3, VDOP^2 = 4/3."""
    found = dilution([(0.0, 0.0, 1.0)] + [
        (math.cos(a), math.sin(a), 0.0) for a in (0.0, math.tau / 3, 2 * math.tau / 3)])
    assert found == pytest.approx((math.sqrt(4 / 3), math.sqrt(4 / 3)), rel=1e-12)
    assert found.position == pytest.approx(math.sqrt(8 / 3), rel=1e-12)


@pytest.mark.parametrize('time_s', range(0, DAY_S, 7200))
def test_dilution_is_in_the_inverse_of_the_normal_matrix(time_s):
    above = seen(ZURICH, time_s)
    for directions in above, above[:5]:
        assert dilution(directions.tolist()) == pytest.approx(reference(directions), rel=1e-9)


@pytest.mark.parametrize('directions', [
    [], [(0.0, 0.0, 1.0)] * 3, [(math.cos(a), math.sin(a), 0.5) for a in range(6)]])
def test_there_is_no_position(directions):
    """Too few, or all on a cone: the height and the clock are one unknown."""
    assert dilution(directions) == (math.inf, math.inf)


# What hides them.

def in_sky(world):
    return dataclasses.replace(world, gnss_sky=True)


def open_sky(world, **changes):
    """Return a sky with no wait until a satellite is used again."""
    return Sky(in_sky(world), **{
        'systems': ('gps', 'galileo'), 'start_s': 0.0, 'mask_deg': MASK_DEG, 'wait_s': 0.0,
        'largest_pdop': 25.0, **changes})


def wall(east_m, height_m, width_m=1e4):
    """Return a scene with a wall to the east, whose face is so far away."""
    return Scene.from_mapping('scene', 'wall', {'objects': [
        {'shape': 'box', 'name': 'wall', 'size_m': [2.0, width_m, 2.0 * height_m],
         'place_m': [east_m + 1.0, 0.0, 0.0]}]})


@pytest.mark.parametrize('start_s', [0.0, 20_000.0, 50_000.0])
def test_a_wall_hides_those_below_its_edge(world, start_s):
    """In azimuth a it hides elevations below atan(height sin(a) / distance), and no others."""
    sky = open_sky(world, start_s=start_s)
    above = seen(ZURICH, start_s)
    sky.see(wall(10.0, 30.0))
    found = sky.reception(0, (0.0, 0.0, HEIGHT_M))
    elevation, azimuth = np.arcsin(above[:, 2]), np.arctan2(above[:, 0], above[:, 1])
    edge = np.arctan(np.maximum(0.0, np.sin(azimuth)) * (30.0 - HEIGHT_M) / 10.0)
    left = above[elevation > edge]
    assert 0 < len(left) < len(above)
    assert found.satellites == len(left)
    hdop, vdop = reference(left)
    assert found.dilution == pytest.approx((hdop, vdop), rel=1e-6)     # it is 1 m higher
    best = reference(above)
    assert found.growth == pytest.approx((hdop / best[0], vdop / best[1]), rel=1e-6)


def test_far_from_home_the_axes_are_those_of_the_map(world):
    """Where true north is 5 degrees off them: a wall that runs from south to north on the map."""
    north = dataclasses.replace(world, home_latitude_deg=80.0)
    place_enu, frame = (95_000.0, 0.0, HEIGHT_M), north.local_frame()
    place, counts, as_if_not_turned = frame.to_geodetic(place_enu), [], []
    wide = Scene.from_mapping('scene', 'wall', {'objects': [
        {'shape': 'box', 'name': 'wall', 'size_m': [2, 1e4, 60], 'place_m': [95_011, 0, 0]}]})
    for start_s in range(0, DAY_S, 3600):
        sky = open_sky(north, start_s=float(start_s))
        sky.see(wide)
        above = seen(place, start_s)
        turned = np.array([frame.turned_from_place(place, its) for its in above.tolist()])
        for found, directions in (counts, turned), (as_if_not_turned, above):
            found.append(int((directions[:, 2] > 2.9 * np.maximum(0.0, directions[:, 0])).sum()))
        assert sky.reception(0, place_enu).satellites == counts[-1]
    assert counts != as_if_not_turned


@pytest.mark.parametrize('mask_deg', [0.0, 5.0, 15.0, 40.0])
def test_a_mask(world, mask_deg):
    found = open_sky(world, mask_deg=mask_deg).reception(0, (0.0, 0.0, HEIGHT_M))
    assert found.satellites == len(seen(ZURICH, 0.0, mask_deg=mask_deg))
    assert found.growth == (1.0, 1.0), 'nothing is hidden'


def test_a_slope_hides_what_is_behind_it(world):
    steep = dataclasses.replace(world, ground_slope_deg=40.0, ground_uphill_deg=90.0)
    above = seen(ZURICH, 0.0)
    left = above[above[:, 2] > above[:, 0] * math.tan(math.radians(40.0))]
    assert open_sky(steep).reception(0, (0.0, 0.0, HEIGHT_M)).satellites == len(left) < len(above)


def test_one_that_was_hidden_is_used_after_a_while(world):
    """Behind a wall, then above it: they are back after more than a second of sight."""
    sky = open_sky(world, wait_s=1.0)
    sky.see(wall(10.0, 30.0))
    hidden = sky.reception(0, (0.0, 0.0, HEIGHT_M)).satellites
    counts = [sky.reception(k * PERIOD_US, (0.0, 0.0, 100.0)).satellites for k in range(1, 12)]
    assert counts == [hidden] * 10 + [len(seen(ZURICH, 1.1))]


def test_a_roof_leaves_no_fix(world):
    sky = open_sky(world)
    sky.see(Scene.from_mapping('scene', 'roof', {'objects': [
        {'shape': 'box', 'name': 'roof', 'size_m': [1000, 1000, 1], 'place_m': [0, 0, 5]}]}))
    found = sky.reception(0, (0.0, 0.0, HEIGHT_M))
    assert (found.satellites, found.has_fix) == (0, False)
    assert found.dilution == (99.99, 99.99)


def test_a_roof_that_moves_hides_them_while_it_is_there(world):
    """It comes from 100 m to the west and goes on; at 5 s its middle is overhead."""
    sky = open_sky(world)
    sky.see(Scene.from_mapping('scene', 'roof', {
        'paths': {'way': {'points': [{'time_s': 0, 'place_m': [-100, 0, 0]},
                                     {'time_s': 10, 'place_m': [100, 0, 0]}]}},
        'objects': [{'shape': 'box', 'name': 'roof', 'path': 'way', 'size_m': [60, 60, 1],
                     'place_m': [0, 0, 4]}]}))
    found = [sky.reception(round(t * 1e6), (0.0, 0.0, HEIGHT_M)) for t in (0.1, 5.0, 9.9)]
    assert [its.has_fix for its in found] == [True, False, True]
    assert found[1].satellites < 4 < min(found[0].satellites, found[2].satellites)


def test_a_bad_geometry_is_no_fix(world):
    """The PDOP of the open sky is 1.2 then."""
    assert open_sky(world, largest_pdop=2.0).reception(0, (0.0, 0.0, HEIGHT_M)).has_fix
    assert not open_sky(world, largest_pdop=1.1).reception(0, (0.0, 0.0, HEIGHT_M)).has_fix


# The receiver.

def receiver(configuration, world, **changes):
    return Gnss('gps', dataclasses.replace(configuration.nodes['gps'], **changes), world)


def fixes(gnss, still_truth, count=200, **changes):
    return [gnss.measure(still_truth._replace(time_us=(k + 1) * PERIOD_US, **changes))
            for k in range(count)]


def test_in_the_open_its_measurements_are_those_without_it(configuration, world, still_truth):
    """Bit by bit, also in a scene in which nothing is in the way."""
    without = fixes(receiver(configuration, world), still_truth)
    gnss = receiver(configuration, in_sky(world))
    gnss.see(wall(1000.0, 30.0))
    for plain, found in zip(without, fixes(gnss, still_truth)):
        assert found.satellites == len(seen(ZURICH, found.time_us / 1e6))
        assert found._replace(satellites=-1, hdop=0.0, vdop=0.0) == plain


def test_errors_grow_with_the_dilution(configuration, world, still_truth):
    """So do velocities and what it reports; the place of the truth is the same."""
    place = (0.0, 0.0, HEIGHT_M)
    gnss = receiver(configuration, in_sky(world))
    gnss.see(wall(10.0, 30.0))
    plain = fixes(receiver(configuration, world), still_truth, position_enu=place)
    frame = world.local_frame()
    sky = open_sky(world)
    sky.see(wall(10.0, 30.0))
    for one, other in zip(plain, fixes(gnss, still_truth, position_enu=place)):
        wider, higher = sky.reception(other.time_us - 10_000, place).growth
        assert wider > 1.2 and higher > 1.2
        growth = np.array((wider, wider, higher))
        error, grown = (np.array(frame.to_local(its.position)) - place for its in (one, other))
        assert grown == pytest.approx(growth * error, abs=1e-6)
        assert other.velocity_enu == pytest.approx(growth * one.velocity_enu, abs=1e-6)
        assert other.horizontal_accuracy_m == one.horizontal_accuracy_m * wider
        assert other.vertical_accuracy_m == one.vertical_accuracy_m * higher


def test_without_a_fix_it_holds_the_last_one(configuration, world, still_truth):
    """The truth goes under a bridge; what is reported of satellites follows."""
    gnss = receiver(configuration, in_sky(world))
    gnss.see(Scene.from_mapping('scene', 'bridge', {'objects': [
        {'shape': 'box', 'name': 'bridge', 'size_m': [40, 4000, 1], 'place_m': [120, 0, 6]}]}))
    first = fixes(gnss, still_truth, 3)[-1]
    for time_us in 400_000, 500_000:       # the delay is less than a period
        below = gnss.measure(still_truth._replace(
            time_us=time_us, position_enu=(120.0, 0.0, 4.0)))
    assert (first.fix_type, below.fix_type) == (FixType.FIX, FixType.NONE)
    assert below.satellites < 4 and below.time_us == 500_000
    assert (below.position, below.velocity_enu) == (first.position, first.velocity_enu)


def test_a_receiver_that_is_jammed_away_has_no_satellites(configuration, world, still_truth, iris):
    fix = receiver(configuration, in_sky(world)).measure(still_truth)
    denied = GnssDenied('gps').begin(ActionContext(
        'gone', 200_000, 'gps', in_sky(world), iris, fix, fix))(200_000, fix)
    assert (denied.fix_type, denied.satellites, denied.hdop) == (FixType.NONE, 0, 99.99)
    assert denied.position == fix.position


@pytest.mark.parametrize(('fix_type', 'satellites', 'sent'), [
    (FixType.FIX, -1, 10), (FixType.NONE, -1, 0), (FixType.FIX, 14, 14), (FixType.NONE, 3, 3)])
def test_hil_gps_has_their_number(
    configuration, world, still_truth, fix_type, satellites, sent,
):
    """Those of the parameter, unless the sky is modelled; without a fix those that are used."""
    fix = receiver(configuration, world).measure(still_truth)._replace(
        fix_type=fix_type, satellites=satellites)
    message, = mavlink.MAVLink(None).parse_buffer(HilEncoder().gps(fix, 47.3, 10))
    assert message.satellites_visible == sent
    assert message.fix_type == (3 if fix_type == FixType.FIX else 0)
