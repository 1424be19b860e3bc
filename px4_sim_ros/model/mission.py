# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mission files: what the pilot flies, one item after the other."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame
from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, list_of, mapping_of, parameter

_FARTHEST_M = 10_000
_PAIRS = ('north_m', 'east_m'), ('latitude_deg', 'longitude_deg')


@dataclasses.dataclass(frozen=True)
class TakeOff(Parameters):
    """Arm and climb straight up."""

    up_m: float = parameter('height over the place of take-off', 'm', above=0, maximum=500)


@dataclasses.dataclass(frozen=True)
class Hold(Parameters):
    """Stay where the vehicle is."""

    duration_s: float = parameter('simulated time', 's', minimum=0)


@dataclasses.dataclass(frozen=True)
class GoTo(Parameters):
    """Go to a point: metres from the place where the mission begins, or latitude and longitude."""

    north_m: float = parameter(
        'north', 'm', minimum=-_FARTHEST_M, maximum=_FARTHEST_M, default=math.nan)
    east_m: float = parameter(
        'east', 'm', minimum=-_FARTHEST_M, maximum=_FARTHEST_M, default=math.nan)
    up_m: float = parameter(
        'up; may be missing where a vehicle drives', 'm', above=0, maximum=500, default=0.0)
    latitude_deg: float = parameter(
        'WGS-84, with longitude_deg in place of north_m and east_m', 'deg', minimum=-90, maximum=90,
        default=math.nan)
    longitude_deg: float = parameter('WGS-84', 'deg', minimum=-180, maximum=180, default=math.nan)
    yaw_deg: float = parameter(
        'heading, clockwise from north; without it the autopilot chooses', 'deg', minimum=-360,
        maximum=360, default=math.nan)
    speed_m_s: float = parameter(
        'speed over ground, from here on; without it that of before', 'm/s', above=0, default=0.0)
    radius_m: float = parameter(
        'acceptance radius, within which the point is passed; without it a multirotor stops there',
        'm', above=0, default=0.0)

    @classmethod
    def from_mapping(
        cls, owner: str, values: typing.Mapping[str, typing.Any],
    ) -> typing.Self:
        """Build and validate: it has one of the two pairs."""
        built = super().from_mapping(owner, values)
        given = [name for name in _PAIRS[0] + _PAIRS[1] if name in values]
        if tuple(given) not in _PAIRS:
            raise ParameterError(f'{owner} = {shown(dict(values))}: must have either north_m and'
                                 ' east_m, or latitude_deg and longitude_deg')
        return built

    def place_enu(self, frame: LocalFrame) -> Vector:
        """Return where it is from the origin of a frame."""
        if math.isfinite(self.north_m):
            return self.east_m, self.north_m, self.up_m
        east, north, _ = frame.to_local(
            GeodeticPosition(self.latitude_deg, self.longitude_deg, 0.0))
        return east, north, self.up_m


@dataclasses.dataclass(frozen=True)
class Land(Parameters):
    """Land here and wait for the autopilot to disarm."""


@dataclasses.dataclass(frozen=True)
class ReturnHome(Parameters):
    """Go to the place of take-off, at the height that the vehicle has, and land there."""


Item = TakeOff | Hold | GoTo | Land | ReturnHome

ITEMS: dict[str, type[Item]] = {
    'take_off': TakeOff, 'hold': Hold, 'go_to': GoTo, 'land': Land, 'return_home': ReturnHome}
_LAST = Land, ReturnHome
_KEYS = 'name', 'items'


