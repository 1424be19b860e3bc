# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vectors for the law of the autopilot: `rotation`, compiled, and what reads and writes arrays."""
from __future__ import annotations

import numpy as np

from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model import rotation
from px4_sim_ros.model.frames import Quaternion, Vector

conjugate = compiled(rotation.conjugate)
cross = compiled(rotation.cross)
difference = compiled(rotation.difference)
dot = compiled(rotation.dot)
from_rotation_vector = compiled(rotation.from_rotation_vector)
hypot = compiled(rotation.hypot)
matrix = compiled(rotation.matrix)
multiply = compiled(rotation.multiply)
normalised = compiled(rotation.normalised)
scaled = compiled(rotation.scaled)
to_body = compiled(rotation.to_body)
to_world = compiled(rotation.to_world)
total = compiled(rotation.total)
wrap_rad = compiled(rotation.wrap_rad)


@compiled
def vector(values: np.ndarray) -> Vector:
    """Return the three numbers of an array."""
    return values[0], values[1], values[2]


@compiled
def quaternion(values: np.ndarray) -> Quaternion:
    """Return the four numbers of an array."""
    return values[0], values[1], values[2], values[3]


@compiled
def put(values: np.ndarray, new: tuple[float, ...]) -> None:
    """Set an array to a vector or a quaternion."""
    for i in range(len(new)):
        values[i] = new[i]
