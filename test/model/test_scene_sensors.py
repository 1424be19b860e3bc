# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sensors that see the scene, as blocks: closed forms, pixel by pixel, without and with noise."""
import math

import numpy as np
import pytest
from commands import here
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import PointField
from transforms3d.euler import euler2mat, euler2quat

import px4_sim_ros
from px4_sim_ros.model.environment.ground import LEVEL
from px4_sim_ros.model.own_blocks import to_text
from px4_sim_ros.model.scene.rays import Pose, Rays
from px4_sim_ros.model.sensors.scanning import CameraParameters, LidarParameters
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step.graph import block_class

# Middle, half sizes.
WALL = (8.0, 0.0, 3.0), (1.0, 4.0, 3.0)
SCENE = '''
objects:
  - {shape: box, name: wall, place_m: [8, 0, 3], size_m: [2, 8, 6]}
'''
EXACT = {'noise_m': 0.0}


def block(scene, name, **given):
    """Return a block of the package in a world with a scene, ready to measure."""
    entry = {'class': f'px4_sim_ros:{name}', **given}
    configuration = load_configuration(
        None, {'': {'scene': 'mine', 'blocks': to_text(rows_of({'vehicle': [entry]}))}},
        files=Files({('scenes', 'mine'): scene}))
    row, = configuration.world.own_blocks
    return made(configuration, row.name)


def made(configuration, name):
    """Return a block without the others: a bridge wants a port."""
    found = block_class(configuration.graph.nodes[name])(block_configuration(configuration, name))
    found.reset()
    return found


def measured(block, truth):
    """Return the message that a block puts out."""
    (data,) = block.step(truth.time_us, {'ground_truth/odom': truth}).values()
    return deserialize_message(data, block.message)


def at(place, roll=0.0, pitch=0.0, yaw=0.0, velocity=(0.0, 0.0, 0.0), rate=(0.0, 0.0, 0.0),
       time_us=1_000_000):
    """Return a motion; angles in degrees."""
    attitude = tuple(euler2quat(*map(math.radians, (roll, pitch, yaw))))
    still = 0.0, 0.0, 0.0
    return Truth(time_us, place, attitude, velocity, rate, still, still, (), ())


def to_box(origin, ray, middle=WALL[0], half=WALL[1]):
    """Return how far a box is by its six faces, one after the other."""
    best = math.inf
    for axis in range(3):
        for side in -1.0, 1.0:
            if ray[axis]:
                t = (middle[axis] + side * half[axis] - origin[axis]) / ray[axis]
                hit = [origin[k] + t * ray[k] for k in range(3)]
                if 0.0 < t < best and all(
                        abs(hit[k] - middle[k]) <= half[k] for k in range(3) if k != axis):
                    best = t
    return best


def to_world(origin, ray):
    """Return how far the wall or the ground is."""
    ground = -origin[2] / ray[2] if ray[2] < 0.0 else math.inf
    return min(ground, to_box(origin, ray))


def test_a_scan_in_front_of_a_box_ray_by_ray():
    lidar = block(SCENE, 'Lidar2d', columns=181, field_of_view_deg=180, max_range_m=20, **EXACT)
    scan = measured(lidar, at((1.0, 1.5, 2.0), yaw=10.0))
    angles = np.degrees(scan.angle_min + scan.angle_increment * np.arange(181))
    assert angles[[0, 90, 180]] == pytest.approx([-90, 0, 90], abs=1e-4)
    exact = [to_world((1.0, 1.5, 2.0), (math.cos(a), math.sin(a), 0.0))
             for a in np.radians(np.arange(-90, 91) + 10.0)]
    exact = np.where(np.array(exact) <= 20.0, exact, math.inf)
    assert np.isfinite(exact).sum() > 50 and np.isinf(exact).sum() > 50
    assert np.array(scan.ranges) == pytest.approx(exact, abs=1e-5)
    # The cosine of the angle at which the front of the box is met.
    ahead = np.abs(angles) < 10.0
    assert np.array(scan.intensities)[ahead] == pytest.approx(
        np.cos(np.radians(angles[ahead] + 10.0)), abs=1e-5)
    assert (scan.range_min, scan.range_max) == (pytest.approx(0.1), 20.0)


