# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Objects on paths: where they are, what touches them, and what rays meet, by closed forms."""
import dataclasses
import math
import unittest.mock

import numpy as np
import pytest
from test_scene_contact import as_mesh
from transforms3d.euler import euler2mat
from uncompiled import uncompiled
from verification.plants import G_M_S2, REST, build, dragless_iris, iris, reference_air, truths

from px4_sim_ros.model.body import dynamics as body_dynamics
from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.scene.colours import Eye
from px4_sim_ros.model.scene.meshes import clearance_of
from px4_sim_ros.model.scene.moving import placed
from px4_sim_ros.model.scene.rays import DISTANCE, Pose, Rays
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.spec.files import load_vehicle

RESTING_HEIGHT_M = 0.055 - 1.55 * G_M_S2 / (4.0 * 1900.0)
# It reaches into the ground: else a start is on the ground below it.
DECK = {'name': 'deck', 'shape': 'box', 'place_m': [0, 0, -5], 'size_m': [40, 40, 10], 'path': 'p'}


def straight(velocity, begin=(0.0, 0.0, 3.0), duration_s=100.0):
    """Return a path with constant velocity."""
    end = [a + v * duration_s for a, v in zip(begin, velocity)]
    return {'points': [{'time_s': 0, 'place_m': list(begin)},
                       {'time_s': duration_s, 'place_m': end}]}


def scene(path, *objects):
    """Return a scene with a path and objects."""
    return Scene.from_mapping('test', 'test', {'paths': {'p': path}, 'objects': list(objects)})


def world(path, *objects):
    """Return air and gravity that are the same everywhere, and such a scene."""
    return dataclasses.replace(reference_air(iris()), scene=scene(path, *objects))


def low_iris():
    """Return an Iris without air whose centre of mass is so low that it does not tip."""
    vehicle = dragless_iris()
    return dataclasses.replace(vehicle, hull_points_m=(), contact_points_m=tuple(
        (x, y, -0.01) for x, y, _ in vehicle.contact_points_m))


def test_a_path_is_linear_between_its_points_and_loops():
    path = {'loop': True, 'points': [
        {'time_s': 2, 'place_m': [0, 0, 1]}, {'time_s': 6, 'place_m': [8, 4, 1], 'yaw_deg': 90},
        {'time_s': 10, 'place_m': [0, 0, 1], 'yaw_deg': 360}]}
    thing = DECK | {'place_m': [1, 0, 0]}
    content = scene(path, thing)
    for time_s, place, yaw_deg in ((0, (0, 0), 0), (2, (0, 0), 0), (3, (2, 1), 22.5),
                                   (8, (4, 2), 225), (11, (2, 1), 22.5), (10_003, (2, 1), 22.5)):
        yaw = math.radians(yaw_deg)
        found, attitude = placed(content, content.objects[0], round(time_s * 1e6))
        assert found == pytest.approx(
            (place[0] + math.cos(yaw), place[1] + math.sin(yaw), 1.0), abs=1e-12)
        assert abs(attitude[0]) == pytest.approx(abs(math.cos(yaw / 2.0)), abs=1e-12)
    last = scene({**path, 'loop': False}, thing)
    assert placed(last, last.objects[0], 99_000_000)[0] == pytest.approx((1.0, 0.0, 1.0))


def test_a_ship_heaves_rolls_and_pitches():
    """Sums of sines of the time, turned first by roll, then by pitch, then by yaw."""
    path = straight((2.0, 0.0, 0.0), (0.0, 0.0, 1.0)) | {
        'heave_m': [{'amplitude': 0.5, 'period_s': 8}, {'amplitude': 0.2, 'period_s': 3,
                                                        'phase_deg': 90}],
        'roll_deg': [{'amplitude': 6, 'period_s': 10}],
        'pitch_deg': [{'amplitude': 2, 'period_s': 7, 'phase_deg': -40}]}
    content = scene(path, DECK | {'place_m': [5, 2, -1]})
    for time_s in 0.0, 1.7, 13.25:
        heave = 0.5 * math.sin(math.tau * time_s / 8) + 0.2 * math.cos(math.tau * time_s / 3)
        turn = euler2mat(0.0, math.radians(2 * math.sin(math.tau * time_s / 7 - math.radians(40))),
                         0.0) @ euler2mat(math.radians(6 * math.sin(math.tau * time_s / 10)), 0, 0)
        assert placed(content, content.objects[0], round(time_s * 1e6))[0] == pytest.approx(
            np.array((2.0 * time_s, 0.0, 1.0 + heave)) + turn @ (5, 2, -1), abs=1e-12)


