# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What stands in the world, as viewers draw it."""
from __future__ import annotations

import typing

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from px4_sim_ros.messages.stamps import in_frame
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.scene.meshes import in_world
from px4_sim_ros.model.scene.moving import placed
from px4_sim_ros.model.scene.scene import Heights, Mesh, Scene, SceneObject
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.viewing.shapes import Kind, Shape

_MARKERS = {Kind.BOX: Marker.CUBE, Kind.CYLINDER: Marker.CYLINDER, Kind.SPHERE: Marker.SPHERE}


def scene_shapes(scene: Scene | None) -> list[Shape]:
    """Return the objects of a scene in `map`, but for meshes and for what moves."""
    return [_shape(its, its.place_m, mounting_rotation(its.roll_pitch_yaw_deg))
            for its in (scene.objects if scene else ())
            if not (its.path or isinstance(its, Mesh))]


def moving_shapes(scene: Scene | None, time_us: int) -> list[Shape]:
    """Return the objects that move, where they are at a time in `map`; a mesh as a box."""
    if scene is None or not scene.paths:
        return []
    return [_shape(its, *placed(scene, its, time_us)) for its in scene.objects if its.path]


def _shape(its: SceneObject, place: Vector, attitude: Quaternion) -> Shape:
    x, y, z = its.half_m
    kind = Kind.BOX if isinstance(its, Mesh) else Kind(its.shape)
    return Shape(its.name, WORLD_FRAME, kind, (2.0 * x, 2.0 * y, 2.0 * z), place,
                 attitude, (*its.colour, 1.0))


def ground_mesh(ground: Heights) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a height map, (n, 3) m, and its triangles, (m, 3), as rays meet it."""
    rows, columns = ground.heights_m.shape
    east, north = ground.corner_m
    spacing_m = ground.ground.spacing_m
    x, y = np.meshgrid(east + spacing_m * np.arange(columns), north + spacing_m * np.arange(rows))
    corners = np.stack([x.ravel(), y.ravel(), ground.heights_m.ravel()], axis=1)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    # Both triangles of a cell have its corners in the south-west and the north-east.
    south_east = np.stack([first, first + 1, first + columns + 1], axis=1)
    north_west = np.stack([first, first + columns + 1, first + columns], axis=1)
    return corners, np.concatenate([south_east, north_west])


def scene_triangles(
    scene: Scene | None,
) -> typing.Iterator[tuple[str, np.ndarray, tuple[float, ...]]]:
    """Yield name, triangles, (n, 3, 3) m in `map`, and colour of a height map and of each mesh."""
    if scene is None:
        return
    if scene.ground is not None:
        corners, triangles = ground_mesh(scene.ground)
        yield 'ground', corners[triangles], scene.ground.ground.colour
    for its in scene.objects:
        if isinstance(its, Mesh) and not its.path:
            yield its.name, in_world(its), its.colour


def scene_markers(scene: Scene | None) -> MarkerArray:
    """Return the scene as markers that stay, without what moves."""
    markers = shape_markers('objects', scene_shapes(scene))
    for i, (name, triangles, colour) in enumerate(scene_triangles(scene)):
        marker = _marker('ground' if name == 'ground' else 'meshes', i, Marker.TRIANGLE_LIST,
                         (*colour, 1.0))
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in triangles.reshape(-1, 3).tolist()]
        markers.append(marker)
    return MarkerArray(markers=markers)


def shape_markers(namespace: str, shapes: typing.Sequence[Shape]) -> list[Marker]:
    """Return a marker of each shape."""
    markers = []
    for i, shape in enumerate(shapes):
        marker = _marker(namespace, i, _MARKERS[shape.kind], shape.colour)
        p, q, s = marker.pose.position, marker.pose.orientation, marker.scale
        p.x, p.y, p.z = shape.position_m
        q.w, q.x, q.y, q.z = shape.attitude
        s.x, s.y, s.z = shape.size_m
        markers.append(marker)
    return markers


def _marker(namespace: str, number: int, kind: int, colour: tuple[float, ...]) -> Marker:
    marker: Marker = in_frame(Marker(ns=namespace, id=number, type=kind), WORLD_FRAME)
    marker.color = ColorRGBA(**dict(zip('rgba', colour)))
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    return marker
