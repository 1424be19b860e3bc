"""An instrument away from the centre of mass: how high it is and how it moves."""
from __future__ import annotations

import math

from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import cross
from px4_sim_ros.model.truth import Truth


def velocity_flu(truth: Truth, position_m: Vector) -> Vector:
    """Return the velocity of a place on the body: v + w x r, in FLU."""
    x, y, z = cross(truth.rate_flu, position_m)
    vx, vy, vz = truth.velocity_flu
    return vx + x, vy + y, vz + z


def height_m(truth: Truth, rotation: tuple[float, ...], position_m: Vector) -> float:
    """Return how high a place on the body is above home; `rotation` is that of the attitude."""
    x, y, z = position_m
    return truth.position_enu[2] + rotation[6] * x + rotation[7] * y + rotation[8] * z


def distance_to_ground_m(height: float, off_nadir_rad: float) -> float:
    """Return how far the flat ground at height 0 is along a ray, or infinity; negative below it.

    :param off_nadir_rad: the angle between the ray and straight down
    """
    if off_nadir_rad >= math.pi / 2.0:
        return math.inf
    return height / math.cos(off_nadir_rad)
