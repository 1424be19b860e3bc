# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feet, wheels and hull on the ground: spring, damper and dry friction at each point.

All is in axes of the ground, a plane at their z = 0.

Friction is a spring from the foot to an anchor on the ground, so that a vehicle at rest
stays where it is instead of creeping. Anchors move between integration steps only; within
one the force is a pure function of the state.

A wheel is a foot whose friction along its heading is no more than its rolling resistance times
the load: across its heading it holds. One that is driven slips towards the speed of its motor
within what friction allows; it has a spring along its heading only while its motor stands. A
differential gives the wheels of an axle the same force: what slips is the middle of the axle. A
caster is a foot whose friction is its rolling resistance. The point of contact is fixed in the
body, below the hub, and a wheel has no inertia.

A wheel that is steered heads by an angle d about body z, or by Ackermann's geometry so that the
lines across all wheels meet in one point, L cot(d) to the left of the axle that is not steered:
from there a wheel at y heads by atan(L sin(d) / (L cos(d) - y sin(d))).
"""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.jit.compiled import compiled, inlined
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector, vector
from px4_sim_ros.model.rotation import from_rotation_vector, matrix, multiply, normalised, to_world
from px4_sim_ros.model.vehicle.elements import Wheel, heading_flu
from px4_sim_ros.model.vehicle.sections import ContactModel

# How a vehicle stands on the springs of flat ground: the least energy near an attitude.
#
# The energy is W z + sum k d_i^2 / 2, with the depth d_i of each point below the ground. It is
# found by Newton's method in the height and two turns about horizontal axes; where the energy is
# not convex it goes downhill.

_MOST_STEPS, _MOST_HALVINGS = 200, 40
_LONGEST_TURN_RAD = 0.1
# Of weight times size: what is left of torques.
_TOLERANCE = 1e-12
# Of the largest curvature: a smaller one is none.
_FLAT = 1e-9


class Stand(typing.NamedTuple):
    """Where a vehicle stands."""

    height_m: float          # of the body's origin
    attitude: Quaternion     # with the heading that it began with
    points: tuple[int, ...]  # those that touch the ground


def stand(
    model: ContactModel, points_m: typing.Sequence[Vector], weight_n: float,
    attitude: Quaternion = (1.0, 0.0, 0.0, 0.0),
) -> Stand:
    """Return how a vehicle comes to rest that is let go at an attitude.

    :param points_m: that touch the ground, FLU from the centre of mass
    :raises ParameterError: it comes to rest nowhere
    """
    springs = _Springs(np.array(points_m, float), weight_n / model.stiffness_n_m)
    for _ in range(_MOST_STEPS):
        arms = springs.arms(attitude)
        height, depths = _sunk(arms[:, 2], springs.sum_m)
        slope = np.array([-depths @ arms[:, 1], depths @ arms[:, 0]])
        if np.abs(slope).max() <= _TOLERANCE * springs.sum_m * springs.size_m:
            return Stand(height, attitude, tuple(np.flatnonzero(depths > 0.0).tolist()))
        attitude = springs.downhill(attitude, _turn(arms, depths, slope, springs.size_m))
    raise ParameterError('contact_points_m: there is no attitude in which it stands still')


class _Springs(typing.NamedTuple):
    """Points on springs, which are together as much shorter as the weight presses them."""

    points: np.ndarray
    sum_m: float

    @property
    def size_m(self) -> float:
        return float(np.abs(self.points).max())

    def arms(self, attitude: Quaternion) -> np.ndarray:
        """Return the points from the origin on the axes of the world, (n, 3)."""
        arms: np.ndarray = self.points @ np.array(matrix(attitude)).reshape(3, 3).T
        return arms

    def energy_m2(self, attitude: Quaternion) -> float:
        """Return the least energy at an attitude, over the stiffness."""
        height, depths = _sunk(self.arms(attitude)[:, 2], self.sum_m)
        return self.sum_m * height + 0.5 * float(depths @ depths)

    def downhill(self, attitude: Quaternion, turn_rad: np.ndarray) -> Quaternion:
        """Return an attitude that is turned so far that the energy does not grow."""
        before = self.energy_m2(attitude)
        for _ in range(_MOST_HALVINGS):
            turned = normalised(multiply(
                from_rotation_vector(vector((*turn_rad.tolist(), 0.0))), attitude))
            if self.energy_m2(turned) <= before:
                break
            turn_rad = 0.5 * turn_rad
        return turned


def _turn(
    arms: np.ndarray, depths: np.ndarray, slope: np.ndarray, size_m: float,
) -> np.ndarray:
    """Return Newton's turns about east and north, rad; no longer than the longest."""
    touching = depths > 0.0
    # How much higher each point gets by these turns, less their mean: the height follows.
    rises = np.column_stack((arms[touching, 1], -arms[touching, 0]))
    rises -= rises.mean(axis=0)
    curvatures, axes = np.linalg.eigh(rises.T @ rises + np.eye(2) * (depths @ arms[:, 2]))
    turn = -axes @ ((axes.T @ slope) / np.maximum(np.abs(curvatures), _FLAT * size_m ** 2))
    shortened: np.ndarray = turn * min(1.0, _LONGEST_TURN_RAD / float(np.linalg.norm(turn)))
    return shortened


