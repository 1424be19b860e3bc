# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a scenario reports: what it has done, and what has become of its expectations."""
from __future__ import annotations

import re
import typing

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
    margin: float | None           # how far from failing, below 0 when it failed; None: yes or no
    unit: str
    time_us: int | None            # when it failed, or was nearest to it, or came true
    found: str                     # what was found then

    @property
    def text(self) -> str:
        """The verdict as one sentence."""
        when = '' if self.time_us is None else f' at t = {seconds_text(self.time_us)}'
        margin = '' if self.margin is None else f', margin {self.margin:.4g} {self.unit}'.rstrip()
        return (f"{self.expectation}: {'holds' if self.holds else 'fails'}{when}: {self.found}"
                f'{margin}')


def is_verdict(text: str) -> bool:
    """Return whether a text that was logged is that of a verdict, and not of what was done."""
    return bool(_VERDICT.search(text))


Verdicts = tuple[Verdict, ...]
