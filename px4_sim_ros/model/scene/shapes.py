# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plane, box, cylinder and sphere as a table of numbers, and what a ray meets of them.

All are solid; a plane is the surface of all that is below it. Distances are closed forms in
double. The normal of a surface points out of its shape.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix, to_body, to_world
from px4_sim_ros.model.sensors.mounting import mounting_rotation

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

PLANE, BOX, CYLINDER, SPHERE, AXES = range(5)
# The columns of the table, in m: kind, middle in ENU, rotation from axes of the shape into those of
# the world row by row, sizes (of a box its half sizes; of a cylinder, whose axis is its z, radius,
# radius and half height; of a sphere its radius), friction (NaN: the vehicle's own), and the radius
# about the middle that holds the shape. A plane is z = 0 of its axes. Those of a path that takes
# meshes along are a shape as well, which nothing meets.
(
    KIND, X, Y, Z, R0, R1, R2, R3, R4, R5, R6, R7, R8, SIZE_X, SIZE_Y, SIZE_Z, FRICTION, BOUND,
    COLUMNS,
) = range(19)

_KINDS = {'box': BOX, 'cylinder': CYLINDER, 'sphere': SPHERE}
_to_body = compiled(to_body)
_to_world = compiled(to_world)

Met = tuple[float, float, float, float]
"""A distance in m, and the normal where it is; infinity and zeros if nothing is met."""


class Shape(typing.NamedTuple):
    """A shape in the world; for its sizes see the columns above."""

    kind: int
    place_enu: Vector
    attitude: Quaternion
    size_m: Vector
    name: str = ''
    friction: float = math.nan
    path: str = ''

    @property
    def bound_m(self) -> float:
        """The radius about its middle that holds it."""
        x, y, z = self.size_m
        return {PLANE: math.inf, BOX: math.hypot(x, y, z), CYLINDER: math.hypot(x, z),
                SPHERE: x, AXES: -math.inf}[self.kind]


def shapes_of(scene: Scene) -> list[Shape]:
    """Return the objects of a scene, but for meshes, and the axes in which meshes move."""
    found = [Shape(_KINDS[its.shape], its.place_m, mounting_rotation(its.roll_pitch_yaw_deg),
                   its.half_m, its.name, its.friction, its.path)
             for its in scene.objects if its.shape in _KINDS]
    origin = 0.0, 0.0, 0.0
    return found + [
        Shape(AXES, origin, (1.0, 0.0, 0.0, 0.0), origin, path=path) for path in dict.fromkeys(
            its.path for its in scene.meshes.values() if its.path)]


def shape_rows(shapes: typing.Iterable[Shape]) -> np.ndarray:
    """Return the table of shapes for compiled functions, one row each."""
    return np.array([
        (its.kind, *its.place_enu, *matrix(its.attitude), *its.size_m, its.friction, its.bound_m)
        for its in shapes], float).reshape(-1, COLUMNS)


def clearance_m(rows: np.ndarray, place: Vector) -> float:
    """Return how far the nearest shape is from a place, m; below 0 inside, inf if there is none."""
    if not len(rows):
        return math.inf
    turn = rows[:, R0:R8 + 1].reshape(-1, 3, 3)
    x, y, z = np.einsum('nij,ni->nj', turn, np.array(place) - rows[:, X:Z + 1]).T
    kind, sizes = rows[:, KIND], rows[:, SIZE_X:SIZE_Z + 1]
    is_box = kind == BOX
    # How far it is out of the sides: those of a cylinder are one, and all of a sphere.
    across = np.where(kind == SPHERE, np.sqrt(x * x + y * y + z * z), np.hypot(x, y)) - sizes[:, 0]
    out = np.column_stack([
        np.where(is_box, np.abs(x) - sizes[:, 0], across),
        np.where(is_box, np.abs(y) - sizes[:, 1], -np.inf),
        np.where(kind == SPHERE, -np.inf, np.abs(z) - sizes[:, 2])])
    away = np.sqrt((np.maximum(out, 0.0) ** 2).sum(axis=1)) + np.minimum(out.max(axis=1), 0.0)
    return float(np.where(kind == PLANE, z, np.where(kind == AXES, math.inf, away)).min())


@compiled
def rotation_of(shapes: np.ndarray, i: int) -> tuple[float, ...]:
    """Return the rotation from axes of a shape into those of the world, as from `matrix`."""
    return (shapes[i, R0], shapes[i, R1], shapes[i, R2], shapes[i, R3], shapes[i, R4],
            shapes[i, R5], shapes[i, R6], shapes[i, R7], shapes[i, R8])


@compiled
def nearest(
    shapes: np.ndarray, origin: Vector, ray: Vector, far_m: float,
) -> tuple[int, float, float, float, float]:
    """Return the index of the shape that a ray meets first, the distance (m), and the normal there.

    :param ray: its direction, of length 1
    :param far_m: what is not nearer is not met; the index is -1 then
    """
    index, best, nx, ny, nz = -1, far_m, 0.0, 0.0, 0.0
    (ox, oy, oz), (rx, ry, rz) = origin, ray
    for i in range(len(shapes)):
        x, y, z, bound = ox - shapes[i, X], oy - shapes[i, Y], oz - shapes[i, Z], shapes[i, BOUND]
        along = x * rx + y * ry + z * rz
        if -along - bound >= best or (along > 0.0 and x * x + y * y + z * z > bound * bound):
            continue
        x, y, z = x - along * rx, y - along * ry, z - along * rz
        if x * x + y * y + z * z > bound * bound:
            continue
        distance, ux, uy, uz = ray_to_shape(shapes, i, origin, ray)
        if distance < best:
            index, best, nx, ny, nz = i, distance, ux, uy, uz
    return index, best, nx, ny, nz


