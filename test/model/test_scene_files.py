# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scene files: what they hold, and one sentence for each wrong value."""
import base64
import zlib

import numpy as np
import pytest
import trimesh
from commands import here
from PIL import Image

from px4_sim_ros.model.errors import InputWarning, ParameterError
from px4_sim_ros.model.scene.meshes import in_world
from px4_sim_ros.model.scene.scene import Box, Picture
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.resources import named_files

MESH = 'shape: mesh, name: a, place_m: [1, 2, 3]'
TWO_CORNERS = base64.b64encode(zlib.compress(np.arange(6, dtype='<f4').tobytes())).decode()
POINT = '{time_s: 1, place_m: [0, 0, 0]}'
WAVE = '{amplitude: 1, period_s: 8}'
BOX = 'shape: box, name: a, place_m: [1, 2, 3], size_m: [2, 4, 6]'


def read(folder, text):
    path = folder / 'mine.yaml'
    path.write_text(text)
    return Files().scene(str(path))


def test_an_object_has_what_its_file_says(tmp_path):
    found, = read(tmp_path, f'objects: [{{{BOX}, label: house, friction: 0.5}}]').objects
    assert found == Box(name='a', place_m=(1.0, 2.0, 3.0), size_m=(2.0, 4.0, 6.0), label='house',
                        friction=0.5)
    assert found.half_m == (1.0, 2.0, 3.0)


@pytest.mark.parametrize('name', named_files('scenes'))
def test_a_recording_carries_a_scene_as_it_is(name):
    files = Files()
    scene, text = files.scene(name), files.scene_text(name)
    again = Files({('scenes', name): text}).scene(name)
    assert again.to_mapping() == scene.to_mapping()
    if scene.ground is not None:
        assert np.array_equal(again.ground.heights_m, scene.ground.heights_m)


@pytest.mark.parametrize('kind', ['npy', 'png', 'deep.png'])
def test_heights_of_a_file(kind, tmp_path):
    """An image has its north above, an array its south first."""
    heights = np.array([[0.0, 10.0, 20.0], [50.0, 0.0, 0.0]])
    file = tmp_path / f'heights.{kind}'
    more = ''
    if kind == 'npy':
        np.save(file, heights)
    else:
        deep = kind.startswith('deep')
        white, kind = (65535, np.uint16) if deep else (255, np.uint8)
        Image.fromarray((heights[::-1] / 51.0 * white).round().astype(kind)).save(file)
        more = ', white_m: 51'
    scene = read(tmp_path, f'ground: {{file: {file.name}, spacing_m: 2{more}}}')
    assert scene.ground.heights_m == pytest.approx(heights, abs=1e-3)
    assert scene.ground.corner_m == (-2.0, -1.0)
    again = Files({('scenes', 's'): Files().scene_text(str(tmp_path / 'mine.yaml'))}).scene('s')
    assert np.array_equal(again.ground.heights_m, scene.ground.heights_m)


def test_pictures_of_cells_and_of_a_file(tmp_path):
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    Image.fromarray(pixels).save(tmp_path / 'a.png')
    scene = read(tmp_path, f'objects: [{{{BOX}, picture: {{file: a.png}}}},'
                 f" {{{BOX.replace('name: a', 'name: b')}, picture: {{cells: ['#.', '.#']}}}}]")
    of_file, of_cells = (its.picture for its in scene.objects)
    assert np.array_equal(of_file.array, pixels)
    black, white = b'\x00' * 3, b'\xff' * 3
    assert of_cells == Picture(2, 2, black + white + white + black)
    again = Files({('scenes', 's'): Files().scene_text(str(tmp_path / 'mine.yaml'))}).scene('s')
    assert again.objects == scene.objects


@pytest.mark.parametrize('kind', ['stl', 'obj', 'glb', 'ply'])
def test_a_mesh_of_a_file(kind, tmp_path):
    trimesh.creation.box((2.0, 3.0, 1.0)).export(tmp_path / f'a.{kind}')
    mesh = f'shape: mesh, name: a, place_m: [1, 2, 3], file: a.{kind}, scale: 2'
    scene = read(tmp_path, f'objects: [{{{mesh}, roll_pitch_yaw_deg: [0, 0, 90]}}]')
    triangles = in_world(scene.objects[0])
    assert triangles.shape == (12, 3, 3)
    assert triangles.min(axis=(0, 1)) == pytest.approx((-2.0, 0.0, 2.0))
    assert triangles.max(axis=(0, 1)) == pytest.approx((4.0, 4.0, 4.0))
    again = Files({('scenes', 's'): Files().scene_text(str(tmp_path / 'mine.yaml'))}).scene('s')
    assert again.objects == scene.objects


