# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What rays from a sensor meet, in compiled code: all rays of a measurement in one call."""
from __future__ import annotations

import ctypes
import functools
import math
import typing

import numpy as np

from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import IS_PLAIN, SCAN
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.environment import ground
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix, multiply, to_body, to_world, total
from px4_sim_ros.model.scene.height_map import has_map, meshes_at, ray_to_map, relief_of
from px4_sim_ros.model.scene.meshes import ray_to_mesh
from px4_sim_ros.model.scene.moving import move_shapes, paths_of
from px4_sim_ros.model.scene.shapes import (
    BOUND,
    PLANE,
    Shape,
    X,
    Y,
    Z,
    nearest,
    shape_rows,
    shapes_of,
)
from px4_sim_ros.model.sensors.mounting import velocity_flu
from px4_sim_ros.model.truth import Truth

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

DISTANCE, FACING = 0, 1
"""Of what a ray has met: how far it is (m), and the cosine of the angle at which it is met; without
any infinity and 0."""


@compiled
def turned(pose: np.ndarray, dt: float, rate: float, x: float, y: float, z: float) -> Vector:
    """Return a direction in axes of the sensor at another time in axes of the world (Rodrigues).

    :param pose: see `cast`
    :param dt: from its time to that one, s
    :param rate: how fast the sensor turns, rad/s
    """
    angle = rate * dt
    if angle != 0.0:
        ax, ay, az = pose[15] / rate, pose[16] / rate, pose[17] / rate
        sine, rest = math.sin(angle), 1.0 - math.cos(angle)
        cx, cy, cz = ay * z - az * y, az * x - ax * z, ax * y - ay * x
        x += sine * cx + rest * (ay * cz - az * cy)
        y += sine * cy + rest * (az * cx - ax * cz)
        z += sine * cz + rest * (ax * cy - ay * cx)
    return (pose[3] * x + pose[4] * y + pose[5] * z, pose[6] * x + pose[7] * y + pose[8] * z,
            pose[9] * x + pose[10] * y + pose[11] * z)


@compiled
def take_near(
    shapes: np.ndarray, place: Vector, axis: Vector, cosine: float, sine: float, near: np.ndarray,
) -> int:
    """Set the shapes that rays within a cone may meet, by spheres around these; return how many.

    :param place: of its tip, m
    :param axis: of length 1
    :param cosine: of half its angle; at most 0: it has all of them
    """
    count = 0
    for i in range(len(shapes)):
        x, y, z = shapes[i, X] - place[0], shapes[i, Y] - place[1], shapes[i, Z] - place[2]
        bound = shapes[i, BOUND]
        along = x * axis[0] + y * axis[1] + z * axis[2]
        square = x * x + y * y + z * z
        across = math.sqrt(max(0.0, square - along * along))
        if cosine <= 0.0 or square <= bound * bound or across * cosine - along * sine <= bound:
            for k in range(near.shape[1]):
                near[count, k] = shapes[i, k]
            count += 1
    return count


NOTHING, MAP, MESH = -1, -2, -3
"""In place of the row of a shape; of a mesh less where its triangle begins."""


@compiled
def meet(
    near: np.ndarray, shapes: np.ndarray, relief: np.ndarray, origin: Vector, ray: Vector,
    far_m: float,
) -> tuple[int, float, float, float, float]:
    """Return the row of the shape near by that a ray meets first, its distance and the normal.

    Of the relief the row is `MAP` or one of a mesh; `NOTHING` is at `far_m`.
    """
    row, distance, nx, ny, nz = nearest(near, origin, ray, far_m)
    if has_map(relief):
        lower, lx, ly, lz = ray_to_map(relief, origin, ray, distance)
        if lower < distance:
            row, distance, nx, ny, nz = MAP, lower, lx, ly, lz
    at = meshes_at(relief)
    if at > 0:
        t, lower, lx, ly, lz = ray_to_mesh(shapes, relief, at, origin, ray, distance)
        if t >= 0:
            return MESH - t, lower, lx, ly, lz
    return row, distance, nx, ny, nz