def _sunk(heights_m: np.ndarray, sum_m: float) -> tuple[float, np.ndarray]:
    """Return the height at which the depths of points have a sum, and the depths.

    :param heights_m: of the points over the origin
    """
    order = np.sort(heights_m)
    for count in range(1, len(order) + 1):
        height = -(sum_m + float(order[:count].sum())) / count
        if count == len(order) or height + order[count] >= 0.0:
            break
    return height, np.maximum(0.0, -(height + heights_m))


_heading_flu = compiled(heading_flu)
_to_world = compiled(to_world)

STANDING_M_S = 1e-3
"""A driven wheel whose rim is slower stands."""
# The columns of the table, in SI units; servo and motor are indices, -1 for none.
(
    X, Y, Z, FRICTION, IS_WHEEL, ROLLING_RESISTANCE, RADIUS, SERVO, STEERING, STEERING_BASE, MOTOR,
    DIFFERENTIAL_ARM,           # how far left of the middle of its axle a differential drives it
) = range(12)
COLUMNS = 12


def foot_table(
    friction_coefficient: float, points_m: typing.Sequence[Vector],
    wheels: typing.Sequence[Wheel] = (), actuators: typing.Mapping[str, int] | None = None,
    hull_points_m: typing.Sequence[Vector] = (),
) -> np.ndarray:
    """Return feet, wheels and hull, in this order, for compiled functions, one entry each.

    :param friction_coefficient: of all but casters
    :param points_m: the feet in FLU from the body's origin
    :param actuators: the index of each motor and servo in the state, from the first one
    :param hull_points_m: what touches the ground as a foot does
    """
    foot = friction_coefficient, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, -1.0, 0.0
    return np.array(
        [(*point, *foot) for point in points_m]
        + [_wheel(wheel, friction_coefficient, actuators or {}) for wheel in wheels]
        + [(*point, *foot) for point in hull_points_m],
        float).reshape(-1, COLUMNS)


def _wheel(
    wheel: Wheel, friction_coefficient: float, actuators: typing.Mapping[str, int],
) -> tuple[float, ...]:
    """Return the constants of a wheel, in the order of the columns."""
    return (
        *wheel.contact_m, wheel.rolling_resistance if wheel.swivels else friction_coefficient,
        not wheel.swivels, wheel.rolling_resistance, wheel.radius_m,
        actuators.get(wheel.steered_by, -1), wheel.steering, wheel.steering_base_m,
        actuators.get(wheel.driven_by, -1), wheel.position_m[1] if wheel.differential else 0.0)


def contact_constants(
    model: ContactModel, points_m: typing.Sequence[Vector], *, has_plane: bool,
) -> dict[str, float]:
    """Return the constants of the functions below, by name.

    :param has_plane: without one there is a height map, or nothing
    """
    return {'stiffness_n_m': model.stiffness_n_m, 'damping_n_s_m': model.damping_n_s_m,
            'reach_m': reach_m(points_m) if has_plane else -math.inf, 'size_m': reach_m(points_m)}


def no_anchors(feet: int) -> np.ndarray:
    """Return the anchors of feet off the ground, (n, 2): NaN."""
    return np.full((feet, 2), math.nan)