def test_what_is_left_out_of_a_mesh_is_told_in_a_line(tmp_path):
    text = trimesh.exchange.stl.export_stl_ascii(trimesh.creation.box())
    (tmp_path / 'a.stl').write_text(text.replace('normal', 'normal x', 1))
    with pytest.warns(InputWarning, match=r"objects\[0\].file = 'a.stl': failed to .*normals$"):
        read(tmp_path, f'objects: [{{{MESH}, file: a.stl}}]')


@pytest.mark.parametrize('kind', ['obj', 'glb', 'ply'])
def test_a_recording_carries_what_a_mesh_looks_like(kind, tmp_path):
    mesh = trimesh.creation.box()
    if kind == 'ply':
        mesh.visual.face_colors = np.arange(36, dtype=np.uint8).reshape(12, 3)
    else:
        mesh.visual = trimesh.visual.TextureVisuals(
            np.linspace(0.0, 1.0, 16).reshape(8, 2), image=Image.new('RGB', (2048, 1024), 'red'))
    mesh.export(tmp_path / f'a.{kind}')
    scene = read(tmp_path, f'objects: [{{{MESH}, file: a.{kind}}}]')
    rows, pixels = scene.objects[0].skin.arrays
    assert len(rows) == 12 and len(pixels) == (36 if kind == 'ply' else 1024 * 512)
    again = Files({('scenes', 's'): Files().scene_text(str(tmp_path / 'mine.yaml'))}).scene('s')
    assert again.objects == scene.objects


