# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feet, wheels and hull on what stands in the world: its shapes, and a height map as its ground.

At each point that is in a shape acts what acts on level ground (`contact.foot_force`), in axes
whose z is the normal of the face through which the point has come in. That face is kept until the
point is before it again, or beside it: so the spring has a potential that never jumps upwards, no
energy is gained at an edge, and a thin wall holds. Which face it is follows from where the point
was before. A point has anchors in two shapes at most; in any further one it has friction, and no
spring along it. What is pushed beyond the axis of a cylinder or the middle of a sphere comes out on
the other side.

All shapes are looked at only when the vehicle has come nearer to one of those that are far by what
lies between; in a step it is those near by.

On a shape that moves the law is the same in axes that move with it: velocities are those against
its surface, and it takes anchors with it, which are kept in its own axes.
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.body.contact import (
    FRICTION,
    IS_WHEEL,
    RADIUS,
    arm,
    foot_force,
    held_stretch,
)
from px4_sim_ros.model.body.rotors import RADIUS as RADIUS_OF_ROTOR
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import to_body, to_world
from px4_sim_ros.model.scene import height_map, meshes, shapes
from px4_sim_ros.model.scene.height_map import has_map, height_and_normal, meshes_at
from px4_sim_ros.model.scene.meshes import nearest_of_mesh, normal_of
from px4_sim_ros.model.scene.moving import (
    FASTEST,
    MOVES,
    TOUCHED_COLUMNS,
    angular_velocity,
    move_shape,
    move_shapes,
    stop_shape,
    surface_velocity,
)
from px4_sim_ros.model.scene.shapes import (
    AXES,
    BOUND,
    BOX,
    CYLINDER,
    KIND,
    PLANE,
    SIZE_X,
    SIZE_Y,
    SIZE_Z,
    SPHERE,
    X,
    Y,
    Z,
    rotation_of,
    round_slab,
    shape_rows,
    slab,
)

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

_to_body = compiled(to_body)
_to_world = compiled(to_world)

NEAR = shapes.COLUMNS
"""A further column of the shapes: the first rows have the indices of those near by in it."""

# Columns of what is kept of a point: where it was after the last step (ENU, m), its anchor on the
# height map, and for each of two shapes that it is in, index, face and anchor; NaN: none. The face
# of a mesh is the row of the axes in which it moves, -1 for none.
WAS_X, WAS_Y, WAS_Z, MAP_X, MAP_Y, MAP_Z, SLOTS = range(7)
SHAPE, FACE, HELD_X, HELD_Y, HELD_Z, OF_SLOT = range(6)
COLUMNS = SLOTS + 2 * OF_SLOT
# Columns of the row behind the points: where all shapes were looked at, how far from there what is
# near by is all that can be met, how many shapes are, whether the height map is, and whether a mesh
# is; how many integration steps there were since contacts were taken, and how many contacts have
# begun; the time after the last step, and when all shapes were looked at (us); whether they stand;
# how far rotors that may break reach, m.
(
    LOOKED_X, LOOKED_Y, LOOKED_Z, VALID_M, COUNT, IS_MAP_NEAR, IS_MESH_NEAR, STEPS, BEGUN, TIME_US,
    LOOKED_US, ARE_HELD, ROTORS_REACH_M,
) = range(13)
# In place of the number of a shape near by: whether they are stands so far after COUNT.
_MAP, _MESH = -1, -2
# Columns of the rows behind that, one for each contact with a shape that no point was in: in which
# of the steps it began, the shape, where (ENU, m), and how far the point has moved in that step, m.
IN_STEP, OF_SHAPE, AT_X, AT_Y, AT_Z, MOVED_M = range(6)
MOST_BEGUN = 16
"""Contacts that begin between two times at which they are taken: further ones are not noted.

A row for each rotor that may break follows, see `breaking`.
"""

_LOOK_M = 2.0
"""What is no farther away is near by; half of it is for what a vehicle moves in a step."""

_ROOM_M = 1e-9

