# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A rotor that turns and touches something in a scene is off for good, where geometry says so."""
import dataclasses
import math

import numpy as np
import pytest
from test_scene_contact import as_mesh, box, placed, scene
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import axangle2quat
from uncompiled import uncompiled
from verification.plants import G_M_S2, build, dragless_iris, iris, reference_air

from px4_sim_ros.model.body.breaking import SPOKES
from px4_sim_ros.model.scene.scene import Scene

HUB, RADIUS_M = np.array(iris().rotors[0].position_m), 0.127
HUBS = [rotor.position_m for rotor in iris().rotors]
SLOW = (1.0,) * 4                  # rad/s: it turns, and thrust moves nothing
FAR = (0.0, 0.0, 30.0)
WALL = box((5, 0, 30), (1, 40, 20))
POLE = {'name': 'pole', 'shape': 'cylinder', 'radius_m': 0.01, 'height_m': 20.0}
BALL = {'name': 'ball', 'shape': 'sphere', 'radius_m': 0.5}


def fragile(*objects, vehicle=None, gravity=0.0, **more):
    """Return the motion of an Iris whose propellers break, in a scene, its rotors turning."""
    vehicle = vehicle or iris()
    parts = {key: more.pop(key) for key in ('ground',) if key in more}
    environment = dataclasses.replace(
        reference_air(vehicle, gravity), scene=scene(*objects, **parts))
    dynamics = build(vehicle, environment, ground=True, **{'propellers_break': True} | more)
    dynamics.state[13:17] = SLOW
    return dynamics


def broken(dynamics, place, attitude=(1.0, 0.0, 0.0, 0.0), references=SLOW):
    """Return which rotors break in a step that begins in a place, and at what."""
    placed(dynamics, place, attitude=attitude)
    dynamics.step(references)
    return [(touch.rotor, touch.name) for touch in dynamics.touches() if touch.rotor]


def pole_at(angle_deg, distance):
    """Return a thin pole at a distance from the first hub, as an entry of a scene, and around."""
    angle = math.radians(angle_deg)
    x, y, z = np.add(FAR, HUB) + distance * np.array([math.cos(angle), math.sin(angle), 0.0])
    return POLE | {'place_m': [float(x), float(y), float(z)]}


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'rk45'])
@pytest.mark.parametrize('make', [dict, as_mesh])
def test_a_wall_takes_both_that_come_first(make, integrator):
    """At 4.5 m less how far forward a rim is, to a hundredth of a micrometre."""
    reach = HUB[0] + RADIUS_M
    dynamics = fragile(make(WALL), integrator=integrator)
    assert broken(dynamics, (4.5 - reach - 1e-8, 0.0, 30.0)) == []
    assert broken(dynamics, (4.5 - reach + 1e-8, 0.0, 30.0)) == [(1, 'box'), (3, 'box')]
    assert broken(dynamics, (4.5 - reach + 1e-8, 0.0, 30.0)) == [], 'said once'


@pytest.mark.parametrize(('angle_deg', 'share'), [
    (-90.0, 1.0), (-30.0, 1.0), (-45.0, math.cos(math.pi / SPOKES))])
def test_a_pole_between_two_spokes_does_not_pass(angle_deg, share):
    """It meets the end of a spoke, or the chord between two of them."""
    distance = share * RADIUS_M + POLE['radius_m']
    assert broken(fragile(pole_at(angle_deg, distance + 1e-8)), FAR) == []
    assert broken(fragile(pole_at(angle_deg, distance - 1e-8)), FAR) == [(1, 'pole')]
    # What comes down through the disc meets a spoke.
    assert broken(fragile(pole_at(30.0 * round(angle_deg / 30.0), 0.06)), FAR) == [(1, 'pole')]


def test_a_ball_below_is_met_by_the_disc_as_high_as_its_top():
    above = np.add(FAR, HUB) - (0.0, 0.0, 0.5)
    for gap, wanted in (1e-8, []), (-1e-8, [(1, 'ball')]):
        ball = BALL | {'place_m': [float(x) for x in above - (0.0, 0.0, gap)]}
        assert broken(fragile(ball), FAR) == wanted


