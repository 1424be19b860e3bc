# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Paths of a scene file: axes that move with simulated time, and take objects with them."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, list_of, mapping_of, parameter
from px4_sim_ros.model.timebase import US_PER_S

MOST_PATHS = 100
MOST_POINTS = 1000
MOST_WAVES = 16
FASTEST_M_S = 300.0

_FARTHEST_M = 100_000.0
_TURNS_DEG = 36_000.0


@dataclasses.dataclass(frozen=True)
class WayPoint(Parameters):
    """Where a path is at a time."""

    time_s: float = parameter('when it is there', 's', minimum=0, maximum=100_000)
    place_m: Vector = parameter(
        'to the east, to the north and above home', 'm', minimum=-_FARTHEST_M, maximum=_FARTHEST_M)
    yaw_deg: float = parameter(
        'how it is turned about up; without it as at the point before', 'deg',
        minimum=-_TURNS_DEG, maximum=_TURNS_DEG, default=math.nan)

    @property
    def time_us(self) -> int:
        """When it is there."""
        return round(self.time_s * US_PER_S)


@dataclasses.dataclass(frozen=True)
class Wave(Parameters):
    """A sine of the time."""

    amplitude: float = parameter('in m of heave, in deg of roll and pitch', minimum=0, maximum=90)
    period_s: float = parameter('its period', 's', minimum=0.1, maximum=10_000)
    phase_deg: float = parameter(
        'its phase at time 0', 'deg', minimum=-360, maximum=360, default=0.0)

    @property
    def period_us(self) -> int:
        """Its period."""
        return round(self.period_s * US_PER_S)


_WAVES = 'heave_m', 'roll_deg', 'pitch_deg'


@dataclasses.dataclass(frozen=True)
class Path:
    """Axes that move: between way points with constant velocity, and up and down as a ship does.

    Before the first point they are there, and after the last one there, or at the first again.
    """

    points: tuple[WayPoint, ...] = ()
    loop: bool = False
    heave_m: tuple[Wave, ...] = ()
    roll_deg: tuple[Wave, ...] = ()
    pitch_deg: tuple[Wave, ...] = ()

    @property
    def legs(self) -> list[tuple[int, Vector, float]]:
        """Time (us), place (m, ENU) and yaw (deg) of all points; without any it is at home."""
        found, yaw_deg = [], 0.0
        for point in self.points or (WayPoint(0.0, (0.0, 0.0, 0.0)),):
            yaw_deg = yaw_deg if math.isnan(point.yaw_deg) else point.yaw_deg
            found.append((point.time_us, point.place_m, yaw_deg))
        return found

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the entry of a file."""
        found: dict[str, typing.Any] = {
            'points': [{key: list(value) if isinstance(value, tuple) else value
                        for key, value in dataclasses.asdict(point).items() if value == value}
                       for point in self.points],
            'loop': self.loop}
        return found | {name: [dataclasses.asdict(wave) for wave in getattr(self, name)]
                        for name in _WAVES}

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Path:
        """Read a path.

        :raises ParameterError: naming the place in it and what is allowed
        """
        content = mapping_of(owner, '', content, [field.name for field in dataclasses.fields(cls)])
        loop = content.get('loop', False)
        if not isinstance(loop, bool):
            raise ParameterError(f'{owner}.loop = {shown(loop)}: must be true or false')
        points = _entries(f'{owner}.points', content.get('points', []), WayPoint, MOST_POINTS)
        waves = {name: _entries(f'{owner}.{name}', content.get(name, []), Wave, MOST_WAVES)
                 for name in _WAVES}
        found = cls(points, loop, **waves)
        _check_speeds(f'{owner}.points', found)
        if len(points) < 2 and not any(waves.values()):
            raise ParameterError(f'{owner}: has {len(points)} points and no waves: must have two'
                                 f' points at least, or one of {", ".join(_WAVES)}')
        if loop:
            _check_loop(f'{owner}.loop', found)
        return found


_Entry = typing.TypeVar('_Entry', bound=Parameters)


def _entries(
    owner: str, value: typing.Any, kind: type[_Entry], most: int,
) -> tuple[_Entry, ...]:
    entries = list_of(owner, value)
    if len(entries) > most:
        raise ParameterError(f'{owner}: {len(entries)} of them; must be at most {most}')
    return tuple(kind.from_mapping(f'{owner}[{i}]', entry) for i, entry in enumerate(entries))


def _check_speeds(owner: str, path: Path) -> None:
    for i, (a, b) in enumerate(zip(path.points, path.points[1:]), 1):
        if b.time_us <= a.time_us:
            raise ParameterError(f'{owner}[{i}].time_s = {b.time_s:g}: must be greater than that of'
                                 f' the point before, {a.time_s:g} s, by a microsecond at least')
        speed = math.dist(a.place_m, b.place_m) * US_PER_S / (b.time_us - a.time_us)
        if speed > FASTEST_M_S:
            raise ParameterError(f'{owner}[{i}].place_m = {list(b.place_m)}: is reached with'
                                 f' {speed:g} m/s; must be with at most {FASTEST_M_S:g} m/s')


def _check_loop(owner: str, path: Path) -> None:
    if len(path.points) < 2:
        raise ParameterError(f'{owner} = True: with {len(path.points)} points; must be with two at'
                             ' least')
    (_, begin, turned), *_, (_, end, turned_at_end) = path.legs
    if begin != end or (turned_at_end - turned) % 360.0:
        raise ParameterError(f'{owner} = True: the last point is {list(end)} with a yaw of'
                             f' {turned_at_end:g}; must be the first one, {list(begin)} with a yaw'
                             f' of {turned:g}')
