# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions on a situation, with how far they are from not holding."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import number, unknown_key_error
from px4_sim_ros.model.scenario.situation import FLAGS, NUMBERS, Situation
from px4_sim_ros.model.timebase import US_PER_S

_BOUNDS = 'above', 'below'
TIME, AGE, MODE, TEXT = 'time_s', 'age_s', 'mode', 'text'


class Found(typing.NamedTuple):
    """How a condition stands."""

    holds: bool
    margin: float              # how far from the bound, in `unit`; below 0 it does not hold
    unit: str
    what: str                  # was found; of a number its name
    number: float | None = None
    is_known: bool = True

    @property
    def value(self) -> str:
        """What was found, for the user."""
        if self.number is None:
            return self.what
        return f'{self.what} is {_number(self.number, self.unit)}'

    @property
    def is_measured(self) -> bool:
        """Whether the margin is more than a yes or no."""
        return math.isfinite(self.margin)


class Condition(typing.Protocol):
    """Something that holds, or does not."""

    def look(self, situation: Situation) -> Found:
        """Return how it stands."""

    def leaves(self) -> typing.Iterator[Condition]:
        """Yield the conditions that it is made of: itself, if it is one."""
        yield self

    @property
    def text(self) -> str:
        """What it says, for the user."""

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the mapping that `read_condition` reads."""


@dataclasses.dataclass(frozen=True)
class Between(Condition):
    """A number is above one bound, below another one, or both; a number that is none is not."""

    quantity: str
    above: float = -math.inf
    below: float = math.inf
    event: str = ''                # whose age it is

    def look(self, situation: Situation) -> Found:
        """Return how it stands."""
        value, unit = self._value(situation)
        margin = min(value - self.above, self.below - value)
        if math.isnan(margin):
            return Found(False, -math.inf, unit, f'{self.quantity} is not known', is_known=False)
        return Found(margin > 0.0, margin, unit, self._name, value)

    def _value(self, s: Situation) -> tuple[float, str]:
        if self.quantity != AGE:
            quantity = NUMBERS[self.quantity]
            return quantity.of(s), quantity.unit
        begun_us = s.begun_us.get(self.event)
        return (math.nan if begun_us is None else (s.time_us - begun_us) / US_PER_S), 's'

    @property
    def _name(self) -> str:
        return f'{self.quantity} of {self.event}' if self.event else self.quantity

    @property
    def text(self) -> str:
        """What it says."""
        bounds = [f'{name} {value:g}' for name, value in zip(_BOUNDS, (self.above, self.below))
                  if math.isfinite(value)]
        return f"{self._name} {' and '.join(bounds)}"

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the content of a file."""
        bounds = {name: value for name, value in zip(_BOUNDS, (self.above, self.below))
                  if math.isfinite(value)}
        return {self.quantity: bounds | ({'event': self.event} if self.event else {})}


def _number(value: float, unit: str) -> str:
    return f'{rounded(value)} {unit}'.rstrip()


def rounded(value: float) -> str:
    """Return a number for the user: six digits at most, and nothing below a thousandth."""
    return f'{round(value, 3) + 0.0:.6g}'              # + 0.0: a zero has no sign


@dataclasses.dataclass(frozen=True)
class Is(Condition):
    """A flag of the autopilot, or its mode, is as it should be."""

    quantity: str
    wanted: bool | str

    def look(self, situation: Situation) -> Found:
        """Return how it stands."""
        value = (situation.autopilot.mode if self.quantity == MODE
                 else FLAGS[self.quantity][1](situation))
        return _yes(value == self.wanted, f'{self.quantity} is {_word(value)}')

    @property
    def text(self) -> str:
        """What it says."""
        return f'{self.quantity} is {_word(self.wanted)}'

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the content of a file."""
        return {self.quantity: self.wanted}


@dataclasses.dataclass(frozen=True)
class Says(Condition):
    """The autopilot says just now a text that contains another one."""

    wanted: str

    def look(self, situation: Situation) -> Found:
        """Return how it stands."""
        found = [text for text in situation.autopilot.texts if self.wanted in text]
        return _yes(bool(found), f'it says {found[0]!r}' if found else 'it does not say so')

    @property
    def text(self) -> str:
        """What it says."""
        return f'the autopilot says {self.wanted!r}'

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the content of a file."""
        return {TEXT: self.wanted}


@dataclasses.dataclass(frozen=True)
class All(Condition):
    """Several conditions hold together; the margin is that of the nearest to its bound."""

    parts: tuple[Condition, ...]

    def look(self, situation: Situation) -> Found:
        """Return how the worst of them stands."""
        return min((part.look(situation) for part in self.parts),
                   key=lambda found: (found.holds, found.margin))

    def leaves(self) -> typing.Iterator[Condition]:
        """Yield those of its parts."""
        for part in self.parts:
            yield from part.leaves()

    @property
    def text(self) -> str:
        """What they say."""
        return ', '.join(part.text for part in self.parts)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the content of a file."""
        return {key: value for part in self.parts for key, value in part.to_mapping().items()}


def _yes(holds: bool, value: str) -> Found:
    return Found(holds, math.inf if holds else -math.inf, '', value)


def _word(value: bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else value or 'not known'


def read_condition(
    owner: str, content: typing.Any, events: typing.Container[str],
) -> Condition:
    """Return a condition from what a file says: quantities and what they have to be.

    :param events: whose age can be asked for
    :raises ParameterError: naming the quantity and what is allowed
    """
    if not isinstance(content, dict) or not content:
        raise ParameterError(
            f'{owner} = {shown(content)}: must be a mapping such as {{height_m: {{above: 5}}}}')
    parts = tuple(_part(owner, key, value, events) for key, value in content.items())
    return parts[0] if len(parts) == 1 else All(parts)


def _part(
    owner: str, key: typing.Any, value: typing.Any, events: typing.Container[str],
) -> Condition:
    place = f'{owner}.{key}'
    if key in NUMBERS or key == AGE:
        return _between(place, key, value, events)
    if key in FLAGS:
        if not isinstance(value, bool):
            raise ParameterError(f'{place} = {shown(value)}: must be true or false')
        return Is(key, value)
    if key in (MODE, TEXT):
        if not isinstance(value, str) or not value:
            raise ParameterError(f'{place} = {shown(value)}: must be a text')
        return Is(key, value) if key == MODE else Says(value)
    raise unknown_key_error(owner, str(key), (*NUMBERS, *FLAGS, AGE, MODE, TEXT))


def _between(
    place: str, key: str, value: typing.Any, events: typing.Container[str],
) -> Between:
    allowed = (*_BOUNDS, 'event') if key == AGE else _BOUNDS
    if not isinstance(value, dict) or not set(value) <= set(allowed) or not (
            set(value) & set(_BOUNDS)):
        raise ParameterError(f'{place} = {shown(value)}: must be a mapping of above or below'
                             + (', and the name of an event' if key == AGE else ''))
    bounds = {name: number(f'{place}.{name}', value[name]) for name in _BOUNDS if name in value}
    if bounds.get('above', -math.inf) >= bounds.get('below', math.inf):
        raise ParameterError(f'{place} = {shown(value)}: above must be less than below')
    event = value.get('event', '')
    if key == AGE and (not isinstance(event, str) or event not in events):
        raise ParameterError(f'{place}.event = {shown(event)}: must be the name of another event')
    return Between(key, event=event, **bounds)