_BOUNCE_US = 1_000_000
"""What touches the same object again so soon has not left it."""

Contact = tuple[int, float, float, float, float]
"""The face that a point is behind, how deep (m), and its normal; not above 0: it is behind none."""


def contact_rows(things: typing.Iterable[shapes.Shape]) -> np.ndarray:
    """Return the table of shapes with the column `NEAR`, and those of `moving`."""
    rows = shape_rows(things)
    return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, TOUCHED_COLUMNS - shapes.COLUMNS))))


def touched_names(scene: Scene) -> list[str]:
    """Return the names of what points can be in, as they are numbered: shapes, then all objects.

    The last one, of the number -1, is the ground, which only rotors touch.
    """
    return [*(its.name for its in shapes.shapes_of(scene)),
            *(its.name for its in scene.objects), 'the ground']


class Touch(typing.NamedTuple):
    """A contact with an object that begins."""

    time_us: int           # of the end of its step
    name: str              # of the object
    place_enu: Vector
    speed_m_s: float       # of the point that touches it
    rotor: int = 0         # that breaks by it, from 1 on; 0: it is none

    @property
    def text(self) -> str:
        """What has happened, for the user."""
        east, north, up = self.place_enu
        what = (f'rotor {self.rotor} has touched {self.name}, and is off' if self.rotor
                else f'touches {self.name} with {self.speed_m_s:.2f} m/s')
        return f'{what}, {north:.2f} m north, {east:.2f} m east, {up:.2f} m up'


class Touches:
    """The contacts of a vehicle with objects, each from when it begins."""

    def __init__(
        self, touches: np.ndarray, points: int, names: typing.Sequence[str], substep_s: float,
        substeps: int,
    ) -> None:
        """Begin with none.

        :param touches: from `no_touches`
        :param names: of the objects
        :param substep_s: length of an integration step, s; a step has so many of them
        """
        first = points + 1 + MOST_BEGUN
        self._head, self._begun, self._broken = (
            touches[points], touches[points + 1:first], touches[first:])
        self._rotors: set[int] = set()         # that are known to be broken
        self._names, self._substep_s, self._substeps = names, substep_s, substeps
        self._last_us: dict[str, int] = {}
        self.take(0, 0)

    def take(self, time_us: int, step_us: int) -> list[Touch]:
        """Return those that have begun since the last call, but for what bounces.

        :param time_us: now; with steps of so many microseconds since the last call
        """
        head, found = self._head, []
        steps = round(head[STEPS])

        def touch_of(row: list[float], rotor: int = 0) -> Touch:
            ago = (steps - round(row[IN_STEP])) // self._substeps
            return Touch(time_us - ago * step_us, self._names[round(row[OF_SHAPE])],
                         (row[AT_X], row[AT_Y], row[AT_Z]), row[MOVED_M] / self._substep_s, rotor)

        for row in self._begun[:round(head[BEGUN])].tolist():
            touch = touch_of(row)
            last_us = self._last_us.get(touch.name)
            self._last_us[touch.name] = touch.time_us
            if last_us is None or touch.time_us - last_us > _BOUNCE_US:
                found.append(touch)
        for i, row in enumerate(self._broken.tolist()):
            if i not in self._rotors and not math.isnan(row[IN_STEP]):
                self._rotors.add(i)
                found.append(touch_of(row, i + 1))
        head[STEPS] = head[BEGUN] = 0.0
        return sorted(found, key=lambda touch: touch.time_us)


def no_touches(
    points: int, *, has_scene: bool, time_us: int = 0, fragile: np.ndarray | None = None,
) -> np.ndarray:
    """Return the record of points that touch nothing at a time; without a scene it is empty.

    :param fragile: the table of rotors that break when they touch something; None: none does
    """
    if not has_scene:
        return np.zeros((0, COLUMNS))
    rotors = 0 if fragile is None else len(fragile)
    found = np.full((points + 1 + MOST_BEGUN + rotors, COLUMNS), math.nan)
    found[points, VALID_M], found[points, COUNT:] = -1.0, 0.0
    found[points, TIME_US] = time_us
    if fragile is not None and rotors:
        found[points, ROTORS_REACH_M] = float(
            (np.linalg.norm(fragile[:, :3], axis=1) + fragile[:, RADIUS_OF_ROTOR]).max())
    return found


