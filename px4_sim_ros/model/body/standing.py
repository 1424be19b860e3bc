# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a vehicle stands on the springs of flat ground: the least energy near an attitude.

The energy is W z + sum k d_i^2 / 2, with the depth d_i of each point below the ground. It is found
by Newton's method in the height and two turns about horizontal axes; where the energy is not convex
it goes downhill.
"""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector, vector
from px4_sim_ros.model.rotation import from_rotation_vector, matrix, multiply, normalised
from px4_sim_ros.model.vehicle.sections import ContactModel

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
