# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Mission files: what the pilot flies, one item after the other."""
from __future__ import annotations

import dataclasses
import typing

from px4_sim_ros.model.errors import ParameterError, did_you_mean, shown
from px4_sim_ros.model.parameters import Parameters, parameter


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
    """Go to a point, relative to the place where the mission begins."""

    north_m: float = parameter('north', 'm', minimum=-10_000, maximum=10_000)
    east_m: float = parameter('east', 'm', minimum=-10_000, maximum=10_000)
    up_m: float = parameter(
        'up; may be missing where a vehicle drives', 'm', above=0, maximum=500, default=0.0)


@dataclasses.dataclass(frozen=True)
class Land(Parameters):
    """Land here and wait for the autopilot to disarm."""


Item = TakeOff | Hold | GoTo | Land

_ITEMS: dict[str, type[Item]] = {
    'take_off': TakeOff, 'hold': Hold, 'go_to': GoTo, 'land': Land}


@dataclasses.dataclass(frozen=True)
class Mission:
    """A named list of items; it begins with a take-off and ends with a landing, or has neither."""

    name: str
    items: tuple[Item, ...]

    @property
    def drives(self) -> bool:
        """Whether it stays on the ground: it has no take-off."""
        return not any(isinstance(item, TakeOff) for item in self.items)

    def why_not_up(self, height_m: float) -> str:
        """Return why a flight that the autopilot calls flown was none, '' if it was one.

        :param height_m: the greatest true height over the place of the start
        """
        up_m = next((item.up_m for item in self.items if isinstance(item, TakeOff)), 0.0)
        if height_m >= 0.5 * up_m:
            return ''
        return (f'the autopilot has reported the mission {self.name} as flown, {up_m:g} m up, but'
                f' the vehicle was never higher than {height_m:.2f} m: its estimate is wrong')

    def check_fits(self, owner: str, drives: bool) -> None:
        """Check that it is for a vehicle that flies, or for one that drives.

        :param owner: what to call the vehicle in an error sentence
        :raises ParameterError: it is for the other kind
        """
        if self.drives is not drives:
            kind, wanted = (
                ('drives', 'have neither take_off nor land') if drives else
                ('flies', 'begin with take_off and end with land'))
            raise ParameterError(f'{owner} {kind}: the mission {self.name} must {wanted}')

    @property
    def events(self) -> int:
        """How many events the pilot reports: ready, armed, one an item, disarmed or stopped."""
        return len(self.items) + 3

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the mapping that `from_mapping` reads."""
        names = {item: name for name, item in _ITEMS.items()}
        return {'name': self.name, 'items': [
            {names[type(item)]: {key: value for key, value in dataclasses.asdict(item).items()
                                 if key != 'up_m' or value}}
            for item in self.items]}

    @classmethod
    def from_mapping(cls, owner: str, content: typing.Any) -> Mission:
        """Build a mission from the content of its file.

        :param owner: what to call it in an error sentence
        :raises ParameterError: naming the item and what is allowed
        """
        if not isinstance(content, dict) or set(content) != {'name', 'items'}:
            raise ParameterError(f'{owner}: must hold name and items and nothing else')
        if not isinstance(content['name'], (str, int, float)):
            raise ParameterError(f"{owner}: name = {shown(content['name'])}: must be a text")
        if not isinstance(content['items'], list):
            raise ParameterError(f"{owner}: items = {shown(content['items'])}: must be a list")
        items = tuple(
            cls._item(f'{owner}: items[{i}]', item) for i, item in enumerate(content['items']))
        mission = cls(str(content['name']), items)
        flies = not mission.drives or any(isinstance(item, Land) for item in items)
        if not items or (flies and not (
                isinstance(items[0], TakeOff) and isinstance(items[-1], Land))):
            raise ParameterError(
                f'{owner}: must begin with take_off and end with land, or have neither to drive')
        for i, item in enumerate(items):
            if isinstance(item, GoTo) and not (mission.drives or item.up_m):
                raise ParameterError(f'{owner}: items[{i}].go_to.up_m: missing; it is up')
        return mission

    @staticmethod
    def _item(owner: str, item: typing.Any) -> Item:
        meant = ''
        if isinstance(item, dict) and len(item) == 1:
            (kind, values), = item.items()
            if kind in _ITEMS:
                return _ITEMS[kind].from_mapping(
                    f'{owner}.{kind}', {} if values is None else values)
            meant = did_you_mean(str(kind), _ITEMS)
        raise ParameterError(f"{owner} = {shown(item)}: must be one of {', '.join(_ITEMS)}{meant}")