def test_points_of_a_lidar_are_on_the_box_and_the_ground():
    lidar = block(SCENE, 'Lidar', columns=90, lines=8, **EXACT, position_m=[0.2, 0.0, 0.1],
                  mounting_deg=[0, 30, 0])
    place, turn = (0.0, 0.0, 3.0), dict(roll=5.0, pitch=-8.0, yaw=20.0)
    cloud = measured(lidar, at(place, **turn))
    points = points_of(cloud)
    assert set(points['ring']) == set(range(8)) and len(points) == cloud.width > 300
    body = rotation(**turn)
    sensor = body @ rotation(pitch=30.0)
    origin = np.array(place) + body @ (0.2, 0.0, 0.1)
    for x, y, z in zip(points['x'], points['y'], points['z']):
        distance = math.sqrt(x * x + y * y + z * z)
        ray = sensor @ np.array([x, y, z]) / distance
        assert distance == pytest.approx(to_world(origin, ray), rel=2e-5)
    assert np.all(np.diff(points['time']) >= 0.0) and points['time'][-1] < 0.1


def points_of(cloud):
    """Return the points of a cloud as its fields describe them."""
    forms = {PointField.FLOAT32: '<f4', PointField.UINT16: '<u2'}
    kind = np.dtype({
        'names': [field.name for field in cloud.fields],
        'formats': [forms[field.datatype] for field in cloud.fields],
        'offsets': [field.offset for field in cloud.fields], 'itemsize': cloud.point_step})
    assert cloud.row_step == cloud.point_step * cloud.width and cloud.height == 1
    return np.frombuffer(cloud.data, kind)


def rotation(roll=0.0, pitch=0.0, yaw=0.0):
    return euler2mat(*map(math.radians, (roll, pitch, yaw)))


def test_a_depth_image_of_a_box_pixel_by_pixel():
    camera = block(SCENE, 'DepthCamera', width=64, height=48, max_range_m=25, **EXACT)
    info = measured(block(SCENE, 'DepthCameraInfo', width=64, height=48), at((0.0, 0.0, 2.0)))
    image = measured(camera, at((0.0, 0.0, 2.0), pitch=4.0))
    assert (image.encoding, image.width, image.height) == ('32FC1', 64, 48)
    assert image.header.frame_id == 'depth_camera_optical_frame' == info.header.frame_id
    pixels = np.frombuffer(image.data, '<f4').reshape(48, 64)
    fx, _, cx, _, fy, cy, *_ = info.k
    assert 2.0 * math.degrees(math.atan(32.0 / fx)) == pytest.approx(87.0)
    body = rotation(pitch=4.0)
    for v in range(48):
        for u in range(64):
            ahead = np.array([1.0, -(u - cx) / fx, -(v - cy) / fy])
            length = np.linalg.norm(ahead)
            distance = to_world((0.0, 0.0, 2.0), body @ ahead / length)
            assert pixels[v, u] == pytest.approx(
                distance / length if distance <= 25.0 else math.inf, rel=2e-6), (u, v)


