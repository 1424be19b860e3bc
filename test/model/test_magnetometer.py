# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The magnetometer: the Earth's field in body axes, and what the vehicle does to it."""
from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.euler import euler2mat
from transforms3d.quaternions import mat2quat

from px4_sim_ros.model.environment.magnetic_field import field_enu_t
from px4_sim_ros.model.sensors.magnetometer import Magnetometer
from px4_sim_ros.model.truth import SensorInputs

BODY_TO_WORLD = axangle2mat((2, -1, 3), 1.1)


@pytest.fixture(scope='module')
def build(configuration, world):
    """Return a function that builds a magnetometer with only the given errors."""
    quiet = dataclasses.replace(
        configuration.nodes['magnetometer'], noise_density=0.0, random_walk=0.0)

    def built(**changes):
        return Magnetometer('magnetometer', dataclasses.replace(quiet, **changes), world)
    return built


@pytest.fixture(scope='module')
def tilted(still_truth):
    """Return the truth of a vehicle at home with a skew attitude."""
    return still_truth._replace(attitude=tuple(mat2quat(BODY_TO_WORLD).tolist()))


@pytest.fixture(scope='module')
def earth_flu_t(world):
    """Return the Earth's field that the tilted vehicle is in, in its own axes."""
    field = field_enu_t(world.local_frame().origin, world.magnetic_field_year)
    return BODY_TO_WORLD.T @ field


def test_it_turns_the_field_into_the_body(build, still_truth):
    """Facing north the body sees (north, -east, up); its length is that at home."""
    quiet = build()
    east, north, up = quiet.measure(still_truth).field_flu_t
    facing_north = still_truth._replace(attitude=(math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
    assert quiet.measure(facing_north).field_flu_t == pytest.approx((north, -east, up), abs=1e-15)
    # The World Magnetic Model near Zurich: 48.3 uT, dip 63.5 deg, declination 3.5 deg east.
    assert math.hypot(east, north, up) == pytest.approx(48.3e-6, rel=0.01)
    assert math.degrees(math.atan2(-up, math.hypot(east, north))) == pytest.approx(63.5, abs=0.5)
    assert math.degrees(math.atan2(east, north)) == pytest.approx(3.5, abs=0.5)


def test_the_field_is_that_at_the_vehicle(build, world, still_truth):
    """10 km north it is stronger by 10 km times its gradient, about 3 nT/km."""
    quiet = build()
    home, north = (
        np.linalg.norm(quiet.measure(still_truth._replace(position_enu=p)).field_flu_t)
        for p in ((0.0, 0.0, 0.0), (0.0, 10_000.0, 0.0)))
    origin = world.local_frame().origin
    there = field_enu_t(
        dataclasses.replace(origin, latitude_deg=origin.latitude_deg + 10.0 / 111.18),
        world.magnetic_field_year)
    assert north - home == pytest.approx(
        np.linalg.norm(there) - home, abs=3e-9)
    assert north - home == pytest.approx(30e-9, abs=15e-9)


def test_hard_iron_is_added_in_body_axes(build, tilted, earth_flu_t):
    """Whatever the attitude."""
    iron = (1e-6, -2e-6, 3e-6)
    measured = build(hard_iron=iron).measure(tilted)
    assert measured.field_flu_t == pytest.approx(earth_flu_t + iron, abs=1e-13)


def test_soft_iron_bends_the_field(build, tilted, earth_flu_t):
    """(1 + S) B with the symmetric matrix of six distinct numbers, then the hard iron."""
    xx, yy, zz, xy, xz, yz = soft = (0.01, 0.02, -0.03, 0.04, 0.05, -0.06)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + np.eye(3)
    measured = build(soft_iron=soft, hard_iron=(1e-6, 0.0, 0.0)).measure(tilted)
    assert measured.field_flu_t == pytest.approx(
        matrix @ earth_flu_t + (1e-6, 0.0, 0.0), abs=1e-13)


def test_current_interferes(build, tilted, earth_flu_t):
    """In proportion to the current of the battery."""
    per_ampere = (1e-7, -2e-7, 3e-7)
    magnetometer = build(field_per_current=per_ampere)
    for current in (0.0, 20.0, -5.0):
        measured = magnetometer.measure(tilted, SensorInputs(current_a=current))
        assert measured.field_flu_t == pytest.approx(
            earth_flu_t + current * np.array(per_ampere), abs=1e-13)


def test_mounting(build, tilted):
    """Field, irons and current are those of the body, seen from the sensor's axes."""
    errors = {
        'hard_iron': (1e-6, -2e-6, 3e-6), 'soft_iron': (0.01, 0.02, -0.03, 0.04, 0.05, -0.06),
        'field_per_current': (1e-7, -2e-7, 3e-7)}
    inputs = SensorInputs(current_a=20.0)
    in_body = build(**errors).measure(tilted, inputs).field_flu_t
    mounted = build(**errors, mounting_deg=(20.0, -35.0, 130.0)).measure(tilted, inputs)
    sensor_to_body = euler2mat(*np.radians((20.0, -35.0, 130.0)), 'sxyz')
    assert mounted.field_flu_t == pytest.approx(sensor_to_body.T @ in_body, abs=1e-15)


def test_noise(configuration, world, still_truth):
    """It is density sqrt(50 Hz) = 0.28 uT on each axis, and the variance says so."""
    parameters = dataclasses.replace(configuration.nodes['magnetometer'], random_walk=0.0)
    magnetometer = Magnetometer('magnetometer', parameters, world)
    samples = [magnetometer.measure(still_truth) for _ in range(20_000)]
    spread = np.std([s.field_flu_t for s in samples], axis=0)
    assert spread == pytest.approx(np.full(3, 4e-8 * math.sqrt(50.0)), rel=0.03)
    assert samples[0].variance == pytest.approx(4e-8 ** 2 * 50.0, rel=1e-12)


def test_range_and_resolution(build, tilted, earth_flu_t):
    """Rounded to whole steps; 30 uT is the most."""
    measured = np.array(build(range=3e-5, resolution=1e-7).measure(tilted).field_flu_t)
    assert np.abs(earth_flu_t).max() > 3e-5
    assert measured == pytest.approx(
        np.round(np.clip(earth_flu_t, -3e-5, 3e-5) / 1e-7) * 1e-7, abs=1e-16)
