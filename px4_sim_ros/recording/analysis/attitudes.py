# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on attitudes over time: unit quaternions (w, x, y, z), one a row."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix, to_body, to_world


def roll_pitch_yaw_deg(attitude_wxyz: np.ndarray) -> np.ndarray:
    """Return the angles of attitudes (n, 4) as (n, 3); yaw is counter-clockwise from east."""
    w, x, y, z = attitude_wxyz.T
    angles: np.ndarray = np.degrees(np.stack([
        np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0)),
        np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))], axis=1))
    return angles


def angle_rad(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the angle of the rotation between attitudes (n, 4), in [0, pi].

    From the chord between them: that is exact for small angles and 0 for equal quaternions.
    A quaternion and its negative are the same attitude.
    """
    chord = np.minimum(np.linalg.norm(one - other, axis=1), np.linalg.norm(one + other, axis=1))
    angles: np.ndarray = 4.0 * np.arcsin(np.minimum(0.5 * chord, np.sqrt(0.5)))
    return angles


def tilt_deg(attitude_wxyz: np.ndarray) -> np.ndarray:
    """Return the angles (n,) between body up and up, of attitudes (n, 4)."""
    _, x, y, _ = attitude_wxyz.T
    angles: np.ndarray = np.degrees(np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0)))
    return angles


# The formulas for plain floats hold for the columns of a table as well.

def in_world(attitude_wxyz: np.ndarray, vectors_flu: np.ndarray) -> np.ndarray:
    """Return body vectors (n, 3) in ENU."""
    return np.array(to_world(matrix(_quaternion(attitude_wxyz)), _vector(vectors_flu))).T


def in_body(attitude_wxyz: np.ndarray, vectors_enu: np.ndarray) -> np.ndarray:
    """Return ENU vectors (n, 3) in body axes."""
    return np.array(to_body(matrix(_quaternion(attitude_wxyz)), _vector(vectors_enu))).T


def _quaternion(rows: np.ndarray) -> Quaternion:
    return typing.cast(Quaternion, tuple(rows.T))


def _vector(rows: np.ndarray) -> Vector:
    return typing.cast(Vector, tuple(rows.T))