def test_the_scan_of_a_depth_camera_direction_by_direction():
    """The nearest of its middle rows, along the plane of the scan."""
    how = {'width': 64, 'height': 48, 'max_range_m': 25}
    scan = measured(block(SCENE, 'DepthScan', rows=6, **how, **EXACT), at((0.0, 0.0, 2.0)))
    image = measured(block(SCENE, 'DepthCamera', **how, **EXACT), at((0.0, 0.0, 2.0)))
    info = measured(block(SCENE, 'DepthCameraInfo', width=64, height=48), at((0.0, 0.0, 2.0)))
    depth = np.frombuffer(image.data, '<f4').reshape(48, 64)[21:27].min(axis=0)
    angles = scan.angle_min + scan.angle_increment * np.arange(64)
    assert math.degrees(-scan.angle_min) == pytest.approx(
        math.degrees(math.atan(31.5 / info.k[0])), abs=1e-4)
    assert np.isfinite(scan.ranges).any() and np.isinf(scan.ranges).any()
    for angle, found in zip(angles, scan.ranges):
        column = 31.5 - info.k[0] * math.tan(angle)
        near = [depth[math.floor(column + 1e-6)], depth[math.ceil(column - 1e-6)]]
        slope = [math.hypot(1.0, (31.5 - u) / info.k[0])
                 for u in (math.floor(column + 1e-6), math.ceil(column - 1e-6))]
        assert any(found == pytest.approx(a * b, rel=1e-5) for a, b in zip(near, slope))
    assert scan.header.frame_id == 'depth_scan_link'


def test_a_lidar_that_moves_sees_a_wall_from_where_it_is():
    """A wall across the way: each column is from an earlier place than the next."""
    scene = 'objects: [{shape: box, name: a, place_m: [50, 0, 0], size_m: [20, 900, 900]}]'
    given = dict(columns=5, field_of_view_deg=40, **EXACT)
    truth = at((0.0, 0.0, 5.0), velocity=(10.0, 0.0, 0.0), rate=(0.0, 0.0, 0.5))
    scan = np.array(measured(block(scene, 'Lidar2d', **given), truth).ranges)
    late = 0.1 * np.arange(4, -1, -1) / 5.0
    azimuth = np.radians([-20, -10, 0, 10, 20]) - 0.5 * late
    assert scan == pytest.approx((40.0 + 10.0 * late) / np.cos(azimuth), rel=1e-6)
    still = measured(block(scene, 'Lidar2d', moves=False, **given), truth)
    assert np.array(still.ranges) == pytest.approx(
        40.0 / np.cos(np.radians([-20, -10, 0, 10, 20])), rel=1e-6)


def test_noise_drop_out_and_limits():
    scene = 'objects: [{shape: sphere, name: a, place_m: [0, 0, 5], radius_m: 0.001}]'
    down = dict(mounting_deg=[0, 90, 0], field_of_view_deg=1, columns=4001, moves=False)
    lidar = block(scene, 'Lidar2d', noise_m=0.05, drop_out=0.2, resolution_m=0.01, **down)
    ranges = np.array(measured(lidar, at((30.0, 0.0, 10.0))).ranges)
    assert np.isnan(ranges).mean() == pytest.approx(0.2, abs=0.03)
    there = ranges[~np.isnan(ranges)]
    assert np.std(there) == pytest.approx(0.05, rel=0.1)
    assert np.mean(there) == pytest.approx(10.0, abs=0.01)
    assert there / 0.01 == pytest.approx(np.round(there / 0.01), abs=1e-3)
    near = block(scene, 'Lidar2d', min_range_m=12, **EXACT, **down)
    assert set(measured(near, at((30.0, 0.0, 10.0))).ranges) == {-math.inf}
    # The same numbers at the same time, others at another.
    again, other = (np.array(measured(lidar, at((30.0, 0.0, 10.0), time_us=time_us)).ranges)
                    for time_us in (1_000_000, 1_100_000))
    assert np.array_equal(again, ranges, equal_nan=True)
    assert not np.array_equal(other, ranges, equal_nan=True)


