# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Triangles of all meshes of a scene as an array of numbers: what a ray meets, and what is near.

They hang in a tree of boxes that is balanced: the children of node i are 2 i and 2 i + 1, and each
leaf has equally many triangles. So it is walked without a stack (Hapala and others, 2011: Efficient
stack-less BVH traversal for ray tracing).
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import cross, matrix, to_body, to_world
from px4_sim_ros.model.scene import shapes
from px4_sim_ros.model.scene.moving import move_shapes, paths_of
from px4_sim_ros.model.scene.shapes import (
    X,
    Y,
    Z,
    clearance_m,
    overlap,
    rotation_of,
    shape_rows,
    shapes_of,
)
from px4_sim_ros.model.sensors.mounting import mounting_rotation

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Mesh, Scene

# What each tree begins with: how many leaves and triangles there are, the row of the shape in whose
# axes they are (-1: the world's), and how far on the next tree begins (0: there is none); then the
# boxes, two for each leaf, then the triangles.
LEAVES, TRIANGLES, AXES, NEXT, BOXES = range(5)
# Of a box its corners and the axis along which its children are apart; m.
LOW, HIGH, AXIS, OF_BOX = 0, 3, 6, 7
# Of a triangle a corner, the ways from it to the others, its normal, the number of its object among
# those of the scene, its own in that, its friction (NaN: the vehicle's own), and the axes of its
# tree; m.
CORNER, FIRST, SECOND, NORMAL, OBJECT, OWN, FRICTION, ITS_AXES, OF_TRIANGLE = (
    0, 3, 6, 9, 12, 13, 14, 15, 16)

FAR_M = 1e6
"""Farther than any of them is."""

_EACH = 4                      # triangles of a leaf, at most
_ROOM = 1e-9                   # beside a triangle, of its size: no ray slips through between two
_SAME = 1e-9                   # squares of distances that differ by such a share are equal

_cross = compiled(cross)
_to_body = compiled(to_body)
_to_world = compiled(to_world)


def mesh_numbers(scene: Scene) -> np.ndarray:
    """Return the meshes of a scene for compiled functions, empty if it has none."""
    if 'meshes' not in scene.kept:
        axes = {its.path: i for i, its in enumerate(shapes_of(scene)) if its.kind == shapes.AXES}
        rows: dict[int, list[np.ndarray]] = {}         # by their axes
        for i, its in scene.meshes.items():
            of = axes.get(its.path, -1)
            rows.setdefault(of, []).append(_triangles(its, i, of))
        trees = [_tree(np.concatenate(rows[of])) for of in sorted(rows)]
        for tree in trees[:-1]:
            tree[NEXT] = len(tree)
        scene.kept['meshes'] = np.concatenate([np.zeros(0), *trees])
    return scene.kept['meshes']


def clearance_of(scene: Scene, reach_m: float) -> typing.Callable[[Vector, int], float]:
    """Return a function: how far the nearest object is from a sphere around a place, m.

    It is given the place (m, ENU) and the time (us).

    :param reach_m: its radius
    """
    rows, meshes, paths = shape_rows(shapes_of(scene)), mesh_numbers(scene), paths_of(scene)

    def clearance(place: Vector, time_us: int) -> float:
        if len(paths):
            move_shapes(rows, paths, float(time_us))
        least = clearance_m(rows, place)
        if len(meshes):
            least = min(least, nearest_of_mesh(rows, meshes, 0, place, FAR_M)[1])
        return least - reach_m

    return clearance


