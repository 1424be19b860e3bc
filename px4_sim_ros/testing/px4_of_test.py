# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The PX4 that a test flies, and whether its flights repeat."""
from __future__ import annotations

import typing

import pytest

if typing.TYPE_CHECKING:
    from px4_sim_ros.flight.px4 import Px4

EMBEDDED, PX4 = 'embedded', 'px4'
"""The autopilots; the second one is a marker as well."""
UNREPEATABLE = 'not_repeatable_because'
"""The property of a test, also in JUnit, that says why its flight may be another the next time."""


def px4_of(item: pytest.Item) -> Px4:
    """Return a PX4 that repeats itself, or one on a core of its own where that is not permitted.

    :raises ParameterError: there is none
    """
    from px4_sim_ros.flight.px4 import ONE_CORE, REPEATABLE, Px4
    from px4_sim_ros.model.errors import ParameterError
    px4_dir = item.config.getoption('px4_dir')
    try:
        return Px4.find(px4_dir, REPEATABLE)
    except ParameterError as error:
        px4 = Px4.find(px4_dir, ONE_CORE)
        note_unrepeatable(item, str(error))
        return px4


def note_unrepeatable(item: pytest.Item, reason: str) -> None:
    """Note why a flight may be another the next time; the first reason counts."""
    if reason and UNREPEATABLE not in dict(item.user_properties):
        item.user_properties.append((UNREPEATABLE, reason))


def summary(reports: typing.Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each reason why flights do not repeat, with how many there are."""
    reasons = [dict(report.user_properties).get(UNREPEATABLE) for report in reports
               if report.when == 'call']
    return [f'flights that may be others the next time: {reasons.count(reason)}, because {reason}'
            for reason in dict.fromkeys(filter(None, reasons))]
