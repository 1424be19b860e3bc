# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""That a vehicle joins the world or has left it, as a DiagnosticStatus."""
from __future__ import annotations

import json

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.messages.diagnostic_status import diagnostic_status
from px4_sim_ros.messages.diagnostics import OK, values_of
from px4_sim_ros.step.attendance import Change

_CHANGE, _RUN = 'change', 'run'


def change_message(change: Change, run: int) -> DiagnosticStatus:
    """Return the message of a change.

    :param run: how many times time has begun at 0
    """
    return diagnostic_status(change.vehicle, OK, change.text, {
        _CHANGE: json.dumps(change), _RUN: str(run)})


def read(message: DiagnosticStatus) -> tuple[Change, int]:
    """Return a change, and in which run it was."""
    values = values_of(message)
    return Change(*json.loads(values[_CHANGE])), int(values[_RUN])