def _tree(triangles: np.ndarray) -> np.ndarray:
    """Return the numbers of triangles, from their rows."""
    count = len(triangles)
    leaves = 1 << max(0, math.ceil(count / _EACH) - 1).bit_length()
    corners = triangles[:, None, CORNER:FIRST] + np.stack(
        [np.zeros((count, 3)), triangles[:, FIRST:SECOND], triangles[:, SECOND:NORMAL]], axis=1)
    low, high = corners.min(axis=1), corners.max(axis=1)
    middles, order, axes, nodes = 0.5 * (low + high), np.arange(count), [np.zeros(1)], 1
    while nodes < leaves:
        begins = np.arange(nodes) * count // nodes
        spread = (np.maximum.reduceat(middles[order], begins)
                  - np.minimum.reduceat(middles[order], begins))
        axis = spread.argmax(axis=1)
        of = np.repeat(np.arange(nodes), np.diff([*begins, count]))
        order = order[np.lexsort((middles[order, axis[of]], of))]
        axes.append(axis)
        nodes *= 2
    begins = np.arange(leaves) * count // leaves
    levels = [(np.minimum.reduceat(low[order], begins), np.maximum.reduceat(high[order], begins))]
    while len(levels[0][0]) > 1:
        below_low, below_high = levels[0]
        levels.insert(0, (np.minimum(below_low[::2], below_low[1::2]),
                          np.maximum(below_high[::2], below_high[1::2])))
    boxes = np.zeros((2 * leaves, OF_BOX))
    boxes[1:, LOW:HIGH] = np.concatenate([level[0] for level in levels])
    boxes[1:, HIGH:AXIS] = np.concatenate([level[1] for level in levels])
    # With room for what is in a face of them.
    room = _ROOM * (1.0 + np.abs(boxes[:, :AXIS]))
    boxes[:, LOW:HIGH] -= room[:, LOW:HIGH]
    boxes[:, HIGH:AXIS] += room[:, HIGH:AXIS]
    of_nodes = np.concatenate(axes)
    boxes[:len(of_nodes), AXIS] = of_nodes
    return np.concatenate(((leaves, count, triangles[0, ITS_AXES], 0.0), boxes.ravel(),
                           triangles[order].ravel()), dtype=float)


def in_world(mesh: Mesh) -> np.ndarray:
    """Return the triangles of a mesh, (n, 3, 3), ENU or in axes of its path, m."""
    turn = np.array(matrix(mounting_rotation(mesh.roll_pitch_yaw_deg))).reshape(3, 3)
    found: np.ndarray = mesh.corners.array * mesh.scale @ turn.T + np.array(mesh.place_m)
    return found


def _triangles(mesh: Mesh, number: int, axes: int) -> np.ndarray:
    """Return the rows of a mesh, without triangles that have no area."""
    corners = in_world(mesh)
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals = np.cross(first, second)
    areas = np.sqrt((normals * normals).sum(axis=1))
    keep = areas > 0.0
    rows = np.empty((keep.sum(), OF_TRIANGLE))
    rows[:, CORNER:FIRST], rows[:, FIRST:SECOND] = corners[keep, 0], first[keep]
    rows[:, SECOND:NORMAL] = second[keep]
    rows[:, NORMAL:OBJECT] = normals[keep] / areas[keep, None]
    rows[:, OBJECT], rows[:, OWN], rows[:, FRICTION] = number, np.flatnonzero(keep), mesh.friction
    rows[:, ITS_AXES] = axes
    return rows


@compiled
def ray_to_mesh(
    rows: np.ndarray, meshes: np.ndarray, at: int, origin: Vector, ray: Vector, far_m: float,
) -> tuple[int, float, float, float, float]:
    """Return where the triangle begins that a ray meets first, how far it is and its normal.

    :param rows: of the shapes of the scene
    :param at: where the numbers of `mesh_numbers` begin
    :param ray: its direction, of length 1
    :param far_m: what is not nearer is not met; it begins at -1 then
    :return: the distance in m; the normal on the side of the ray
    """
    met, best, nx, ny, nz = -1, far_m, 0.0, 0.0, 0.0
    while True:
        axes = int(meshes[at + AXES])
        t, distance, x, y, z = _ray_to_tree(
            meshes, at, in_axes(rows, axes, origin), _turned_into(rows, axes, ray), best)
        if t >= 0:
            met, best = t, distance
            nx, ny, nz = _out_of(rows, axes, (x, y, z))
        if meshes[at + NEXT] == 0.0:
            return met, best, nx, ny, nz
        at += int(meshes[at + NEXT])


@compiled
def in_axes(rows: np.ndarray, axes: int, place: Vector) -> Vector:
    """Return a place in the axes of meshes."""
    if axes < 0:
        return place
    found: Vector = _turned_into(rows, axes, (
        place[0] - rows[axes, X], place[1] - rows[axes, Y], place[2] - rows[axes, Z]))
    return found


@compiled
def _turned_into(rows: np.ndarray, axes: int, way: Vector) -> Vector:
    if axes < 0:
        return way
    x, y, z = _to_body(rotation_of(rows, axes), way)
    return x, y, z


@compiled
def _out_of(rows: np.ndarray, axes: int, way: Vector) -> Vector:
    if axes < 0:
        return way
    x, y, z = _to_world(rotation_of(rows, axes), way)
    return x, y, z