@pytest.mark.parametrize('name', ['street', 'forest', 'hills'])
def test_what_is_left_out_is_not_met(name):
    """Rays together meet the same as each by itself, to the bit."""
    scene, lidar = Files().scene(name), LidarParameters.from_mapping('', {'columns': 360})
    slopes = CameraParameters.from_mapping('', {'width': 60, 'height': 40}).slopes
    pose = Pose((1.0, 2.0, 3.0), tuple(rotation(3.0, -4.0, 50.0).ravel()), (1.0, 2.0, 0.5),
                (0.1, -0.2, 0.5))
    for rays, group, turns in (
            (lidar.directions, 16, 360),
            (slopes / np.linalg.norm(slopes, axis=1)[:, None], 30, 1)):
        together = Rays(scene, LEVEL, rays, 60.0, group).cast(pose, turns, 0.1).copy()
        alone = Rays(scene, LEVEL, rays, 60.0, 1).cast(pose, turns, 0.1)
        assert np.isfinite(together[:, 0]).mean() > 0.3
        assert np.array_equal(together, alone)


@pytest.mark.parametrize('pitch_deg, body_deg', [(90.0, 0.0), (30.0, 0.0), (30.0, 12.0)])
def test_a_range_finder_looks_anywhere(pitch_deg, body_deg):
    """Its height over the sine of how far down it looks, from its place on the body."""
    beam = block(SCENE, 'DistanceSensor', mounting_deg=[0, pitch_deg, 0], position_m=[0.4, 0, -0.2],
                 **EXACT)
    found = measured(beam, at((-30.0, 0.0, 6.0), pitch=body_deg))
    angle = math.radians(body_deg)
    height = 6.0 - 0.4 * math.sin(angle) - 0.2 * math.cos(angle)
    assert found.range == pytest.approx(
        height / math.sin(math.radians(pitch_deg + body_deg)), rel=1e-6)
    assert found.header.frame_id == 'distance_sensor_link'
    assert (found.max_range, found.variance) == (40.0, 0.0)
    # Ahead is the wall, and up there is nothing.
    assert measured(block(SCENE, 'DistanceSensor', **EXACT), at((0.0, 0.0, 2.0))).range == 7.0
    assert measured(block(SCENE, 'DistanceSensor', mounting_deg=[0, -90, 0]),
                    at((0.0, 0.0, 2.0))).range == math.inf


def test_the_noise_of_a_range_finder_is_that_of_the_nearest():
    """Of a cone the nearest is at its rim; it is not the least of as many samples as rays."""
    beam = block(SCENE, 'DistanceSensor', mounting_deg=[0, 60, 0], field_of_view_deg=20,
                 noise_m=0.05, drop_out=0.1)
    found = [beam.step(t, {'ground_truth/odom': at((-30.0, 0.0, 6.0), time_us=t)})
             for t in range(40_000, 2000 * 40_000, 40_000)]
    ranges = [deserialize_message(*its.values(), beam.message).range for its in found if its]
    assert len(ranges) / len(found) == pytest.approx(0.9, abs=0.03)
    assert np.mean(ranges) == pytest.approx(6.0 / math.sin(math.radians(70.0)), abs=5e-3)
    assert np.std(ranges) == pytest.approx(0.05, rel=0.06)


@pytest.mark.parametrize('name', ['Lidar', 'Lidar2d', 'DepthCamera', 'DepthCameraInfo',
                                  'DepthScan', 'DistanceSensor'])
def test_each_is_public(name):
    assert issubclass(getattr(px4_sim_ros, name), px4_sim_ros.OwnBlock)


