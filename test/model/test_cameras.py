# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cameras that see the scene: what is where, light and shadow, lens and noise, pixel by pixel."""
import math

import numpy as np
import pytest
import trimesh
import yaml
from PIL import Image
from test_scene_contact import as_mesh
from test_scene_sensors import at, block, made, measured, rotation, to_box

from px4_sim_ros.model.environment.ground import LEVEL
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.own_blocks import to_text
from px4_sim_ros.model.scene import colours
from px4_sim_ros.model.scene.rays import Pose
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.model.sensors.scanning import ColourParameters
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.own_blocks import rows_of

RED, GREEN = (0.8, 0.2, 0.1), (0.2, 0.6, 0.3)
AZIMUTH_DEG, ELEVATION_DEG, SKY = 200.0, 40.0, 0.3
SCENE = f'''
sun: {{azimuth_deg: {AZIMUTH_DEG}, elevation_deg: {ELEVATION_DEG}, sky: {SKY}}}
objects:
  - {{shape: box, name: wall, place_m: [8, 0, 3], size_m: [2, 8, 6], colour: {list(RED)}}}
  - {{shape: sphere, name: ball, place_m: [4, 3, 1], radius_m: 1, colour: {list(GREEN)}}}
'''
EYE, LOOK = (0.0, 0.0, 5.0), {'pitch': 12.0}
SUN = (math.cos(math.radians(ELEVATION_DEG)) * math.sin(math.radians(AZIMUTH_DEG)),
       math.cos(math.radians(ELEVATION_DEG)) * math.cos(math.radians(AZIMUTH_DEG)),
       math.sin(math.radians(ELEVATION_DEG)))
SMALL = {'width': 80, 'height': 60}


def to_ball(origin, ray):
    """Return how far the ball is, by the roots of its square."""
    x, y, z = np.array(origin) - (4.0, 3.0, 1.0)
    half, rest = x * ray[0] + y * ray[1] + z * ray[2], x * x + y * y + z * z - 1.0
    root = half * half - rest
    return -half - math.sqrt(root) if root >= 0.0 and -half > math.sqrt(root) else math.inf


def seen(ray):
    """Return what a ray meets: its number, the place, and the normal."""
    ground = -EYE[2] / ray[2] if ray[2] < 0.0 else math.inf
    wall, ball = to_box(EYE, ray), to_ball(EYE, ray)
    distance = min(ground, wall, ball)
    place = np.array(EYE) + distance * ray if distance < 1000.0 else None
    if place is None:
        return 0, place, None
    if distance == ball:
        return 3, place, place - (4.0, 3.0, 1.0)
    if distance == wall:
        offset = (place - (8.0, 0.0, 3.0)) / (1.0, 4.0, 3.0)
        axis = np.argmax(np.abs(offset))
        return 2, place, np.sign(offset[axis]) * np.eye(3)[axis]
    return 1, place, np.array([0.0, 0.0, 1.0])


def rays_of(width, height, f, **turn):
    """Return the direction of each pixel."""
    body = rotation(**turn)
    for v in range(height):
        for u in range(width):
            ahead = np.array([1.0, -(u - 0.5 * (width - 1)) / f, -(v - 0.5 * (height - 1)) / f])
            yield v, u, body @ ahead / np.linalg.norm(ahead)


def test_what_is_where_and_how_bright_it_is():
    """Each pixel: its label, and its colour in the light of the sky and the sun."""
    image = measured(block(SCENE, 'Camera', **SMALL), at(EYE, **LOOK))
    info = measured(block(SCENE, 'CameraCalibration', **SMALL), at(EYE))
    shown = measured(block(SCENE, 'LabelCamera', **SMALL), at(EYE, **LOOK))
    assert (image.encoding, image.step, shown.encoding) == ('rgb8', 240, '16UC1')
    assert image.header.frame_id == 'camera_optical_frame'
    pixels = np.frombuffer(image.data, np.uint8).reshape(60, 80, 3)
    labels = np.frombuffer(shown.data, '<u2').reshape(60, 80)
    found = {}
    for v, u, ray in rays_of(80, 60, info.k[0], **LOOK):
        number, place, normal = seen(ray)
        assert labels[v, u] == number, (u, v)
        if number == 0:
            continue
        above = place + 1e-6 * normal
        is_lit = normal @ SUN > 0.0 and math.inf == min(to_box(above, SUN), to_ball(above, SUN))
        bright = SKY + (1.0 - SKY) * (normal @ SUN if is_lit else 0.0)
        bright *= colours.grain(*above, np.linalg.norm(place - EYE))
        colour = np.array([None, (0.45, 0.5, 0.35), RED, GREEN][number], float)
        exact = 255.0 * np.minimum(1.0, bright * colour) ** (1.0 / 2.2)
        assert pixels[v, u] == pytest.approx(exact, abs=1.5), (u, v)
        found.setdefault((number, bool(is_lit)), 0)
        found[number, bool(is_lit)] += 1
    many = {key for key, count in found.items() if count > 5}
    assert {(1, True), (1, False), (2, True), (3, True)} <= many, 'in the light, and in shadow'


