# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What has to hold in a flight, judged while it flies, with how far it was from failing."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import number
from px4_sim_ros.model.scenario.condition import Condition, Found, read_condition
from px4_sim_ros.model.scenario.happening import Verdict
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S, exact_us

ALWAYS, NEVER, EVENTUALLY = KINDS = ('always', 'never', 'eventually')


@dataclasses.dataclass(frozen=True)
class Expectation:
    """A condition, and when it has to hold.

    It counts from `from_us`, or once `after` has held, until `within_us` later, or until `until`
    holds, which then has to come.
    """

    kind: str                      # of KINDS
    condition: Condition
    from_us: int = 0
    after: Condition | None = None
    within_us: int | None = None
    until: Condition | None = None

    @property
    def text(self) -> str:
        """What it says, for the user."""
        parts = [f'{self.kind} {self.condition.text}']
        if self.from_us:
            parts.append(f'from {self.from_us / US_PER_S:g} s on')
        if self.after is not None:
            parts.append(f'after {self.after.text}')
        if self.within_us is not None:
            parts.append(f'within {self.within_us / US_PER_S:g} s')
        if self.until is not None:
            parts.append(f'until {self.until.text}')
        return ' '.join(parts)

    def watch(self) -> Watch:
        """Return what judges it in a flight."""
        return Watch(self)


class Watch:
    """Judges an expectation in one flight."""

    def __init__(self, expectation: Expectation) -> None:
        """Begin before the flight."""
        self._expectation = expectation
        self._begun_us: int | None = None
        self._is_over = False              # nothing that comes matters any more
        self._worst: tuple[Found, int] | None = None
        self._came_us: int | None = None   # when what is expected has come
        self._until_came = expectation.until is None

    def look(self, situation: Situation) -> None:
        """Judge the next situation."""
        e, now_us = self._expectation, situation.time_us
        if self._is_over or not self._has_begun(situation):
            return
        if self._begun_us is None:
            self._begun_us = now_us
        if e.within_us is not None and now_us - self._begun_us > e.within_us:
            self._is_over = True
            return
        if e.until is not None and e.until.look(situation).holds:
            self._until_came = self._is_over = True
            return
        self._judge(e.condition.look(situation), now_us)

    def _has_begun(self, situation: Situation) -> bool:
        e = self._expectation
        return self._begun_us is not None or (situation.time_us >= e.from_us and (
            e.after is None or e.after.look(situation).holds))

    def _judge(self, found: Found, now_us: int) -> None:
        """Note the worst of what has to hold all the time, or that what is awaited has come."""
        kind = self._expectation.kind
        if kind == NEVER:
            found = found._replace(holds=not found.holds, margin=-found.margin)
        if self._worst is None or _is_worse(found, self._worst[0]) is (kind != EVENTUALLY):
            self._worst = found, now_us
        if kind == EVENTUALLY and found.holds:
            self._came_us, self._is_over = now_us, True
        elif kind != EVENTUALLY and not found.holds:
            self._is_over = True

    def verdict(self) -> Verdict:
        """Return what has become of it by now."""
        e, text = self._expectation, self._expectation.text
        if self._worst is None or self._begun_us is None:
            # Nothing had to hold yet; what has to come has not.
            holds = e.kind != EVENTUALLY and e.after is not None and self._until_came
            return Verdict(text, holds, None, '', None,
                           'it was never asked for' if holds else 'its time has not come')
        found, time_us = self._worst
        if e.kind == EVENTUALLY:
            return self._awaited(found, time_us)
        margin = found.margin if found.is_measured else None
        if found.holds and not self._until_came:
            return Verdict(text, False, None, '', None, 'what it holds until has not come')
        return Verdict(text, found.holds, margin, found.unit, time_us, found.value)

    def _awaited(self, found: Found, time_us: int) -> Verdict:
        """Return the verdict on what has to come; the margin is the time that was left."""
        e, begun_us = self._expectation, self._begun_us or 0
        if self._came_us is None:
            return Verdict(e.text, False, found.margin if found.is_measured else None, found.unit,
                           time_us, f'it has not come; at best, {found.value}')
        left_s = None
        if e.within_us is not None:
            left_s = (begun_us + e.within_us - self._came_us) / US_PER_S
        return Verdict(e.text, True, left_s, 's', self._came_us, found.value)


def _is_worse(one: Found, other: Found) -> bool:
    return (one.holds, one.margin) < (other.holds, other.margin)


_TIMES = 'from_s', 'within_s'
_CONDITIONS = 'after', 'until'


def read_expectation(
    owner: str, content: typing.Any, events: typing.Container[str],
) -> Expectation:
    """Return an expectation from what a file says.

    :param events: that conditions can name
    :raises ParameterError: naming the place and what is allowed
    """
    kinds = [key for key in content if key in KINDS] if isinstance(content, dict) else []
    if len(kinds) != 1 or not set(content) <= {*kinds, *_TIMES, *_CONDITIONS}:
        raise ParameterError(
            f'{owner} = {content!r}: must hold one of {", ".join(KINDS)}, and of'
            f' {", ".join((*_TIMES, *_CONDITIONS))} what is wanted')
    kind, = kinds
    found: dict[str, typing.Any] = {}
    for key in _TIMES:
        if key in content:
            found[f'{key[:-2]}_us'] = time_us(f'{owner}.{key}', content[key])
    for key in _CONDITIONS:
        if key in content:
            found[key] = read_condition(f'{owner}.{key}', content[key], events)
    if found.get('within_us') == 0:
        raise ParameterError(f'{owner}.within_s = 0: must be greater than 0')
    return Expectation(
        kind, read_condition(f'{owner}.{kind}', content[kind], events), **found)


def time_us(owner: str, value: typing.Any) -> int:
    """Return a time in seconds as microseconds.

    :raises ParameterError: it is below 0, above a week, or no whole number of microseconds
    """
    seconds = number(owner, value)
    if not 0.0 <= seconds <= 604_800.0 or math.isnan(seconds):
        raise ParameterError(f'{owner} = {value!r}: must be at least 0 and at most 604800 s')
    return exact_us(owner, seconds)
