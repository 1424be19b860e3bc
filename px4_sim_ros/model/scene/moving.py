# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where shapes on paths are at a time, and how fast they move: closed forms, in compiled code.

Times are microseconds, whole ones but within an integration step and within a scan. The remainder
of a time in a period is exact, so all readers of a time have the same bits.
"""
from __future__ import annotations

import itertools
import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import cross, matrix, multiply, to_world, total
from px4_sim_ros.model.scene import shapes
from px4_sim_ros.model.scene.shapes import R0, X, Y, Z, shapes_of
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.model.timebase import US_PER_S

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.paths import Path, Wave
    from px4_sim_ros.model.scene.scene import Scene, SceneObject

# What the array begins with: how many shapes there are, and how fast any place of them moves at
# most (m/s). Then the shapes in the order of `shapes_of`: where its path begins (0: it stands
# still), middle and rotation in axes of the path, row by row. Then the paths.
_SHAPES, FASTEST, _ROWS = range(3)
_PATH, _MIDDLE, _TURN, _OF_SHAPE = 0, 1, 4, 13
# What a path begins with: how many points it has, whether it begins again, how many waves of heave,
# roll and pitch there are; then these, in us, m, rad.
_POINTS, _LOOPS, _HEAVES, _ROLLS, _PITCHES, _FIRST = range(6)
_TIME, _EAST, _NORTH, _UP, _YAW, _OF_POINT = range(6)
_AMPLITUDE, _PERIOD, _PHASE, _OF_WAVE = range(4)

# Further columns of shapes that are touched: whether it moves; a place of the path (ENU, m), its
# velocity (m/s) and angular velocity (rad/s).
MOVES, AT_X, AT_Y, AT_Z, VX, VY, VZ, WX, WY, WZ, TOUCHED_COLUMNS = range(
    shapes.COLUMNS + 1, shapes.COLUMNS + 12)

_cross = compiled(cross)
_to_world = compiled(to_world)

Motion = tuple[Vector, Vector, Vector, Vector]
"""Place (m, ENU), roll, pitch and yaw (rad), and how fast these change (m/s, rad/s)."""


def paths_of(scene: Scene | None) -> np.ndarray:
    """Return the paths of a scene, and which shapes are on them, empty if none is."""
    if scene is None or not any(its.path for its in scene.objects):
        return np.zeros(0)
    if 'paths' not in scene.kept:
        found = shapes_of(scene)
        begins: dict[str, int] = {'': 0}
        numbers = []
        at = _ROWS + _OF_SHAPE * len(found)
        for name, path in scene.paths.items():
            begins[name] = at
            numbers.append(_numbers(path))
            at += len(numbers[-1])
        rows = [(begins[its.path], *its.place_enu, *matrix(its.attitude)) for its in found]
        # A mesh is in a box about its place.
        reaches = [(its.path, math.hypot(*its.place_enu) + its.bound_m) for its in found] + [
            (its.path, math.hypot(*its.place_m) + math.hypot(*its.half_m))
            for its in scene.meshes.values()]
        fastest = max(_fastest_m_s(scene.paths[path], max(0.0, reach_m))
                      for path, reach_m in reaches if path)
        scene.kept['begins'] = np.array([begins[name] for name in scene.paths])
        scene.kept['paths'] = np.array(
            [len(found), fastest, *itertools.chain(*rows), *itertools.chain(*numbers)], float)
    return scene.kept['paths']


def _numbers(path: Path) -> list[float]:
    waves = path.heave_m, path.roll_deg, path.pitch_deg
    found: list[float] = [len(path.legs), path.loop, *map(len, waves)]
    for time_us, place, yaw_deg in path.legs:
        found += time_us, *place, math.radians(yaw_deg)
    for unit, of in zip((1.0, math.radians(1.0), math.radians(1.0)), waves):
        for wave in of:
            found += unit * wave.amplitude, wave.period_us, math.radians(wave.phase_deg)
    return found


def _fastest_m_s(path: Path, reach_m: float) -> float:
    """Return a bound of the speed of any place so far from its axes."""
    speed = turning = 0.0
    for (begin_us, begin, yaw_deg), (end_us, end, turned_deg) in itertools.pairwise(path.legs):
        duration_s = (end_us - begin_us) / US_PER_S
        speed = max(speed, math.dist(begin, end) / duration_s)
        turning = max(turning, math.radians(abs(turned_deg - yaw_deg)) / duration_s)

    def of(waves: typing.Iterable[Wave]) -> float:
        return sum(wave.amplitude * math.tau / wave.period_s for wave in waves)

    turning += math.radians(of(path.roll_deg) + of(path.pitch_deg))
    return speed + of(path.heave_m) + turning * reach_m


def axes_at(scene: Scene, path: str, time_us: int) -> tuple[Vector, Quaternion]:
    """Return where the axes of a path are at a time (ENU, m), and their attitude."""
    paths = paths_of(scene)
    begin, (roll, pitch, yaw), _, _ = path_motion(
        paths, int(scene.kept['begins'][[*scene.paths].index(path)]), float(time_us))
    return begin, mounting_rotation((math.degrees(roll), math.degrees(pitch), math.degrees(yaw)))


def placed(scene: Scene, its: SceneObject, time_us: int) -> tuple[Vector, Quaternion]:
    """Return where the middle of an object is at a time (ENU, m), and its attitude."""
    place, attitude = its.place_m, mounting_rotation(its.roll_pitch_yaw_deg)
    if not its.path:
        return place, attitude
    begin, turn = axes_at(scene, its.path, time_us)
    return total(begin, to_world(matrix(turn), place)), multiply(turn, attitude)


def check_can_move(scene: Scene, integrator: str, allowed: typing.Iterable[str]) -> None:
    """Check that a method of integration may be used where objects move.

    :raises ParameterError: it may not
    """
    if len(paths_of(scene)) and integrator not in allowed:
        raise ParameterError(
            f'dynamics.integrator = {integrator}: objects of the scene {scene.name} move; must be'
            f' {" or ".join(allowed)}')


@compiled
def path_motion(paths: np.ndarray, at: int, time_us: float) -> Motion:
    """Return the motion of a path at a time.

    :param at: where it begins
    """
    points = int(paths[at + _POINTS])
    low, high = at + _FIRST, at + _FIRST + _OF_POINT * points
    waves = high
    begins, ends = paths[low + _TIME], paths[high - _OF_POINT + _TIME]
    if paths[at + _LOOPS] > 0.0 and time_us > begins:
        place_us = begins + _remainder(time_us - begins, ends - begins)
    else:
        place_us = time_us
    # The last point that is not later.
    while high - low > _OF_POINT:
        middle = low + _OF_POINT * ((high - low) // (2 * _OF_POINT))
        if paths[middle + _TIME] <= place_us:
            low = middle
        else:
            high = middle
    x, y, z, yaw = (paths[low + _EAST], paths[low + _NORTH], paths[low + _UP], paths[low + _YAW])
    vx = vy = vz = yaw_rate = 0.0
    if place_us >= begins and low + _OF_POINT < waves:
        lasts_s = 1e-6 * (paths[low + _OF_POINT + _TIME] - paths[low + _TIME])
        since_s = 1e-6 * (place_us - paths[low + _TIME])
        vx = (paths[low + _OF_POINT + _EAST] - x) / lasts_s
        vy = (paths[low + _OF_POINT + _NORTH] - y) / lasts_s
        vz = (paths[low + _OF_POINT + _UP] - z) / lasts_s
        yaw_rate = (paths[low + _OF_POINT + _YAW] - yaw) / lasts_s
        x, y, z = x + vx * since_s, y + vy * since_s, z + vz * since_s
        yaw += yaw_rate * since_s
    heaves, rolls, pitches = (
        int(paths[at + _HEAVES]), int(paths[at + _ROLLS]), int(paths[at + _PITCHES]))
    heave, heave_rate = _sum_of_waves(paths, waves, heaves, time_us)
    roll, roll_rate = _sum_of_waves(paths, waves + _OF_WAVE * heaves, rolls, time_us)
    pitch, pitch_rate = _sum_of_waves(paths, waves + _OF_WAVE * (heaves + rolls), pitches, time_us)
    return ((x, y, z + heave), (roll, pitch, yaw), (vx, vy, vz + heave_rate),
            (roll_rate, pitch_rate, yaw_rate))


@compiled
def _remainder(time_us: float, period_us: float) -> float:
    """Return a time less all whole periods, each of whole microseconds; without an error."""
    whole_us = math.floor(time_us)
    return int(whole_us) % int(period_us) + (time_us - whole_us)


@compiled
def _sum_of_waves(
    paths: np.ndarray, at: int, count: int, time_us: float,
) -> tuple[float, float]:
    """Return a sum of sines, and its rate per second."""
    value = rate = 0.0
    for i in range(count):
        wave = at + _OF_WAVE * i
        period_us = paths[wave + _PERIOD]
        angle = math.tau * (_remainder(time_us, period_us) / period_us) + paths[wave + _PHASE]
        value += paths[wave + _AMPLITUDE] * math.sin(angle)
        rate += paths[wave + _AMPLITUDE] * math.cos(angle) * (math.tau * 1e6 / period_us)
    return value, rate


@compiled
def move_shapes(rows: np.ndarray, paths: np.ndarray, time_us: float) -> None:
    """Set where all shapes are that move.

    :param rows: of a scene, those of `paths_of` first
    """
    for i in range(int(paths[_SHAPES])):
        move_shape(rows, i, paths, time_us)


@compiled
def move_shape(rows: np.ndarray, i: int, paths: np.ndarray, time_us: float) -> None:
    """Set where a shape is, if it moves; and how fast it moves, if the rows have columns for it."""
    own = _ROWS + _OF_SHAPE * i
    at = int(paths[own + _PATH])
    if at == 0:
        return
    place, (roll, pitch, yaw), velocity, (roll_rate, pitch_rate, yaw_rate) = path_motion(
        paths, at, time_us)
    ca, sa, cb, sb, cc, sc = (math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch),
                              math.cos(yaw), math.sin(yaw))
    turn = (cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa,
            sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa,
            -sb, cb * sa, cb * ca)
    x, y, z = _to_world(
        turn, (paths[own + _MIDDLE], paths[own + _MIDDLE + 1], paths[own + _MIDDLE + 2]))
    rows[i, X], rows[i, Y], rows[i, Z] = place[0] + x, place[1] + y, place[2] + z
    for k in range(3):
        a, b, c = _to_world(turn, (
            paths[own + _TURN + k], paths[own + _TURN + 3 + k], paths[own + _TURN + 6 + k]))
        rows[i, R0 + k], rows[i, R0 + 3 + k], rows[i, R0 + 6 + k] = a, b, c
    if rows.shape[1] == TOUCHED_COLUMNS:
        rows[i, MOVES] = 1.0
        rows[i, AT_X], rows[i, AT_Y], rows[i, AT_Z] = place
        rows[i, VX], rows[i, VY], rows[i, VZ] = velocity
        # Roll is about x of the axes, pitch about y before that, yaw about up.
        rows[i, WX] = roll_rate * turn[0] - pitch_rate * sc
        rows[i, WY] = roll_rate * turn[3] + pitch_rate * cc
        rows[i, WZ] = roll_rate * turn[6] + yaw_rate


@compiled
def stop_shape(rows: np.ndarray, i: int) -> None:
    """Let a shape stand where it is."""
    for column in range(VX, TOUCHED_COLUMNS):
        rows[i, column] = 0.0


@compiled
def angular_velocity(rows: np.ndarray, i: int) -> Vector:
    """Return how fast a shape that is touched turns, rad/s, ENU."""
    return rows[i, WX], rows[i, WY], rows[i, WZ]


@compiled
def surface_velocity(rows: np.ndarray, i: int, place: Vector) -> Vector:
    """Return how fast a shape that is touched moves at a place, m/s, ENU."""
    x, y, z = _cross(angular_velocity(rows, i), (
        place[0] - rows[i, AT_X], place[1] - rows[i, AT_Y], place[2] - rows[i, AT_Z]))
    return rows[i, VX] + x, rows[i, VY] + y, rows[i, VZ] + z