@pytest.mark.parametrize('ground', [None, {'spacing_m': 50.0, 'heights_m': [[0.0] * 3] * 3}])
@pytest.mark.parametrize('roll_deg', [20.0, -35.0, 90.0, 180.0])
def test_the_ground_takes_those_that_it_tips_onto(ground, roll_deg):
    """The lowest place of a disc is R sin(roll) below its hub."""
    attitude = tuple(axangle2quat([1, 0, 0], math.radians(roll_deg)))
    turn = axangle2mat([1, 0, 0], math.radians(roll_deg))
    below = [-float((turn @ hub)[2]) + RADIUS_M * abs(math.sin(math.radians(roll_deg)))
             for hub in HUBS]
    # Not of those that are above while the middle would be in the ground.
    tipped = [i for i, height in enumerate(below) if height > 0.02]
    assert len(tipped) >= 2
    for i, height in ((i, below[i]) for i in tipped):
        more = {'ground': ground} if ground else {}
        dynamics = fragile(BALL | {'place_m': [90, 0, 9]}, **more, vehicle=dataclasses.replace(
            iris(), contact_points_m=((0.0, 0.0, -0.01),), hull_points_m=()))
        wanted = {(j + 1, 'the ground') for j, its in enumerate(below) if its > height + 1e-6}
        assert set(broken(dynamics, (0.0, 0.0, height + 1e-7), attitude)) == wanted
        found = broken(dynamics, (0.0, 0.0, height - 1e-7), attitude)
        assert (i + 1, 'the ground') in found


def test_what_moves_against_it_breaks_it():
    """A wall that comes with 2 m/s, in the step in which it is there."""
    objects = {'objects': [box((0, 0, 30), (1, 40, 20), path='way')],
               'paths': {'way': {'points': [{'time_s': 0, 'place_m': [5, 0, 0]},
                                            {'time_s': 10, 'place_m': [-15, 0, 0]}]}}}
    vehicle = iris()
    dynamics = build(vehicle, dataclasses.replace(
        reference_air(vehicle, 0.0), scene=Scene.from_mapping('test', 'test', objects)),
        ground=True, propellers_break=True)
    dynamics.state[13:17] = SLOW
    reach, found = HUB[0] + RADIUS_M, []
    while not found:
        found = broken(dynamics, (3.0, 0.0, 30.0))
    face = 4.5 - 2.0 * dynamics.time_us * 1e-6
    assert face < 3.0 + reach <= face + 2.0 * 0.004 and found == [(1, 'box'), (3, 'box')]


def test_it_is_off_for_good():
    """No thrust, no torque of the air: what is left runs down with the lag of the motor."""
    vehicle = dragless_iris()
    dynamics = fragile(WALL, vehicle=vehicle, gravity=G_M_S2)
    dynamics.state[13:17] = 600.0
    at_wall = 4.5 - HUB[0] - RADIUS_M + 1e-3
    assert broken(dynamics, (at_wall, 0.0, 30.0), references=(600.0,) * 4) == [
        (1, 'box'), (3, 'box')]
    speeds = dynamics.state[13:17].copy()
    placed(dynamics, FAR)
    for _ in range(50):
        dynamics.step((600.0,) * 4)
    lag_s = vehicle.rotor_model.time_constant_down_s
    assert dynamics.state[[13, 15]] == pytest.approx(
        speeds[[0, 2]] * math.exp(-0.2 / lag_s), rel=1e-4)
    assert dynamics.state[14] == pytest.approx(600.0, rel=1e-9)
    # All four gone: it falls as a stone does.
    for place in (at_wall, 0.0, 30.0), (5.5 + HUB[0] + RADIUS_M - 1e-3, 0.0, 30.0):
        broken(dynamics, place)
    truth = dynamics.step((600.0,) * 4)
    assert math.hypot(*truth.acceleration_flu) == pytest.approx(G_M_S2, abs=1e-12)


def test_one_that_stands_still_is_not_broken_nor_is_one_that_need_not():
    there = (4.5 - HUB[0] - RADIUS_M + 1e-3, 0.0, 30.0)
    dynamics = fragile(WALL)
    dynamics.state[13:17] = 0.0
    assert broken(dynamics, there, references=(0.0,) * 4) == []
    assert broken(fragile(WALL, propellers_break=False), there) == []


def course():
    """Return states of a flight that ends at a pole, and what was touched."""
    dynamics = fragile(pole_at(-45.0, 0.4), gravity=G_M_S2)
    placed(dynamics, FAR, (1.5, -1.5, 0.0))
    dynamics.state[13:17] = 650.0
    found = []
    for _ in range(400):
        dynamics.step((652.0, 650.0, 650.0, 652.0))
        found += [touch.text for touch in dynamics.touches()]
    return [dynamics.state.tolist(), found]


@pytest.mark.process
def test_the_same_bits_without_the_compiler():
    found = course()
    assert any('rotor 1 has touched pole, and is off' in text for text in found[1])
    assert uncompiled(course) == found