@compiled
def scene_wrench(
    constants: np.ndarray, points: np.ndarray, rows: np.ndarray, relief: np.ndarray,
    paths: np.ndarray, touches: np.ndarray, position: Vector, velocity: Vector,
    rotation: tuple[float, ...], rate_flu: Vector, actuators: np.ndarray, ahead_s: float,
) -> tuple[float, float, float, float, float, float]:
    """Return force and torque about the centre of mass, N and N m, ENU.

    :param constants: a record with the `contact_constants`
    :param points: from `foot_table`
    :param rows: from `contact_rows`
    :param relief: from `relief_of`
    :param paths: from `paths_of`
    :param touches: from `no_touches` and `move_touches`
    :param position: of the centre of mass, m, ENU
    :param rotation: from body axes into ENU
    :param actuators: speeds of motors and angles of servos
    :param ahead_s: how long after the last step it is, s
    """
    fx = fy = fz = tx = ty = tz = 0.0
    near = len(points)
    count = int(touches[near, COUNT])
    if _is_alone(touches, near):
        return fx, fy, fz, tx, ty, tz
    if len(paths):
        _move_near(rows, paths, touches, near, ahead_s)
    wx, wy, wz = _to_world(rotation, rate_flu)
    for i in range(len(points)):
        rx, ry, rz = arm(points, i, rotation)
        point = position[0] + rx, position[1] + ry, position[2] + rz
        for k in range(_MESH, count):
            if k < 0 and touches[near, COUNT - k] == 0.0:
                continue
            (face, depth, nx, ny, nz), at, friction = _contact(
                points, i, rows, relief, touches, k, point, ahead_s)
            if depth <= 0.0:
                continue
            turn = surface_axes((nx, ny, nz))
            passing = (velocity[0] + wy * rz - wz * ry, velocity[1] + wz * rx - wx * rz,
                       velocity[2] + wx * ry - wy * rx)
            yaw_rate = rate_flu[2]
            shape = _mover(rows, relief, k, face)
            if _moves(rows, shape):
                x, y, z = surface_velocity(rows, shape, point)
                passing = passing[0] - x, passing[1] - y, passing[2] - z
                yaw_rate -= _to_body(rotation, angular_velocity(rows, shape))[2]
            x, y, z = foot_force(
                constants, points, i, friction, _turned(turn, rotation), depth,
                _to_body(turn, passing), _stretch(touches, i, at, rows, shape, turn, point),
                yaw_rate, actuators)
            x, y, z = _to_world(turn, (x, y, z))
            fx, fy, fz = fx + x, fy + y, fz + z
            tx, ty, tz = tx + ry * z - rz * y, ty + rz * x - rx * z, tz + rx * y - ry * x
    return fx, fy, fz, tx, ty, tz


