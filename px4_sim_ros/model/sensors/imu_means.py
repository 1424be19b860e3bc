# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an IMU reads on average over a period, from the motion at both of its ends.

Drivers read an IMU several times as fast as they publish, and give the mean of these samples. Here
it is the mean of infinitely many, whatever the steps of the motion are: the change of attitude
and velocity over the period, turned back into what the axes of the body have felt meanwhile.

Attitude: a turn by phi is the integral of the rate w and a coning term, T^2 / 12 w0 x w1 for a
rate that changes linearly. Velocity: seen from the middle of the period its change is the
integral of the specific force f, across the rate less by sin(x) / x with x = |phi| / 2, and a
sculling term, T^2 / 12 (w0 x f1 + f0 x w1) (Savage 1998, Strapdown inertial navigation integration
algorithm design, parts 1 and 2). Both terms are taken off: the mean of samples does not have
them, and PX4 adds that of coning as it integrates.
"""
from __future__ import annotations

import math
import typing

from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import (
    conjugate,
    cross,
    difference,
    dot,
    from_rotation_vector,
    matrix,
    multiply,
    rotation_vector,
    scaled,
    to_body,
    to_world,
    total,
)
from px4_sim_ros.model.sensors.mounting import velocity_flu
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.truth import Truth


class _End(typing.NamedTuple):
    """An end of a period: the motion of the place of the IMU, and what it feels there."""

    time_us: int
    attitude: Quaternion
    rate_flu: Vector
    position_enu: Vector           # of the body
    velocity_enu: Vector           # of the IMU
    gravity_m_s2: float
    specific_force_flu: Vector


class ImuMeans:
    """The means since the sample before."""

    def __init__(
        self, period_us: int, gravity: Gravity, earth_rate_enu: Vector, position_m: Vector,
    ) -> None:
        """Take where the IMU is on the body, FLU."""
        self._period_us, self._gravity = period_us, gravity
        self._earth_rate_enu, self._position_m = earth_rate_enu, position_m
        self._last: _End | None = None

    def of(
        self, truth: Truth, rotation: tuple[float, ...], force: Vector, rate: Vector,
    ) -> tuple[Vector, Vector]:
        """Return the mean specific force (m/s^2) and rate (rad/s), FLU.

        :param rotation: of the truth's attitude
        :param force: at the time of the truth, which the first sample has, and one after a gap
        :param rate: the same
        """
        end = _End(
            truth.time_us, truth.attitude, truth.rate_flu, truth.position_enu,
            to_world(rotation, velocity_flu(truth, self._position_m)),
            self._gravity.at(truth.position_enu[2]), force)
        begin, self._last = self._last, end
        if begin is None or begin.time_us != end.time_us - self._period_us:
            return force, rate
        return self._between(begin, end)

    def _between(self, a: _End, b: _End) -> tuple[Vector, Vector]:
        period_s = self._period_us / US_PER_S
        turn = rotation_vector(multiply(conjugate(a.attitude), b.attitude))
        middle = matrix(multiply(a.attitude, from_rotation_vector(scaled(0.5, turn))))
        moved, sped_up = (scaled(1.0 / period_s, difference(after, before)) for before, after in (
            (a.position_enu, b.position_enu), (a.velocity_enu, b.velocity_enu)))
        # a + 2 W x v - g
        x, y, z = total(sped_up, scaled(2.0, cross(self._earth_rate_enu, moved)))
        felt = to_body(middle, (x, y, z + 0.5 * (a.gravity_m_s2 + b.gravity_m_s2)))
        share = -period_s / 12.0
        sculling = total(cross(a.rate_flu, b.specific_force_flu),
                         cross(a.specific_force_flu, b.rate_flu))
        return (
            total(_unturned(felt, turn), scaled(share, sculling)),
            total(total(scaled(1.0 / period_s, turn), to_body(middle, self._earth_rate_enu)),
                  scaled(share, cross(a.rate_flu, b.rate_flu))))


def _unturned(mean: Vector, turn: Vector) -> Vector:
    """Return the vector in turning axes whose mean in those of the middle of the turn is given."""
    squared = dot(turn, turn)
    if squared < 1e-18:
        return mean
    half = 0.5 * math.sqrt(squared)
    longer = half / math.sin(half)
    along = (1.0 - longer) * dot(turn, mean) / squared
    return total(scaled(longer, mean), scaled(along, turn))
