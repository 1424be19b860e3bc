# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Changes of axes: ENU/FLU (ROS, REP-103) to and from NED/FRD (MAVLink).

Axes are permuted, never multiplied by a matrix, so that every change is exact.
A vector is (x, y, z); a quaternion is (w, x, y, z) and turns body into world axes.
"""
from __future__ import annotations

import math
import typing

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

_HALF_SQRT2 = math.sqrt(0.5)


def vector(values: typing.Iterable[float]) -> Vector:
    """Return three numbers as a vector."""
    x, y, z = values
    return x, y, z


def enu_to_ned(v: Vector) -> Vector:
    """Return an East-North-Up vector in North-East-Down axes."""
    return v[1], v[0], -v[2]


def flu_to_frd(v: Vector) -> Vector:
    """Return a Forward-Left-Up vector in Forward-Right-Down axes."""
    return v[0], -v[1], -v[2]


# Both permutations undo themselves.
ned_to_enu = enu_to_ned
frd_to_flu = flu_to_frd


def quaternion_enu_flu_to_ned_frd(q: Quaternion) -> Quaternion:
    """Return the attitude of FRD in NED from that of FLU in ENU.

    It is -q(ENU->NED) * q * q(FRD->FLU) with q(ENU->NED) = (0, 1, 1, 0)/sqrt(2) and
    q(FRD->FLU) = (0, 1, 0, 0), multiplied out; q and -q are the same attitude. It is its own
    inverse: both fixed rotations are half turns.
    """
    w, x, y, z = q
    return (
        _HALF_SQRT2 * (w + z), _HALF_SQRT2 * (x + y),
        _HALF_SQRT2 * (x - y), _HALF_SQRT2 * (w - z),
    )


# It undoes itself, too.
quaternion_ned_frd_to_enu_flu = quaternion_enu_flu_to_ned_frd
