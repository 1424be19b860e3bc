# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Distances between vehicles against closed forms."""
import math

import pytest

from px4_sim_ros.model.encounters import Encounters, reach_m
from px4_sim_ros.spec.vehicles_and_missions import load_vehicle

STEP_US = 4000


def fly_past(encounters, miss_m, speed_m_s=5.0, seconds=4.0):
    """Let one fly past another that stands, nearest in the middle; return who came near whom."""
    found = []
    for step in range(1, round(seconds * 1e6) // STEP_US + 1):
        along_m = speed_m_s * (step * STEP_US * 1e-6 - 0.5 * seconds)
        found += encounters.step(step * STEP_US, [(0.0, 0.0, 5.0), (along_m, 0.0, 5.0 + miss_m)])
    return found


@pytest.mark.parametrize('miss_m', [0.3, 2.0, 7.0])
def test_the_least_distance_of_a_fly_past(miss_m):
    encounters = Encounters({'one': 0.1, 'other': 0.1}, 0.5)
    fly_past(encounters, miss_m)
    nearest, = encounters.nearest()
    assert nearest == ('one', 'other', pytest.approx(miss_m, abs=1e-12), 2_000_000)


def test_when_they_nearly_meet_and_collide():
    encounters = Encounters({'one': 0.4, 'other': 0.6}, 2.0)
    near, collision = fly_past(encounters, 0.8)
    # Along the way sqrt(d^2 - 0.8^2) before the middle, at 5 m/s; at the step after that.
    for encounter, distance_m in ((near, 3.0), (collision, 1.0)):
        at_s = 2.0 - math.sqrt(distance_m ** 2 - 0.8 ** 2) / 5.0
        assert 0 < encounter.time_us - at_s * 1e6 <= STEP_US
        assert distance_m - 5.0 * STEP_US * 1e-6 <= encounter.distance_m < distance_m
    assert (near.is_collision, collision.is_collision) == (False, True)
    assert (encounters.near_misses, encounters.collisions) == (1, 1)
    assert near.text.startswith('one and other nearly meet, 2.9')


def test_who_parts_and_comes_again_is_counted_again():
    encounters = Encounters({'one': 0.1, 'other': 0.1}, 1.0)
    for _ in range(3):
        fly_past(encounters, 0.5)
    assert (encounters.near_misses, encounters.collisions) == (3, 0)


def test_all_pairs_are_looked_at():
    places = {f'v{i}': (3.0 * i, 0.25 * i * i, 0.0) for i in range(5)}
    encounters = Encounters(dict.fromkeys(places, 0.1), 1.0)
    encounters.step(STEP_US, list(places.values()))
    found = {(pair.one, pair.other): pair.distance_m for pair in encounters.nearest()}
    assert found == {
        (one, other): pytest.approx(math.dist(places[one], places[other]))
        for one in places for other in places if one < other}
    assert list(found.values()) == sorted(found.values())


def test_one_vehicle_meets_nobody():
    encounters = Encounters({'one': 0.4}, 2.0)
    assert encounters.step(STEP_US, [(0.0, 0.0, 0.0)]) == []
    assert encounters.nearest() == []


def test_a_sphere_holds_the_rotors():
    iris = load_vehicle('iris')
    rotor = max(iris.rotors, key=lambda r: math.hypot(*r.position_m))
    disc_m = 0.5 * iris.model_of(rotor).propeller_diameter_m
    assert reach_m(iris) == pytest.approx(math.hypot(*rotor.position_m) + disc_m)


def test_one_that_is_not_there_is_far_from_all():
    encounters = Encounters({'one': 0.4, 'other': 0.6}, 2.0)
    assert encounters.step(STEP_US, [(0.0, 0.0, 0.0), None]) == []
    assert encounters.nearest() == []
    found, = encounters.step(2 * STEP_US, [(0.0, 0.0, 0.0), (2.5, 0.0, 0.0)])
    assert not found.is_collision
    # It has left, and comes back as near: they meet again.
    assert encounters.step(3 * STEP_US, [(0.0, 0.0, 0.0), None]) == []
    assert len(encounters.step(4 * STEP_US, [(0.0, 0.0, 0.0), (2.5, 0.0, 0.0)])) == 1
    assert (encounters.near_misses, encounters.collisions) == (2, 0)
