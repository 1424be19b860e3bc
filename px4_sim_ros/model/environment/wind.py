# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wind: constant, gusts, and turbulence.

The air moves with one velocity over the whole vehicle and the whole period: there are no
gusts in rotation (p, q, r). The mean is the same at all heights, unless there is a roughness of
the ground. Nor do the ground and what stands on it turn the wind.
"""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.environment.turbulence import M_PER_FT, DrydenTurbulence
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import matrix, to_world
from px4_sim_ros.model.sensors.noise import GaussMarkov
from px4_sim_ros.model.timebase import US_PER_S, exact_us
from px4_sim_ros.model.truth import Truth, WindSample

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.world import WorldParameters

_NOTHING = (0.0, 0.0, 0.0)

# Where the mean wind is given, and where its growth with the height begins and ends.
REFERENCE_HEIGHT_M, LOWEST_M, HIGHEST_M = 20.0 * M_PER_FT, 3.0 * M_PER_FT, 1000.0 * M_PER_FT


@dataclasses.dataclass(frozen=True)
class WindParameters(Parameters):
    """The mean wind, which all models have, and what each model adds to it."""

    speed_m_s: float = parameter('horizontal mean', 'm/s', minimum=0, maximum=100)
    from_deg: float = parameter(
        'where it comes from, clockwise from north', 'deg', minimum=0, maximum=360)
    roughness_m: float = parameter(
        'what slows the mean near the ground: with the logarithm of the height over home it grows'
        ' to speed_m_s at 20 ft, and on to 1000 ft; grass has 0.05; 0: it is the same at all'
        ' heights', 'm', minimum=0, maximum=0.9)
    climb_m_s: float = parameter('vertical mean, up', 'm/s', minimum=-100, maximum=100)
    gust_speed_m_s: float = parameter(
        "gust: peak, on top of the mean and along it; negative: a lull", 'm/s',
        minimum=-100, maximum=100)
    gust_start_s: float = parameter('gust: when the first begins', 's', minimum=0)
    gust_duration_s: float = parameter('gust: from calm to calm', 's', minimum=0.001)
    gust_interval_s: float = parameter(
        'gust: from the end of one to the start of the next; 0: there is only one', 's',
        minimum=0)
    ou_intensity_m_s: float = parameter(
        'ornstein_uhlenbeck: 1-sigma to the east and to the north', 'm/s', minimum=0, maximum=100)
    ou_vertical_intensity_m_s: float = parameter(
        'ornstein_uhlenbeck: 1-sigma upwards', 'm/s', minimum=0, maximum=100)
    ou_correlation_time_s: float = parameter(
        'ornstein_uhlenbeck: how slowly it changes', 's', above=0)
    dryden_medium_intensity_m_s: float = parameter(
        'dryden: 1-sigma on each axis from 2000 ft on; below 1000 ft it follows from speed_m_s',
        'm/s', minimum=0, maximum=100)
    field_intensity_m_s: float = parameter(
        'field: 1-sigma on each axis', 'm/s', minimum=0, maximum=100)
    field_length_m: float = parameter(
        'field: scale length; the correlation along its own direction is exp(-distance / it)',
        'm', minimum=0.1, maximum=10_000)
    field_seed: int = parameter(
        'field: its seed, the same for all vehicles of a world; -1: that of the run',
        minimum=-1, maximum=2**31 - 1)

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate.

        :raises ParameterError: one is wrong, or a time is no whole number of microseconds
        """
        built = super().from_mapping(owner, values)
        for name in ('gust_start_s', 'gust_duration_s', 'gust_interval_s'):
            exact_us(f'{owner}.{name}', getattr(built, name))
        return built

    def direction(self) -> tuple[float, float]:
        """Return the unit vector, east and north, to where it blows."""
        angle = math.radians(self.from_deg)
        return -math.sin(angle), -math.cos(angle)


class _WithoutNoise:
    """Base of models whose wind follows from time and place."""

    def skip(self, samples: int) -> None:
        pass


class _Constant(_WithoutNoise):
    """Nothing but the mean."""

    def __init__(self, name: str, parameters: WindParameters, world: WorldParameters) -> None:
        pass

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> Vector:
        return _NOTHING


class _Gust(_WithoutNoise):
    """Pulses v / 2 (1 - cos(2 pi t / T)), 0 <= t <= T, along the mean wind.

    It is the shape of CS-25.341(a)(2), in time instead of the distance flown.
    """

    def __init__(self, name: str, parameters: WindParameters, world: WorldParameters) -> None:
        p = parameters
        self._east, self._north = (0.5 * p.gust_speed_m_s * d for d in p.direction())
        self._start_us = exact_us(f'{name}.gust_start_s', p.gust_start_s)
        self._duration_us = exact_us(f'{name}.gust_duration_s', p.gust_duration_s)
        self._interval_us = exact_us(f'{name}.gust_interval_s', p.gust_interval_s)

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> Vector:
        since_us = time_us - self._start_us
        if self._interval_us and since_us > 0:
            since_us %= self._duration_us + self._interval_us
        if not 0 < since_us < self._duration_us:
            return _NOTHING
        shape = 1.0 - math.cos(math.tau * since_us / self._duration_us)
        return shape * self._east, shape * self._north, 0.0


