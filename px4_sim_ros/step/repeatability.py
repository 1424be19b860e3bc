# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a flight comes out the same when it is flown again: its fingerprint, and what forbids it.

Blocks report both among the values of their status, and the manager what it has noticed.
"""
from __future__ import annotations

import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.step.graph import TOPICS_OF_PX4

FINGERPRINT = 'fingerprint'
"""The key of a digest of all commands, winds and states of a run, among what dynamics reports."""
FLOWN = 'flown'
"""The key that says whether the mission was flown to its end, among what the pilot reports."""
OVER_US = 'over_us'
"""The key of the simulated time at which the mission was over, among what the pilot reports.

Dynamics reports it as well if time runs on: the fingerprint is that of the flight up to then."""
_GAP, _GAP_US = 'gap', 'gap_us'

Values = typing.Mapping[str, object]


class NonRepeatability(typing.NamedTuple):
    """An event that may differ, or fall into another step, when the run is repeated."""

    time_us: int       # simulated
    sentence: str

    def values(self) -> dict[str, object]:
        """Return the report of the block that has noticed it."""
        return {_GAP: self.sentence, _GAP_US: self.time_us}

    @classmethod
    def of(cls, values: Values) -> NonRepeatability | None:
        """Read what a block or the manager reports, None if it has noticed nothing."""
        return cls(int(str(values[_GAP_US])), str(values[_GAP])) if _GAP in values else None


def first_gap(values: typing.Iterable[Values]) -> str:
    """Return the first gap that blocks report, with its time, '' for none.

    What comes when the flight of the fingerprint is over does not matter for it.
    """
    values = list(values)
    ends_us = [int(str(v[OVER_US])) for v in values if FINGERPRINT in v and OVER_US in v]
    gaps = [gap for gap in map(NonRepeatability.of, values)
            if gap is not None and all(gap.time_us <= end_us for end_us in ends_us)]
    if not gaps:
        return ''
    first = min(gaps)
    return f't = {seconds_text(first.time_us)}: {first.sentence}'


def gap_of_strangers(autopilot: str, nodes: typing.Container[str]) -> str:
    """Return why it is not known who flies a PX4: nothing in the step does; '' if it is known."""
    if autopilot != 'px4' or 'pilot' in nodes or TOPICS_OF_PX4 in nodes:
        return ''
    return 'no node of the step flies PX4, and a program beside it may'


def unrepeatable_because(
    autopilot: str, shares_core: bool, is_flown: bool, gap: str, fingerprint: str,
) -> str:
    """Return why another flight may have another fingerprint, '' if none may.

    :param autopilot: `embedded`, `px4` or `none`
    :param shares_core: the step and PX4 are on one core, where PX4 goes first
    :param is_flown: the flight has ended with its mission
    :param gap: what `first_gap` has found
    """
    if not is_flown:
        return 'no mission was flown to its end'
    if autopilot not in ('embedded', 'px4'):
        return 'the autopilot was started elsewhere'
    if autopilot == 'px4' and not shares_core:
        return 'PX4 does not run with the schedule repeatable'
    return gap or ('' if fingerprint else 'the fingerprint was lost')