@pytest.mark.parametrize('deck', [DECK, as_mesh(DECK)], ids=lambda its: its['shape'])
def test_it_is_carried_from_the_start_on(deck):
    """A deck that moves with a constant velocity, upwards too: nothing changes on it."""
    velocity = 7.0, -3.0, 0.5
    dynamics = build(dragless_iris(), world(straight(velocity), deck), ground=True,
                     start_east_m=1.5)
    for truth in truths(dynamics, 5.0):
        t = truth.time_us / 1e6
        assert truth.position_enu == pytest.approx(
            [a + v * t for a, v in zip((1.5, 0.0, 3.0 + RESTING_HEIGHT_M), velocity)], abs=1e-9)


@pytest.mark.parametrize('friction', [0.7, 0.2])
def test_friction_takes_it_along(friction):
    """Put on a deck that passes it slides v^2 / (2 mu g) back, and then stands on it."""
    speed = 2.0
    dynamics = build(low_iris(), world(straight((speed, 0.0, 0.0)), DECK | {'friction': friction}),
                     ground=True)
    dynamics.state[3:6] = 0.0
    run = truths(dynamics, 5.0)
    end = run[-1]
    assert end.velocity_flu[0] == pytest.approx(speed, abs=1e-6)
    slid = speed * 5.0 - end.position_enu[0]
    assert slid == pytest.approx(speed ** 2 / (2.0 * friction * G_M_S2), rel=0.02)
    on_the_way = run[round(0.4 * speed / (friction * G_M_S2) / 0.004)]
    assert on_the_way.acceleration_flu[0] == pytest.approx(friction * G_M_S2, rel=0.02)


def test_it_slides_when_the_deck_turns_or_accelerates_more_than_friction_holds():
    """On a deck that turns it stays to w^2 r = mu g, and not farther out."""
    turn_s, friction = 5.0, 0.3
    limit_m = friction * G_M_S2 / (math.tau / turn_s) ** 2
    path = {'loop': True, 'points': [{'time_s': 0, 'place_m': [0, 0, 3]},
                                     {'time_s': turn_s, 'place_m': [0, 0, 3], 'yaw_deg': 360}]}
    for share in 0.9, 1.1:
        dynamics = build(low_iris(), world(path, DECK | {'friction': friction}), ground=True,
                         start_east_m=share * limit_m)
        end = truths(dynamics, turn_s)[-1]
        out_m = math.hypot(*end.position_enu[:2])
        if share < 1.0:
            assert out_m == pytest.approx(share * limit_m, abs=0.02)
            assert end.rate_flu[2] == pytest.approx(math.tau / turn_s, abs=1e-3)
        else:
            assert out_m > limit_m * 1.2