class _OrnsteinUhlenbeck:
    """A first-order Gauss-Markov process on each axis, the same wherever the vehicle is."""

    def __init__(self, name: str, parameters: WindParameters, world: WorldParameters) -> None:
        p = parameters
        period_s = world.period_us(name) / US_PER_S
        self._east, self._north, self._up = (
            GaussMarkov(sigma, p.ou_correlation_time_s, period_s,
                   NormalStream(world.seed, f'{name}/{axis}'))
            for axis, sigma in (
                ('east', p.ou_intensity_m_s), ('north', p.ou_intensity_m_s),
                ('up', p.ou_vertical_intensity_m_s)))

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> Vector:
        return self._east.next(), self._north.next(), self._up.next()

    def skip(self, samples: int) -> None:
        for axis in (self._east, self._north, self._up):
            axis.skip(samples)


class _Dryden:
    """Dryden turbulence; its axes lie along the mean wind at every height.

    The wind at 20 ft, which sets how strong it is below 1000 ft, is speed_m_s: without
    any there is no turbulence there. The height is that over home's flat ground.
    """

    def __init__(self, name: str, parameters: WindParameters, world: WorldParameters) -> None:
        p = parameters
        self._along = p.direction()
        self._mean = _Mean(p)
        self._turbulence = DrydenTurbulence(
            p.speed_m_s, p.dryden_medium_intensity_m_s, world.period_us(name) / US_PER_S,
            world.seed, name)

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> Vector:
        airspeed = math.dist(velocity_enu, self._mean.at(position_enu[2]))
        u, v, w = self._turbulence.next(position_enu[2], airspeed)
        east, north = self._along
        return u * east - v * north, u * north + v * east, w

    def skip(self, samples: int) -> None:
        self._turbulence.skip(samples)


class _Field(_WithoutNoise):
    """A field of turbulence that the mean wind carries past all vehicles.

    Each meets what is at its place: what one meets another one further along the wind meets
    later. It is the same at all heights, down to the ground.
    """

    def __init__(self, name: str, parameters: WindParameters, world: WorldParameters) -> None:
        # It loads the compiler, which the other models do without.
        from px4_sim_ros.model.environment.turbulence import TurbulentField
        p = parameters
        self._mean = _Mean(p).at(REFERENCE_HEIGHT_M)
        self._field = TurbulentField(
            p.field_intensity_m_s, p.field_length_m,
            world.seed if p.field_seed < 0 else p.field_seed, f'{name}/field')

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> Vector:
        time_s = time_us / US_PER_S
        (x, y, z), (u, v, w) = position_enu, self._mean
        return self._field.at((x - u * time_s, y - v * time_s, z - w * time_s))


class _Model(typing.Protocol):
    """What is added to the mean wind."""

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> Vector:
        """Return the addition, ENU in m/s."""

    def skip(self, samples: int) -> None:
        """Let so many samples go by."""


_MODELS: dict[str, typing.Callable[[str, WindParameters, WorldParameters], _Model]] = {
    'constant': _Constant,
    'gust': _Gust,
    'ornstein_uhlenbeck': _OrnsteinUhlenbeck,
    'dryden': _Dryden,
    'field': _Field,
}
WIND_CHOICES = 'none', *_MODELS


class Wind:
    """The wind at the vehicle, once a period; the first time is one period after zero."""

    def __init__(self, name: str, parameters: WindParameters, world: WorldParameters) -> None:
        self._mean = _Mean(parameters)
        self._model = _MODELS[world.wind](name, parameters, world)

    def sample(self, time_us: int, position_enu: Vector, velocity_enu: Vector) -> WindSample:
        """Return the air's velocity that holds from this time on.

        :param position_enu: of the vehicle, metres from home
        :param velocity_enu: of the vehicle over the ground
        """
        east, north, up = self._mean.at(position_enu[2])
        de, dn, du = self._model.sample(time_us, position_enu, velocity_enu)
        return WindSample(time_us, (east + de, north + dn, up + du))

    def skip(self, samples: int) -> None:
        """Skip samples: noise and turbulence advance as if they had been measured."""
        self._model.skip(samples)


class _Mean:
    """The mean wind by height: ln(h / z0) / ln(20 ft / z0) of that at 20 ft.

    So it is from 3 ft to 1000 ft over ground of roughness z0 (MIL-F-8785C, 3.7.3.2); beyond them
    it is as there.
    """

    def __init__(self, parameters: WindParameters) -> None:
        p = parameters
        east, north = p.direction()
        self._at_20_ft = p.speed_m_s * east, p.speed_m_s * north, p.climb_m_s
        self._roughness_m = p.roughness_m

    def at(self, height_m: float) -> Vector:
        """Return the velocity of the air, ENU in m/s."""
        if not self._roughness_m:
            return self._at_20_ft
        height_m = min(max(height_m, LOWEST_M), HIGHEST_M)
        share = math.log(height_m / self._roughness_m) / math.log(
            REFERENCE_HEIGHT_M / self._roughness_m)
        east, north, up = self._at_20_ft
        return share * east, share * north, up


def wind_at(wind: Wind, time_us: int, truth: Truth | None) -> WindSample:
    """Return the wind at a time for a vehicle that was last seen as `truth` says.

    :param truth: of the step before; None at the start, where the vehicle rests at home
    """
    if truth is None:
        return wind.sample(time_us, _NOTHING, _NOTHING)
    velocity_enu = to_world(matrix(truth.attitude), truth.velocity_flu)
    return wind.sample(time_us, truth.position_enu, velocity_enu)
