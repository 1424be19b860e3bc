# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The scene in viewers is the one that rays meet, and sensors that see it have their frames."""
import numpy as np
import pytest
import trimesh
from PIL import Image
from transforms3d.quaternions import quat2mat
from visualization_msgs.msg import Marker

from px4_sim_ros.model.environment.ground import LEVEL
from px4_sim_ros.model.own_blocks import to_text
from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.scene.moving import axes_at
from px4_sim_ros.model.scene.rays import Pose, Rays
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.own_blocks import rows_of
from px4_sim_ros.viewing.links import sensor_links
from px4_sim_ros.viewing.markers import MOVING, Markers
from px4_sim_ros.viewing.markers import Scene as Seen
from px4_sim_ros.viewing.scenery import ground_mesh, path_frame, scene_markers, scene_parts

UPRIGHT = matrix((1.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize('name', ['street', 'forest', 'hills'])
def test_each_object_is_a_marker_where_rays_meet_it(name):
    """From above, a ray to the middle of a marker meets it there: at its top if it is upright."""
    scene = Files().scene(name)
    down = Rays(scene, LEVEL, np.array([(0.0, 0.0, -1.0)]), 1000.0)
    objects = [m for m in scene_markers(scene).markers if m.ns == 'objects']
    assert len(objects) == len(scene.objects) == len({m.id for m in objects})
    for its, marker in zip(scene.objects, objects):
        assert marker.type == {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER,
                               'sphere': Marker.SPHERE}[its.shape]
        q, s, p = marker.pose.orientation, marker.scale, marker.pose.position
        up = quat2mat((q.w, q.x, q.y, q.z))[2, 2]
        (distance, _), = down.cast(Pose((p.x, p.y, 100.0), UPRIGHT))
        assert 100.0 - distance >= p.z + (0.5 * s.z - 1e-9 if up == 1.0 else 0.0)


def test_the_ground_is_the_one_that_rays_meet():
    ground = Files().scene('hills').ground
    corners, triangles = ground_mesh(ground)
    assert len(corners) == ground.heights_m.size and triangles.max() == len(corners) - 1
    down = Rays(Files().scene('hills'), LEVEL, np.array([(0.0, 0.0, -1.0)]), 1000.0)
    scene = Files().scene('hills')
    for triangle in triangles[::37]:
        east, north, up = corners[triangle].mean(axis=0)
        if all(np.hypot(east - o.place_m[0], north - o.place_m[1]) > 3.0 for o in scene.objects):
            (distance, _), = down.cast(Pose((east, north, 200.0), UPRIGHT))
            assert 200.0 - distance == pytest.approx(up, abs=1e-9)


def test_sensors_have_their_frames():
    rows = rows_of({'vehicle': [
        {'class': 'px4_sim_ros:Lidar', 'position_m': [0.1, 0.0, 0.2], 'mounting_deg': [0, 0, 90]},
        {'class': 'px4_sim_ros:DepthCamera'}, {'class': 'px4_sim_ros:DepthCameraInfo'},
        {'class': 'px4_sim_ros:Camera'}, {'class': 'px4_sim_ros:CameraCalibration'}]})
    links = {link.frame: link for link in sensor_links(
        load_configuration(None, {'': {'blocks': to_text(rows)}}))}
    lidar, camera = links['lidar_link'], links['depth_camera_optical_frame']
    assert lidar.position_m == (0.1, 0.0, 0.2)
    assert quat2mat(lidar.attitude) @ (1, 0, 0) == pytest.approx([0, 1, 0])
    # REP-103: z is forwards, x to the right, y down.
    for axis, body in ((0, 0, 1), (1, 0, 0)), ((1, 0, 0), (0, -1, 0)), ((0, 1, 0), (0, 0, -1)):
        assert quat2mat(camera.attitude) @ axis == pytest.approx(body)
    assert 'camera_optical_frame' in links
    assert not any('info' in frame or 'calibration' in frame for frame in links)


def test_what_moves_is_where_rays_meet_it():
    """Each marker of a ship is where it is at its time, and none of them is among what stays."""
    scene = Files().scene('moving_deck')
    tag_mesh, = scene_markers(scene).markers       # the picture, in axes of the path
    assert tag_mesh.header.frame_id == path_frame('ship') and tag_mesh.frame_locked
    in_ship = np.mean([(p.x, p.y, p.z) for p in tag_mesh.points], axis=0)
    markers = Markers(load_configuration(None, {'': {'scene': 'moving_deck'}}))
    down = Rays(scene, LEVEL, np.array([(0.0, 0.0, -1.0)]), 1000.0)
    for time_s in 0.0, 4.0, 31.5:
        shown = Seen()
        shown.move(time_s, (0.0, 0.0, 3.0), (1.0, 0.0, 0.0, 0.0))
        moving = [m for m in markers.of(shown).markers if m.ns == MOVING]
        assert len(moving) == len(scene.objects)
        hull = moving[0].pose
        assert hull.position.x == pytest.approx(8.0 + time_s)
        begin, turn = axes_at(scene, 'ship', round(time_s * 1e6))
        assert quat2mat(turn) @ in_ship + begin == pytest.approx(
            (moving[-1].pose.position.x, moving[-1].pose.position.y, moving[-1].pose.position.z),
            abs=0.02)
        tag, q = moving[-1].pose.position, moving[-1].pose.orientation
        (distance, _), = down.cast(Pose((tag.x, tag.y, 100.0), UPRIGHT,
                                        time_us=round(time_s * 1e6)))
        tilt = quat2mat((q.w, q.x, q.y, q.z))[2, 2]
        assert 100.0 - distance == pytest.approx(tag.z + 0.01 / tilt, abs=1e-9)


PIXELS = np.random.default_rng(5).integers(0, 256, (4, 6, 3), np.uint8)
RED = (255, 0, 0)


def scene_of(folder):
    """Return a scene with a mesh of two looks on a path: a picture, and a red triangle."""
    quad = trimesh.Trimesh([(0, 0, 0), (3, 0, 0), (3, 2, 0), (0, 2, 0)], [(0, 1, 2), (0, 2, 3)])
    quad.visual = trimesh.visual.TextureVisuals(
        uv=[(0, 0), (1, 0), (1, 1), (0, 1)], material=trimesh.visual.material.PBRMaterial(
            baseColorTexture=Image.fromarray(PIXELS)))
    beside = trimesh.Trimesh([(5, 0, 0), (6, 0, 0), (5, 1, 0)], [(0, 1, 2)],
                             vertex_colors=[RED] * 3)
    trimesh.Scene([quad, beside]).export(folder / 'it.glb')
    (folder / 'mine.yaml').write_text(
        'paths: {way: {points: [{time_s: 0, place_m: [0, 0, 0]}, {time_s: 9, place_m: [9, 0, 0]}]}}'
        '\nobjects: [{name: it, shape: mesh, file: it.glb, path: way, place_m: [0, 0, 1]}]')
    return Files().scene(str(folder / 'mine.yaml'))


def test_a_mesh_has_its_picture_and_its_colours(tmp_path):
    """Where no picture can be, small triangles have the pixel at their middle."""
    parts = {part.picture is not None: part for part in scene_parts(scene_of(tmp_path))}
    assert np.array_equal(parts[True].picture, PIXELS)
    assert (parts[False].colours == RED).all() and len(parts[False].triangles) == 1
    finer = parts[True].finer()
    x, y = finer.triangles.mean(axis=1)[:, :2].T
    areas = np.cross(finer.triangles[:, 1] - finer.triangles[:, 0],
                     finer.triangles[:, 2] - finer.triangles[:, 0])[:, 2]
    assert (areas > 0.0).all() and areas.sum() == pytest.approx(2.0 * 6.0)
    expected = PIXELS[3 - (y / 0.5).astype(int), (x / 0.5).astype(int)]
    assert (finer.colours == expected[:, None]).all()