def test_at_night_there_is_the_light_of_the_sky():
    night = SCENE.replace(f'elevation_deg: {ELEVATION_DEG}', 'elevation_deg: -5')
    day, dark = (np.frombuffer(measured(block(scene, 'Camera', **SMALL), at(EYE, **LOOK)).data,
                               np.uint8).reshape(-1, 3) for scene in (SCENE, night))
    ground = np.frombuffer(measured(
        block(SCENE, 'LabelCamera', **SMALL), at(EYE, **LOOK)).data, '<u2') == 1
    assert (dark[ground] <= day[ground]).all() and dark[ground].mean() < 0.8 * day[ground].mean()
    # In linear light an exposure of two doubles it.
    twice = np.frombuffer(measured(block(night, 'Camera', exposure=2.0, **SMALL),
                                   at(EYE, **LOOK)).data, np.uint8).reshape(-1, 3)
    linear = (twice[ground] / 255.0) ** 2.2 / (dark[ground] / 255.0) ** 2.2
    assert np.median(linear) == pytest.approx(2.0, rel=0.05)


LENS = (-0.28, 0.08, 0.001, -0.0005, 0.0)


def test_a_mesh_looks_as_what_it_is_of():
    """The wall and the ball, with their numbers, colours and shadows, but for their outlines."""
    content = yaml.safe_load(SCENE)
    content['objects'] = [as_mesh(entry, 5) for entry in content['objects']]
    meshes = yaml.safe_dump(Scene.from_mapping('s', 's', content).to_mapping())
    for kind, size, most in ('LabelCamera', 2, 0), ('Camera', 3, 3):
        images = [np.frombuffer(measured(block(scene, kind, **SMALL), at(EYE, **LOOK)).data,
                                '<u2' if size == 2 else np.uint8).reshape(60, 80, -1).astype(int)
                  for scene in (SCENE, meshes)]
        apart = np.abs(images[0] - images[1]).max(axis=2) > most
        assert apart.mean() < 0.01 and len(np.unique(images[0])) >= 4


CELLS = ['#..#', '.##.', '....']


def test_a_picture_is_on_the_upper_face_of_a_box():
    """Each pixel that shows it, from above: the cell at its place, as bright as the light."""
    scene = f'''
sun: {{elevation_deg: -10, sky: 0.5}}
objects:
  - {{shape: box, name: pad, place_m: [1, 2, 0.5], size_m: [4, 3, 1],
     roll_pitch_yaw_deg: [0, 0, 30], picture: {{cells: {CELLS}}}}}
'''
    eye, down = (1.5, 1.0, 6.0), {'pitch': 90.0}
    image = measured(block(scene, 'Camera', **SMALL), at(eye, **down))
    labels = measured(block(scene, 'LabelCamera', **SMALL), at(eye, **down))
    pixels = np.frombuffer(image.data, np.uint8).reshape(60, 80, 3)
    shown = np.frombuffer(labels.data, '<u2').reshape(60, 80) == 2
    f = measured(block(scene, 'CameraCalibration', **SMALL), at(eye)).k[0]
    turn, count = rotation(yaw=30.0), 0
    white = round(255 * 0.5 ** (1 / 2.2))
    for v, u, ray in rays_of(80, 60, f, **down):
        x, y, _ = turn.T @ (np.array(eye) + ray * (5.0 / -ray[2]) - (1.0, 2.0, 1.0))
        column, row = (x / 4.0 + 0.5) * 4, (0.5 - y / 3.0) * 3
        if not shown[v, u] or min(abs(column - round(column)), abs(row - round(row))) < 1e-3:
            continue
        assert 0 <= column < 4 and 0 <= row < 3
        assert abs(int(pixels[v, u, 1]) - (0 if CELLS[int(row)][int(column)] == '#' else white)) < 2
        count += 1
    assert count > 600


