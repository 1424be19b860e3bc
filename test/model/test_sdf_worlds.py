# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of Gazebo as scenes: where all stands, what is left out, and what is wrong in one."""
import shutil
import warnings

import gazebo_world
import numpy as np
import pytest
from commands import here
from PIL import Image

from px4_sim_ros import Flight
from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.model.scene.meshes import in_world
from px4_sim_ros.model.scene.scene import Box, Cylinder, Sphere
from px4_sim_ros.spec.files import Files

pytestmark = pytest.mark.filterwarnings('ignore::px4_sim_ros.model.errors.InputWarning')


def read(folder, text=gazebo_world.WORLD):
    """Return a scene, and what is said of it without the name of its file."""
    if not (folder / 'models').exists():
        gazebo_world.write_model(folder)
    path = folder / 'mine.sdf'
    path.write_text(text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always', InputWarning)
        scene = Files().scene(str(path))
    return scene, [str(its.message).partition('in Gazebo: ')[2] for its in said]


def test_all_stands_where_it_does_in_gazebo(tmp_path):
    scene, _ = read(tmp_path)
    its = {found.name: found for found in scene.objects}
    assert [*its] == ['wall', 'house', 'house_2', 'shed', 'ridge', 'pad', 'pad_2']
    assert its['wall'] == Box(
        name='wall', place_m=(5.0, 0.0, 7.5), size_m=(1.0, 20.0, 15.0), colour=(0.7, 0.1, 0.0))
    # The house is turned to the north: what is 2 m ahead in it is 2 m to the north.
    mast, ball, shed = its['house'], its['house_2'], its['shed']
    assert isinstance(mast, Cylinder) and isinstance(ball, Sphere)
    assert mast.place_m == pytest.approx((10.0, 22.0, 4.0))
    assert (mast.radius_m, mast.height_m) == (0.2, 8.0)
    assert ball.place_m == pytest.approx((10.0, 23.0, 1.0))
    assert ball.roll_pitch_yaw_deg == pytest.approx((90.0, 0.0, 90.0))
    assert shed.place_m == pytest.approx((6.0, 20.0, 2.0))
    assert scene.ground is None
    assert (scene.sun.azimuth_deg, scene.sun.elevation_deg) == pytest.approx((180.0, 45.0))


def test_a_plane_that_is_not_the_ground_has_its_texture_on_top(tmp_path):
    scene, _ = read(tmp_path)
    tag, rim = scene.objects[-2:]
    assert tag.place_m[2] + tag.half_m[2] == pytest.approx(0.001)
    assert tag.place_m[:2] == (0.0, 3.0)
    assert tag.size_m[:2] == (0.5, 0.4)
    assert np.array_equal(tag.picture.array[..., 0], 255 * np.eye(4))
    assert np.ptp(in_world(rim), axis=(0, 1)) == pytest.approx((2.0, 2.0, 0.2))


def test_an_extruded_polygon_is_a_closed_mesh(tmp_path):
    """PX4's ridge: 10 m high, its crest 40 m to the east; all its faces look outwards."""
    scene, _ = read(tmp_path)
    triangles = in_world(scene.objects[4])
    assert triangles.min(axis=(0, 1)) == pytest.approx((20.0, -20.0, 0.0), abs=1e-5)
    assert triangles.max(axis=(0, 1)) == pytest.approx((60.0, 20.0, 10.0), abs=1e-5)
    # By the divergence theorem; a face that looks inwards would count the other way.
    volume = np.einsum('ij,ij->', triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6
    assert volume == pytest.approx(0.5 * 40.0 * 10.0 * 40.0, rel=1e-5)
    edges = np.diff(triangles[:, [0, 1, 2, 0]], axis=1)
    assert np.einsum('ijk->k', edges) == pytest.approx(np.zeros(3), abs=1e-4)


def test_what_is_left_out_is_said_in_one_line_each(tmp_path):
    _, said = read(tmp_path)
    assert said == [
        "as the parameters of the flight say: 'physics', 'gravity', 'wind'",
        "without plugins: 'gz::sim::systems::Physics'", "without lights: 'lamp'",
        "without sensors: 'eye'", "without joints: 'hinge'", "it stands still: 'ball'",
        "without shapes of the kind capsule: 'ball'",
        'without meshes that are not beside the file as .stl, .obj, .glb, .ply, whole and with one'
        " scale: 'meshes/rim.dae'",
        'without models that are not beside the file:'
        " 'https://fuel.gazebosim.org/1.0/OpenRobotics/models/Oak Tree'"]
    _, said = read(tmp_path, gazebo_world.WORLD.replace('<normal>0 0 1', '<normal>0 1 0'))
    assert said[-1] == "there is a ground, of the parameter: 'ground_slope_deg'"


def test_a_recording_carries_it(tmp_path):
    scene, _ = read(tmp_path)
    text = Files().scene_text(str(tmp_path / 'mine.sdf'))
    assert Files({('scenes', 'mine.sdf'): text}).scene('mine.sdf').objects == scene.objects


@pytest.mark.parametrize('posts', [5, 513])
def test_a_height_map_is_the_ground(posts, tmp_path):
    """Its brightest pixel is as high as its size says, its first row is in the north."""
    shades = np.zeros((posts, posts), np.uint8)
    shades[0, -1], shades[-1, 0] = 100, 50         # in the north-east and the south-west
    Image.fromarray(shades).save(tmp_path / 'hills.png')
    link = gazebo_world.shape('<heightmap><uri>file://hills.png</uri><size>256 256 8</size>'
                              '<pos>0 0 2</pos></heightmap>')
    scene, said = read(tmp_path, gazebo_world.WORLD.replace('</world>', (
        f'<model name="hills"><static>1</static><pose>10 0 0 0 0 0</pose>{link}</model></world>')))
    heights, count = scene.ground.heights_m, min(posts, 257)
    assert heights.shape == (count, count) and scene.ground.ground.middle_m == (10.0, 0.0)
    assert scene.ground.ground.spacing_m == 256.0 / (count - 1)
    assert heights[[-1, 0, 0, 1], [-1, 0, -1, 1]] == pytest.approx([10.0, 6.0, 2.0, 2.0])
    assert not any('height' in line for line in said)
    turned = gazebo_world.WORLD.replace('</world>', (
        f'<model name="hills"><static>1</static><pose>0 0 0 0 0 1</pose>{link}</model></world>'))
    scene, said = read(tmp_path, turned)
    assert scene.ground is None and "without height maps but one" in ' '.join(said)


BOX = '<size>1 20 15</size>'


@pytest.mark.parametrize('old, new, sentence', [
    ('</world>', '', 'not XML: mismatched tag'),
    ('<sdf version="1.9">', '<!DOCTYPE a [<!ENTITY b "c">]><sdf>', 'must be without a DOCTYPE'),
    ('world>', 'welt>', 'not XML'), ('world', 'welt', 'must be a world of Gazebo: sdf with'),
    (BOX, '<size>1 20</size>', "wall': box.size = '1 20': must be finite numbers, 3 of them"),
    (BOX, '<size>1 nan 1</size>', 'must be finite numbers'), (BOX, '', 'box.size = None: must be'),
    (BOX, '<size>1 -2 1</size>', r'size_m\[1\] = -2.0: must be greater'),
    ('5 0 7.5', '5 0', "model 'wall': pose = '5 0 0 0 0': must be finite numbers, 6 of them"),
    ('<pose degrees="true">', '<pose relative_to="wall">',
     "'house': pose has relative_to = 'wall': must be without it"),
    ('<direction>0 1 -1', '<direction>0 0 0', "'sunUTC': light.direction = 0 0 0: must have a"),
    ('<normal>0 0 1', '<normal>0 0 0', "'ground_plane': plane.normal = 0 0 0: must have a length"),
    ('<point>0 10</point>', '', "'ridge': polyline has 2 points: must be 3 at least"),
    ('<point>0 10</point>', '<point>0 10</point><point>0 5</point>', 'polyline: must be convex'),
    ('<height>40', '<height>0', 'polyline.height = 0: must be greater than 0'),
    ('</world>', '<model name="x">' * 30 + '</model>' * 30 + '</world>', 'is in 21 others: must'),
    ('</world>', '<include><uri>model://pad</uri></include>' * 2001 + '</world>', 'at most 2000'),
    ('</world>', '<include><uri>model://loop</uri></include></world>', 'is in 21 others: must'),
    ('</world>', '<include><uri>model://bad</uri></include></world>', 'must be a model of Gazebo')])
def test_a_wrong_world_is_one_sentence(old, new, sentence, tmp_path):
    for name, inner in ('loop', '<model name="a"><include><uri>model://loop</uri></include>'
                        '</model>'), ('bad', ''):
        (tmp_path / 'models' / name).mkdir(parents=True)
        (tmp_path / 'models' / name / 'model.sdf').write_text(f'<sdf>{inner}</sdf>')
    (tmp_path / 'beside').mkdir()
    gazebo_world.write_model(tmp_path / 'beside')
    (tmp_path / 'beside' / 'models' / 'pad').rename(tmp_path / 'models' / 'pad')
    assert old in gazebo_world.WORLD
    with pytest.raises(ParameterError, match=sentence) as refused:
        read(tmp_path, gazebo_world.WORLD.replace(old, new))
    assert '\n' not in str(refused.value)


@pytest.mark.slow
def test_a_range_finder_sees_the_wall_that_a_replay_still_has(tmp_path):
    read(tmp_path)
    result = Flight(
        scene=str(tmp_path / 'mine.sdf'), record=tmp_path / 'bag',
        scenario={'mission': [{'take_off': {'up_m': 1.0}}, {'land': {}}],
                  'place': {'instances.range_finder': 1},
                  'set': {'range_finder.direction': 'forward', 'range_finder.noise_m': 0.0}}).fly()
    nearest_m = min(result.table('range')['range_m'])
    assert nearest_m == pytest.approx(4.5, abs=0.15)
    shutil.rmtree(tmp_path / 'models')
    (tmp_path / 'mine.sdf').unlink()
    assert here('replay', tmp_path / 'bag').returncode == 0
