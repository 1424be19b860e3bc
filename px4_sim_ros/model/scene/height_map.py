# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The relief of a scene as an array of numbers: its height map, followed by its meshes.

Between its posts the ground is two triangles a cell, which meet between its corners in the
south-west and the north-east. Beyond its edges there is no ground.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scene.meshes import mesh_numbers
from px4_sim_ros.model.scene.shapes import Met, overlap

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

# What the array begins with: how many rows and columns of posts there are (0: no map), where the
# first of them is (the one in the south-west, ENU), from post to post, friction (NaN: the vehicle's
# own), the lowest, the highest and the steepest (m/m), and where the meshes begin (0: there are
# none); then the heights, row by row from the south, each from the west. In m.
(
    ROWS, COLUMNS, EAST, NORTH, SPACING, FRICTION, LOWEST, HIGHEST, STEEPEST, MESHES, HEIGHTS,
) = range(11)

_Plane = tuple[float, float, float]
"""Height at a corner of a cell, and how much it rises to the east and to the north per cell, m."""


def map_numbers(
    heights_m: np.ndarray, corner_m: tuple[float, float], spacing_m: float,
    friction: float = math.nan,
) -> np.ndarray:
    """Return a height map for compiled functions.

    :param heights_m: at the posts: rows from the south, columns from the west, two at least
    :param corner_m: east and north of the first post
    """
    rows, columns = heights_m.shape
    east, north = np.diff(heights_m, axis=1), np.diff(heights_m, axis=0)
    steepest = max(np.hypot(east[:-1], north[:, 1:]).max(), np.hypot(east[1:], north[:, :-1]).max())
    return np.concatenate((
        (rows, columns, *corner_m, spacing_m, friction, heights_m.min(), heights_m.max(),
         steepest / spacing_m, 0.0), heights_m.ravel()), dtype=float)


def relief_of(scene: Scene | None) -> np.ndarray:
    """Return height map and meshes of a scene for compiled functions, empty for none."""
    if scene is None:
        return np.zeros(0)
    ground, meshes = scene.ground, mesh_numbers(scene)
    found = np.zeros(HEIGHTS if len(meshes) else 0) if ground is None else map_numbers(
        ground.heights_m, ground.corner_m, ground.ground.spacing_m, ground.ground.friction)
    if len(meshes):
        found[MESHES] = len(found)
    return np.concatenate((found, meshes))


@compiled
def has_map(relief: np.ndarray) -> bool:
    """Return whether there is a height map in it."""
    return len(relief) > 0 and relief[ROWS] > 0.0


@compiled
def meshes_at(relief: np.ndarray) -> int:
    """Return where the meshes begin, 0 if there are none."""
    return int(relief[MESHES]) if len(relief) > 0 else 0


@compiled
def height_and_normal(ground: np.ndarray, east_m: float, north_m: float) -> Met:
    """Return the height of the ground at a place, m, and its normal; NaN and zeros off its edges.

    :param ground: from `map_numbers`
    """
    u = (east_m - ground[EAST]) / ground[SPACING]
    v = (north_m - ground[NORTH]) / ground[SPACING]
    if not (0.0 <= u <= ground[COLUMNS] - 1.0 and 0.0 <= v <= ground[ROWS] - 1.0):
        return math.nan, 0.0, 0.0, 0.0
    column, row = _cell(u, ground[COLUMNS]), _cell(v, ground[ROWS])
    u, v = u - column, v - row
    height, to_east, to_north = _plane(ground, row, column, u >= v)
    nx, ny, nz = _normal(ground, to_east, to_north)
    return height + to_east * u + to_north * v, nx, ny, nz