@compiled
def normal_of(rows: np.ndarray, meshes: np.ndarray, t: int) -> Vector:
    """Return the normal of a triangle, ENU."""
    return _out_of(rows, int(meshes[t + ITS_AXES]), _vector(meshes, t + NORMAL))


@compiled
def _ray_to_tree(
    meshes: np.ndarray, at: int, origin: Vector, ray: Vector, far_m: float,
) -> tuple[int, float, float, float, float]:
    """Return the same of one tree, in its axes."""
    leaves, count = int(meshes[at + LEAVES]), int(meshes[at + TRIANGLES])
    boxes = at + BOXES
    triangles = boxes + 2 * leaves * OF_BOX
    node, met, best = 1, -1, far_m
    while node > 0:
        box = boxes + node * OF_BOX
        first, last = 0.0, best
        for k in range(3):
            first, last = overlap(first, last, origin[k], ray[k], meshes[box + LOW + k],
                                  meshes[box + HIGH + k])
        if first <= last:
            if node < leaves:
                node = 2 * node + (1 if ray[int(meshes[box + AXIS])] < 0.0 else 0)
                continue
            leaf = node - leaves
            for i in range(leaf * count // leaves, (leaf + 1) * count // leaves):
                t = triangles + i * OF_TRIANGLE
                distance = _ray_to_triangle(meshes, t, origin, ray)
                if distance < best:
                    met, best = t, distance
        # On: to the farther child after the nearer one, else up.
        while node > 1:
            parent = node >> 1
            farther = 2 * parent + (
                0 if ray[int(meshes[boxes + parent * OF_BOX + AXIS])] < 0.0 else 1)
            if node != farther:
                node = farther
                break
            node = parent
        else:
            node = 0
    if met < 0:
        return -1, far_m, 0.0, 0.0, 0.0
    nx, ny, nz = meshes[met + NORMAL], meshes[met + NORMAL + 1], meshes[met + NORMAL + 2]
    if nx * ray[0] + ny * ray[1] + nz * ray[2] > 0.0:
        nx, ny, nz = -nx, -ny, -nz
    return met, best, nx, ny, nz


@compiled
def shares_of(meshes: np.ndarray, t: int, place: Vector) -> tuple[float, float]:
    """Return the shares that the second and the third corner have of a place on a triangle."""
    bx, by, bz = _vector(meshes, t + FIRST)
    cx, cy, cz = _vector(meshes, t + SECOND)
    x, y, z = (place[0] - meshes[t + CORNER], place[1] - meshes[t + CORNER + 1],
               place[2] - meshes[t + CORNER + 2])
    d1, d2 = bx * x + by * y + bz * z, cx * x + cy * y + cz * z
    bb, bc, cc = (bx * bx + by * by + bz * bz, bx * cx + by * cy + bz * cz,
                  cx * cx + cy * cy + cz * cz)
    whole = bb * cc - bc * bc
    second = min(max((cc * d1 - bc * d2) / whole, 0.0), 1.0) if whole > 0.0 else 0.0
    third = min(max((bb * d2 - bc * d1) / whole, 0.0), 1.0 - second) if whole > 0.0 else 0.0
    return second, third


@compiled
def _vector(numbers: np.ndarray, at: int) -> Vector:
    return numbers[at], numbers[at + 1], numbers[at + 2]


@compiled
def _ray_to_triangle(meshes: np.ndarray, t: int, origin: Vector, ray: Vector) -> float:
    """Return how far a ray goes until it meets a triangle (Moeller and Trumbore, 1997)."""
    first, second = _vector(meshes, t + FIRST), _vector(meshes, t + SECOND)
    px, py, pz = _cross(ray, second)
    volume = first[0] * px + first[1] * py + first[2] * pz
    if volume == 0.0:
        return math.inf
    away = (origin[0] - meshes[t + CORNER], origin[1] - meshes[t + CORNER + 1],
            origin[2] - meshes[t + CORNER + 2])
    u = (away[0] * px + away[1] * py + away[2] * pz) / volume
    if not -_ROOM <= u <= 1.0 + _ROOM:
        return math.inf
    qx, qy, qz = _cross(away, first)
    v = (ray[0] * qx + ray[1] * qy + ray[2] * qz) / volume
    if not (v >= -_ROOM and u + v <= 1.0 + _ROOM):
        return math.inf
    distance: float = (second[0] * qx + second[1] * qy + second[2] * qz) / volume
    return distance if distance >= 0.0 else math.inf


@compiled
def nearest_of_mesh(
    rows: np.ndarray, meshes: np.ndarray, at: int, place: Vector, far_m: float,
) -> tuple[int, float, float, float, float]:
    """Return where the triangle begins that is nearest to a place, how far it is and to where.

    At an edge or a corner it is the one that faces the place most, whose normal tells on which side
    the place is. The distance is below 0 behind it (m).

    :param rows: of the shapes of the scene
    :param at: where the numbers of `mesh_numbers` begin
    :param far_m: what is not nearer is not found; it begins at -1 then
    """
    found, best, to_x, to_y, to_z = -1, far_m, math.nan, math.nan, math.nan
    while True:
        axes = int(meshes[at + AXES])
        t, distance, x, y, z = _nearest_of_tree(
            meshes, at, in_axes(rows, axes, place), abs(best))
        if t >= 0 and (found < 0 or abs(distance) < abs(best)):
            found, best = t, distance
            to_x, to_y, to_z = _out_of(rows, axes, (x, y, z))
            if axes >= 0:
                to_x, to_y, to_z = (
                    to_x + rows[axes, X], to_y + rows[axes, Y], to_z + rows[axes, Z])
        if meshes[at + NEXT] == 0.0:
            return found, best, to_x, to_y, to_z
        at += int(meshes[at + NEXT])


@compiled
def _nearest_of_tree(
    meshes: np.ndarray, at: int, place: Vector, far_m: float,
) -> tuple[int, float, float, float, float]:
    """Return the same of one tree, in its axes."""
    leaves, count = int(meshes[at + LEAVES]), int(meshes[at + TRIANGLES])
    boxes = at + BOXES
    triangles = boxes + 2 * leaves * OF_BOX
    node, found, best, facing = 1, -1, far_m * far_m, 0.0
    to = (math.nan, math.nan, math.nan)
    while node > 0:
        box = boxes + node * OF_BOX
        square = 0.0
        for k in range(3):
            out = max(meshes[box + LOW + k] - place[k], place[k] - meshes[box + HIGH + k], 0.0)
            square += out * out
        if square <= best * (1.0 + _SAME):
            if node < leaves:
                node = 2 * node
                continue
            leaf = node - leaves
            for i in range(leaf * count // leaves, (leaf + 1) * count // leaves):
                t = triangles + i * OF_TRIANGLE
                there = _nearest_of_triangle(meshes, t, place)
                x, y, z = place[0] - there[0], place[1] - there[1], place[2] - there[2]
                square = x * x + y * y + z * z
                side = (x * meshes[t + NORMAL] + y * meshes[t + NORMAL + 1]
                        + z * meshes[t + NORMAL + 2])
                if square > best * (1.0 + _SAME):
                    continue
                if found < 0 or square < best * (1.0 - _SAME) or abs(side) > abs(facing):
                    found, facing, to = t, side, there
                    best = min(best, square)
        while node > 1 and node & 1:
            node >>= 1
        node = node + 1 if node > 1 else 0
    if found < 0:
        return -1, far_m, math.nan, math.nan, math.nan
    return found, math.copysign(math.sqrt(best), facing), to[0], to[1], to[2]


@compiled
def _nearest_of_triangle(meshes: np.ndarray, t: int, place: Vector) -> Vector:
    """Return the place on a triangle that is nearest (Ericson, Real-Time Collision Detection)."""
    ax, ay, az = _vector(meshes, t + CORNER)
    bx, by, bz = _vector(meshes, t + FIRST)
    cx, cy, cz = _vector(meshes, t + SECOND)
    x, y, z = place[0] - ax, place[1] - ay, place[2] - az
    d1, d2 = bx * x + by * y + bz * z, cx * x + cy * y + cz * z
    bb, bc = bx * bx + by * by + bz * bz, bx * cx + by * cy + bz * cz
    cc = cx * cx + cy * cy + cz * cz
    d3, d4 = d1 - bb, d2 - bc              # from the second corner
    d5, d6 = d1 - bc, d2 - cc              # from the third one
    u = v = 0.0
    vc, vb, va = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    if d1 <= 0.0 and d2 <= 0.0:
        pass
    elif d3 >= 0.0 and d4 <= d3:
        u = 1.0
    elif d6 >= 0.0 and d5 <= d6:
        v = 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        u = d1 / bb
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        v = d2 / cc
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        v = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        u = 1.0 - v
    else:
        u, v = vb / (va + vb + vc), vc / (va + vb + vc)
    if u == 0.0 and v == 0.0:
        return ax, ay, az
    return ax + u * bx + v * cx, ay + u * by + v * cy, az + u * bz + v * cz