def reach_m(points_m: typing.Sequence[Vector]) -> float:
    """Return the height of the body's origin above which no foot touches the ground."""
    return max((math.dist((0.0, 0.0, 0.0), point) for point in points_m), default=-math.inf)


@compiled
def contact_wrench(
    constants: np.ndarray, points: np.ndarray, anchors: np.ndarray, position: Vector,
    velocity: Vector, rotation: tuple[float, ...], rate_flu: Vector,
    state: np.ndarray, first: int,
) -> tuple[float, float, float, float, float, float]:
    """Return force and torque about the centre of mass, N and N m, in axes of the ground.

    :param constants: a record with the `contact_constants`
    :param points: from `foot_table`
    :param anchors: from `no_anchors` and `move_anchors`
    :param position: of the centre of mass, m, in axes of the ground
    :param velocity: of the centre of mass, m/s
    :param rotation: from body axes into those of the ground, as from `rotation.matrix`
    :param state: in which speeds of motors and angles of servos begin at `first`
    """
    x, y, z = position
    ux, uy, uz = velocity
    wx, wy, wz = _to_world(rotation, rate_flu)
    fx = fy = fz = tx = ty = tz = 0.0
    for i in range(len(points)):
        rx, ry, rz = arm(points, i, rotation)
        depth = -(z + rz)
        if depth <= 0.0:
            continue
        px, py, normal = foot_force(
            constants, points, i, points[i, FRICTION], rotation, depth,
            (ux + wy * rz - wz * ry, uy + wz * rx - wx * rz, uz + wx * ry - wy * rx),
            (x + rx - anchors[i, 0], y + ry - anchors[i, 1]), rate_flu[2], state[first:])
        fx += px
        fy += py
        fz += normal
        tx += ry * normal - rz * py
        ty += rz * px - rx * normal
        tz += rx * py - ry * px
    return fx, fy, fz, tx, ty, tz


@inlined
def foot_force(
    constants: np.ndarray, points: np.ndarray, index: int, friction: float,
    rotation: tuple[float, ...], depth_m: float, velocity: Vector, stretch_m: tuple[float, float],
    yaw_rate_rad_s: float, actuators: np.ndarray,
) -> Vector:
    """Return the force on a foot or wheel in the ground, N, in axes whose z is the normal.

    :param friction: coefficient
    :param rotation: from body axes into these
    :param velocity: of the foot, m/s, in these
    :param stretch_m: along the ground, from its anchor to the foot; NaN: it has none
    """
    c = constants[0]
    stiffness, damping = c.stiffness_n_m, c.damping_n_s_m
    vx, vy, vz = velocity
    normal = stiffness * depth_m - damping * vz
    if normal < 0.0:
        normal = 0.0
    px = py = 0.0
    if not math.isnan(stretch_m[0]):
        px = stiffness * stretch_m[0]
        py = stiffness * stretch_m[1]
    if points[index, IS_WHEEL]:
        px, py = _wheel_force(
            points, index, rotation, actuators, (px, py), (damping * vx, damping * vy), damping,
            normal, yaw_rate_rad_s)
    else:
        px, py = -damping * vx - px, -damping * vy - py
    px, py = _limited(px, py, friction * normal)
    return px, py, normal


@compiled
def move_anchors(
    constants: np.ndarray, points: np.ndarray, anchors: np.ndarray, position: Vector,
    rotation: tuple[float, ...], state: np.ndarray, first: int,
) -> None:
    """Set, drag or drop the anchors; call it after each integration step."""
    c = constants[0]
    if position[2] > c.reach_m:
        anchors[:] = math.nan
        return
    for i in range(len(points)):
        rx, ry, rz = arm(points, i, rotation)
        depth = -(position[2] + rz)
        if depth <= 0.0:
            anchors[i, 0] = anchors[i, 1] = math.nan
            continue
        x, y = position[0] + rx, position[1] + ry
        if math.isnan(anchors[i, 0]):
            anchors[i, 0], anchors[i, 1] = x, y
        dx, dy = held_stretch(
            points, i, points[i, FRICTION], rotation, depth,
            (x - anchors[i, 0], y - anchors[i, 1]), state[first:])
        anchors[i, 0], anchors[i, 1] = x - dx, y - dy


