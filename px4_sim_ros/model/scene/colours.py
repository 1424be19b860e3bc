# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a camera sees of a scene: the colour of each pixel, and the number of what is there.

A surface scatters light equally in all directions (Lambert): its colour times the light of the sky,
and that of the sun by the cosine of the angle at which it falls, unless something stands between.
A surface has a grain, by which a program can tell one place of it from another.
"""
from __future__ import annotations

import ctypes
import functools
import math
import typing

import numpy as np

from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import COLOURS, IS_PLAIN
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import to_body
from px4_sim_ros.model.scene.meshes import ITS_AXES, OBJECT, OWN, in_axes, shares_of
from px4_sim_ros.model.scene.moving import move_shapes, paths_of
from px4_sim_ros.model.scene.rays import (
    MAP,
    MESH,
    NOTHING,
    Pose,
    cones_of,
    meet,
    take_near,
    world_of,
)
from px4_sim_ros.model.scene.scene import (
    FIRST_PIXEL,
    GAMMA,
    GROUND_COLOUR,
    OF_SKIN,
    ON_PICTURE,
    SKIN_HEIGHT,
    SKIN_WIDTH,
    Mesh,
    Scene,
)
from px4_sim_ros.model.scene.shapes import BOUND, FRICTION, SIZE_X, SIZE_Y, X, Y, Z, rotation_of

_to_body = compiled(to_body)

# In the table of colours: red, green and blue, and of a picture the place of its first pixel among
# those of all, its width and its height, without one 0; of a mesh with a skin the place of its
# first row, of its first pixel, and 1; whether its grain moves with it.
RED, GREEN, BLUE, PICTURE, WIDTH, HEIGHT, MOVES, _COLUMNS = range(8)
# Of what a ray of a camera has met: the place, the cosine at which the sun falls on it, its grain,
# and its colour.
_HIT_X, _HIT_Y, _HIT_Z, _COSINE, _HIT_GRAIN, _HIT_RED, _HIT_GREEN, _HIT_BLUE, _HIT = range(9)
# In the table of shapes here: the column in which the number of a shape stands.
_NUMBER = FRICTION
_SKY, _GROUND, _FIRST = range(3)
"""Numbers of an image of labels; objects follow, in the order of the scene."""
_HORIZON, _ZENITH = (0.76, 0.85, 0.93), (0.32, 0.52, 0.85)
_SHADES = 4096                 # of light, that become values of 8 bits
_ABOVE_M = 1e-6                # the surface, from where the sun is looked for
# The grain: the sizes of its cells, m, its share of the colour, and how far away it is seen, in
# sizes of a cell.
_CELLS_M, _GRAIN, _SEEN = (1.0, 0.15), 0.35, 150.0


@compiled
def cell_value(i: int, j: int, k: int) -> float:
    """Return a number from 0 to 1 that belongs to a cell: the same on every machine."""
    mixed = (i * 73856093 ^ j * 19349663 ^ k * 83492791) & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 16) * 0x45D9F3B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 16) * 0x45D9F3B & 0xFFFFFFFF
    return ((mixed ^ mixed >> 16) & 0xFFFF) / 65535.0


@compiled
def grain(x: float, y: float, z: float, distance_m: float) -> float:
    """Return by which factor a place of a surface is darker or brighter."""
    factor = 1.0
    for size in _CELLS_M:
        seen = min(1.0, _SEEN * size / max(distance_m, 1e-9))
        value = cell_value(math.floor(x / size), math.floor(y / size), math.floor(z / size))
        factor *= 1.0 + _GRAIN * seen * (value - 0.5)
    return factor


@compiled
def take_shading(
    shapes: np.ndarray, hits: np.ndarray, sun: Vector, shading: np.ndarray,
) -> int:
    """Set the shapes that may be between places and the sun, by spheres around these.

    :param hits: places in its first columns; the first column is NaN where nothing was met
    :return: how many
    """
    count, n, radius = 0, 0, 0.0
    mx = my = mz = 0.0
    for i in range(len(hits)):
        if not math.isnan(hits[i, 0]):
            mx, my, mz, n = mx + hits[i, 0], my + hits[i, 1], mz + hits[i, 2], n + 1
    if n == 0:
        return 0
    mx, my, mz = mx / n, my / n, mz / n
    for i in range(len(hits)):
        if not math.isnan(hits[i, 0]):
            x, y, z = hits[i, 0] - mx, hits[i, 1] - my, hits[i, 2] - mz
            radius = max(radius, math.sqrt(x * x + y * y + z * z))
    for i in range(len(shapes)):
        x, y, z = shapes[i, X] - mx, shapes[i, Y] - my, shapes[i, Z] - mz
        along = x * sun[0] + y * sun[1] + z * sun[2]
        x, y, z = x - along * sun[0], y - along * sun[1], z - along * sun[2]
        reach = shapes[i, BOUND] + radius
        if along >= -reach and x * x + y * y + z * z <= reach * reach:
            for k in range(shading.shape[1]):
                shading[count, k] = shapes[i, k]
            count += 1
    return count


@compiled
def pixel_at(
    shapes: np.ndarray, i: int, colours: np.ndarray, number: int, place: Vector, normal: Vector,
) -> int:
    """Return the pixel of a picture that is at a place of a shape; -1: there is none."""
    width, height = int(colours[number, WIDTH]), int(colours[number, HEIGHT])
    turn = rotation_of(shapes, i)
    if width == 0 or not normal[0] * turn[2] + normal[1] * turn[5] + normal[2] * turn[8] > 0.5:
        return -1
    x, y, _ = _to_body(
        turn, (place[0] - shapes[i, X], place[1] - shapes[i, Y], place[2] - shapes[i, Z]))
    column = int(0.5 * (x / shapes[i, SIZE_X] + 1.0) * width)
    row = int(0.5 * (1.0 - y / shapes[i, SIZE_Y]) * height)
    return (int(colours[number, PICTURE]) + min(max(row, 0), height - 1) * width
            + min(max(column, 0), width - 1))


@compiled
def skin_at(
    relief: np.ndarray, t: int, skins: np.ndarray, place: Vector,
) -> tuple[int, float, float]:
    """Return the pixel that a place on a triangle shows, and -1 twice; or that of three, see below.

    :param t: where the triangle begins
    :param skins: those of its mesh
    :return: the first of three pixels, and the shares of the second and the third
    """
    b, c = shares_of(relief, t, place)
    skin = skins[int(relief[t + OWN])]
    first, width, height = int(skin[FIRST_PIXEL]), int(skin[SKIN_WIDTH]), int(skin[SKIN_HEIGHT])
    if width == 0:
        return first, b, c
    a = 1.0 - b - c
    x = a * skin[ON_PICTURE] + b * skin[ON_PICTURE + 2] + c * skin[ON_PICTURE + 4]
    y = a * skin[ON_PICTURE + 1] + b * skin[ON_PICTURE + 3] + c * skin[ON_PICTURE + 5]
    column = min(int((x - math.floor(x)) * width), width - 1)
    row = min(int((math.ceil(y) - y) * height), height - 1)
    return first + row * width + column, -1.0, -1.0


@compiled
def see(
    shapes: np.ndarray, relief: np.ndarray, colours: np.ndarray, pictures: np.ndarray,
    skins: np.ndarray, light: np.ndarray, pose: np.ndarray, cones: np.ndarray, rays: np.ndarray,
    near: np.ndarray, hits: np.ndarray, paths: np.ndarray, curve: np.ndarray, image: np.ndarray,
    labels: np.ndarray,
) -> int:
    """Set an image and its labels.

    :param shapes: rows of a scene, each with its number
    :param colours: by number, with the columns above, 0 to 1
    :param pictures: pixels of all of them, (n, 3), 0 to 1
    :param skins: rows of all meshes that have one
    :param light: direction to the sun (ENU), the light of the sky and of the sun, how far is seen
    :param pose: place (m) and rotation of the camera, row by row, and the time (us)
    :param cones: around as many rays each, see `rays.cast`
    :param near: for as many rows as there are shapes
    :param hits: for what the rays of a cone meet, with the columns above
    :param paths: of the scene, from `paths_of`
    :param curve: from shades to values of 8 bits
    :param image: (rays, 3)
    """
    each, far_m = len(rays) // len(cones), light[5]
    if len(paths):
        move_shapes(shapes, paths, pose[12])
    place, sun = (pose[0], pose[1], pose[2]), (light[0], light[1], light[2])
    for c in range(len(cones)):
        count = take_near(shapes, place, _turned(pose, cones[c]), cones[c, 3], cones[c, 4], near)
        for i in range(each):
            at, hit = c * each + i, hits[i]
            ray = _turned(pose, rays[at])
            row, distance, nx, ny, nz = meet(near[:count], shapes, relief, place, ray, far_m)
            if row == NOTHING:
                labels[at], hit[_HIT_X] = _SKY, math.nan
                up = max(0.0, ray[2])
                for k in range(3):
                    shade = _HORIZON[k] + up * (_ZENITH[k] - _HORIZON[k])
                    image[at, k] = curve[int(min(1.0, shade) * (_SHADES - 1))]
                continue
            number = _GROUND
            if row >= 0:
                number = int(near[row, _NUMBER])
            elif row != MAP:
                number = _FIRST + int(relief[MESH - row + OBJECT])
            there = (place[0] + distance * ray[0] + _ABOVE_M * nx,
                     place[1] + distance * ray[1] + _ABOVE_M * ny,
                     place[2] + distance * ray[2] + _ABOVE_M * nz)
            labels[at] = number
            hit[_HIT_X], hit[_HIT_Y], hit[_HIT_Z] = there
            hit[_COSINE] = nx * sun[0] + ny * sun[1] + nz * sun[2]
            pixel, second, third = -1, -1.0, -1.0
            at_x, at_y, at_z = there
            if row >= 0:
                pixel = pixel_at(near, row, colours, number, there, (nx, ny, nz))
                if colours[number, MOVES] > 0.0:
                    at_x, at_y, at_z = in_axes(near, row, there)
            elif row <= MESH:
                at_x, at_y, at_z = in_axes(shapes, int(relief[MESH - row + ITS_AXES]), there)
                if colours[number, HEIGHT] > 0.0:
                    pixel, second, third = skin_at(
                        relief, MESH - row, skins[int(colours[number, PICTURE]):],
                        (at_x, at_y, at_z))
                    pixel += int(colours[number, WIDTH])
            if pixel >= 0 and second < 0.0:
                hit[_HIT_GRAIN] = 1.0
            else:
                hit[_HIT_GRAIN] = grain(at_x, at_y, at_z, distance)
            for k in range(3):
                colour = pictures[pixel, k] if pixel >= 0 else colours[number, k]
                if second >= 0.0:
                    colour = ((1.0 - second - third) * colour + second * pictures[pixel + 1, k]
                              + third * pictures[pixel + 2, k])
                hit[_HIT_RED + k] = colour
        count = take_shading(shapes, hits, sun, near) if sun[2] > 0.0 else 0
        for i in range(each):
            at, hit = c * each + i, hits[i]
            if math.isnan(hit[_HIT_X]):
                continue
            there, bright = (hit[_HIT_X], hit[_HIT_Y], hit[_HIT_Z]), light[3]
            if sun[2] > 0.0 and hit[_COSINE] > 0.0 and (
                    meet(near[:count], shapes, relief, there, sun, far_m)[0] == NOTHING):
                bright += light[4] * hit[_COSINE]
            bright *= hit[_HIT_GRAIN]
            for k in range(3):
                image[at, k] = curve[int(min(1.0, bright * hit[_HIT_RED + k]) * (_SHADES - 1))]
    return 0


@compiled
def _turned(pose: np.ndarray, axis: np.ndarray) -> Vector:
    x, y, z = axis[0], axis[1], axis[2]
    return (pose[3] * x + pose[4] * y + pose[5] * z, pose[6] * x + pose[7] * y + pose[8] * z,
            pose[9] * x + pose[10] * y + pose[11] * z)


@functools.cache
def address() -> int:
    """Return the address of the machine code, which is made if none is kept."""
    def make(numba: typing.Any) -> tuple[typing.Any, typing.Any]:
        t, carray = numba.types, numba.carray

        def entry(where, curve, image, labels, shape):  # type: ignore[no-untyped-def]
            return see(carray(where[0], (shape[0], shape[1])), carray(where[1], shape[2]),
                       carray(where[2], (shape[3], _COLUMNS)), carray(where[3], (shape[4], 3)),
                       carray(where[4], (shape[8], OF_SKIN)), carray(where[5], 6),
                       carray(where[6], 13), carray(where[7], (shape[5], 5)),
                       carray(where[8], (shape[6], 3)), carray(where[9], (shape[0], shape[1])),
                       carray(where[10], (shape[6] // shape[5], _HIT)),
                       carray(where[11], shape[7]), carray(curve, _SHADES),
                       carray(image, (shape[6], 3)), carray(labels, shape[6]))

        return t.int64(t.CPointer(t.CPointer(t.float64)), t.CPointer(t.uint8), t.CPointer(t.uint8),
                       t.CPointer(t.uint16), t.CPointer(t.int64)), entry

    return machine_code.load(COLOURS, make)


def curve_of(exposure: float) -> np.ndarray:
    """Return the values of 8 bits of shades of light from 0 to 1, for `see`."""
    shades = np.minimum(1.0, exposure * np.linspace(0.0, 1.0, _SHADES))
    return np.asarray(np.round(255.0 * shades ** (1.0 / GAMMA)), np.uint8)


def _colours_of(ground: Vector, scene: Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tables of colours, pixels and skins: of the sky, the ground and the objects."""
    colours = np.zeros((_FIRST + len(scene.objects), _COLUMNS))
    colours[_GROUND, :PICTURE] = ground
    pictures, count = [np.zeros((1, 3))], 1
    skins = [np.zeros((0, OF_SKIN))]
    for row, its in zip(colours[_FIRST:], scene.objects):
        row[:PICTURE] = its.colour
        row[MOVES] = bool(its.path)
        if (picture := getattr(its, 'picture', None)) is not None:
            row[PICTURE:MOVES] = count, picture.width, picture.height
            pixels = picture.array.reshape(-1, 3)
        elif (skin := getattr(its, 'skin', None)) is not None:
            row[PICTURE:MOVES] = sum(map(len, skins)), count, 1.0
            rows, pixels = skin.arrays
            skins.append(rows)
        else:
            continue
        # At full light they look as they are.
        pictures.append((pixels / 255.0) ** GAMMA)
        count += len(pixels)
    return colours, np.concatenate(pictures), np.concatenate(skins)


