# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The latest values of all that is shown in space, for the markers and the text."""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.recording.analysis.attitudes import in_body, rate_rad_s
from px4_sim_ros.recording.analysis.series import Series
from px4_sim_ros.viewing.links import IDENTITY

# The motion between poses, by differences, for a viewer that subscribes to poses only.

_Fields = typing.Mapping[str, Series]


class PoseMotion:
    """Estimates `ground_truth/odom` and `ground_truth/accel` from poses.

    By central differences, so the last two poses of a portion are kept for the next one. At the
    display rate of 25 Hz the error of a velocity is about a hundredth of its change in a second.
    """

    def __init__(self) -> None:
        self._kept: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def of(self, poses: _Fields) -> dict[str, dict[str, Series]]:
        """Return the motion at the poses that have neighbours on both sides; empty if none has.

        :param poses: `position_m` in ENU and `attitude_wxyz`, later than those before
        """
        new = (poses['position_m'].time_s, poses['position_m'].values,
               poses['attitude_wxyz'].values)
        time_s, position_m, attitude = new if self._kept is None else map(
            np.concatenate, zip(self._kept, new))
        self._kept = time_s[-4:], position_m[-4:], attitude[-4:]
        if len(time_s) < 5:
            return {}
        attitude = _without_jumps(attitude)
        velocity = np.gradient(position_m, time_s, axis=0)
        rate = rate_rad_s(attitude, np.gradient(attitude, time_s, axis=0))
        fields = {
            'position_m': position_m, 'attitude_wxyz': attitude,
            'velocity_m_s': in_body(attitude, velocity), 'rate_rad_s': rate}
        accelerations = {
            'acceleration_m_s2': in_body(attitude, np.gradient(velocity, time_s, axis=0)),
            'angular_acceleration_rad_s2': np.gradient(rate, time_s, axis=0)}
        # Two at each end lack a neighbour for the second difference.
        inner = slice(2, -2)
        return {
            topic: {name: Series(time_s[inner], values[inner]) for name, values in columns.items()}
            for topic, columns in (
                ('ground_truth/odom', fields), ('ground_truth/accel', accelerations))}


def _without_jumps(attitude: np.ndarray) -> np.ndarray:
    """Return the same attitudes, with signs such that neighbours are near each other."""
    flips = np.sum(attitude[1:] * attitude[:-1], axis=1) < 0.0
    signs = np.where(np.concatenate([[0], np.cumsum(flips)]) % 2, -1.0, 1.0)
    return attitude * signs[:, None]


# The path flown, with as few points as show it.

_FIRST_SPACING_M = 0.05


class FlownPath:
    """Points that are a spacing apart; it doubles when there are too many of them."""

    def __init__(self, most_points: int = 1500) -> None:
        self._most_points = most_points
        self.clear()

    def clear(self) -> None:
        """Remove all points."""
        self.points: list[Vector] = []
        self._spacing_m = _FIRST_SPACING_M

    def add(self, position_enu_m: Vector) -> bool:
        """Add a position unless it is too near; return whether it was added."""
        if self.points and math.dist(self.points[-1], position_enu_m) < self._spacing_m:
            return False
        self.points.append(position_enu_m)
        if len(self.points) > self._most_points:
            self._spacing_m *= 2.0
            thinned = FlownPath(self._most_points)
            thinned._spacing_m = self._spacing_m
            for point in self.points[:-1]:
                thinned.add(point)
            self.points = [*thinned.points, position_enu_m]
        return True


# Speeds are differences of positions; over less time they would be rounding.
_SPEED_OVER_S = 0.1


class Beam(typing.NamedTuple):
    """A range measurement; +inf without an echo, -inf below the minimum range (REP-117)."""

    frame: str
    range_m: float
    max_range_m: float


class Fix(typing.NamedTuple):
    """A GNSS position and its accuracy as reported by the receiver."""

    position_enu_m: Vector
    deviation_enu_m: Vector       # standard deviations


@dataclasses.dataclass
class Scene:
    """The last value received of each; None before the first."""

    time_s: float = 0.0
    position_enu_m: Vector | None = None
    attitude: Quaternion = IDENTITY
    speed_m_s: float = 0.0
    rotor_speeds_rad_s: tuple[float, ...] = ()
    servo_angles_rad: tuple[float, ...] = ()
    wheel_angles_rad: tuple[float, ...] = ()
    wheel_steering_rad: tuple[float, ...] = ()      # of those that are steered
    wind_enu_m_s: Vector | None = None
    beam: Beam | None = None
    fix: Fix | None = None
    set_point_enu_m: Vector | None = None
    link: str = ''
    state: str = ''
    real_time_factor: float | None = None
    _speed_from: tuple[float, Vector] | None = None

    def after_reset(self) -> Scene:
        """Return the scene at the start of the next run; values of latched topics are kept."""
        return Scene(link=self.link, state=self.state, real_time_factor=self.real_time_factor)

    def move(self, time_s: float, position_enu_m: Vector, attitude: Quaternion) -> None:
        """Set the pose, and the speed from its difference."""
        self.time_s, self.position_enu_m, self.attitude = time_s, position_enu_m, attitude
        if self._speed_from is None:
            self._speed_from = time_s, position_enu_m
        elapsed_s = time_s - self._speed_from[0]
        if elapsed_s >= _SPEED_OVER_S:
            self.speed_m_s = math.dist(position_enu_m, self._speed_from[1]) / elapsed_s
            self._speed_from = time_s, position_enu_m

    def text(self) -> str:
        """Return the lines shown above the vehicle."""
        up_m = self.position_enu_m[2] if self.position_enu_m else 0.0
        lines = [f'{up_m:.1f} m up  {self.speed_m_s:.1f} m/s', f't = {self.time_s:.1f} s']
        if self.real_time_factor is not None:
            lines[1] += f'  {self.real_time_factor:.1f} x real time'
        lines.append('  '.join(filter(None, [self.state, self.link])))
        return '\n'.join(filter(None, lines))