@inlined
def held_stretch(
    points: np.ndarray, index: int, friction: float, rotation: tuple[float, ...], depth_m: float,
    stretch_m: tuple[float, float], actuators: np.ndarray,
) -> tuple[float, float]:
    """Return how much of its stretch the spring of a foot or wheel keeps, in axes of the ground.

    It never holds more than friction can: beyond that the foot slides.
    """
    longest = friction * depth_m
    dx, dy = _limited(stretch_m[0], stretch_m[1], longest)
    if points[index, IS_WHEEL]:
        rim, is_driven = rim_speed_m_s(points, index, actuators)
        dx, dy = _rolling(
            dx, dy, heading(points, index, rotation, actuators),
            (longest if abs(rim) < STANDING_M_S else 0.0) if is_driven
            else points[index, ROLLING_RESISTANCE] * depth_m)
    return dx, dy


@compiled
def arm(points: np.ndarray, index: int, rotation: tuple[float, ...]) -> Vector:
    """Return where a foot is from the body's origin, in ENU."""
    return _to_world(rotation, (points[index, X], points[index, Y], points[index, Z]))


@compiled
def steered(points: np.ndarray, index: int, actuators: np.ndarray) -> tuple[float, float]:
    """Return the direction in which a wheel rolls: forward and left, of any length."""
    servo = int(points[index, SERVO])
    angle = points[index, STEERING] * actuators[servo] if servo >= 0 else 0.0
    return _heading_flu(angle, points[index, STEERING_BASE], points[index, Y])


@compiled
def heading(
    points: np.ndarray, index: int, rotation: tuple[float, ...], actuators: np.ndarray,
) -> tuple[float, float]:
    """Return the direction on the ground in which a wheel rolls: a unit vector, east and north."""
    ahead, left = steered(points, index, actuators)
    east, north, _ = _to_world(rotation, (ahead, left, 0.0))
    length = math.sqrt(east * east + north * north)
    if length == 0.0:               # it stands on its nose
        return 1.0, 0.0
    return east / length, north / length


@compiled
def _wheel_force(
    points: np.ndarray, index: int, rotation: tuple[float, ...], actuators: np.ndarray,
    spring: tuple[float, float], damper: tuple[float, float], damping_n_s_m: float,
    normal_n: float, yaw_rate_rad_s: float,
) -> tuple[float, float]:
    """Return the force of the ground on a wheel before friction limits it, N, east and north.

    :param spring: what a foot would pull with, N
    :param damper: the same of its damper
    """
    ahead = heading(points, index, rotation, actuators)
    rim_m_s, is_driven = rim_speed_m_s(points, index, actuators)
    (x, y), (dx, dy) = spring, damper
    if not is_driven:
        return _rolling(
            -dx - x, -dy - y, ahead, points[index, ROLLING_RESISTANCE] * normal_n)
    if abs(rim_m_s) >= STANDING_M_S:
        x, y = _rolling(x, y, ahead, 0.0)
        rim_m_s -= points[index, DIFFERENTIAL_ARM] * yaw_rate_rad_s
    drive = damping_n_s_m * rim_m_s
    return drive * ahead[0] - dx - x, drive * ahead[1] - dy - y


@compiled
def rim_speed_m_s(
    points: np.ndarray, index: int, actuators: np.ndarray,
) -> tuple[float, bool]:
    """Return how fast a motor turns the rim of a wheel, and whether it has one."""
    motor = int(points[index, MOTOR])
    if motor < 0:
        return 0.0, False
    return points[index, RADIUS] * actuators[motor], True


@compiled
def _rolling(
    x: float, y: float, heading: tuple[float, float], limit: float,
) -> tuple[float, float]:
    """Return (x, y), whose part along a heading is no longer than a limit."""
    along = x * heading[0] + y * heading[1]
    excess = along - max(-limit, min(along, limit))
    return x - excess * heading[0], y - excess * heading[1]


@compiled
def _limited(x: float, y: float, limit: float) -> tuple[float, float]:
    """Return (x, y), shortened to `limit` if it is longer."""
    length = math.sqrt(x * x + y * y)
    if length <= limit:
        return x, y
    return x * limit / length, y * limit / length