NIGHT = 'sun: {elevation_deg: -10, sky: 0.5}'
POSE = 'place_m: [1, 2, 0.5], roll_pitch_yaw_deg: [0, 0, 30]'
OVER = at((1.5, 1.0, 6.0), pitch=90.0)


def seen_of(folder, entry):
    """Return image and labels from above, of an object of a file in a folder."""
    path = folder / 'mine.yaml'
    path.write_text(f'{{{NIGHT}, objects: [{{name: pad, {POSE}, {entry}}}]}}')
    scene = Files().scene_text(str(path))
    return [np.frombuffer(measured(block(scene, kind, **SMALL), OVER).data, of).reshape(60, 80, -1)
            for kind, of in (('Camera', np.uint8), ('LabelCamera', '<u2'))]


@pytest.mark.parametrize('kind', ['glb', 'obj'])
def test_a_picture_on_a_mesh_is_that_on_a_box(kind, tmp_path):
    """Each pixel, of a picture that the mesh has six times beside each other as well."""
    pixels = np.random.default_rng(3).integers(0, 256, (5, 7, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / 'one.png')
    Image.fromarray(np.tile(pixels, (2, 3, 1))).save(tmp_path / 'six.png')
    for times, name in ((1, 1), 'one'), ((3, 2), 'six'):
        quad = trimesh.Trimesh(np.array([(-2, -1.5, 0.5), (2, -1.5, 0.5), (2, 1.5, 0.5),
                                         (-2, 1.5, 0.5)]), [(0, 1, 2), (0, 2, 3)], process=False)
        quad.visual = trimesh.visual.TextureVisuals(
            np.array([(-1, 0), (times[0] - 1, 0), (times[0] - 1, times[1]), (-1, times[1])]),
            material=trimesh.visual.material.PBRMaterial(
                baseColorTexture=Image.open(tmp_path / 'one.png')))
        quad.export(tmp_path / f'{name}.{kind}')
        box, mesh = (seen_of(tmp_path, entry) for entry in (
            f'shape: box, size_m: [4, 3, 1], picture: {{file: {name}.png}}',
            f'shape: mesh, file: {name}.{kind}'))
        assert np.array_equal(mesh[0], box[0]) and np.array_equal(mesh[1], box[1])
        assert (mesh[1] == 2).sum() > 600
    grey = seen_of(tmp_path, f'shape: mesh, file: one.{kind}, colour: [0, 0, 0]')
    assert (grey[0][grey[1][..., 0] == 2] == 0).all(), 'that of the scene file takes its place'


def test_colours_of_corners_are_mixed_between_them(tmp_path):
    corners = np.array([(-2, -1.5, 0.5), (2, -1.5, 0.5), (-1, 2, 0.5)])
    lights = np.array([(255, 0, 51), (0, 255, 102), (0, 0, 255)], np.uint8)
    trimesh.Trimesh(corners, [(0, 1, 2)], vertex_colors=lights, process=False).export(
        tmp_path / 'a.glb')
    image, labels = seen_of(tmp_path, 'shape: mesh, file: a.glb')
    in_world = corners @ rotation(yaw=30.0).T + (1.0, 2.0, 0.5)
    f, count = 40.0 / math.tan(math.radians(87.0 / 2)), 0
    for v, u, ray in rays_of(80, 60, f, pitch=90.0):
        place = np.array((1.5, 1.0, 6.0)) + ray * (5.0 / -ray[2])
        shares = np.linalg.solve(np.vstack((in_world[:, :2].T, np.ones(3))), (*place[:2], 1.0))
        if labels[v, u] != 2:
            continue
        # Of glTF, whose colours are light; as they are kept, in 8 bits each.
        exact = 255.0 * (0.5 * colours.grain(*place, 5.0 / -ray[2]) * shares @ (
            lights / 255.0)).clip(0.0, 1.0) ** (1.0 / 2.2)
        dark = exact < 30.0
        assert (np.abs(image[v, u] - exact)[~dark] < 2.5).all() and (image[v, u][dark] < 36).all()
        count += 1
    assert count > 400


def on_gimbal(**given):
    """Return a camera for labels on a plane, whose servos are a rudder and so on."""
    return on_plane('LabelCamera', width=9, height=9, field_of_view_deg=20, **given)


def on_plane(kind, **given):
    row, = rows_of({'vehicle': [{'class': f'px4_sim_ros:{kind}', 'period_us': 80_000, **given}]})
    ball = 'objects: [{shape: sphere, name: ball, radius_m: 0.3, place_m: [7, -6, 4]}]'
    configuration = load_configuration(
        None, {'': {'scene': 'mine', 'vehicle': 'plane', 'blocks': to_text([row])}},
        files=Files({('scenes', 'mine'): ball}))
    return made(configuration, row.name)


def labels_at(block, *angles_deg):
    """Return what it sees from the ground, with roll, pitch and yaw of its gimbal."""
    angles = tuple(map(math.radians, angles_deg))
    truth = at((0.0, 0.0, 0.0))._replace(servo_angles_rad=(angles[2], angles[0], 1.0, angles[1]))
    return np.frombuffer(measured(block, truth).data, '<u2').reshape(9, 9)


GIMBAL = {'gimbal_roll': 'left_aileron', 'gimbal_pitch': 'elevator', 'gimbal_yaw': 'rudder'}


def test_a_gimbal_turns_up_and_to_the_right_by_the_angles_of_its_servos():
    """As MAVLink counts: then a ball there is in the middle, and what it is beside turns."""
    up, right = math.degrees(math.atan2(4, math.hypot(7, 6))), math.degrees(math.atan2(6, 7))
    seen = on_gimbal(**GIMBAL)
    middle = np.zeros((9, 9), bool)
    middle[4, 4] = True
    assert np.array_equal(labels_at(seen, 0.0, up, right) == 2, middle)
    below = np.argwhere(labels_at(seen, 0.0, up + 5.0, right) == 2)
    assert (below[:, 0] > 5).all() and (below[:, 1] == 4).all() and len(below)
    # Rolled to the right by 90 degrees: what is below is on the right.
    beside = np.argwhere(labels_at(seen, 90.0, up + 5.0, right) == 2)
    assert (beside[:, 1] > 5).all() and (beside[:, 0] == 4).all() and len(beside)
    # Without a servo for it an axis does not turn, and its mounting is within.
    mounted = on_gimbal(gimbal_yaw='rudder', mounting_deg=[0.0, -up, 0.0])
    assert np.array_equal(labels_at(mounted, 9.0, 9.0, right) == 2, middle)


def test_a_lidar_on_a_gimbal_sees_as_one_on_a_body_that_turns_so():
    """Also within a scan, in which its servos have turned."""
    how = {'columns': 90, 'max_range_m': 20, 'noise_m': 0}
    seen = on_plane('Lidar2d', gimbal_pitch='elevator', gimbal_yaw='rudder',
                    position_m=[0.1, 0, 0.2], **how)
    same = on_plane('Lidar2d', **how)
    up_deg, right_deg, faster_deg_s = -20.0, 40.0, 30.0
    still = at((0.0, 0.0, 3.0))
    for right in right_deg - 0.08 * faster_deg_s, right_deg:
        found = measured(seen, still._replace(servo_angles_rad=(
            math.radians(right), 0.0, 0.0, math.radians(up_deg)))).ranges
    turned = at((0.1, 0.0, 3.2), yaw=-right_deg, pitch=-up_deg)
    expected = measured(same, turned._replace(rate_flu=tuple(
        rotation(pitch=-up_deg).T @ (0.0, 0.0, -math.radians(faster_deg_s))))).ranges
    is_met = np.isfinite(expected)
    assert 20 < is_met.sum() < 80 and np.array_equal(np.isfinite(found), is_met)
    assert np.array(found)[is_met] == pytest.approx(np.array(expected)[is_met], rel=1e-6)


def test_a_range_finder_on_a_gimbal_looks_where_it_is_turned_to():
    """To the ball; and to the ground, whose distance is its height over a sine."""
    seen = on_plane('DistanceSensor', noise_m=0, **GIMBAL)
    ball = math.sqrt(7**2 + 6**2 + 4**2) - 0.3
    up, right = math.atan2(4, math.hypot(7, 6)), math.atan2(6, 7)
    truth = at((0.0, 0.0, 0.0))._replace(servo_angles_rad=(right, 0.3, 0.0, up))
    assert measured(seen, truth).range == pytest.approx(ball, rel=1e-6)
    truth = at((0.0, 0.0, 5.0), pitch=10.0)._replace(
        servo_angles_rad=(0.0, 0.0, 0.0, math.radians(-40.0)))
    assert measured(seen, truth).range == pytest.approx(
        5.0 / math.sin(math.radians(50.0)), rel=1e-6)


@pytest.mark.parametrize('given, sentence', [
    ({'gimbal_yaw': 'ruder'}, "gimbal_yaw = 'ruder': must be a servo of plane: rudder, left_ail"),
    ({'gimbal_yaw': 'rudder', 'period_us': 20_000}, 'on a gimbal, it must be a multiple of'),
])
def test_a_gimbal_that_cannot_be_is_refused(given, sentence):
    with pytest.raises(ParameterError, match=sentence):
        on_gimbal(**given)


def test_opencv_finds_what_the_camera_sees():
    """Its projection of the corners of a marker, by the calibration, is where its detector is."""
    cv2 = pytest.importorskip('cv2')
    eye, turn = (2.0, 1.2, 3.0), {'pitch': 80.0, 'roll': 4.0}
    how = {'width': 640, 'height': 480, 'distortion': [-0.2, 0.05, 0.002, -0.001, 0.0]}
    pad = Files().scene_text('landing_pad')
    image = measured(block(pad, 'Camera', **how), at(eye, **turn))
    info = measured(block(pad, 'CameraCalibration', **how), at(eye))
    corners, numbers, _ = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(
        cv2.aruco.DICT_APRILTAG_36h11)).detectMarkers(
            np.frombuffer(image.data, np.uint8).reshape(480, 640, 3)[:, :, ::-1].copy())
    assert numbers.ravel().tolist() == [0]
    # To the right, down and ahead of the camera, of the black border of 8 of 10 cells.
    to_camera = np.array([[0, -1, 0], [0, 0, -1], [1, 0, 0]]) @ rotation(**turn).T
    places = np.array([(3 + x, 2 + y, 0.04) for x, y in (
        (-0.4, 0.4), (0.4, 0.4), (0.4, -0.4), (-0.4, -0.4))])
    expected, _ = cv2.projectPoints(
        places, cv2.Rodrigues(to_camera)[0], -to_camera @ eye,
        np.array(info.k).reshape(3, 3), np.array(info.d))
    assert np.abs(corners[0][0] - expected[:, 0]).max() < 1.0


