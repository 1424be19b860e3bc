# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Quaternion arithmetic on plain floats, for the hot path.

Quaternions are (w, x, y, z), of unit length, and turn body axes into world axes.
Formulas: any text on attitude kinematics, for example Diebel (2006), section 6.
"""
from __future__ import annotations

import math

from px4_sim_ros.model.frames import Quaternion, Vector


def difference(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def total(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def scaled(factor: float, v: Vector) -> Vector:
    """Return a vector with all of its components multiplied."""
    return factor * v[0], factor * v[1], factor * v[2]


def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def unit(direction: Vector) -> Vector:
    """Return a direction with length 1."""
    x, y, z = direction
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


def matrix(q: Quaternion) -> tuple[float, ...]:
    """Return the rotation matrix of `q`, nine numbers, row by row (body to world)."""
    w, x, y, z = q
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    return (
        1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy),
        2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx),
        2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy),
    )


def to_world(r: tuple[float, ...], v: Vector) -> Vector:
    """Turn a body vector into world axes; `r` is from `matrix`."""
    x, y, z = v
    return (
        r[0] * x + r[1] * y + r[2] * z,
        r[3] * x + r[4] * y + r[5] * z,
        r[6] * x + r[7] * y + r[8] * z,
    )


def to_body(r: tuple[float, ...], v: Vector) -> Vector:
    """Turn a world vector into body axes; `r` is from `matrix`."""
    x, y, z = v
    return (
        r[0] * x + r[3] * y + r[6] * z,
        r[1] * x + r[4] * y + r[7] * z,
        r[2] * x + r[5] * y + r[8] * z,
    )


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return the product p * q: first q, then p."""
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    return (
        pw * qw - px * qx - py * qy - pz * qz,
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Return the inverse of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


def normalised(q: Quaternion) -> Quaternion:
    """Return `q` with unit length."""
    w, x, y, z = q
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * scale, x * scale, y * scale, z * scale


def from_rotation_vector(v: Vector) -> Quaternion:
    """Return the quaternion of a turn by |v| radians about v."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    # What is left out near zero is less than the last bit.
    scale = 0.5 if angle < 1e-9 else math.sin(0.5 * angle) / angle
    return math.cos(0.5 * angle), scale * v[0], scale * v[1], scale * v[2]


def rotation_vector(q: Quaternion) -> Vector:
    """Return the vector about which, and by whose length in radians, `q` turns: at most pi."""
    w, x, y, z = q if q[0] >= 0.0 else (-q[0], -q[1], -q[2], -q[3])
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 1e-9 else 2.0
    return scale * x, scale * y, scale * z


def yaw_rad(q: Quaternion) -> float:
    """Return the heading of the body's x axis, counter-clockwise from the world's x axis."""
    w, x, y, z = q
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def wrap_rad(angle: float) -> float:
    """Return an angle brought into [-pi, pi]."""
    turn = abs(angle) % math.tau
    return math.copysign(1.0, angle) * (turn if turn <= math.pi else turn - math.tau)


# 2^27 + 1: a number times this is cut into two halves whose products are exact (Veltkamp).
_CUT = 134217729.0


def hypot(x: float, y: float) -> float:
    """Return the length of a vector: `math.hypot` of Python 3.11, for compiled functions as well.

    The C library has other bits, and so may later Pythons have, in the last bit of rare pairs; and
    this one below 1e-290. The sum of the squares is kept with what rounding takes from it, and the
    root is corrected by what its own square leaves of the sum.
    """
    if math.isinf(x) or math.isinf(y):
        return math.inf
    largest, scale = max(abs(x), abs(y)), 1.0
    while largest * scale >= 1.0:
        scale *= 0.5
    while largest * scale < 0.5 and scale < 1e290:
        scale *= 2.0
    total, high_lost, middle_lost, low = 1.0, 0.0, 0.0, 0.0
    for part in (x * scale, y * scale):
        cut = part * _CUT
        a = cut - (cut - part)
        b = part - a
        grown = total + a * a
        high_lost += (total - grown) + a * a
        total = grown
        grown = total + 2.0 * a * b
        middle_lost += (total - grown) + 2.0 * a * b
        total = grown
        low += b * b
    root = math.sqrt(total - 1.0 + (high_lost + middle_lost + low))
    if root == 0.0:
        return 0.0
    cut = root * _CUT
    a = cut - (cut - root)
    b = root - a
    grown = total - a * a
    high_lost += (total - grown) - a * a
    total = grown
    grown = total - 2.0 * a * b
    middle_lost += (total - grown) - 2.0 * a * b
    total = grown
    grown = total - b * b
    low += (total - grown) - b * b
    left = grown - 1.0 + (high_lost + middle_lost + low)
    return (root + left / (2.0 * root)) / scale
