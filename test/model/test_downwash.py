# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The air below rotors: who makes it, and where it blows. Its numbers are in test/verification."""
import math

import pytest

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.downwash import (
    Wake,
    WakeSource,
    WakeTarget,
    downwash_at,
    downwash_m_s,
)
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.vehicles_and_missions import load_vehicle

ZERO = 0.0, 0.0, 0.0
UPRIGHT = 1.0, 0.0, 0.0, 0.0
AIR = Environment(Gravity.uniform(9.81), Atmosphere(101_325.0, 288.15), 0.0)
WAKE = Wake((0.0, 0.0, 10.0), (0.0, 0.0, -1.0), 5.0, 0.5)


def at(position_enu, attitude=UPRIGHT):
    return Truth(0, position_enu, attitude, ZERO, ZERO, ZERO, ZERO, (), ())


def test_half_of_it_is_felt_at_the_half_width():
    below_m = 3.0
    half_width_m = 0.07668 * (below_m + 5.817 * WAKE.motor_distance_m)
    assert downwash_m_s(WAKE, below_m, half_width_m) == pytest.approx(
        0.25 * downwash_m_s(WAKE, below_m, 0.0) * (2.0 / math.sqrt(2.0)) ** 2)


@pytest.mark.parametrize('height_m', [10.0, 10.1, 12.0])
def test_nothing_blows_above_the_rotors(height_m):
    assert downwash_at([WAKE], (0.0, 0.0, height_m)) == ZERO


def test_several_wakes_add_up_in_their_own_directions():
    aside = Wake((5.0, 0.0, 5.0), (-1.0, 0.0, 0.0), 5.0, 0.5)
    east, north, up = downwash_at([WAKE, aside], (0.0, 0.0, 5.0))
    assert (east, north) == (-downwash_m_s(aside, 5.0, 0.0), 0.0)
    assert up == -downwash_m_s(WAKE, 5.0, 0.0)


def test_a_vehicle_that_stands_has_no_wake():
    source = WakeSource(load_vehicle('iris'), AIR)
    wake = source.wake(at(ZERO), 0.0)
    assert wake.induced_m_s == 0.0
    assert downwash_at([wake], (0.0, 0.0, -1.0)) == ZERO


def test_it_blows_against_the_lift_of_a_vehicle_that_tilts():
    roll = math.cos(0.1), math.sin(0.1), 0.0, 0.0          # 0.2 rad about x, which points east
    wake = WakeSource(load_vehicle('iris'), AIR).wake(at(ZERO, roll), 15.0)
    assert wake.direction_enu == pytest.approx((0.0, math.sin(0.2), -math.cos(0.2)))


@pytest.mark.parametrize(('name', 'count'), [
    ('iris', 4), ('hexa', 6), ('standard_vtol', 4), ('plane', 0), ('rover_ackermann', 0)])
def test_rotors_that_lift_make_it(name, count):
    assert len(WakeSource(load_vehicle(name), AIR).rotors) == count


def test_what_is_felt_is_the_mean_at_the_rotors():
    iris = load_vehicle('iris')
    places = [rotor.position_m for rotor in iris.rotors]
    alone = [downwash_at([WAKE], (x, y, 8.0 + z)) for x, y, z in places]
    felt = WakeTarget(iris).felt([WAKE], at((0.0, 0.0, 8.0)))
    assert felt[2] == pytest.approx(sum(up for _, _, up in alone) / len(alone))
    assert WakeTarget(iris).felt([], at(ZERO)) == ZERO
    # Who has no rotors feels it in the middle.
    rover = WakeTarget(load_vehicle('rover_ackermann'))
    assert rover.felt([WAKE], at((0.0, 0.0, 8.0))) == downwash_at([WAKE], (0.0, 0.0, 8.0))
