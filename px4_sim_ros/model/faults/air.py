# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Actions on the air: its wind, on top of that of the world, and its density."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.faults.action import MOTION, WIND, Action, ActionContext, Effect
from px4_sim_ros.model.faults.channels import CHANNELS, ChannelAccess
from px4_sim_ros.model.faults.motion import BodyInputs, Load, MotionAction
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import parameter
from px4_sim_ros.model.sensors.noise import GaussMarkov
from px4_sim_ros.model.timebase import US_PER_S, kind_and_index

_AIRSPEED = 'airspeed'


@dataclasses.dataclass(frozen=True)
class WindAction(Action):
    """Base of these actions: each adds a velocity."""

    @property
    def block(self) -> str:
        """The wind."""
        return WIND

    def begin(self, onset: ActionContext) -> Effect:
        """Add the velocity of this time."""
        velocity = self.velocity(onset)

        def effect(time_us: int, wind_enu: Vector) -> Vector:
            (x, y, z), (u, v, w) = wind_enu, velocity(time_us)
            return x + u, y + v, z + w
        return effect

    def velocity(self, onset: ActionContext) -> typing.Callable[[int], Vector]:
        """Return the added wind, ENU in m/s, by the time in us."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class _Horizontal(WindAction):
    speed_m_s: float = parameter('horizontal, on top of what blows', 'm/s', minimum=-100,
                                 maximum=100)
    from_deg: float = parameter('where it comes from, clockwise from north', 'deg',
                                minimum=0, maximum=360)

    def horizontal(self) -> Vector:
        """Return the whole of it, ENU."""
        angle = math.radians(self.from_deg)
        return -self.speed_m_s * math.sin(angle), -self.speed_m_s * math.cos(angle), 0.0


@dataclasses.dataclass(frozen=True)
class MoreWind(_Horizontal):
    """It blows more, at once or growing steadily."""

    climb_m_s: float = parameter('upwards', 'm/s', minimum=-100, maximum=100)
    over_s: float = parameter('how long it takes to grow', 's', minimum=0)

    DEFAULTS: typing.ClassVar = {'climb_m_s': 0.0, 'over_s': 0.0}

    def velocity(self, onset: ActionContext) -> typing.Callable[[int], Vector]:
        """Grow, then stay."""
        x, y, _ = self.horizontal()

        def velocity(time_us: int) -> Vector:
            age_s = onset.seconds(time_us)
            share = 1.0 if age_s >= self.over_s else age_s / self.over_s
            return share * x, share * y, share * self.climb_m_s
        return velocity


@dataclasses.dataclass(frozen=True)
class Gust(_Horizontal):
    """One pulse v / 2 (1 - cos(2 pi t / T)), as that of the wind model `gust`."""

    duration_s: float = parameter('from calm to calm', 's', minimum=0.001)

    def velocity(self, onset: ActionContext) -> typing.Callable[[int], Vector]:
        """Rise and fall, then nothing."""
        x, y, _ = self.horizontal()

        def velocity(time_us: int) -> Vector:
            share = onset.seconds(time_us) / self.duration_s
            if share >= 1.0:
                return 0.0, 0.0, 0.0
            shape = 0.5 * (1.0 - math.cos(math.tau * share))
            return shape * x, shape * y, 0.0
        return velocity


@dataclasses.dataclass(frozen=True)
class Turbulence(WindAction):
    """A Gauss-Markov process on each axis, as the wind model `ornstein_uhlenbeck`."""

    intensity_m_s: float = parameter('1-sigma on each axis', 'm/s', minimum=0, maximum=100)
    correlation_time_s: float = parameter('how slowly it changes', 's', above=0)

    def velocity(self, onset: ActionContext) -> typing.Callable[[int], Vector]:
        """Draw the next of each axis."""
        period_s = onset.world.period_us(WIND) / US_PER_S
        stream = onset.stream()
        axes = [GaussMarkov(self.intensity_m_s, self.correlation_time_s, period_s, stream)
                for _ in range(3)]

        def velocity(time_us: int) -> Vector:
            x, y, z = (axis.next() for axis in axes)
            return x, y, z
        return velocity


@dataclasses.dataclass(frozen=True)
class AirDensity(MotionAction):
    """The air is thinner or denser, as by heat: for all forces, and for an airspeed sensor.

    The static pressure stays, and with it what a barometer measures. What an airspeed sensor
    measures is multiplied, with its noise.
    """

    share: float = parameter('of the density of the place', minimum=0.1, maximum=10)

    def changes(self, block: str) -> bool:
        """Return whether it is the motion or an airspeed sensor."""
        return block == MOTION or kind_and_index(block)[0] == _AIRSPEED

    def begin(self, onset: ActionContext) -> Effect:
        """Multiply the density, or the dynamic pressure, which is proportional to it."""
        if onset.block == MOTION:
            def effect(time_us: int, inputs: BodyInputs) -> BodyInputs:
                return inputs.with_altered(
                    density_share=inputs.altered.density_share * self.share)
            return Load(effect)
        channel, = CHANNELS[_AIRSPEED].values()
        access = ChannelAccess(channel, onset.world)
        return lambda time_us, measured: access.changed(
            measured, lambda numbers: tuple(self.share * number for number in numbers))