@compiled
def move_touches(
    constants: np.ndarray, points: np.ndarray, rows: np.ndarray, relief: np.ndarray,
    paths: np.ndarray, touches: np.ndarray, position: Vector, rotation: tuple[float, ...],
    actuators: np.ndarray, step_s: float,
) -> None:
    """Set, drag or drop the anchors, and look about; call it after each integration step.

    :param step_s: how long that was, s
    """
    near = len(points)
    touches[near, STEPS] += 1.0
    closer_m = 0.0
    if len(paths):
        if touches[near, ARE_HELD] == 0.0:
            touches[near, TIME_US] += math.floor(1e6 * step_s + 0.5)
        closer_m = paths[FASTEST] * 1e-6 * (touches[near, TIME_US] - touches[near, LOOKED_US])
    dx, dy, dz = (position[0] - touches[near, LOOKED_X], position[1] - touches[near, LOOKED_Y],
                  position[2] - touches[near, LOOKED_Z])
    # Not true for NaN: at first.
    if not math.sqrt(dx * dx + dy * dy + dz * dz) + closer_m < touches[near, VALID_M]:
        if len(paths):
            move_shapes(rows, paths, touches[near, TIME_US])
            touches[near, LOOKED_US] = touches[near, TIME_US]
        _look_about(rows, relief, touches, near, position,
                    max(constants[0].size_m, touches[near, ROTORS_REACH_M]))
    count = int(touches[near, COUNT])
    if _is_alone(touches, near):
        return
    if len(paths):
        _move_near(rows, paths, touches, near, 0.0)
    for i in range(len(points)):
        rx, ry, rz = arm(points, i, rotation)
        point = position[0] + rx, position[1] + ry, position[2] + rz
        for k in range(_MESH, count):
            if k < 0 and touches[near, COUNT - k] == 0.0:
                continue
            (face, depth, nx, ny, nz), at, friction = _contact(
                points, i, rows, relief, touches, k, point, step_s)
            if depth <= 0.0:
                if at >= 0:
                    _let_go(touches, i, at)
                continue
            shape = _mover(rows, relief, k, face)
            if at < 0:
                number = shape
                if k == _MESH:         # they follow the shapes
                    number, face = len(rows) + int(relief[face + meshes.OBJECT]), shape
                    _leave_meshes(touches, i, len(rows))
                _note(touches, near, i, number, _carried(rows, shape, was(touches, i), step_s),
                      point)
                at = _taken(touches, i, number, face)
            if at < 0:
                continue
            turn = surface_axes((nx, ny, nz))
            stretch = _stretch(touches, i, at, rows, shape, turn, point)
            if math.isnan(stretch[0]):
                stretch = 0.0, 0.0
            x, y = held_stretch(
                points, i, friction, _turned(turn, rotation), depth, stretch, actuators)
            x, y, z = _to_world(turn, (x, y, 0.0))
            anchor = point[0] - x, point[1] - y, point[2] - z
            if _moves(rows, shape):
                anchor = _to_body(rotation_of(rows, shape), (
                    anchor[0] - rows[shape, X], anchor[1] - rows[shape, Y],
                    anchor[2] - rows[shape, Z]))
            touches[i, at], touches[i, at + 1], touches[i, at + 2] = anchor
        touches[i, WAS_X], touches[i, WAS_Y], touches[i, WAS_Z] = point


@compiled
def _mover(rows: np.ndarray, relief: np.ndarray, k: int, face: int) -> int:
    """Return the shape that moves with what a point is in, -1 for none.

    :param k: see `_contact`, which has found this face
    """
    if k == _MESH:
        return int(relief[face + meshes.ITS_AXES])
    return int(rows[k, NEAR]) if k >= 0 else -1


@compiled
def _leave_meshes(touches: np.ndarray, i: int, shapes: int) -> None:
    """Drop the anchor of a point in a mesh, whose number is above those of shapes."""
    for slot in (SLOTS, SLOTS + OF_SLOT):
        if touches[i, slot + SHAPE] >= shapes:
            _let_go(touches, i, slot + HELD_X)


@compiled
def _moves(rows: np.ndarray, shape: int) -> bool:
    """Return whether a shape moves; no height map does."""
    found: bool = 0 <= shape < len(rows) and rows[shape, MOVES] > 0.0
    return found


@compiled
def _move_near(
    rows: np.ndarray, paths: np.ndarray, touches: np.ndarray, near: int, ahead_s: float,
) -> None:
    """Set where the shapes near by are, so long after the last step, and how fast they move."""
    are_held = touches[near, ARE_HELD] > 0.0
    time_us = touches[near, TIME_US] + (0.0 if are_held else 1e6 * ahead_s)
    for k in range(int(touches[near, COUNT])):
        _move(rows, int(rows[k, NEAR]), paths, time_us, are_held)
    shape = len(rows) - 1
    while touches[near, IS_MESH_NEAR] > 0.0 and shape >= 0 and rows[shape, KIND] == AXES:
        _move(rows, shape, paths, time_us, are_held)
        shape -= 1


