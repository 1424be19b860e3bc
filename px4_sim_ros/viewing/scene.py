# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The latest values of all that is shown in space, for the markers and the text."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.viewing.links import IDENTITY

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
