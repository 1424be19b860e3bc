# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What stands in the world, as viewers draw it."""
from __future__ import annotations

import math
import typing

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from px4_sim_ros.messages.stamps import in_frame
from px4_sim_ros.messages.truth import WORLD_FRAME
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.scene.meshes import in_world
from px4_sim_ros.model.scene.moving import placed
from px4_sim_ros.model.scene.scene import (
    FIRST_PIXEL,
    ON_PICTURE,
    SKIN_WIDTH,
    Box,
    Heights,
    Mesh,
    Scene,
    SceneObject,
)
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.viewing.shapes import Kind, Shape

_MARKERS = {Kind.BOX: Marker.CUBE, Kind.CYLINDER: Marker.CYLINDER, Kind.SPHERE: Marker.SPHERE}
_FINEST = 20_000               # triangles of a part with a picture, where no picture can be
_ABOVE_M = 0.001


def scene_shapes(scene: Scene | None) -> list[tuple[str, Shape]]:
    """Return the objects of a scene but for meshes, in `map` or in axes of the path before each."""
    return [(its.path, _shape(its, its.place_m, mounting_rotation(its.roll_pitch_yaw_deg)))
            for its in (scene.objects if scene else ()) if not isinstance(its, Mesh)]


def moving_shapes(scene: Scene | None, time_us: int) -> list[Shape]:
    """Return the objects that move, but for meshes, where they are at a time in `map`."""
    if scene is None or not scene.paths:
        return []
    return [_shape(its, *placed(scene, its, time_us)) for its in scene.objects
            if its.path and not isinstance(its, Mesh)]