@compiled
def cast(
    shapes: np.ndarray, relief: np.ndarray, pose: np.ndarray, turns: int, duration_s: float,
    cones: np.ndarray, rays: np.ndarray, far_m: float, near: np.ndarray, found: np.ndarray,
    paths: np.ndarray, time_us: float,
) -> int:
    """Set what each ray meets.

    :param shapes: rows of a scene
    :param relief: of it, from `relief_of`
    :param pose: at the end of the measurement: place (m) and rotation of the sensor, row by row,
        and its velocity (m/s), all in axes of the world; then its angular velocity in its own
    :param turns: how many times there are in it, of equal length; each has as many rays
    :param cones: around as many rays each, (cones, 5): axis, cosine and sine of half the angle; the
        rays of none are at several times
    :param rays: directions in axes of the sensor, (rays, 3), of length 1
    :param near: for as many rows as there are shapes
    :param found: (rays, 2), see above
    :param paths: of the scene, from `paths_of`
    :param time_us: of the end of the measurement
    """
    each, cones_each = len(rays) // len(cones), len(cones) // turns
    rate = math.sqrt(pose[15] * pose[15] + pose[16] * pose[16] + pose[17] * pose[17])
    for c in range(len(cones)):
        dt = -duration_s * (turns - 1 - c // cones_each) / turns
        if len(paths) and c % cones_each == 0:
            move_shapes(shapes, paths, time_us + 1e6 * dt)
        place = pose[0] + pose[12] * dt, pose[1] + pose[13] * dt, pose[2] + pose[14] * dt
        count = take_near(
            shapes, place, turned(pose, dt, rate, cones[c, 0], cones[c, 1], cones[c, 2]),
            cones[c, 3], cones[c, 4], near)
        for i in range(c * each, (c + 1) * each):
            ray = turned(pose, dt, rate, rays[i, 0], rays[i, 1], rays[i, 2])
            if len(relief) == 0:           # most scenes; a tenth of the time of a scan
                row, distance, nx, ny, nz = nearest(near[:count], place, ray, far_m)
            else:
                row, distance, nx, ny, nz = meet(
                    near[:count], shapes, relief, place, ray, far_m)
            is_met = row != NOTHING
            found[i, 0] = distance if is_met else math.inf
            found[i, 1] = abs(nx * ray[0] + ny * ray[1] + nz * ray[2]) if is_met else 0.0
    return 0


@functools.cache
def address() -> int:
    """Return the address of the machine code."""
    def make(numba: typing.Any) -> tuple[typing.Any, typing.Any]:
        t, carray = numba.types, numba.carray

        def entry(  # type: ignore[no-untyped-def]
            where, shape, turns, duration_s, far_m, time_us,
        ):
            return cast(carray(where[0], (shape[0], shape[1])), carray(where[1], shape[2]),
                        carray(where[2], 18), turns, duration_s, carray(where[3], (shape[3], 5)),
                        carray(where[4], (shape[4], 3)), far_m,
                        carray(where[5], (shape[0], shape[1])), carray(where[6], (shape[4], 2)),
                        carray(where[7], shape[5]), time_us)

        return t.int64(t.CPointer(t.CPointer(t.float64)), t.CPointer(t.int64), t.int64, t.float64,
                       t.float64, t.float64), entry

    return machine_code.load(SCAN, make)


class Pose(typing.NamedTuple):
    """Where a sensor is at the end of a measurement, and how it moves; in axes of the world."""

    place_enu: Vector
    rotation: tuple[float, ...]            # of its axes into those of the world, row by row
    velocity_enu: Vector = (0.0, 0.0, 0.0)
    rate: Vector = (0.0, 0.0, 0.0)         # in its own axes, rad/s
    time_us: int = 0                       # when

    @classmethod
    def on_body(
        cls, truth: Truth, position_m: Vector, mounting: Quaternion = (1.0, 0.0, 0.0, 0.0),
    ) -> Pose:
        """Return that of a sensor at a place on the body, FLU."""
        body = matrix(truth.attitude)
        return cls(
            total(truth.position_enu, to_world(body, position_m)),
            matrix(multiply(truth.attitude, mounting)),
            to_world(body, velocity_flu(truth, position_m)),
            to_body(matrix(mounting), truth.rate_flu), truth.time_us)


class Rays:
    """The rays of a sensor in a world."""

    def __init__(
        self, scene: Scene | None, plane: ground.Ground, directions: np.ndarray, far_m: float,
        group: int = 0,
    ) -> None:
        """Make ready.

        :param scene: what stands in the world; None: nothing
        :param plane: the ground, unless the scene has one
        :param directions: in axes of the sensor, (rays, 3), each of length 1
        :param far_m: how far it sees
        :param group: so many rays, one after the other, are close together; 0: all of them
        """
        self._shapes, self._relief = world_of(scene, plane)
        self._paths = paths_of(scene)
        self._far_m, self._near = far_m, np.empty_like(self._shapes)
        self.aim(directions, group)
        if not IS_PLAIN:
            self._call = ctypes.CFUNCTYPE(
                ctypes.c_int64, ctypes.c_void_p * 8, ctypes.c_int64 * 6, ctypes.c_int64,
                ctypes.c_double, ctypes.c_double, ctypes.c_double)(address())

    def aim(self, directions: np.ndarray, group: int = 0) -> None:
        """Take other directions, of which there may be more or fewer; see above."""
        self._directions = np.ascontiguousarray(directions, float)
        self._found = np.empty((len(directions), 2))
        self._cones = cones_of(self._directions, group or len(directions))

    def cast(self, pose: Pose, turns: int = 1, duration_s: float = 0.0) -> np.ndarray:
        """Return the distance and the angle of each ray, (rays, 2), see above.

        They are valid until the next call.

        :param turns: at how many times, equally far apart, equal shares of the rays are cast
        :param duration_s: from the first of these to the end
        """
        near = self._shapes
        if not len(self._paths):
            reach_m = self._far_m + math.hypot(*pose.velocity_enu) * duration_s
            away = near[:, X:Z + 1] - pose.place_enu
            near = near[np.sqrt((away * away).sum(axis=1)) - near[:, BOUND] <= reach_m]
        numbers = np.array(
            (*pose.place_enu, *pose.rotation, *pose.velocity_enu, *pose.rate), float)
        if IS_PLAIN:
            cast(near, self._relief, numbers, turns, duration_s, self._cones, self._directions,
                 self._far_m, self._near, self._found, self._paths, float(pose.time_us))
        else:
            tables = (near, self._relief, numbers, self._cones, self._directions, self._near,
                      self._found, self._paths)
            self._call((ctypes.c_void_p * 8)(*(table.ctypes.data for table in tables)),
                       (ctypes.c_int64 * 6)(*near.shape, *map(len, (
                           self._relief, self._cones, self._directions, self._paths))),
                       turns, duration_s, self._far_m, pose.time_us)
        return self._found


def cones_of(directions: np.ndarray, group: int) -> np.ndarray:
    """Return a cone around each group of rays, see `cast`; a little wider than it has to be."""
    groups = directions.reshape(-1, group, 3)
    axes = groups.sum(axis=1)
    lengths = np.sqrt((axes * axes).sum(axis=1))
    # Of directions all around there is none.
    axes /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    cosines = np.einsum('gri,gi->gr', groups, axes).min(axis=1) - 1e-6
    cosines[lengths < 1e-3] = -1.0
    return np.column_stack([axes, cosines, np.sqrt(1.0 - np.minimum(1.0, cosines * cosines))])


def world_of(scene: Scene | None, plane: ground.Ground) -> tuple[np.ndarray, np.ndarray]:
    """Return the shapes of a world as rows, with the ground if it is a plane, and its relief.

    :param scene: what stands in the world; None: nothing
    :param plane: the ground, unless the scene has one
    """
    shapes = [] if scene is None else shapes_of(scene)
    if scene is None or scene.ground is None:
        shapes.append(Shape(
            PLANE, (0.0, 0.0, 0.0), plane.attitude, (0.0, 0.0, 0.0), 'ground'))
    return shape_rows(shapes), relief_of(scene)
