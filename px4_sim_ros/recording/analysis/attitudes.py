"""Arithmetic on attitudes over time: unit quaternions (w, x, y, z), one a row."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import matrix, to_world


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


def in_world(attitude_wxyz: np.ndarray, vectors_flu: np.ndarray) -> np.ndarray:
    """Return body vectors (n, 3) in ENU.

    :param attitude_wxyz: (n, 4)
    """
    # The formulas for plain floats hold for the columns of a table as well.
    attitude = typing.cast(Quaternion, tuple(attitude_wxyz.T))
    vector = typing.cast(Vector, tuple(vectors_flu.T))
    return np.array(to_world(matrix(attitude), vector)).T