@compiled
def ray_to_shape(shapes: np.ndarray, i: int, origin: Vector, ray: Vector) -> Met:
    """Return how far a ray goes until it meets a shape.

    One that begins inside meets the surface where it leaves. One that begins on the surface meets
    it at once if it goes in, and not if it goes away.

    :param ray: its direction, of length 1
    """
    turn = rotation_of(shapes, i)
    place = _to_body(
        turn, (origin[0] - shapes[i, X], origin[1] - shapes[i, Y], origin[2] - shapes[i, Z]))
    way = _to_body(turn, ray)
    kind = shapes[i, KIND]
    if kind == PLANE:
        distance, nx, ny, nz = _to_plane(place[2], way[2])
    elif kind == BOX:
        distance, nx, ny, nz = _to_box(
            (shapes[i, SIZE_X], shapes[i, SIZE_Y], shapes[i, SIZE_Z]), place, way)
    elif kind == CYLINDER:
        distance, nx, ny, nz = _to_cylinder(shapes[i, SIZE_X], shapes[i, SIZE_Z], place, way)
    else:
        distance, nx, ny, nz = _to_sphere(shapes[i, SIZE_X], place, way)
    nx, ny, nz = _to_world(turn, (nx, ny, nz))
    return distance, nx, ny, nz


@compiled
def _to_plane(height: float, rate: float) -> Met:
    if (height >= 0.0 and rate < 0.0) or (height < 0.0 and rate > 0.0):
        return -height / rate, 0.0, 0.0, 1.0
    return math.inf, 0.0, 0.0, 0.0


@compiled
def slab(half: float, place: float, rate: float) -> tuple[float, float]:
    """Return from when to when what moves at a rate is within -half and half."""
    if rate == 0.0:
        return (-math.inf, math.inf) if -half <= place <= half else (math.inf, -math.inf)
    side = half if rate > 0.0 else -half
    return (-side - place) / rate, (side - place) / rate


@compiled
def overlap(
    first: float, last: float, place: float, rate: float, least: float, most: float,
) -> tuple[float, float]:
    """Return the part of a time in which what moves at a rate is within bounds."""
    if rate == 0.0:
        return (first, last) if least <= place <= most else (math.inf, -math.inf)
    a, b = (least - place) / rate, (most - place) / rate
    return max(first, min(a, b)), min(last, max(a, b))


@compiled
def _to_box(half: Vector, place: Vector, way: Vector) -> Met:
    (x, y, z), (rx, ry, rz) = place, way
    first_x, last_x = slab(half[0], x, rx)
    first_y, last_y = slab(half[1], y, ry)
    first_z, last_z = slab(half[2], z, rz)
    first, last = max(first_x, first_y, first_z), min(last_x, last_y, last_z)
    if first > last or last <= 0.0:
        return math.inf, 0.0, 0.0, 0.0
    # It goes in against the normal, and out along it.
    distance, sign = (first, -1.0) if first >= 0.0 else (last, 1.0)
    if distance == (first_x if first >= 0.0 else last_x):
        return distance, math.copysign(1.0, sign * rx), 0.0, 0.0
    if distance == (first_y if first >= 0.0 else last_y):
        return distance, 0.0, math.copysign(1.0, sign * ry), 0.0
    return distance, 0.0, 0.0, math.copysign(1.0, sign * rz)


@compiled
def _to_cylinder(radius: float, half: float, place: Vector, way: Vector) -> Met:
    (x, y, z), (rx, ry, rz) = place, way
    first_end, last_end = slab(half, z, rz)
    first_side, last_side = round_slab(radius, (x, y, 0.0), (rx, ry, 0.0))
    first, last = max(first_side, first_end), min(last_side, last_end)
    if first > last or last <= 0.0:
        return math.inf, 0.0, 0.0, 0.0
    distance, sign = (first, -1.0) if first >= 0.0 else (last, 1.0)
    if distance == (first_end if first >= 0.0 else last_end):
        return distance, 0.0, 0.0, math.copysign(1.0, sign * rz)
    return distance, (x + distance * rx) / radius, (y + distance * ry) / radius, 0.0


@compiled
def _to_sphere(radius: float, place: Vector, way: Vector) -> Met:
    (x, y, z), (rx, ry, rz) = place, way
    first, last = round_slab(radius, place, way)
    if first > last or last <= 0.0:
        return math.inf, 0.0, 0.0, 0.0
    distance = first if first >= 0.0 else last
    return (distance, (x + distance * rx) / radius, (y + distance * ry) / radius,
            (z + distance * rz) / radius)


@compiled
def round_slab(radius: float, place: Vector, way: Vector) -> tuple[float, float]:
    """Return from when to when what moves at a rate is within a radius.

    By its least distance: the usual discriminant loses half of the digits far away (Haines and
    others in Ray Tracing Gems, 2019, chapter 7).
    """
    (x, y, z), (rx, ry, rz) = place, way
    square = rx * rx + ry * ry + rz * rz
    if square == 0.0:
        is_within = x * x + y * y + z * z <= radius * radius
        return (-math.inf, math.inf) if is_within else (math.inf, -math.inf)
    nearest = -(x * rx + y * ry + z * rz) / square
    x, y, z = x + nearest * rx, y + nearest * ry, z + nearest * rz
    left = radius * radius - (x * x + y * y + z * z)
    if left < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(left / square)
    return nearest - half, nearest + half
