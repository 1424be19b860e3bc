# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles on roofs, slopes, spheres, edges, ramps, hills and against walls."""
import dataclasses
import math
import unittest.mock

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat
from uncompiled import uncompiled
from verification.plants import G_M_S2, REST, build, dragless_iris, iris, reference_air, truths

from px4_sim_ros.model.body import dynamics as body_dynamics
from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.rotation import multiply
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.spec.files import load_vehicle

# Feet 55 mm below the origin; springs of 1900 N/m give by m g / (4 k).
RESTING_HEIGHT_M = 0.055 - 1.55 * G_M_S2 / (4.0 * 1900.0)


def box(place, size, name='box', **more):
    """Return the entry of a box in a scene file."""
    return {'name': name, 'shape': 'box', 'place_m': list(place), 'size_m': list(size)} | more


CUBE = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1],
                 [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], float)
FACES = [[0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7], [0, 1, 5], [0, 5, 4], [1, 2, 6], [1, 6, 5],
         [2, 3, 7], [2, 7, 6], [3, 0, 4], [3, 4, 7]]


def as_mesh(entry, times=0):
    """Return the entry of a box, or of a sphere, as a mesh of 12 triangles times 4 to a power."""
    rest = {key: value for key, value in entry.items()
            if key not in ('shape', 'size_m', 'radius_m')}
    triangles = CUBE[FACES]
    for _ in range(times):
        a, b, c = triangles.transpose(1, 0, 2)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        triangles = np.concatenate([np.stack(each, axis=1) for each in (
            (a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    if 'radius_m' in entry:
        triangles *= entry['radius_m'] / np.linalg.norm(triangles, axis=2, keepdims=True)
    else:
        triangles = 0.5 * triangles * entry['size_m']
    return rest | {'shape': 'mesh', 'corners': triangles}


def scene(*objects, ground=None):
    """Return a scene."""
    content = {'objects': list(objects)}
    return Scene.from_mapping('test', 'test', content | ({'ground': ground} if ground else {}))


def world(*objects, ground=None, slope=None):
    """Return air and gravity that are the same everywhere, and a scene."""
    found = dataclasses.replace(reference_air(iris()), scene=scene(*objects, ground=ground))
    return found if slope is None else dataclasses.replace(found, ground=slope)


def low_iris():
    """Return an Iris without air whose centre of mass is so low that it does not tip."""
    vehicle = dragless_iris()
    return dataclasses.replace(vehicle, hull_points_m=(), contact_points_m=tuple(
        (x, y, -0.01) for x, y, _ in vehicle.contact_points_m))


def energy_j(dynamics, vehicle):
    """Return kinetic and gravitational energy."""
    x, body = dynamics.state, vehicle.body
    turning = sum(i * w * w for i, w in zip(body.inertia_kg_m2, x[10:13]))
    return body.mass_kg * (0.5 * float(x[3:6] @ x[3:6]) + G_M_S2 * x[2]) + 0.5 * turning


def touches_something(dynamics):
    """Return whether a point holds on to anything, in a scene or on the plane."""
    _, _, held = dynamics.arrays
    return not (np.isnan(held.touches[:-1, 3:]).all() and np.isnan(held.anchors).all())


def placed(dynamics, place, velocity=(0.0, 0.0, 0.0), attitude=(1.0, 0.0, 0.0, 0.0)):
    """Let a vehicle begin elsewhere, in the air."""
    dynamics.state[:3], dynamics.state[3:6] = place, velocity
    dynamics.state[6:10] = attitude
    return dynamics


@pytest.mark.parametrize('make', [dict, as_mesh])
def test_it_stands_on_a_roof_and_comes_to_rest_there(make):
    """At the height at which it stands on the ground; the start is on the roof already."""
    dynamics = build(iris(), world(make(box((0, 0, 3), (6, 6, 6)))), ground=True)
    wanted = 6.0 + RESTING_HEIGHT_M
    assert dynamics.truth().position_enu == pytest.approx((0.0, 0.0, wanted), abs=1e-12)
    run = truths(dynamics, 5.0)
    assert max(abs(truth.position_enu[2] - wanted) for truth in run) < 1e-12
    dropped = truths(placed(dynamics, (1.0, -1.0, 7.0)), 4.0)[-1]
    assert dropped.position_enu[2] == pytest.approx(wanted, abs=1e-6)
    assert math.hypot(*dropped.velocity_flu) < 1e-6


def test_beside_the_roof_it_falls_to_the_ground():
    dynamics = build(iris(), world(box((0, 0, 3), (6, 6, 6))), ground=True)
    end = truths(placed(dynamics, (4.0, 0.0, 6.5)), 5.0)[-1]
    assert end.position_enu[2] == pytest.approx(RESTING_HEIGHT_M, abs=1e-6)


@pytest.mark.parametrize(('friction', 'limit'), [(None, 0.7), (0.3, 0.3)])
def test_it_slides_on_a_tilted_box_from_the_angle_of_friction_on(friction, limit):
    """Half a degree below it stays, half a degree above it slides with g (sin - mu cos)."""
    for offset_deg in (-0.5, 0.5):
        angle = math.atan(limit) + math.radians(offset_deg)
        more = {} if friction is None else {'friction': friction}
        dynamics = build(low_iris(), world(box(
            (0, 0, 0), (60, 60, 1), roll_pitch_yaw_deg=[0, -math.degrees(angle), 0], **more)),
            ground=True)
        before = truths(dynamics, 1.0)[-1]
        after = truths(dynamics, 1.0)[-1]
        gained = math.hypot(*after.velocity_flu) - math.hypot(*before.velocity_flu)
        if offset_deg < 0.0:
            assert math.hypot(*after.velocity_flu) < 1e-9
            assert math.dist(before.position_enu, after.position_enu) < 1e-9
        else:
            assert gained == pytest.approx(
                G_M_S2 * (math.sin(angle) - limit * math.cos(angle)), abs=1e-9)


SPHERE = {'name': 'ball', 'shape': 'sphere', 'place_m': [0, 0, 4], 'radius_m': 1.0}
EDGE = box((0, 0, 4), (2, 6, 2), roll_pitch_yaw_deg=[0, 45, 0])
CORNER = box((0, 0, 4), (2, 2, 2), roll_pitch_yaw_deg=[35, 45, 0])
TRUNK = {'name': 'trunk', 'shape': 'cylinder', 'place_m': [0, 0, 4], 'radius_m': 0.4,
         'height_m': 6.0, 'roll_pitch_yaw_deg': [90, 0, 20]}
POST = {'name': 'post', 'shape': 'cylinder', 'place_m': [0, 0, 2], 'radius_m': 0.15,
        'height_m': 4.0}
SHEET = box((0, 0, 4), (6, 6, 0.02), roll_pitch_yaw_deg=[10, 0, 0])


@pytest.mark.parametrize('thing', [
    SPHERE, EDGE, CORNER, TRUNK, POST, SHEET, as_mesh(SPHERE, 3), as_mesh(CORNER)],
    ids=['sphere', 'edge', 'corner', 'trunk', 'post', 'sheet', 'mesh', 'mesh of a box'])
def test_a_bounce_gains_no_energy(thing):
    """Between two contacts the energy is kept, and after each it is less, down to the ground."""
    vehicle, rng = dragless_iris(), np.random.default_rng(4)
    dynamics, hits = build(vehicle, world(thing), ground=True, step_us=1000), 0
    for _ in range(8):
        attitude = rng.normal(size=4)
        placed(dynamics, (*rng.uniform(-0.4, 0.4, 2), 6.5), (*rng.normal(size=2), -3.0),
               attitude / np.linalg.norm(attitude))
        dynamics.state[10:13] = rng.normal(size=3) * 3.0
        dynamics.step(REST)
        least = energy_j(dynamics, vehicle)
        was_touching, low = False, 0
        for _ in range(3000):
            dynamics.step(REST)
            touching = touches_something(dynamics)
            energy = energy_j(dynamics, vehicle)
            if not touching:
                assert energy < least + 1e-6
                least = min(least, energy)
            hits += touching and not was_touching and dynamics.state[2] > 1.0
            was_touching, low = touching, low + (dynamics.state[2] < 0.3)
        assert dynamics.state[2] > -0.1
    assert hits >= 5


@pytest.mark.parametrize('wall', [
    box((5, 0, 10), (0.1, 40, 20)), as_mesh(box((5.45, 0, 10), (1, 40, 20)), 2)],
    ids=['box', 'mesh'])
@pytest.mark.parametrize('speed', [2.0, 8.0, 20.0])
def test_a_wall_throws_it_back(speed, wall):
    """A wall of 10 cm, or a mesh: it comes back slower, and friction has taken of its fall."""
    vehicle = dragless_iris()
    dynamics = build(vehicle, world(wall), ground=True)
    placed(dynamics, (4.0, 0.0, 15.0), (speed, 3.0, 0.0))
    dynamics.step(REST)
    before, first = energy_j(dynamics, vehicle), dynamics.state[3]
    for _ in range(300):
        truth = dynamics.step(REST)
        assert truth.position_enu[0] < 5.3
        if not touches_something(dynamics):
            assert energy_j(dynamics, vehicle) < before + 1e-9
    assert -first < dynamics.state[3] < -0.1
    assert 0.0 <= dynamics.state[4] < 3.0 - 0.1


def test_a_corner_of_walls_and_floor_holds_it():
    """A push into the corner of two walls on a floor, all of them boxes: it stays, and at rest."""
    dynamics = build(low_iris(), world(
        box((0, 0, 1), (10, 10, 2), 'floor'), box((1.0, 0, 4), (0.5, 10, 8), 'east'),
        box((0, 1.0, 4), (10, 0.5, 8), 'north')), ground=True)
    dynamics.force_enu = (30.0, 30.0, 0.0)
    run = truths(dynamics, 4.0)
    assert math.hypot(*run[-1].velocity_flu) < 1e-6
    assert 0.4 < run[-1].position_enu[0] < 0.75 and 0.4 < run[-1].position_enu[1] < 0.75
    assert run[-1].position_enu[2] == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize('name', ['rover_differential', 'rover_ackermann'])
def test_a_rover_drives_up_a_ramp(name):
    """Onto a tilted box and along it: it rises by the slope of the ramp with what it drives."""
    vehicle = load_vehicle(name)
    angle = math.radians(10.0)
    # Its upper face comes out of the ground 3 m to the north of home.
    middle = np.array((0.0, 3.0 + 9.0 * math.cos(angle), 9.0 * math.sin(angle))) - 0.5 * np.array(
        (0.0, -math.sin(angle), math.cos(angle)))
    dynamics = build(vehicle, world(box(middle, (8, 20, 1), 'ramp',
                                        roll_pitch_yaw_deg=[10, 0, 0])), ground=True,
                     start_heading_deg=0.0)
    controls = {'rover_differential': (0.6, 0.6), 'rover_ackermann': (0.6, 0.0)}[name]
    references = vehicle.references((*controls, *[0.0] * 14), armed=True)
    while dynamics.state[1] < 8.0:
        truth = dynamics.step(references)
        assert dynamics.time_us < 60_000_000
    east, north, up = truth.position_enu
    assert east == pytest.approx(0.0, abs=0.01)
    standing = build(vehicle, world(), ground=True).truth().position_enu[2]
    over = (up * math.cos(angle)) - (north - 3.0) * math.sin(angle)
    assert over == pytest.approx(standing, abs=0.003)
    forward = quat2mat(truth.attitude)[:, 0]
    assert math.asin(forward[2]) == pytest.approx(angle, abs=0.005)
    assert truth.velocity_flu[0] > 0.3 and abs(truth.velocity_flu[2]) < 0.02
    rolled_m_s = [speed * wheel.radius_m for wheel, speed in zip(
        vehicle.wheels, truth.wheels.speeds_rad_s)]
    assert rolled_m_s == pytest.approx([truth.velocity_flu[0]] * len(rolled_m_s), rel=0.05)


def test_wheels_roll_on_hills_and_stand_off_the_ground():
    """On a height map far below home, and in the air over it: its plane is no ground."""
    vehicle = load_vehicle('rover_ackermann')
    dynamics = build(vehicle, world(ground={'heights_m': [[-5.0, -5.0]] * 2, 'spacing_m': 90.0}),
                     ground=True)
    assert -5.0 < dynamics.truth().position_enu[2] < -4.5
    references = vehicle.references((0.6, 0.0, *[0.0] * 14), armed=True)
    truth = truths(dynamics, 3.0, references)[-1]
    speeds = [speed * wheel.radius_m for wheel, speed in zip(
        vehicle.wheels, truth.wheels.speeds_rad_s)]
    assert speeds == pytest.approx([truth.velocity_flu[0]] * len(speeds), rel=0.05)
    assert truth.velocity_flu[0] > 0.3
    free = [i for i, wheel in enumerate(vehicle.wheels) if not wheel.driven_by]
    placed(dynamics, (0.0, 0.0, -2.0), (1.0, 0.0, 0.0))
    truth = truths(dynamics, 0.1, references)[-1]
    assert free and all(truth.wheels.speeds_rad_s[i] == 0.0 for i in free)


@pytest.mark.parametrize('make', [dict, as_mesh])
def test_each_contact_is_told_once_with_time_place_and_speed(make):
    """A drop on a roof: when and how fast it comes down by the laws of free fall."""
    dynamics = build(low_iris(), world(SPHERE | {'place_m': [30, 0, 0]}, make(
        box((0, 0, 3), (6, 6, 6), 'roof'))), ground=True, step_us=1000)
    fall_m = 6.0
    placed(dynamics, (1.0, -1.0, 6.0 + 0.01 + fall_m))
    found = []
    for _ in range(4000):
        dynamics.step(REST)
        found += dynamics.touches()
    [touch] = found
    assert touch.name == 'roof'
    assert touch.time_us / 1e6 == pytest.approx(math.sqrt(2.0 * fall_m / G_M_S2), abs=0.0011)
    assert touch.speed_m_s == pytest.approx(math.sqrt(2.0 * fall_m * G_M_S2), rel=0.05)
    assert touch.place_enu[2] == pytest.approx(6.0, abs=0.012)
    assert math.dist(touch.place_enu[:2], (1.0, -1.0)) < 0.3
    placed(dynamics, (1.0, -1.0, 6.5))
    for _ in range(400):
        dynamics.step(REST)
        found += dynamics.touches()
    assert [its.name for its in found] == ['roof', 'roof']


def sloping_map(slope_deg):
    """Return ground that rises to the north-east, as a height map."""
    east, north = np.meshgrid(np.arange(-40.0, 41.0, 2.0), np.arange(-40.0, 41.0, 2.0))
    rise = math.tan(math.radians(slope_deg)) * math.sqrt(0.5)
    return {'heights_m': rise * (east + north), 'spacing_m': 2.0}


@pytest.mark.parametrize('make, slope_deg', [
    pytest.param(make, slope_deg, id=f'{name}-{slope_deg:g}',
                 marks=[pytest.mark.long] * ((name, slope_deg) not in (
                     ('low', 38.0), ('iris', 0.0), ('rover', 20.0))))
    for name, make in (('low', low_iris), ('iris', iris),
                       ('rover', lambda: load_vehicle('rover_ackermann')))
    for slope_deg in (0.0, 20.0, 38.0)])
def test_a_height_map_of_a_slope_is_the_slope(slope_deg, make):
    """Dropped from a hand above it, it moves as on the plane, to 1e-9.

    In steps so short that attitudes within them have unit length.
    """
    vehicle, runs = make(), []
    slope = Ground.sloping(slope_deg, 45.0)
    place = slope.place_above(1.3, -0.7, 0.4)
    attitude = multiply(slope.attitude, (math.cos(0.3), 0.0, 0.0, math.sin(0.3)))
    for environment in (world(slope=slope), world(ground=sloping_map(slope_deg))):
        dynamics = build(vehicle, environment, ground=True, step_us=250)
        placed(dynamics, place, (0.3, 0.5, 0.0), attitude)
        runs.append(truths(dynamics, 1.0, [0.0] * vehicle.reference_count))
    for on_plane, on_map in zip(*runs):
        for name in ('position_enu', 'attitude', 'velocity_flu', 'rate_flu'):
            assert getattr(on_map, name) == pytest.approx(getattr(on_plane, name), abs=1e-9)
    assert runs[0][-1].position_enu != place


def hills():
    """Return hills of 3 m about home."""
    north, east = np.mgrid[-10:11, -10:11] * 1.0
    return {'heights_m': 1.5 * np.sin(east / 3.0) * np.cos(north / 3.0) + 0.2 * east,
            'spacing_m': 1.0}


@pytest.mark.parametrize('place', [(0.0, 0.0), (2.4, 1.1), (-3.3, 4.2)])
def test_it_stands_on_a_hill_from_the_start(place):
    """It is at rest in the first step, and stays where it is."""
    dynamics = build(iris(), world(ground=hills()), ground=True,
                     start_east_m=place[0], start_north_m=place[1])
    run = truths(dynamics, 5.0)
    assert math.dist(run[0].position_enu[:2], place) < 0.05
    assert math.dist(run[0].position_enu, run[-1].position_enu) < 1e-5
    assert max(math.hypot(*truth.velocity_flu) for truth in run) < 1e-5


@pytest.mark.parametrize(('place', 'sentence'), [
    ((0.0, 2.9), 'the vehicle would begin in wall of the scene test; must be a place with room'),
    ((60.0, 0.0), r'the scene test has no ground there; must be within -40 to 40 east and -40'),
])
def test_a_start_without_room_is_refused(place, sentence):
    wall = box((0, 3.2, 5), (10, 0.4, 10), 'wall')
    for one in (wall, as_mesh(wall)):
        environment = world(one, ground=sloping_map(0.0))
        with pytest.raises(ParameterError, match=sentence):
            build(iris(), environment, ground=True, start_east_m=place[0], start_north_m=place[1])


@pytest.mark.parametrize('make', [dict, as_mesh])
def test_a_roof_over_it_stays_over_it(make):
    dynamics = build(iris(), world(make(box((0, 0, 5), (8, 8, 0.2), 'roof'))), ground=True)
    assert dynamics.truth().position_enu[2] == pytest.approx(RESTING_HEIGHT_M, abs=1e-12)


def test_far_shapes_do_not_change_the_bits():
    """What is not touched makes no difference."""
    def flown(environment):
        dynamics = build(iris(), environment, ground=True)
        return [dynamics.step((900.0, 880.0, 870.0, 900.0)) for _ in range(200)]
    plain = dataclasses.replace(world(), scene=None)
    assert flown(plain) == flown(world(box((9, 0, 5), (1, 9, 9)), SPHERE | {'place_m': [90, 0, 0]},
                                       as_mesh(box((-9, 0, 5), (1, 9, 9), 'mesh'))))


def course():
    """Return states of a drop through several things onto hills, as hexadecimal numbers."""
    vehicle = load_vehicle('rover_ackermann')
    environment = world(SPHERE, EDGE | {'name': 'edge', 'place_m': [0.5, 0, 2]}, TRUNK,
                        as_mesh(box((0.4, 0.3, 1), (1, 1, 2), 'mesh'), 1), ground=hills())
    # Plain Python would take as long as all else to come to rest.
    with unittest.mock.patch.object(body_dynamics, '_SETTLING_US', 40_000):
        dynamics = build(vehicle, environment, ground=True, start_east_m=3.0)
    placed(dynamics, (0.1, 0.05, 5.6), (0.4, 0.1, -2.0))
    controls = vehicle.references((0.5, 0.3, *[0.0] * 14), armed=True)
    found = []
    for _ in range(250):
        dynamics.step(controls)
        found.append([number.hex() for number in dynamics.state.tolist()])
    return found


@pytest.mark.process
def test_the_same_bits_without_the_compiler():
    """Plain Python moves it the same."""
    assert uncompiled(course) == course()