def test_a_lens_bends_as_in_the_model_of_opencv():
    """Its pixel is where the model puts the direction of its ray."""
    p = ColourParameters.from_mapping('camera', {'distortion': list(LENS), **SMALL})
    k1, k2, p1, p2, k3 = LENS
    for (ahead, left, up), (u, v) in zip(p.slopes, ((u, v) for v in range(60) for u in range(80))):
        x, y = -left / ahead, -up / ahead
        r2 = x * x + y * y
        radial = 1 + k1 * r2 + k2 * r2 ** 2 + k3 * r2 ** 3
        assert p.focal_px * (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)) + 39.5 == (
            pytest.approx(u, abs=1e-6))
        assert p.focal_px * (y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y) + 29.5 == (
            pytest.approx(v, abs=1e-6))
    info = measured(block(SCENE, 'CameraCalibration', distortion=list(LENS), **SMALL), at(EYE))
    assert tuple(info.d) == LENS and info.distortion_model == 'plumb_bob'


def test_a_lens_that_folds_the_image_is_refused():
    with pytest.raises(ParameterError, match=r'camera\.?:? ?distortion = .* bends the edges'):
        ColourParameters.from_mapping('camera', {
            'distortion': [-0.9, 0.0, 0.0, 0.0, 0.0], 'field_of_view_deg': 120.0, **SMALL})