@pytest.mark.parametrize('entry, sentence', [
    ('{class: px4_sim_ros:Lidar, lines: 0}', 'block lidar.lines = 0: must be at least 1'),
    ('{class: px4_sim_ros:Lidar, line: 4}', 'block lidar.line: unknown parameter; did you mean'),
    ('{class: px4_sim_ros:Lidar, lines: 256, columns: 100000}', 'has 25600000 rays: must be at'),
    ('{class: px4_sim_ros:Camera, width: 4096, height: 4096, distortion: [-0.3, 0, 0, 0, 0]}',
     'has 16777216 rays: must be at most 1048576'),
    ('{class: px4_sim_ros:Camera, field_of_view_deg: 170, distortion: [1, 1, 1, 1, 1]}',
     'bends the edges of the image over'),
    ('{class: px4_sim_ros:Lidar2d, noise_m: -1}', 'block lidar2d.noise_m = -1.0: must be at least'),
    ('{class: px4_sim_ros:Lidar2d, min_range_m: 200}', 'min_range_m = 200: must be less than max'),
    ('{class: px4_sim_ros:Lidar3d}', "cannot be imported: AttributeError"),
    ('{class: px4_sim_ros:DepthCamera, field_of_view_deg: 180}', 'must be greater than 0 and at'),
])
def test_bad_input_is_one_sentence(entry, sentence, tmp_path):
    iris = (config_directory() / 'vehicles' / 'iris.yaml').read_text()
    (tmp_path / 'mine.yaml').write_text(f'{iris}\nblocks: [{entry}]\n')
    refused = here('fly', '--mode', 'core', '--vehicle', tmp_path / 'mine.yaml')
    assert refused.returncode == 2 and refused.stderr.count('\n') == 1
    assert refused.stderr.startswith(f'fly: vehicle file {tmp_path}/mine.yaml: block ')
    assert sentence in refused.stderr


def sensor(scene, kind, **given):
    """Return a sensor of the package in a world with a scene."""
    configuration = load_configuration(
        None, {'': {'scene': 'mine', f'instances.{kind}': 1}, kind: given},
        files=Files({('scenes', 'mine'): scene}))
    return made(configuration, kind).model


@pytest.mark.parametrize('angle_deg', [0.0, 6.0])
def test_a_range_finder_measures_what_is_nearest(angle_deg):
    """Forward the wall, or the ground within the cone; down a roof and beside it the ground."""
    given = {'noise_m': 0.0, 'position_m': [0.0, 0.0, 0.0], 'field_of_view_deg': angle_deg,
             'min_range_m': 0.1, 'max_range_m': 40.0}
    ahead = sensor(SCENE, 'range_finder', direction='forward', **given)
    assert ahead.measure(at((0.0, 0.0, 2.0))).range_m == pytest.approx(7.0, rel=1e-6)
    assert ahead.measure(at((0.0, 0.0, 2.0), yaw=90.0)).range_m == (
        math.inf if not angle_deg else pytest.approx(2.0 / math.sin(math.radians(3.0))))
    # The edge of the wall, 4 m to the left, is within the cone or not.
    beside = ahead.measure(at((0.0, 4.2, 2.0))).range_m
    assert beside == (math.inf if not angle_deg else pytest.approx(7.0, rel=2e-3))
    down = sensor(SCENE, 'range_finder', direction='down', **given)
    assert down.measure(at((8.0, 0.0, 10.0))).range_m == pytest.approx(4.0)
    assert down.measure(at((2.0, 0.0, 10.0))).range_m == pytest.approx(10.0)


def test_a_range_finder_over_a_height_map():
    scene = 'ground: {heights_m: [[0, 2], [0, 2]], spacing_m: 100}'
    down = sensor(scene, 'range_finder', direction='down', noise_m=0.0, position_m=[0.0, 0.0, 0.0],
                  field_of_view_deg=0.0, max_range_m=40.0)
    assert down.measure(at((25.0, 3.0, 10.0))).range_m == pytest.approx(10.0 - 1.5)
    assert down.measure(at((60.0, 3.0, 10.0))).range_m == math.inf       # off its edge


def test_optical_flow_is_that_of_what_the_axis_meets():
    flow = sensor(SCENE, 'optical_flow', noise_rad_s=0.0, position_m=[0.0, 0.0, 0.0],
                  max_distance_m=30.0)
    velocity = 2.0, -1.0, 0.0
    for place, distance in ((8.0, 0.0, 10.0), 4.0), ((2.0, 0.0, 10.0), 10.0):
        found = flow._flow(at(place, velocity=velocity, rate=(0.1, 0.2, 0.3)))
        assert found == pytest.approx((0.1 - 1.0 / distance, 0.2 - 2.0 / distance))
    assert flow._flow(at((8.0, 0.0, 40.0))) is None
