# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a scenario reports: what it has done, and what has become of its expectations."""
from __future__ import annotations

import re
import typing

from px4_sim_ros.model.scenario.condition import rounded
from px4_sim_ros.model.timebase import US_PER_S, seconds_text

_VERDICT = re.compile(r': (?:holds|fails)(?: at t = \S+ s)?: ')


class Happening(typing.NamedTuple):
    """Something that a scenario has done."""

    time_us: int
    text: str
    restarts: bool = False         # the autopilot has lost its power: another one is started

    @property
    def time_s(self) -> float:
        """Simulated time."""
        return self.time_us / US_PER_S


class Verdict(typing.NamedTuple):
    """What has become of an expectation."""

    expectation: str               # what it says
    holds: bool
    margin: float | None           # the extreme, at most 0 when it failed; None: yes or no
    unit: str
    time_us: int | None            # when it failed first, or was nearest to it, or came true
    found: str                     # what was found then
    extreme: str = ''              # what was found when the margin was extreme
    extreme_us: int | None = None  # when that was
    left_s: float | None = None    # when what is awaited came; below 0: it came late

    @property
    def time_s(self) -> float | None:
        """When it failed first, or was nearest to it, or came true."""
        return None if self.time_us is None else self.time_us / US_PER_S

    @property
    def text(self) -> str:
        """The verdict as one sentence."""
        when = '' if self.time_us is None else f' at t = {seconds_text(self.time_us)}'
        parts = [self.found]
        if self.holds and self.left_s is not None:
            parts.append(f'; {rounded(self.left_s)} s left')
        if self.extreme_us is not None and self.extreme_us != self.time_us:
            parts.append(f"; at {'best' if self.holds else 'worst'}, {self.extreme} at t ="
                         f' {seconds_text(self.extreme_us)}')
        if self.margin is not None:
            parts.append(f', margin {rounded(self.margin)} {self.unit}'.rstrip())
        return f"{self.expectation}: {'holds' if self.holds else 'fails'}{when}: {''.join(parts)}"


def is_verdict(text: str) -> bool:
    """Return whether a text that was logged is that of a verdict, and not of what was done."""
    return bool(_VERDICT.search(text))


Verdicts = tuple[Verdict, ...]
