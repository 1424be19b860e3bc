# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the autopilot is doing: standing by, taking off, flying to a point, landing."""
from __future__ import annotations

import dataclasses
import enum
import math

from px4_sim_ros.autopilot.controller import Controller
from px4_sim_ros.autopilot.estimator import Estimator
from px4_sim_ros.link.hil.codec import DISARMED
from px4_sim_ros.model.frames import Vector
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


class Mode(enum.Enum):
    """What is being flown."""

    STANDBY = 'standby'
    HOLD = 'hold'
    LAND = 'land'


class Commander:
    """Takes commands and turns them, with the estimate, into motor controls."""

    def __init__(
        self, parameters: CommanderParameters, estimator: Estimator, controller: Controller,
    ) -> None:
        self._parameters = parameters
        self._estimator = estimator
        self._controller = controller
        self._target: Vector = (0.0, 0.0, 0.0)
        self._yaw = 0.0
        self._armed_s = 0.0              # since arming
        self._low_thrust_s = 0.0         # since the thrust fell below the landing threshold
        self._held_s = 0.0               # since it is slower, up or down, than half of a landing
        self.mode = Mode.STANDBY
        self.armed = False
        self.in_air = False

    @property
    def set_point(self) -> Vector | None:
        """Where it wants to be; None when it goes for no point."""
        return self._target if self.armed and self.mode is Mode.HOLD else None

    def take_off(self, height_m: float) -> str:
        """Climb straight up to a height over the origin, once armed; return '' or why not."""
        if not self._estimator.aligned:
            return 'the estimator is not aligned yet'
        x, y, z = self._estimator.position
        if not height_m > z:      # true for NaN as well
            return 'the altitude is not above the vehicle'
        self._target = x, y, height_m
        self._yaw = yaw_rad(self._estimator.attitude)
        self.mode = Mode.HOLD
        return ''

    def arm(self) -> str:
        """Start the rotors; return '' or why not."""
        if not self._estimator.aligned:
            return 'the estimator is not aligned yet'
        if not self.armed:
            self._controller.reset()
            self._armed_s = 0.0
        self.armed = True
        return ''

    def disarm(self) -> str:
        """Stop the rotors, on the ground only; return '' or why not."""
        if self.in_air:
            return 'not while flying'
        self.armed = False
        self.mode = Mode.STANDBY
        return ''

    def go_to(self, target: Vector, yaw: float) -> str:
        """Fly to a position; a yaw of NaN keeps the heading. Return '' or why not."""
        if not self.in_air:
            return 'not flying'
        if not all(map(math.isfinite, target)):
            return 'the position is not finite'
        self._target = target
        if math.isfinite(yaw):
            self._yaw = yaw
        self.mode = Mode.HOLD
        return ''

    def land(self) -> str:
        """Descend here; return '' or why not."""
        if not self.in_air:
            return 'not flying'
        self._target = self._estimator.position
        self._low_thrust_s = self._held_s = 0.0
        self.mode = Mode.LAND
        return ''

    def controls(self, dt: float) -> tuple[float, ...]:
        """Return 16 controls for the next step, which lasts `dt` seconds."""
        if not self.armed:
            return DISARMED.controls
        self._armed_s += dt
        if self.mode is Mode.STANDBY:
            if self._armed_s > self._parameters.arming_timeout_s:
                self.disarm()
            return DISARMED.controls      # command 0 while armed: rotors idle
        estimator, controller = self._estimator, self._controller
        velocity = controller.velocity_to(self._target, estimator.position)
        stands = False
        if self.mode is Mode.LAND:
            stands = self._held_s > self._parameters.landed_time_s
            velocity = *velocity[:2], -(
                controller.max_descent_speed_m_s if stands else self._parameters.landing_speed_m_s)
        # Level, as against the wind it would stand on one foot, and need its thrust for that.
        commands = controller.commands(estimator, velocity, self._yaw, dt, is_level=stands)
        self._watch_ground(dt)
        return (*commands, *DISARMED.controls[len(commands):])

    def _watch_ground(self, dt: float) -> None:
        """Notice take-off and landing from the thrust that is needed, and the ground under it."""
        p = self._parameters
        if self.mode is Mode.HOLD:
            self.in_air = self.in_air or self._controller.thrust_fraction > 1.0
            return
        held = abs(self._estimator.velocity[2]) < 0.5 * p.landing_speed_m_s
        self._held_s = self._held_s + dt if held else 0.0
        low = self._controller.thrust_fraction < p.landed_thrust_fraction
        self._low_thrust_s = self._low_thrust_s + dt if low else 0.0
        if self._low_thrust_s > p.landed_time_s:
            self.in_air = False
        if self._low_thrust_s > p.landed_time_s + p.disarm_delay_s:
            self.disarm()