@compiled
def _move(
    rows: np.ndarray, shape: int, paths: np.ndarray, time_us: float, are_held: bool,
) -> None:
    """Set where a shape is; one that is held stands there."""
    move_shape(rows, shape, paths, time_us)
    if are_held:
        stop_shape(rows, shape)


@compiled
def was(touches: np.ndarray, i: int) -> Vector:
    """Return where a point was after the last step, ENU."""
    return touches[i, WAS_X], touches[i, WAS_Y], touches[i, WAS_Z]


@compiled
def _carried(rows: np.ndarray, shape: int, place: Vector, since_s: float) -> Vector:
    """Return where a place is now that moves with a shape, ENU."""
    if not _moves(rows, shape):
        return place
    x, y, z = surface_velocity(rows, shape, place)
    return place[0] + x * since_s, place[1] + y * since_s, place[2] + z * since_s


@compiled
def _is_alone(touches: np.ndarray, near: int) -> bool:
    """Return whether nothing is near by."""
    is_alone: bool = (touches[near, COUNT] == 0.0 and touches[near, IS_MAP_NEAR] == 0.0
                      and touches[near, IS_MESH_NEAR] == 0.0)
    return is_alone


@compiled
def touches_scene(touches: np.ndarray, i: int) -> bool:
    """Return whether a point is in an object, or in a height map."""
    return not (math.isnan(touches[i, MAP_X]) and math.isnan(touches[i, SLOTS + SHAPE])
                and math.isnan(touches[i, SLOTS + OF_SLOT + SHAPE]))


@compiled
def moving_shape(rows: np.ndarray, touches: np.ndarray, i: int) -> int:
    """Return the shape that moves and that a point is in, -1 for none."""
    for slot in (SLOTS, SLOTS + OF_SLOT):
        if not math.isnan(touches[i, slot + SHAPE]):
            is_mesh = touches[i, slot + SHAPE] >= len(rows)
            shape = int(touches[i, slot + (FACE if is_mesh else SHAPE)])
            if _moves(rows, shape):
                return shape
    return -1


@compiled
def _look_about(
    rows: np.ndarray, relief: np.ndarray, touches: np.ndarray, near: int, position: Vector,
    size_m: float,
) -> None:
    """Find which shapes are near by, and how far the others are."""
    count, least = 0, math.inf
    for i in range(len(rows)):
        away = distance_m(rows, i, position) - size_m
        if away < _LOOK_M:
            rows[count, NEAR] = i
            count += 1
        else:
            least = min(least, away)
    is_map_near = is_mesh_near = 0.0
    if has_map(relief):
        # Over its edges and beyond them the height of the highest post says less, and enough.
        height, _, _, _ = height_and_normal(relief, position[0], position[1])
        away = position[2] - relief[height_map.HIGHEST]
        if not math.isnan(height):
            steepest = relief[height_map.STEEPEST]
            away = max(away, (position[2] - height) / math.sqrt(1.0 + steepest * steepest))
        if away - size_m < _LOOK_M:
            is_map_near = 1.0
        else:
            least = min(least, away - size_m)
    at = meshes_at(relief)
    if at > 0:
        away = nearest_of_mesh(rows, relief, at, position, meshes.FAR_M)[1] - size_m
        if away < _LOOK_M:
            is_mesh_near = 1.0
        else:
            least = min(least, away)
    touches[near, LOOKED_X], touches[near, LOOKED_Y], touches[near, LOOKED_Z] = position
    touches[near, VALID_M] = least - 0.5 * _LOOK_M
    touches[near, COUNT] = count
    touches[near, IS_MAP_NEAR], touches[near, IS_MESH_NEAR] = is_map_near, is_mesh_near