@pytest.mark.parametrize('text, sentence', [
    ('[]', 'must be a mapping of ground, sun, paths, objects'),
    ('object: []', 'scene.object: unknown parameter; did you mean objects'),
    ('objects: 3', 'objects = 3: must be a list'),
    ('objects: false', 'objects = False: must be a list'),
    ('sun: 0', 'sun = 0: must be a mapping'),
    ('objects: [3]', r'objects\[0\] = 3: must be a mapping with a shape, one of box, cylinder'),
    ('objects: [{shape: cone}]', "must be a mapping with a shape, one of box, cylinder, sphere"),
    ('objects: [{shape: box, name: a, place_m: [0, 0, 0]}]', r'objects\[0\].size_m: missing'),
    (f'objects: [{{{BOX}, sise: 3}}]', r'\[0\].sise: unknown parameter; did you mean size_m'),
    (f'objects: [{{{BOX}}}, {{{BOX}}}]', r"objects\[1\].name = 'a': must be one that no other"),
    (f'objects: [{{{BOX}}}]'.replace('1, 2', '.nan, 2'), r'place_m\[0\] = nan: must be'),
    (f'objects: [{{{BOX}}}]'.replace('2, 4', '-2, 4'), r'size_m\[0\] = -2.0: must be greater'),
    (f'objects: [{{{BOX}, friction: .inf}}]', 'friction = inf: must be at least 0'),
    (f'objects: [{{{BOX}, colour: [1, 2, 0]}}]', r'colour\[1\] = 2.0: must be at least 0 and at'),
    (f'objects: [{{{BOX}, picture: tag}}]', r"\[0\].picture = 'tag': must be a mapping with a"),
    (f'objects: [{{{BOX}, picture: {{}}}}]', r'\[0\].picture = {}: must be a mapping with a file'),
    (f'objects: [{{{BOX}, picture: }}]', r'\[0\].picture = None: must be a mapping with a file'),
    (f'objects: [{{{BOX}, picture: {{cells: 3}}}}]', r'picture.cells = 3: must be a list'),
    (f'objects: [{{{BOX}, picture: {{cells: []}}}}]', r'cells: has 0 cells: must be 1 at least'),
    (f"objects: [{{{BOX}, picture: {{cells: ['#', 'x']}}}}]", r"cells\[1\] = 'x': must be a row"),
    (f"objects: [{{{BOX}, picture: {{cells: ['#', '##']}}}}]", r'\[1\]: has 2 cells: must be 1'),
    (f'objects: [{{{BOX}, picture: {{file: none.png}}}}]', "picture.file = 'none.png': No such"),
    (f'objects: [{{{BOX}, picture: {{file: bad.npy}}}}]', "'bad.npy': must be a file .png"),
    (f'objects: [{{{BOX}, picture: {{file: bad.png}}}}]', "'bad.png': cannot identify image"),
    (f'objects: [{{{BOX}, picture: {{packed: AA, shape: [1, 1]}}}}]', 'must be what a recording'),
    ('objects: [{shape: sphere, name: a, place_m: [0, 0, 0], radius_m: 1, picture: 3}]',
     r'\[0\].picture: unknown parameter'),
    ('objects: [{shape: mesh, name: a, place_m: [0, 0, 0]}]', 'file: missing; name a file with'),
    (f'objects: [{{{MESH}, file: none.stl}}]', "file = 'none.stl': No such file"),
    (f'objects: [{{{MESH}, file: bad.png}}]', "file = 'bad.png': must be a file .stl, .obj"),
    (f'objects: [{{{MESH}, file: bad.glb}}]', "file = 'bad.glb': cannot be read"),
    (f'objects: [{{{MESH}, file: flat.stl}}]', 'file: has no triangle with an area'),
    (f'objects: [{{{MESH}, file: far.stl}}]', 'file: has a corner that is not finite, or too far'),
    (f'objects: [{{{MESH}, file: many.stl}}]', 'has 300000 triangles: must be 1 at least and'),
    (f'objects: [{{{MESH}, file: bare.obj}}]', 'a picture of it cannot be read: .*lost.png.*; wi'),
    (f'objects: [{{{MESH}, file: hurt.obj}}]', 'a picture of it cannot be read: it is damaged; wi'),
    (f'objects: [{{{MESH}, file: a.stl, skin: {{}}}}]', 'file: must be what a recording writes'),
    (f'objects: [{{{MESH}, file: a.stl, skin: {{packed: eNpjYCAMAAAkAAE=, shape: [1, 1],'
     ' packed_pixels: eNpjYGAAAAADAAE=, shape_of_pixels: [1, 1]}}]', 'a corner that is not on its'),
    (f'objects: [{{{MESH}, file: a.stl, scale: 0}}]', 'scale = 0.0: must be greater than 0'),
    ('paths: 3', 'paths = 3: must be a mapping of names to paths'),
    ('paths: {p: 3}', 'paths.p: must be a mapping of points, loop, heave_m, roll_deg, pitch_deg'),
    ('paths: {p: {speed: 3}}', 'paths.p.speed: unknown parameter; known are heave_m, loop'),
    ('paths: {p: {}}', 'paths.p: has 0 points and no waves: must have two points at least, or one'),
    (f'paths: {{p: {{points: [{POINT}]}}}}', 'paths.p: has 1 points and no waves: must have two'),
    ('paths: {p: {points: [{time_s: 0}]}}', r'points\[0\].place_m: missing; it is to the east'),
    (f'paths: {{p: {{points: [{POINT}, {POINT}]}}}}',
     r'points\[1\].time_s = 1: must be greater than that of the point before, 1 s, by a micro'),
    (f'paths: {{p: {{points: [{POINT}]}}}}'.replace('s: 1', 's: .nan'), r'time_s = nan: must be'),
    (f'paths: {{p: {{points: [{POINT}]}}}}'.replace('s: 1', 's: -1'), 'time_s = -1.0: must be at'),
    (f'paths: {{p: {{points: [{POINT}, {POINT.replace("s: 1", "s: 1.01").replace("[0", "[9")}]}}}}',
     r'points\[1\].place_m = \[9.0, 0.0, 0.0\]: is reached with 900 m/s; must be with at most 300'),
    (f'paths: {{p: {{loop: true, points: [{POINT}], roll_deg: [{WAVE}]}}}}',
     'paths.p.loop = True: with 1 points; must be with two at least'),
    (f'paths: {{p: {{loop: true, points: [{POINT}, {POINT.replace("1", "2, yaw_deg: 9")}]}}}}',
     r'p.loop = True: the last point is \[0.0, 0.0, 0.0\] with a yaw of 9; must be the first one'),
    (f'paths: {{p: {{loop: 1, roll_deg: [{WAVE}]}}}}', 'paths.p.loop = 1: must be true or false'),
    (f'paths: {{p: {{roll_deg: [{", ".join([WAVE] * 17)}]}}}}', 'roll_deg: 17 of them; must be at'),
    ('paths: {p: {heave_m: [{amplitude: 1, period_s: 0}]}}', 'period_s = 0.0: must be at least'),
    ('paths: {p: {heave_m: [{amplitude: .inf, period_s: 1}]}}', r'\[0\].amplitude = inf: must'),
    (f'paths: {{{", ".join(f"p{i}: {{roll_deg: [{WAVE}]}}" for i in range(101))}}}',
     'paths: 101 of them; must be at most 100'),
    (f'{{paths: {{ship: {{roll_deg: [{WAVE}]}}}}, objects: [{{{BOX}, path: shop}}]}}',
     r"objects\[0\].path = 'shop': must be one of ship; did you mean ship"),
    (f'objects: [{{{BOX}, path: ship}}]', r"objects\[0\].path = 'ship': must be one of no paths"),
    ('ground: {path: p, heights_m: [[0, 0], [0, 0]], spacing_m: 1}', 'ground.path: unknown param'),
    ('ground: 3', 'ground = 3: must be a mapping'),
    ('ground: {spacing_m: 1}', 'ground.heights_m: missing'),
    ('ground: {heights_m: [[0, 0], [0]], spacing_m: 1}', r'\[1\]: has 1 heights: must be 2'),
    ('ground: {heights_m: [[0, 0], [0, .nan]], spacing_m: 1}', r'heights_m\[1\]\[1\] = nan: must'),
    ('ground: {heights_m: [[0, 0], [0, x]], spacing_m: 1}', r"\[1\]\[1\] = 'x': must be a number"),
    ('ground: {heights_m: [[0, 0]], spacing_m: 1}', 'must be two rows and two columns at least'),
    (f'objects: [{{{MESH}, file: index.obj}}]', "'index.obj': cannot be read: must be a whole"),
    (f'objects: [{{{MESH}, file: plane.obj}}]', 'file: must be triangles of three corners'),
    (f'objects: [{{{MESH}, corners: {{packed: AA, shape: [1, 2]}}}}]', 'must be what a recording'),
    (f'objects: [{{{MESH}, corners: {{packed: {TWO_CORNERS}, shape: [1, 2]}}}}]',
     'file: must be triangles of three corners'),
    ('ground: {heights_m: [[0, 0], [0, 0]], spacing_m: 0}', 'spacing_m = 0.0: must be greater'),
    ('ground: {file: none.npy, spacing_m: 1}', "file = 'none.npy': No such file"),
    ('ground: {file: mine.yaml, spacing_m: 1}', "file = 'mine.yaml': must be a file .npy, .png"),
    ('ground: {file: bad.npy, spacing_m: 1}', "file = 'bad.npy': cannot be read"),
    ('ground: {file: big.npy, spacing_m: 1}', 'has 360000 posts: must be at most 262144'),
    ('ground: {file: grey.png, spacing_m: 1}', 'ground.white_m: missing; it is the height of'),
    ('ground: {file: real.tif, spacing_m: 1, white_m: 5}', 'has shades of mode F: must be of 8 or'),
    ('ground: {file: cut.tif, spacing_m: 1, white_m: 5}', "file = 'cut.tif': cannot be read: "),
    ('ground: {packed_heights_m: AAAA, shape: [2, 2], spacing_m: 1}', 'must be what a'),
])
def test_bad_input_is_one_sentence(text, sentence, tmp_path):
    (tmp_path / 'bad.npy').write_bytes(b'no array')
    (tmp_path / 'index.obj').write_text('v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n')
    (tmp_path / 'plane.obj').write_text('v 0\nv 1\nv 2\nf 1 2 3\n')
    for name in 'bad.png', 'bad.glb':
        (tmp_path / name).write_bytes(b'no image')
    for name, material in ('bare', 'newmtl a\nmap_Kd lost.png\n'), ('hurt', 'map_Kd grey.png\n'):
        (tmp_path / f'{name}.mtl').write_text(material)
        (tmp_path / f'{name}.obj').write_text(
            f'mtllib {name}.mtl\nusemtl a\n'
            'v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n')
    for name, corners in {
            'flat': [[[0, 0, 0]] * 3], 'far': [[[1e9, 0, 0], [0, 1, 0], [0, 0, 1]]],
            'a': [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]],
            'many': np.random.default_rng(1).random((300_000, 3, 3))}.items():
        if name in text:
            trimesh.Trimesh(**trimesh.triangles.to_kwargs(np.array(corners, float)),
                            process=False).export(tmp_path / f'{name}.stl')
    np.save(tmp_path / 'big.npy', np.zeros((600, 600)))
    Image.new('L', (3, 3)).save(tmp_path / 'grey.png')
    Image.new('F', (3, 3)).save(tmp_path / 'real.tif')
    Image.new('L', (3, 3)).save(tmp_path / 'cut.tif')
    whole = (tmp_path / 'cut.tif').read_bytes()
    (tmp_path / 'cut.tif').write_bytes(whole[:len(whole) - 40])
    with pytest.raises(ParameterError, match=sentence) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f'scene file {tmp_path}/mine.yaml: ')


def test_a_scene_that_is_not_there():
    refused = here('fly', '--mode', 'core', '--scene', 'stret')
    assert (refused.returncode, refused.stderr) == (
        2, "fly: scene 'stret': there is no such scene; did you mean street; there are canyon,"
        ' forest, hills, landing_pad, moving_deck, street, traffic, wall, warehouse\n')
