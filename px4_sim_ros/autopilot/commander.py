# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the autopilot is doing: standing by, taking off, flying to a point, landing.

The law is functions of the records `m` and `c`, see `memory`.
"""
from __future__ import annotations

import dataclasses
import enum
import functools
import math
import struct
import typing

from px4_sim_ros.autopilot.controller import command, turn, velocity_to
from px4_sim_ros.autopilot.vectors import vector
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.model import frames
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import yaw_rad


@dataclasses.dataclass(frozen=True)
class CommanderParameters(Parameters):
    """How it lands and when it disarms."""

    landing_speed_m_s: float = parameter('speed of descent', 'm/s', above=0)
    landed_thrust_fraction: float = parameter(
        'below this part of the weight it has landed', above=0, maximum=1)
    landed_time_s: float = parameter('how long the thrust stays below that', 's', above=0)
    disarm_delay_s: float = parameter('from landed to disarmed', 's', minimum=0)
    arming_timeout_s: float = parameter('disarms when no take-off follows', 's', above=0)


class Mode(enum.IntEnum):
    """What is being flown."""

    STANDBY = 0
    HOLD = 1
    LAND = 2
    ATTITUDE = 3
    RATES = 4


# As plain numbers, for compiled functions.
_STANDBY, _HOLD, _LAND, _ATTITUDE, _RATES = map(int, Mode)


@compiled
def control(m: typing.Any, c: typing.Any, dt: float) -> None:
    """Set the controls for the next step, which lasts `dt` seconds."""
    for i in range(len(m.controls)):
        m.controls[i] = 0.0
    if not m.armed:
        return
    m.armed_s += dt
    if m.mode == _STANDBY:
        if m.armed_s > c.commander.arming_timeout_s:
            disarm(m)
        return                      # command 0 while armed: rotors idle
    if m.mode in (_ATTITUDE, _RATES):
        turn(m, c, m.mode == _ATTITUDE)
        return
    x, y, z = velocity_to(c, vector(m.target_m), vector(m.position_m))
    stands = False
    if m.mode == _LAND:
        stands = m.held_s > c.commander.landed_time_s
        z = -(c.controller.max_descent_speed_m_s if stands else c.commander.landing_speed_m_s)
    # Level, as against the wind it would stand on one foot, and need its thrust for that.
    command(m, c, (x, y, z), m.yaw_rad, dt, stands)
    _watch_ground(m, c, dt)


@compiled
def _watch_ground(m: typing.Any, c: typing.Any, dt: float) -> None:
    """Notice take-off and landing from the thrust that is needed, and the ground under it."""
    p = c.commander
    if m.mode == _HOLD:
        m.in_air = m.in_air or m.thrust_fraction > 1.0
        return
    held = abs(m.velocity_m_s[2]) < 0.5 * p.landing_speed_m_s
    m.held_s = m.held_s + dt if held else 0.0
    low = m.thrust_fraction < p.landed_thrust_fraction
    m.low_thrust_s = m.low_thrust_s + dt if low else 0.0
    if m.low_thrust_s > p.landed_time_s:
        m.in_air = False
    if m.low_thrust_s > p.landed_time_s + p.disarm_delay_s:
        disarm(m)


@compiled
def disarm(m: typing.Any) -> None:
    """Stop the rotors."""
    m.armed = False
    m.mode = _STANDBY


class Commander:
    """Carries out commands; each returns '', or why it does not."""

    def __init__(self, m: typing.Any, c: typing.Any) -> None:
        """Begin with the records."""
        self._m, self._limits = m, c.controller
        # In one call: each field of a record takes as long by itself.
        self._flown = functools.partial(           # armed, in_air, mode, target_m
            struct.Struct('??q3d').unpack_from, m.data, m.dtype.fields['armed'][1])
        self._fastest_m_s = float(self._limits.max_horizontal_speed_m_s)

    @property
    def armed(self) -> bool:
        """Whether the rotors may turn."""
        return bool(self._flown()[0])

    @property
    def in_air(self) -> bool:
        """Whether it has left the ground."""
        return bool(self._flown()[1])

    @property
    def mode(self) -> Mode:
        """What is being flown."""
        return Mode(self._flown()[2])

    @property
    def set_point(self) -> Vector | None:
        """Where it wants to be; None when it goes for no point."""
        armed, _, mode, *target = self._flown()
        return frames.vector(target) if armed and mode == _HOLD else None

    def take_off(self, height_m: float) -> str:
        """Climb straight up to a height over the origin, once armed."""
        m = self._m
        if not m.aligned:
            return 'the estimator is not aligned yet'
        x, y, z = m.position_m.tolist()
        if not height_m > z:      # true for NaN as well
            return 'the altitude is not above the vehicle'
        self._hold((x, y, height_m), yaw_rad(m.attitude.tolist()))
        return ''

    def arm(self) -> str:
        """Start the rotors."""
        m = self._m
        if not m.aligned:
            return 'the estimator is not aligned yet'
        if not m.armed:
            m.integral_m_s2[:], m.armed_s = 0.0, 0.0
        m.armed = True
        return ''

    def disarm(self) -> str:
        """Stop the rotors, on the ground only."""
        if self._m.in_air:
            return 'not while flying'
        self._m.armed, self._m.mode = False, _STANDBY
        return ''

    def go_to(self, target: Vector, yaw: float, speed_m_s: float = -1.0) -> str:
        """Fly to a position; a yaw of NaN keeps the heading.

        :param speed_m_s: over ground, at most that of its parameters; not above 0: that one
        """
        if not self._m.in_air:
            return 'not flying'
        if not all(map(math.isfinite, target)):
            return 'the position is not finite'
        self._limits.max_horizontal_speed_m_s = (
            min(speed_m_s, self._fastest_m_s) if speed_m_s > 0.0 else self._fastest_m_s)
        self._hold(target, yaw if math.isfinite(yaw) else self._m.yaw_rad)
        return ''

    def turn(
        self, thrust: float, attitude: Quaternion | None = None, rate_flu: Vector | None = None,
    ) -> None:
        """Fly an attitude, or else rates, from now on; nothing limits where to.

        :param thrust: 0 to 1, of the greatest
        """
        m = self._m
        m.wanted_thrust = thrust
        if attitude is not None:
            m.wanted_attitude[:], m.mode = attitude, _ATTITUDE
        elif rate_flu is not None:
            m.wanted_rate_rad_s[:], m.mode = rate_flu, _RATES

    def land(self) -> str:
        """Descend here."""
        m = self._m
        if not m.in_air:
            return 'not flying'
        m.target_m[:] = m.position_m
        m.low_thrust_s = m.held_s = 0.0
        m.mode = _LAND
        return ''

    def _hold(self, target: Vector, yaw: float) -> None:
        m = self._m
        m.target_m[:], m.yaw_rad, m.mode = target, yaw, _HOLD