@compiled
def distance_m(rows: np.ndarray, i: int, place: Vector) -> float:
    """Return how far a shape is from a place at least, m; not above 0 inside."""
    x, y, z = place[0] - rows[i, X], place[1] - rows[i, Y], place[2] - rows[i, Z]
    away: float = math.sqrt(x * x + y * y + z * z) - rows[i, BOUND]
    if away > _LOOK_M:
        return away
    x, y, z = _to_body(rotation_of(rows, i), (x, y, z))
    kind = rows[i, KIND]
    if kind == PLANE:
        return z
    if kind == BOX:
        x, y = max(0.0, abs(x) - rows[i, SIZE_X]), max(0.0, abs(y) - rows[i, SIZE_Y])
    elif kind == CYLINDER:
        x, y = max(0.0, math.sqrt(x * x + y * y) - rows[i, SIZE_X]), 0.0
    else:
        return away
    z = max(0.0, abs(z) - rows[i, SIZE_Z])
    return math.sqrt(x * x + y * y + z * z)


@compiled
def _contact(
    points: np.ndarray, i: int, rows: np.ndarray, relief: np.ndarray, touches: np.ndarray, k: int,
    point: Vector, since_s: float,
) -> tuple[Contact, int, float]:
    """Return the contact of a point with a shape near by; where its anchor is; its friction.

    :param k: the shape's number among those near by, or one of the above
    :param since_s: since the last step, s
    """
    before = was(touches, i)
    if k == _MESH:
        at = -1
        for slot in (SLOTS, SLOTS + OF_SLOT):
            if touches[i, slot + SHAPE] >= len(rows):
                at = slot + HELD_X
        found, friction = _behind_mesh(rows, relief, before, point, since_s, at >= 0)
        if found[1] > 0.0 and at >= 0 and (
                touches[i, at - HELD_X + FACE] != _mover(rows, relief, k, found[0])):
            at = -1                    # it was in one that moves otherwise
    elif k == _MAP:
        at, friction = MAP_X, relief[height_map.FRICTION]
        found = _behind_map(relief, before, point, not math.isnan(touches[i, MAP_X]))
    else:
        shape, at, face = int(rows[k, NEAR]), -1, -1
        for slot in (SLOTS, SLOTS + OF_SLOT):
            if touches[i, slot + SHAPE] == shape:
                at, face = slot + HELD_X, int(touches[i, slot + FACE])
        friction = rows[shape, shapes.FRICTION]
        found = behind(rows, shape, _carried(rows, shape, before, since_s), point, face)
    # What of a caster drags is its rolling resistance, on any surface.
    if math.isnan(friction) or (points[i, RADIUS] > 0.0 and points[i, IS_WHEEL] == 0.0):
        friction = points[i, FRICTION]
    return found, at, friction


@compiled
def _behind_map(relief: np.ndarray, was: Vector, point: Vector, is_touching: bool) -> Contact:
    """Return how deep a point is below the ground, which it has come into from above."""
    height, nx, ny, nz = height_and_normal(relief, point[0], point[1])
    if not point[2] < height:
        return 0, 0.0, 0.0, 0.0, 0.0
    if not is_touching:
        before, _, _, _ = height_and_normal(relief, was[0], was[1])
        if was[2] < before:
            return 0, 0.0, 0.0, 0.0, 0.0
    return 0, (height - point[2]) * nz, nx, ny, nz


@compiled
def _behind_mesh(
    rows: np.ndarray, relief: np.ndarray, was: Vector, point: Vector, since_s: float,
    is_touching: bool,
) -> tuple[Contact, float]:
    """Return how deep a point is in a mesh, whose triangle is the face, and the friction there.

    It is held by the place on the surface that is nearest: so the spring has a potential. A point
    comes in where it crosses the surface; what is behind one that has an edge has not.
    """
    t, distance, x, y, z = nearest_of_mesh(rows, relief, meshes_at(relief), point, _LOOK_M)
    if t < 0 or distance >= 0.0:
        return (-1, 0.0, 0.0, 0.0, 0.0), math.nan
    nx, ny, nz = normal_of(rows, relief, t)
    was = _carried(rows, int(relief[t + meshes.ITS_AXES]), was, since_s)
    if not (is_touching or math.isnan(was[0])):
        moved = math.sqrt((point[0] - was[0]) ** 2 + (point[1] - was[1]) ** 2
                          + (point[2] - was[2]) ** 2)
        before = (was[0] - x) * nx + (was[1] - y) * ny + (was[2] - z) * nz
        if -distance > moved + _ROOM_M or before < -_ROOM_M:
            return (-1, 0.0, 0.0, 0.0, 0.0), math.nan
    depth = -distance
    if depth > _ROOM_M:
        nx, ny, nz = (x - point[0]) / depth, (y - point[1]) / depth, (z - point[2]) / depth
    return (t, depth, nx, ny, nz), relief[t + meshes.FRICTION]