@pytest.mark.parametrize('deck', [DECK, as_mesh(DECK)], ids=lambda its: its['shape'])
def test_it_follows_a_deck_that_heaves_and_rolls(deck):
    """Its height over the deck is that at rest, but for what its springs yield to m (g + z'')."""
    path = straight((3.0, 0.0, 0.0)) | {
        'heave_m': [{'amplitude': 0.6, 'period_s': 6}], 'roll_deg': [
            {'amplitude': 5, 'period_s': 9}], 'pitch_deg': [{'amplitude': 2, 'period_s': 7}]}
    dynamics = build(iris(), world(path, deck), ground=True, start_north_m=4.0)
    content = scene(path, deck)
    places = []
    for truth in truths(dynamics, 30.0):
        middle, (w, x, y, z) = placed(content, content.objects[0], truth.time_us)
        turn = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                         [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                         [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        places.append(turn.T @ (np.array(truth.position_enu) - middle))
    places = np.array(places)
    assert np.abs(places[:, 2] - (5.0 + RESTING_HEIGHT_M)).max() < 2e-3
    assert np.abs(places[:, :2] - (0.0, 4.0)).max() < 5e-3


SPHERE = {'name': 'ball', 'shape': 'sphere', 'place_m': [0, 0, 1], 'radius_m': 1.0, 'path': 'p'}
EDGE = {'name': 'edge', 'shape': 'box', 'place_m': [0, 0, 1], 'size_m': [2, 6, 2], 'path': 'p',
        'roll_pitch_yaw_deg': [0, 45, 0]}
TRUNK = {'name': 'trunk', 'shape': 'cylinder', 'place_m': [0, 0, 1], 'radius_m': 0.4,
         'height_m': 6.0, 'roll_pitch_yaw_deg': [90, 0, 20], 'path': 'p'}
SHEET = {'name': 'sheet', 'shape': 'box', 'place_m': [0, 0, 1], 'size_m': [6, 6, 0.02], 'path': 'p',
         'roll_pitch_yaw_deg': [10, 0, 0]}


MESH = as_mesh(EDGE | {'name': 'mesh'}, 2)


@pytest.mark.parametrize('thing', [SPHERE, EDGE, TRUNK, SHEET, MESH], ids=lambda its: its['name'])
def test_a_contact_is_that_with_one_at_rest_as_seen_from_it(thing):
    """Galileo: with the velocity of the object added to both, only that is added to the motion.

    So what is said of the energy of contacts with objects at rest is said of these as well.
    """
    velocity = np.array((6.0, -2.0, 1.5))
    still = {'heave_m': [{'amplitude': 0, 'period_s': 1}],
             'points': [{'time_s': 0, 'place_m': [0, 0, 30]}]}
    runs = []
    for path, added in ((still, np.zeros(3)),
                        (straight(velocity, (0.0, 0.0, 30.0)), velocity)):
        dynamics = build(dragless_iris(), world(path, thing), ground=True, step_us=1000)
        dynamics.state[:3], dynamics.state[6:10] = (0.1, 0.2, 33.0), (0.9, 0.3, 0.1, 0.3)
        dynamics.state[3:6] = np.array((0.3, 0.1, -2.0)) + added
        runs.append(([], []))
        for _ in range(900):
            truth = dynamics.step(REST)
            runs[-1][0].append(np.array(truth.position_enu) - added * (truth.time_us / 1e6))
            runs[-1][1].extend(dynamics.touches())
    (at_rest, touched), (moving, also_touched) = runs
    assert touched and [its.time_us for its in touched] == [its.time_us for its in also_touched]
    assert [its.speed_m_s for its in touched] == pytest.approx(
        [its.speed_m_s for its in also_touched], rel=1e-6)
    assert np.abs(np.array(at_rest) - moving).max() < 1e-6


def test_a_car_pushes_what_stands_in_its_way():
    """It comes from 40 m away with 10 m/s: what it hits is as fast, or thrown ahead of it."""
    car = {'name': 'car', 'shape': 'box', 'place_m': [0, 0, 0.7], 'size_m': [4, 1.8, 1.4],
           'path': 'p'}
    dynamics = build(iris(), world(straight((10.0, 0.0, 0.0), (-40.0, 0.0, 0.0)), car), ground=True)
    found = []
    for _ in range(1100):
        truth = dynamics.step(REST)
        found += dynamics.touches()
        if truth.time_us < 3_700_000:
            assert truth.position_enu == pytest.approx((0, 0, RESTING_HEIGHT_M), abs=1e-6)
    assert found[0].name == 'car' and found[0].speed_m_s == pytest.approx(10.0, rel=1e-3)
    assert found[0].time_us / 1e6 == pytest.approx((38.0 - 0.25) / 10.0, abs=0.03)
    assert truth.position_enu[0] > 10.0 * 4.4 - 38.0 - 0.05, 'it has not gone through'


def test_a_vehicle_begins_where_the_object_is_then():
    dynamics = build(iris(), world(straight((2.0, 0.0, 0.0)), DECK | {'size_m': [4, 4, 10]}),
                     ground=True, start_east_m=10.0)
    assert dynamics.truth().position_enu[2] == pytest.approx(RESTING_HEIGHT_M, abs=1e-9)
    later = type(dynamics)(
        dataclasses.replace(load_parameters(), start_east_m=10.0), dragless_iris(),
        world(straight((2.0, 0.0, 0.0)), DECK | {'size_m': [4, 4, 10]}), 4000, begins_us=5_000_000)
    assert later.truth().position_enu[2] == pytest.approx(3.0 + RESTING_HEIGHT_M, abs=1e-9)
    later.step(REST)
    assert later.truth().position_enu[0] == pytest.approx(10.0 + 2.0 * 0.004, abs=1e-9)


def load_parameters():
    """Return the default parameters of the motion."""
    from verification.plants import configuration
    return configuration().nodes['dynamics']


@pytest.mark.parametrize('integrator', ['rk23', 'rk45'])
def test_an_integrator_that_chooses_its_steps_is_refused(integrator):
    with pytest.raises(ParameterError, match=f'dynamics.integrator = {integrator}: objects of the'
                       ' scene test move; must be euler or rk4'):
        build(iris(), world(straight((1.0, 0.0, 0.0)), DECK), ground=True, integrator=integrator)


def test_a_rover_that_stands_on_a_ship_does_not_roll():
    """Its wheels turn by what it drives over the deck."""
    vehicle = load_vehicle('rover_ackermann')
    dynamics = build(vehicle, world(straight((4.0, 0.0, 0.0)), DECK), ground=True,
                     start_heading_deg=90.0)
    still = vehicle.references((0.0,) * 16, armed=True)
    end = truths(dynamics, 2.0, still)[-1]
    assert end.velocity_flu[0] == pytest.approx(4.0, abs=1e-3)
    assert np.abs(end.wheels.speeds_rad_s).max() < 0.05
    driving = vehicle.references((0.6, 0.0, *[0.0] * 14), armed=True)
    end = truths(dynamics, 2.0, driving)[-1]
    rolled = [speed * wheel.radius_m for speed, wheel in zip(
        end.wheels.speeds_rad_s, vehicle.wheels)]
    assert rolled == pytest.approx([end.velocity_flu[0] - 4.0] * len(rolled), rel=0.05)
    assert rolled[0] > 0.3


def test_objects_that_are_far_change_no_bits():
    def flown(environment):
        dynamics = build(iris(), environment, ground=True)
        return [dynamics.step((900.0, 880.0, 870.0, 900.0)) for _ in range(200)]
    plain = dataclasses.replace(world({'heave_m': [{'amplitude': 1, 'period_s': 1}]}), scene=None)
    assert flown(plain) == flown(world(
        straight((3.0, 0.0, 0.0), (20.0, 0.0, 0.0)), SPHERE))


@pytest.mark.parametrize('make', [dict, as_mesh])
@pytest.mark.parametrize('turned', [False, True])
def test_rays_meet_it_where_it_is(turned, make):
    """A sphere and a box that pass; a scan meets each where it is at the time of the ray."""
    ball = SPHERE | {'place_m': [0, 0, 0]}
    wall = DECK | {'place_m': [0, 10, 0], 'size_m': [2, 4, 6]}
    velocity, begin = np.array((3.0, 1.0, 0.0)), np.array((-20.0, 12.0, 5.0))
    content = scene(straight(velocity, begin), ball, make(wall))
    rng, origin = np.random.default_rng(2), np.array((-8.0, 2.0, 5.0))
    # About half of them past the ball, and all of them onto the face of the box behind it.
    to_face = begin + velocity * 4.2 + (0.0, 8.0, 0.0) - origin
    directions = to_face + rng.uniform(-1.0, 1.0, (600, 3)) * (0.6, 0.0, 2.5)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    turns, duration_s = (60, 0.1) if turned else (1, 0.0)
    rays = Rays(content, Ground(), directions, 100.0, 10 if turned else 0)
    found = rays.cast(Pose(tuple(origin), (1, 0, 0, 0, 1, 0, 0, 0, 1), time_us=4_200_000),
                      turns, duration_s)[:, DISTANCE]
    on_ball = 0
    for i, ray in enumerate(directions):
        late_s = duration_s * (turns - 1 - i * turns // len(directions)) / turns
        to = begin + velocity * (4.2 - late_s) - origin
        along = to @ ray
        square = 1.0 - (to @ to - along ** 2)
        on_ball += square > 0.0
        wanted = along - math.sqrt(square) if square > 0.0 else (to[1] + 8.0) / ray[1]
        assert found[i] == pytest.approx(wanted, abs=1e-9)
    assert 100 < on_ball < 500


@pytest.mark.parametrize('make', [dict, as_mesh])
def test_a_camera_sees_it_where_it_is(make):
    """The middle of an image from above: what drives through below, when it is there."""
    content = scene(straight((5.0, 0.0, 0.0), (-10.0, 0.0, 0.5)),
                    make(DECK | {'place_m': [0, 0, 0], 'size_m': [2, 2, 1]}))
    eye = Eye(content, Ground(), np.array([[0.0, 0.0, -1.0]]), 50.0, 1.0, 1)
    for time_s, label in (1.7, 1), (1.9, 2), (2.1, 2), (2.3, 1):
        eye.look(Pose((0.0, 0.0, 9.0), (1, 0, 0, 0, 1, 0, 0, 0, 1), time_us=round(time_s * 1e6)))
        assert eye.labels.tolist() == [label]


@pytest.mark.parametrize('make', [dict, as_mesh])
def test_the_grain_of_a_surface_moves_with_it(make):
    thing = make(DECK | {'place_m': [0, 0, 0], 'size_m': [8, 8, 1]})
    content, colours = scene(straight((5.0, 0.0, 0.0), (0.0, 0.0, 0.5)), thing), []
    eye = Eye(content, Ground(), np.array([[0.0, 0.0, -1.0]]), 50.0, 1.0, 1)
    for time_s in 0.0, 1.0, 7.0:
        eye.look(Pose((0.32 + 5.0 * time_s, 0.71, 9.0), (1, 0, 0, 0, 1, 0, 0, 0, 1),
                      time_us=round(time_s * 1e6)))
        colours.append(eye.image.tolist())
    assert colours[0] == colours[1] == colours[2]


def test_clearance_is_that_of_its_time():
    clear_m = clearance_of(scene(straight((2.0, 0.0, 0.0)), SPHERE | {'place_m': [0, 0, 0]}), 0.3)
    for time_s in 0.0, 3.0, 10.5:
        assert clear_m((0.0, 5.0, 3.0), round(time_s * 1e6)) == pytest.approx(
            math.hypot(2.0 * time_s, 5.0) - 1.3)


def test_a_mesh_that_turns_is_as_far_away_as_a_box_and_is_met_as_one():
    """Beside another one that stands, and one on another path."""
    path = straight((2.0, 0.0, 0.0)) | {
        'roll_deg': [{'amplitude': 40, 'period_s': 9}], 'pitch_deg': [{'amplitude': 30,
                                                                      'period_s': 7}]}
    still = EDGE | {'name': 'still', 'place_m': [-5, 3, 3], 'path': ''}
    other = EDGE | {'name': 'other', 'place_m': [3, 12, 0], 'path': 'q'}
    boxes, meshes = (Scene.from_mapping('test', 'test', {
        'paths': {'p': path, 'q': straight((0.0, 1.0, 0.2))},
        'objects': [make(its) for its in (EDGE, still, other)]}) for make in (dict, as_mesh))
    box_m, mesh_m = clearance_of(boxes, 0.0), clearance_of(meshes, 0.0)
    rng = np.random.default_rng(6)
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    rays = [Rays(its, Ground(), directions, 100.0) for its in (boxes, meshes)]
    for time_us in 0, 1_700_000, 4_000_000:
        pose = Pose((3.0, 6.0, 5.0), (1, 0, 0, 0, 1, 0, 0, 0, 1), time_us=time_us)
        met = [its.cast(pose).copy() for its in rays]
        assert met[1] == pytest.approx(met[0], abs=1e-6)
        for place in rng.uniform((-4, -4, 0), (12, 11, 8), (60, 3)).tolist():
            assert mesh_m(tuple(place), time_us) == pytest.approx(
                box_m(tuple(place), time_us), abs=1e-6)


def voyage():
    """Return states of a drop onto a ship, as hexadecimal numbers, and what rays meet."""
    path = straight((3.0, 1.0, 0.0), (0.0, 0.0, 2.0), 1.5) | {
        'heave_m': [{'amplitude': 0.4, 'period_s': 1.7}], 'roll_deg': [
            {'amplitude': 8, 'period_s': 2.3, 'phase_deg': 20}]}
    path['points'].append({'time_s': 9, 'place_m': [0, 0, 2], 'yaw_deg': 70})
    environment = world(path, DECK | {'size_m': [3, 3, 10]}, TRUNK | {'place_m': [1, 0, 1]},
                        as_mesh(SHEET | {'name': 'bump', 'place_m': [-1.2, 0, 0.1]}))
    vehicle = load_vehicle('rover_ackermann')
    # Plain Python would take half a minute to come to rest.
    with unittest.mock.patch.object(body_dynamics, '_SETTLING_US', 40_000):
        dynamics = build(vehicle, environment, ground=True, start_east_m=0.3)
    dynamics.state[2] += 0.05
    rays = Rays(environment.scene, Ground(), np.array([[1.0, 0.0, 0.0], [0.6, 0.0, -0.8]]), 50.0, 1)
    controls, found = vehicle.references((0.5, 0.3, *[0.0] * 14), armed=True), []
    for _ in range(60):
        truth = dynamics.step(controls)
        met = rays.cast(Pose((-2.0, 0.1, 3.0), (1, 0, 0, 0, 1, 0, 0, 0, 1),
                             time_us=truth.time_us), 2, 0.1)
        found.append([number.hex() for number in (*dynamics.state.tolist(), *met.ravel().tolist(),
                                                  *truth.wheels.speeds_rad_s)])
    return found


@pytest.mark.process
def test_the_same_bits_without_the_compiler():
    """Plain Python moves it the same."""
    assert uncompiled(voyage) == voyage()