@dataclasses.dataclass(frozen=True)
class PlanItem:
    """An item of a plan as MAVLink has it: degrees, metres, seconds; NaN: left open."""

    command: int                           # MAV_CMD
    frame: int                             # MAV_FRAME
    params: tuple[float, ...]              # 1 to 7


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan of a ground station, which PX4 is given as it is."""

    items: tuple[PlanItem, ...]
    fence: tuple[PlanItem, ...]
    rally: tuple[PlanItem, ...]
    refused: str                           # what a pilot that flies by commands cannot; '': nothing
    left_out: str                          # what it leaves out, as it moves nothing
    content: typing.Mapping[str, typing.Any] = dataclasses.field(repr=False)    # of the file


@dataclasses.dataclass(frozen=True)
class Mission:
    """A named list of items; it begins with a take-off and ends with a landing, or has neither.

    That of a plan has the items that a pilot flies by commands, and may end in the air.
    """

    name: str
    items: tuple[Item, ...]
    plan: Plan | None = None

    @property
    def drives(self) -> bool:
        """Whether it stays on the ground: it has no take-off."""
        return not any(isinstance(item, TakeOff) for item in self.items)

    @property
    def lands(self) -> bool:
        """Whether it ends on the ground."""
        return self.drives or any(isinstance(item, _LAST) for item in self.items)

    def why_not_up(self, height_m: float) -> str:
        """Return why a flight that the autopilot calls flown was none, '' if it was one.

        :param height_m: the greatest true height over the place of the start
        """
        up_m = next((item.up_m for item in self.items if isinstance(item, TakeOff)), 0.0)
        if height_m >= 0.5 * up_m:
            return ''
        return (f'the autopilot has reported the mission {self.name} as flown, {up_m:g} m up, but'
                f' the vehicle was never higher than {height_m:.2f} m: its estimate is wrong')

    def check_near(self, origin: LocalFrame, owner: str) -> None:
        """Check that it begins near the origin of the world.

        :param owner: what to call it in an error sentence
        :raises ParameterError: it does not, and where it begins
        """
        place = next((item.place_enu(origin) for item in self.items
                      if isinstance(item, GoTo) and math.isfinite(item.latitude_deg)), None)
        if place is not None and (distance_m := math.hypot(*place[:2])) > _FARTHEST_M:
            here = origin.origin
            raise ParameterError(
                f'{owner}: its first point is {distance_m / 1e3:.0f} km from the origin of the'
                f' world, {here.latitude_deg:.6f}, {here.longitude_deg:.6f} deg: must be within'
                f' {_FARTHEST_M // 1000} km; set home_latitude_deg and home_longitude_deg')

    def check_fits(self, owner: str, drives: bool) -> None:
        """Check that it is for a vehicle that flies, or for one that drives.

        :param owner: what to call the vehicle in an error sentence
        :raises ParameterError: it is for the other kind
        """
        if self.plan is not None:
            return                         # PX4 judges a plan itself
        if self.drives is not drives:
            kind, wanted = (
                ('drives', 'have neither take_off nor land') if drives else
                ('flies', 'begin with take_off and end with land'))
            raise ParameterError(f'{owner} {kind}: the mission {self.name} must {wanted}')

    @property
    def events(self) -> int:
        """How many events the pilot reports: ready, armed, one an item, disarmed or stopped."""
        return len(self.items if self.plan is None else self.plan.items) + 3

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the mapping that `from_mapping` reads."""
        if self.plan is not None:
            return dict(self.plan.content)
        names = {kind: name for name, kind in ITEMS.items()}
        return {'name': self.name, 'items': [
            {names[type(item)]: {
                field.name: value for field in dataclasses.fields(item)
                if (value := getattr(item, field.name)) != field.default
                and not math.isnan(value)}}
            for item in self.items]}

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Mission:
        """Build a mission from the content of its file.

        :param owner: what to call it in an error sentence
        :raises ParameterError: naming the item and what is allowed
        """
        content = mapping_of(owner, 'mission', content, _KEYS)
        for key in _KEYS:
            if key not in content:
                raise ParameterError(f'{owner}: must hold name and items; there is no {key}')
        if not isinstance(content['name'], (str, int, float)):
            raise ParameterError(f"{owner}: name = {shown(content['name'])}: must be a text")
        items = tuple(
            cls._item(f'{owner}: items[{i}]', item)
            for i, item in enumerate(list_of(f'{owner}: items', content['items'])))
        mission = cls(str(content['name']), items)
        flies = not mission.drives or any(isinstance(item, _LAST) for item in items)
        if not items or (flies and not (
                isinstance(items[0], TakeOff) and isinstance(items[-1], _LAST))):
            raise ParameterError(f'{owner}: must begin with take_off and end with land or'
                                 ' return_home, or have neither to drive')
        for i, item in enumerate(items):
            if isinstance(item, GoTo) and not (mission.drives or item.up_m):
                raise ParameterError(f'{owner}: items[{i}].go_to.up_m: missing; it is up')
        return mission

    @staticmethod
    def _item(owner: str, item: typing.Any) -> Item:
        meant = ''
        if isinstance(item, dict) and len(item) == 1:
            (kind, values), = item.items()
            if kind in ITEMS:
                return ITEMS[kind].from_mapping(
                    f'{owner}.{kind}', {} if values is None else values)
            meant = did_you_mean(str(kind), ITEMS)
        raise ParameterError(f"{owner} = {shown(item)}: must be one of {', '.join(ITEMS)}{meant}")