@compiled
def ray_to_map(ground: np.ndarray, origin: Vector, ray: Vector, far_m: float) -> Met:
    """Return how far a ray goes until it meets the ground, from above or from below.

    It walks through the cells that it crosses (Amanatides and Woo, 1987). The ray's height over the
    ground is continuous and linear in each triangle: where its sign changes the ray meets it, so
    that none slips through between two triangles.

    :param ground: from `map_numbers`
    :param ray: its direction, of length 1
    :param far_m: what is not nearer is not met
    """
    u, v, z = ((origin[0] - ground[EAST]) / ground[SPACING],
               (origin[1] - ground[NORTH]) / ground[SPACING], origin[2])
    du, dv, dz = ray[0] / ground[SPACING], ray[1] / ground[SPACING], ray[2]
    now, end = overlap(0.0, far_m, u, du, 0.0, ground[COLUMNS] - 1.0)
    now, end = overlap(now, end, v, dv, 0.0, ground[ROWS] - 1.0)
    # With room to spare, in which the sign of its height is known.
    now, end = overlap(now, end, z, dz, ground[LOWEST] - 1.0, ground[HIGHEST] + 1.0)
    if not now <= end:
        return math.inf, 0.0, 0.0, 0.0
    column, row = _cell(u + du * now, ground[COLUMNS]), _cell(v + dv * now, ground[ROWS])
    is_above, is_known = True, False
    while True:
        next_u = _crossing(column, u, du)
        next_v = _crossing(row, v, dv)
        leaving = max(now, min(next_u, next_v, end))
        # The other triangle begins where it crosses their common edge.
        apart, rate = (u - column) - (v - row), du - dv
        middle = now
        if rate != 0.0 and now < -apart / rate < leaving:
            middle = -apart / rate
        for part in range(2):
            begins, ends = (now, middle) if part == 0 else (middle, leaving)
            if part == 0 and middle == now:
                continue
            corner, to_east, to_north = _plane(
                ground, row, column, apart + rate * 0.5 * (begins + ends) >= 0.0)
            over = z - corner - to_east * (u - column) - to_north * (v - row)
            over_rate = dz - to_east * du - to_north * dv
            if not is_known:
                is_above, is_known = over + over_rate * begins >= 0.0, True
            if (over + over_rate * ends >= 0.0) != is_above:
                nx, ny, nz = _normal(ground, to_east, to_north)
                # Rates of zero: the heights of two triangles differ in their last bits.
                distance = begins if over_rate == 0.0 else -over / over_rate
                return min(max(distance, begins), ends), nx, ny, nz
        if leaving >= end:
            return math.inf, 0.0, 0.0, 0.0
        now = leaving
        if next_u <= next_v:
            column += 1 if du > 0.0 else -1
        else:
            row += 1 if dv > 0.0 else -1
        if not (0 <= column < ground[COLUMNS] - 1.0 and 0 <= row < ground[ROWS] - 1.0):
            return math.inf, 0.0, 0.0, 0.0


@compiled
def _cell(place: float, posts: float) -> int:
    """Return the cell of a place along an axis; both ends of the axis are in one."""
    return min(max(math.floor(place), 0), int(posts) - 2)


@compiled
def _crossing(cell: int, place: float, rate: float) -> float:
    """Return when what moves at a rate leaves a cell."""
    if rate == 0.0:
        return math.inf
    return (cell + (1.0 if rate > 0.0 else 0.0) - place) / rate


@compiled
def _plane(ground: np.ndarray, row: int, column: int, is_south_east: bool) -> _Plane:
    """Return the plane of a triangle of a cell."""
    at = HEIGHTS + row * int(ground[COLUMNS]) + column
    south_west, south_east = ground[at], ground[at + 1]
    at += int(ground[COLUMNS])
    north_west, north_east = ground[at], ground[at + 1]
    if is_south_east:
        return south_west, south_east - south_west, north_east - south_east
    return south_west, north_east - north_west, north_west - south_west


@compiled
def _normal(ground: np.ndarray, to_east: float, to_north: float) -> Vector:
    """Return the normal of a triangle."""
    x, y = -to_east / ground[SPACING], -to_north / ground[SPACING]
    length = math.sqrt(x * x + y * y + 1.0)
    return x / length, y / length, 1.0 / length