class Eye:
    """Sees a world by its rays."""

    def __init__(
        self, scene: Scene | None, plane: Ground, directions: np.ndarray, far_m: float,
        exposure: float, group: int,
    ) -> None:
        """Make ready.

        :param scene: what stands in the world; None: nothing
        :param plane: the ground, unless the scene has one
        :param directions: of its rays in its own axes, (rays, 3), each of length 1
        :param group: so many of them, one after the other, are close together
        """
        scene = scene or Scene('')
        self._shapes, self._relief = world_of(scene, plane)
        self._paths = paths_of(scene)
        numbers = [i for i, its in enumerate(scene.objects, _FIRST) if not isinstance(its, Mesh)]
        self._shapes[:len(numbers), _NUMBER] = numbers
        # A plane is the last of them; axes have none.
        self._shapes[len(numbers):, _NUMBER] = _GROUND
        ground = GROUND_COLOUR if scene.ground is None else scene.ground.ground.colour
        self._colours, self._pictures, self._skins = _colours_of(ground, scene)
        sun = scene.sun
        self._light = np.array([*sun.direction_enu, sun.sky, 1.0 - sun.sky, far_m], float)
        self._directions = np.ascontiguousarray(directions, float)
        self._cones = cones_of(self._directions, group)
        self._near, self._hits = np.empty_like(self._shapes), np.empty((group, _HIT))
        self._curve = curve_of(exposure)
        self.image = np.zeros((len(directions), 3), np.uint8)
        """Of the last look: red, green and blue."""
        self.labels = np.zeros(len(directions), np.uint16)
        """0 for the sky, 1 for the ground, 2 and so on for the objects of the scene."""
        if not IS_PLAIN:
            self._call = ctypes.CFUNCTYPE(
                ctypes.c_int64, ctypes.c_void_p * 12, ctypes.c_void_p, ctypes.c_void_p,
                ctypes.c_void_p, ctypes.c_int64 * 9)(address())

    def look(self, pose: Pose) -> None:
        """Set image and labels."""
        numbers = np.array((*pose.place_enu, *pose.rotation, pose.time_us), float)
        tables = (self._shapes, self._relief, self._colours, self._pictures, self._skins,
                  self._light, numbers, self._cones, self._directions, self._near, self._hits,
                  self._paths)
        if IS_PLAIN:
            see(*tables, self._curve, self.image, self.labels)
            return
        self._call((ctypes.c_void_p * 12)(*(table.ctypes.data for table in tables)),
                   self._curve.ctypes.data, self.image.ctypes.data, self.labels.ctypes.data,
                   (ctypes.c_int64 * 9)(*self._shapes.shape, *map(len, (
                       self._relief, self._colours, self._pictures, self._cones,
                       self._directions, self._paths, self._skins))))
