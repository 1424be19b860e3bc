# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The path flown, the angles of rotors, and the text."""
from __future__ import annotations

import math

import numpy as np
import pytest
from shown import LEVEL

from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.viewing.markers import SLOWED_DOWN, Beam, FlownPath, RotorAngles, Scene


@pytest.fixture
def vehicle():
    """Return the Iris."""
    return load_vehicle('iris')


# Rotors.

def test_rotors_turn_in_their_sense_and_in_proportion(vehicle):
    angles = RotorAngles(vehicle)
    assert angles.at(5.0, (600.0,) * 4) == (0.0,) * 4
    turned = angles.at(5.1, (600.0, 300.0, 600.0, 0.0))
    # Counter-clockwise from above is about +z: the first two of the Iris.
    assert [rotor.turns for rotor in vehicle.rotors] == ['ccw', 'ccw', 'cw', 'cw']
    assert turned == pytest.approx([60.0 / SLOWED_DOWN, 30.0 / SLOWED_DOWN, -60.0 / SLOWED_DOWN, 0])


def test_angles_stay_within_a_turn(vehicle):
    angles, time_s = RotorAngles(vehicle), 0.0
    angles.at(time_s, (900.0,) * 4)
    for _ in range(200):
        time_s += 0.04
        assert all(abs(angle) <= math.pi for angle in angles.at(time_s, (900.0,) * 4))
    assert math.remainder(angles.angles_rad[0] - 900.0 * time_s / SLOWED_DOWN, math.tau) == (
        pytest.approx(0.0, abs=1e-9))


def test_when_time_goes_back_rotors_begin_again(vehicle):
    angles = RotorAngles(vehicle)
    angles.at(1.0, (600.0,) * 4)
    angles.at(1.1, (600.0,) * 4)
    assert angles.at(0.0, (600.0,) * 4) == (0.0,) * 4
    assert angles.at(0.1, (600.0,) * 4)[0] == pytest.approx(60.0 / SLOWED_DOWN)


# The path.

def test_a_path_has_points_a_spacing_apart():
    path = FlownPath()
    assert path.add((0.0, 0.0, 0.0))
    assert not path.add((0.04, 0.0, 0.0))
    assert path.add((0.0, 0.06, 0.0))
    assert path.points == [(0.0, 0.0, 0.0), (0.0, 0.06, 0.0)]
    path.clear()
    assert path.points == []


def test_a_long_path_keeps_its_ends_and_its_shape():
    path = FlownPath(most_points=100)
    circle = [(10.0 * math.cos(a), 10.0 * math.sin(a), 0.01 * a) for a in np.linspace(0, 20, 5000)]
    for point in circle:
        path.add(point)
    assert len(path.points) <= 101
    assert path.points[0] == circle[0]
    gaps_m = [math.dist(a, b) for a, b in zip(path.points, path.points[1:])]
    assert math.dist(path.points[-1], circle[-1]) <= max(gaps_m)
    assert max(gaps_m) < 4.0 * min(gaps_m)
    # What is drawn is where the vehicle was: chords of a circle are a little inside.
    assert all(9.0 < math.hypot(x, y) < 10.001 for x, y, _ in path.points)


# The scene.

def test_speed_is_taken_over_a_tenth_of_a_second():
    scene = Scene()
    for i in range(26):
        scene.move(0.04 * i, (0.08 * i, 0.0, 5.0), LEVEL)
    assert scene.speed_m_s == pytest.approx(2.0)


def test_the_text_tells_altitude_speed_time_link_and_real_time():
    scene = Scene(time_s=12.34, position_enu_m=(3.0, 4.0, 5.06), speed_m_s=2.04, link='LOCKED',
                  state='RUNNING', real_time_factor=1.96)
    assert scene.text() == ('5.1 m up  2.0 m/s\nt = 12.3 s  2.0 x real time\nRUNNING  LOCKED')
    assert 'real' not in Scene().text()


def test_a_run_that_begins_again_is_a_new_scene():
    scene = Scene(link='LOCKED', state='RUNNING', real_time_factor=1.0, beam=Beam('x', 1.0, 2.0))
    scene.move(3.0, (1.0, 2.0, 3.0), LEVEL)
    again = scene.after_reset()
    assert again == Scene(link='LOCKED', state='RUNNING', real_time_factor=1.0)
