# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a scenario reports, as a DiagnosticStatus: what it has done, and at last its verdicts."""
from __future__ import annotations

import json

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.messages.diagnostic_status import diagnostic_status
from px4_sim_ros.messages.diagnostics import ERROR, OK, values_of
from px4_sim_ros.model.scenario.happening import Happening, Verdict, Verdicts

_NAME = 'scenario'
_TIME, _RESTARTS, _VERDICTS = 'time_us', 'restarts', 'verdicts'


def happening_message(happening: Happening) -> DiagnosticStatus:
    """Return the message of something that a scenario has done."""
    return diagnostic_status(_NAME, OK, happening.text, {
        _TIME: str(happening.time_us), **({_RESTARTS: 'true'} if happening.restarts else {})})


def over_message(verdicts: Verdicts) -> DiagnosticStatus:
    """Return the message that a scenario is over, with what has become of the expectations."""
    failed = [verdict.text for verdict in verdicts if not verdict.holds]
    return diagnostic_status(_NAME, ERROR if failed else OK, '; '.join(failed), {
        _VERDICTS: json.dumps([verdict._asdict() for verdict in verdicts])})


def read(message: DiagnosticStatus) -> Happening | Verdicts:
    """Return what was done, or the verdicts at the end."""
    values = values_of(message)
    if _VERDICTS in values:
        return tuple(Verdict(**plain) for plain in json.loads(values[_VERDICTS]))
    return Happening(int(values[_TIME]), message.message, _RESTARTS in values)