@compiled
def behind(rows: np.ndarray, i: int, was: Vector, point: Vector, face: int) -> Contact:
    """Return the face of a shape that a point is behind.

    :param was: where the point was before it was in the shape; NaN: not known
    :param face: the one through which it has come in, -1 for one that was not in the shape
    """
    turn = rotation_of(rows, i)
    middle_x, middle_y, middle_z = rows[i, X], rows[i, Y], rows[i, Z]
    place = _to_body(turn, (point[0] - middle_x, point[1] - middle_y, point[2] - middle_z))
    x, y, z = place
    a, b, c = rows[i, SIZE_X], rows[i, SIZE_Y], rows[i, SIZE_Z]
    kind = rows[i, KIND]
    depth = nx = ny = 0.0
    nz = 1.0
    if kind == PLANE:
        face, depth = 0, -z
    elif kind != SPHERE:
        is_box = kind == BOX
        radius = 0.0 if is_box else math.sqrt(x * x + y * y)
        in_x, in_y, in_z = (abs(x) < a, abs(y) < b, abs(z) < c) if is_box else (
            radius < a, True, abs(z) < c)
        if face < 0:
            if not (in_x and in_y and in_z):
                return -1, 0.0, 0.0, 0.0, 0.0
            before = _to_body(turn, (was[0] - middle_x, was[1] - middle_y, was[2] - middle_z))
            face = _face(is_box, (a, b, c), before, place)
        if face >= 4:
            is_behind, nz = in_x and in_y, 1.0 if face == 5 else -1.0
            depth = c - nz * z
        elif not is_box:
            # On its axis it has no direction: any.
            is_behind, depth = in_z, a - radius
            nx, ny, nz = (x / radius, y / radius, 0.0) if radius > 0.0 else (1.0, 0.0, 0.0)
        elif face >= 2:
            is_behind, ny, nz = in_x and in_z, 1.0 if face == 3 else -1.0, 0.0
            depth = b - ny * y
        else:
            is_behind, nx, nz = in_y and in_z, 1.0 if face == 1 else -1.0, 0.0
            depth = a - nx * x
        # Also of what it has been pushed through: else a thin wall would let it pass.
        if not is_behind:
            return -1, 0.0, 0.0, 0.0, 0.0
    else:
        away = math.sqrt(x * x + y * y + z * z)
        face, depth = 0, a - away
        if away > 0.0:
            nx, ny, nz = x / away, y / away, z / away
    nx, ny, nz = _to_world(turn, (nx, ny, nz))
    return face, depth, nx, ny, nz


@compiled
def _face(is_box: bool, size_m: Vector, was: Vector, place: Vector) -> int:
    """Return the face of a box or a cylinder through which a point has come to a place inside.

    Two for each axis, that on its negative side first; the side of a cylinder is 0. If it was
    inside before, or if that is not known, it is the one that is nearest.
    """
    (a, b, c), (x, y, z) = size_m, place
    if not math.isnan(was[0]):
        rx, ry, rz = x - was[0], y - was[1], z - was[2]
        if is_box:
            first_x, _ = slab(a, was[0], rx)
            first_y, _ = slab(b, was[1], ry)
        else:
            first_x, _ = round_slab(a, (was[0], was[1], 0.0), (rx, ry, 0.0))
            first_y = -math.inf
        first_z, _ = slab(c, was[2], rz)
        first = max(first_x, first_y, first_z)
        if 0.0 <= first < math.inf:
            if first == first_z:
                return 4 if rz > 0.0 else 5
            if first == first_y:
                return 2 if ry > 0.0 else 3
            return 0 if rx > 0.0 or not is_box else 1
    to_x, to_y = (a - abs(x), b - abs(y)) if is_box else (a - math.sqrt(x * x + y * y), math.inf)
    to_z = c - abs(z)
    if to_z <= min(to_x, to_y):
        return 5 if z > 0.0 else 4
    if to_y < to_x:
        return 3 if y > 0.0 else 2
    return 1 if x > 0.0 and is_box else 0