def _shape(its: SceneObject, place: Vector, attitude: Quaternion) -> Shape:
    x, y, z = its.half_m
    return Shape(its.name, WORLD_FRAME, Kind(its.shape), (2.0 * x, 2.0 * y, 2.0 * z), place,
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


class Part(typing.NamedTuple):
    """Triangles of one look."""

    name: str                  # of its object; and what of it, if that has several
    path: str                  # in whose axes it is; '': in `map`
    triangles: np.ndarray      # (n, 3, 3), m
    colours: np.ndarray        # at their corners, (n, 3, 3), of 8 bits
    picture: np.ndarray | None = None      # that is on them in place of these, (rows, columns, 3)
    on_picture: np.ndarray | None = None   # where their corners are, right and up, (n, 3, 2)

    def finer(self) -> Part:
        """Return it without a picture: smaller triangles each have the colour at their middle."""
        if self.picture is None or self.on_picture is None:
            return self
        height, width, _ = self.picture.shape
        count = max(1, min(math.isqrt(_FINEST // len(self.triangles)),
                           max(height, width)))
        places = np.concatenate([self.triangles, self.on_picture], axis=2)
        cells = [(i, j) for i in range(count) for j in range(count - i)]
        corners = [((i, j), (i + 1, j), (i, j + 1)) for i, j in cells] + [
            ((i + 1, j), (i + 1, j + 1), (i, j + 1)) for i, j in cells if i + j + 1 < count]
        others = np.array(corners) / count     # the shares of the second and third corner
        shares = np.concatenate([1.0 - others.sum(axis=2, keepdims=True), others], axis=2)
        small = np.einsum('cks,tsm->tckm', shares, places).reshape(-1, 3, places.shape[2])
        x, y = small[..., 3:].mean(axis=1).T
        columns = np.clip((x - np.floor(x)) * width, 0, width - 1).astype(int)
        rows = np.clip((np.ceil(y) - y) * height, 0, height - 1).astype(int)
        return Part(self.name, self.path, small[..., :3],
                    np.repeat(self.picture[rows, columns][:, None], 3, axis=1))


def scene_parts(scene: Scene | None) -> typing.Iterator[Part]:
    """Yield the triangles of a height map, of each mesh, and of each picture on a box."""
    if scene is None:
        return
    if scene.ground is not None:
        corners, triangles = ground_mesh(scene.ground)
        yield _plain('ground', '', corners[triangles], scene.ground.ground.colour)
    for its in scene.objects:
        if isinstance(its, Mesh):
            yield from _parts_of(its)
        elif isinstance(its, Box) and its.picture is not None:
            yield _picture_on(its, its.picture.array)


def _plain(name: str, path: str, triangles: np.ndarray, colour: Vector) -> Part:
    return Part(name, path, triangles, np.broadcast_to(
        np.round(255.0 * np.array(colour)).astype(np.uint8), triangles.shape))


def _parts_of(mesh: Mesh) -> typing.Iterator[Part]:
    """Yield the triangles with colours at their corners, and those of each picture."""
    triangles = in_world(mesh)
    if mesh.skin is None:
        yield _plain(mesh.name, mesh.path, triangles, mesh.colour)
        return
    rows, pixels = mesh.skin.arrays
    looks = np.where(rows[:, [SKIN_WIDTH]] > 0.0, rows[:, :ON_PICTURE], 0.0).astype(int)
    kinds = np.unique(looks, axis=0).tolist()
    for i, (first, width, height) in enumerate(kinds):
        its = (looks == (first, width, height)).all(axis=1)
        name = mesh.name if len(kinds) == 1 else f'{mesh.name}/{i + 1}'
        if width:
            yield Part(name, mesh.path, triangles[its], np.full((its.sum(), 3, 3), 255, np.uint8),
                       pixels[first:first + width * height].reshape(height, width, 3),
                       rows[its, ON_PICTURE:].reshape(-1, 3, 2))
        else:
            yield Part(name, mesh.path, triangles[its], pixels[
                rows[its, FIRST_PIXEL].astype(int)[:, None] + np.arange(3)])


def _picture_on(box: Box, picture: np.ndarray) -> Part:
    """Return the picture on the upper face of a box, a millimetre above it."""
    x, y, z = box.half_m
    at = np.array([(0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1)], float)
    turn = np.array(matrix(mounting_rotation(box.roll_pitch_yaw_deg))).reshape(3, 3)
    places = np.column_stack([(2.0 * at - 1.0) * (x, y), np.full(6, z + _ABOVE_M)])
    return Part(f'{box.name}/picture', box.path, (places @ turn.T + box.place_m).reshape(-1, 3, 3),
                np.full((2, 3, 3), 255, np.uint8), picture, at.reshape(-1, 3, 2))


def path_frame(path: str) -> str:
    """Return the frame in whose axes the objects of a path stand still."""
    return f'path_{path}'


def scene_markers(scene: Scene | None) -> MarkerArray:
    """Return the scene as markers that stay, what moves in frames of its paths, but no shapes."""
    markers = shape_markers('objects', [shape for path, shape in scene_shapes(scene) if not path])
    for i, whole in enumerate(scene_parts(scene)):
        part = whole.finer()
        one = (part.colours == part.colours[0, 0]).all()
        colour = part.colours[0, 0] / 255.0 if one else (1.0, 1.0, 1.0)
        marker = new_marker('ground' if part.name == 'ground' else 'meshes', i,
                            Marker.TRIANGLE_LIST, (*map(float, colour), 1.0))
        marker.points = [Point(x=x, y=y, z=z)
                         for x, y, z in part.triangles.reshape(-1, 3).tolist()]
        if not one:
            marker.colors = [ColorRGBA(r=r, g=g, b=b, a=1.0)
                             for r, g, b in (part.colours.reshape(-1, 3) / 255.0).tolist()]
        if part.path:
            marker.header.frame_id, marker.frame_locked = path_frame(part.path), True
        markers.append(marker)
    return MarkerArray(markers=markers)


def shape_markers(namespace: str, shapes: typing.Sequence[Shape]) -> list[Marker]:
    """Return a marker of each shape."""
    markers = []
    for i, shape in enumerate(shapes):
        marker = new_marker(namespace, i, _MARKERS[shape.kind], shape.colour)
        p, q, s = marker.pose.position, marker.pose.orientation, marker.scale
        p.x, p.y, p.z = shape.position_m
        q.w, q.x, q.y, q.z = shape.attitude
        s.x, s.y, s.z = shape.size_m
        markers.append(marker)
    return markers


def new_marker(
    namespace: str, number: int, kind: int, colour: tuple[float, ...],
) -> Marker:
    """Return a marker in `map`, of size 1."""
    marker: Marker = in_frame(Marker(ns=namespace, id=number, type=kind), WORLD_FRAME)
    marker.color = ColorRGBA(**dict(zip('rgba', colour)))
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    return marker
