# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What has to hold in a flight, judged while it flies, with how far it was from failing."""
from __future__ import annotations

import dataclasses
import math
import typing

from px4_sim_ros.model.errors import ParameterError, shown
from px4_sim_ros.model.parameters import number
from px4_sim_ros.model.scenario.condition import Condition, Found, read_condition, rounded
from px4_sim_ros.model.scenario.happening import Verdict
from px4_sim_ros.model.scenario.situation import Situation
from px4_sim_ros.model.timebase import US_PER_S, exact_us

ALWAYS, NEVER, EVENTUALLY = KINDS = ('always', 'never', 'eventually')


@dataclasses.dataclass(frozen=True)
class Expectation:
    """A condition, and when it has to hold.

    It counts from `from_us`, or once `after` has held, until `within_us` later, until `until`
    holds, which then has to come, or to the end of the flight.
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

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the mapping that `read_expectation` reads."""
        found: dict[str, typing.Any] = {self.kind: self.condition.to_mapping()}
        if self.from_us:
            found['from_s'] = self.from_us / US_PER_S
        if self.within_us is not None:
            found['within_s'] = self.within_us / US_PER_S
        return found | {name: condition.to_mapping() for name, condition in (
            ('after', self.after), ('until', self.until)) if condition is not None}

    def watch(self) -> Watch:
        """Return its judge in a flight."""
        return Watch(self)


class Watch:
    """Judges an expectation in one flight.

    The margin is the robustness of signal temporal logic over what was flown of its time: of
    `always` and `never` the least margin of the condition, of `eventually` the greatest (Donze and
    Maler, Robust satisfaction of temporal logic over real-valued signals, 2010).
    """

    def __init__(self, expectation: Expectation) -> None:
        """Begin before the flight."""
        self._expectation = expectation
        self._begun_us: int | None = None
        self._is_over = False                          # its time
        self._unknown: tuple[Found, int] | None = None     # what is not known yet
        self._extreme: tuple[Found, int] | None = None
        self._first: tuple[Found, int] | None = None   # violation, or when what is awaited came
        self._late_us: int | None = None               # when that came, after its time
        self._until_came = expectation.until is None

    def look(self, situation: Situation) -> None:
        """Judge the next situation."""
        e, now_us = self._expectation, situation.time_us
        if self._is_over or not self._has_begun(situation):
            return
        if self._begun_us is None:
            self._begun_us = now_us
        if e.within_us is not None and now_us - self._begun_us > e.within_us:
            self._look_late(situation)
            return
        if e.until is not None and e.until.look(situation).holds:
            self._until_came = self._is_over = True
            return
        self._judge(e.condition.look(situation), now_us)

    def _has_begun(self, situation: Situation) -> bool:
        e = self._expectation
        return self._begun_us is not None or (situation.time_us >= e.from_us and (
            e.after is None or e.after.look(situation).holds))

    def _look_late(self, situation: Situation) -> None:
        """Note when what is awaited comes after its time."""
        e = self._expectation
        if e.kind != EVENTUALLY or self._first is not None:
            self._is_over = True
        elif e.condition.look(situation).holds:
            self._late_us, self._is_over = situation.time_us, True

    def _judge(self, found: Found, now_us: int) -> None:
        """Note the first violation and the worst, or when what is awaited has come and the best."""
        kind = self._expectation.kind
        if kind == ALWAYS and self._extreme is None and not found.is_known:
            self._unknown = found, now_us
            return
        if kind == NEVER:
            found = found._replace(holds=not found.holds, margin=-found.margin)
        if self._first is None and found.holds is (kind == EVENTUALLY):
            self._first = found, now_us
        if self._extreme is None or (
                _is_nearer(found, self._extreme[0]) if kind == EVENTUALLY
                else _worst_first(found) < _worst_first(self._extreme[0])):
            self._extreme = found, now_us

    def verdict(self) -> Verdict:
        """Return its verdict so far."""
        e, text = self._expectation, self._expectation.text
        if self._extreme is None and self._unknown is not None:
            found, time_us = self._unknown
            return Verdict(text, False, None, '', time_us, found.value)
        if self._extreme is None:
            # Nothing had to hold yet; what has to come has not.
            holds = e.kind != EVENTUALLY and e.after is not None and self._until_came
            return Verdict(text, holds, None, '', None,
                           'its time never began' if holds else 'its time has not begun')
        found, time_us = self._extreme
        margin = found.margin if found.is_measured else None
        if e.kind == EVENTUALLY:
            return self._awaited(margin)
        if self._first is not None:
            first, first_us = self._first
            return Verdict(text, False, margin, found.unit, first_us, first.value,
                           found.value, time_us)
        if not self._until_came:
            return Verdict(text, False, None, '', None, 'the condition of until was not met')
        return Verdict(text, True, margin, found.unit, time_us, found.value, found.value, time_us)

    def _awaited(self, margin: float | None) -> Verdict:
        """Return the verdict on what has to come; of a yes or no the margin is the time left."""
        assert self._extreme is not None, 'something was judged'
        (found, time_us), text = self._extreme, self._expectation.text
        came_us = self._first[1] if self._first is not None else self._late_us
        left_s = self._left_s(came_us)
        unit = found.unit
        if margin is None and left_s is not None:
            margin, unit = left_s, 's'
        if self._first is None:
            late = '' if left_s is None else f'; met {rounded(-left_s)} s late'
            return Verdict(text, False, margin, unit, time_us,
                           f'condition not met; at best, {found.value}{late}',
                           found.value, time_us, left_s)
        first, first_us = self._first
        return Verdict(text, True, margin, unit, first_us, first.value,
                       found.value, time_us, left_s)

    def _left_s(self, came_us: int | None) -> float | None:
        """Return the time that was left when what is awaited came, below 0 if it came late."""
        within_us = self._expectation.within_us
        if within_us is None or came_us is None or self._begun_us is None:
            return None
        return (self._begun_us + within_us - came_us) / US_PER_S


def _worst_first(found: Found) -> tuple[bool, bool, float]:
    """Return the order of violations by how bad they are: those that are measured come first."""
    return found.holds, not found.is_measured, found.margin


def _is_nearer(found: Found, than: Found) -> bool:
    """Return whether what is awaited is nearer; a no is as near to the last."""
    if found.margin == than.margin == -math.inf:
        return True
    return (found.holds, found.margin) > (than.holds, than.margin)


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
            f'{owner} = {shown(content)}: must hold one of {", ".join(KINDS)}, and of'
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
        raise ParameterError(f'{owner} = {shown(value)}: must be at least 0 and at most 604800 s')
    return exact_us(owner, seconds)