@compiled
def _note(
    touches: np.ndarray, near: int, i: int, shape: int, was: Vector, point: Vector,
) -> None:
    """Note that a contact begins, if no point is in the shape yet.

    :param was: where the point was before the last step
    """
    for j in range(near):
        if touches[j, SLOTS + SHAPE] == shape or touches[j, SLOTS + OF_SLOT + SHAPE] == shape:
            return
    begun = int(touches[near, BEGUN])
    if begun == MOST_BEGUN:
        return
    touches[near, BEGUN] += 1.0
    row = near + 1 + begun
    x, y, z = point[0] - was[0], point[1] - was[1], point[2] - was[2]
    touches[row, IN_STEP], touches[row, OF_SHAPE] = touches[near, STEPS], shape
    touches[row, AT_X], touches[row, AT_Y], touches[row, AT_Z] = point
    touches[row, MOVED_M] = math.sqrt(x * x + y * y + z * z)


@compiled
def _taken(touches: np.ndarray, i: int, shape: int, face: int) -> int:
    """Keep a shape that a point is in from now on; return where its anchor is, -1 for nowhere."""
    for slot in (SLOTS, SLOTS + OF_SLOT):
        if math.isnan(touches[i, slot + SHAPE]):
            touches[i, slot + SHAPE], touches[i, slot + FACE] = shape, face
            return slot + HELD_X
    return -1


@compiled
def _let_go(touches: np.ndarray, i: int, at: int) -> None:
    """Drop an anchor, and the shape that it is in."""
    begin = MAP_X if at == MAP_X else at - HELD_X
    for column in range(begin, at + 3):
        touches[i, column] = math.nan


@compiled
def _stretch(
    touches: np.ndarray, i: int, at: int, rows: np.ndarray, shape: int, turn: tuple[float, ...],
    point: Vector,
) -> tuple[float, float]:
    """Return how far along a surface a point is from its anchor, m; NaN if it has none."""
    if at < 0:
        return math.nan, math.nan
    anchor = touches[i, at], touches[i, at + 1], touches[i, at + 2]
    if _moves(rows, shape):
        x, y, z = _to_world(rotation_of(rows, shape), anchor)
        anchor = rows[shape, X] + x, rows[shape, Y] + y, rows[shape, Z] + z
    x, y, _ = _to_body(turn, (point[0] - anchor[0], point[1] - anchor[1], point[2] - anchor[2]))
    return x, y


@compiled
def surface_axes(normal: Vector) -> tuple[float, ...]:
    """Return the rotation from axes whose z is a normal into ENU, nine numbers, row by row.

    Of level ground they are those of the world (Duff and others, 2017: Building an orthonormal
    basis, revisited).
    """
    x, y, z = normal
    sign = math.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    return (1.0 + sign * x * x * a, b, x, sign * b, sign + y * y * a, y, -sign * x, -y, z)


@compiled
def _turned(turn: tuple[float, ...], rotation: tuple[float, ...]) -> tuple[float, ...]:
    """Return the rotation from body axes into those of a surface."""
    xx, xy, xz = _to_body(rotation, (turn[0], turn[3], turn[6]))
    yx, yy, yz = _to_body(rotation, (turn[1], turn[4], turn[7]))
    zx, zy, zz = _to_body(rotation, (turn[2], turn[5], turn[8]))
    return xx, xy, xz, yx, yy, yz, zx, zy, zz