def test_noise_is_that_of_its_time():
    exact, *noisy = (np.frombuffer(measured(
        block(SCENE, 'Camera', noise=noise, **SMALL), at(EYE, time_us=time_us)).data, np.uint8
        ).astype(float) for noise, time_us in (
            (0.0, 100_000), (0.02, 100_000), (0.02, 100_000), (0.02, 164_000)))
    first, again, other = noisy
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    inside = (exact > 30) & (exact < 225)
    assert np.std(first[inside] - exact[inside]) == pytest.approx(0.02 * 255.0, rel=0.05)


def test_what_is_left_out_is_not_seen():
    """Groups of pixels see the same as each by itself, to the bit."""
    slopes = ColourParameters.from_mapping('camera', dict(SMALL)).slopes
    rays = slopes / np.linalg.norm(slopes, axis=1)[:, None]
    pose = Pose((1.0, -12.0, 4.0), tuple(rotation(3.0, 10.0, 80.0).ravel()))
    for name in 'street', 'forest', 'hills':
        eyes = [colours.Eye(Files().scene(name), LEVEL, rays, 500.0, 1.0, group)
                for group in (40, 1)]
        for eye in eyes:
            eye.look(pose)
        assert np.array_equal(eyes[0].image, eyes[1].image)
        assert np.array_equal(eyes[0].labels, eyes[1].labels)
        assert len(np.unique(eyes[0].labels)) >= 2
