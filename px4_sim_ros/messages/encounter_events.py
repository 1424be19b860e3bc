# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the vehicles of a fleet do to each other, as a DiagnosticStatus.

Each time two come near, and at last the least distance of each pair.
"""
from __future__ import annotations

import json

from diagnostic_msgs.msg import DiagnosticStatus

from px4_sim_ros.messages.diagnostic_status import diagnostic_status
from px4_sim_ros.messages.diagnostics import OK, WARN, values_of
from px4_sim_ros.model.encounters import Encounter, Nearest

_NAME = 'encounters'
_ENCOUNTER, _NEAREST = 'encounter', 'nearest'


def encounter_message(encounter: Encounter) -> DiagnosticStatus:
    """Return the message of two vehicles that have come near each other."""
    return diagnostic_status(
        _NAME, WARN, encounter.text, {_ENCOUNTER: json.dumps(encounter)})


def nearest_message(pairs: list[Nearest]) -> DiagnosticStatus:
    """Return the message that the run is over, with the least distances of pairs."""
    return diagnostic_status(_NAME, OK, '', {_NEAREST: json.dumps(pairs)})


def read(message: DiagnosticStatus) -> Encounter | list[Nearest]:
    """Return who has come near whom, or at the end the least distances of pairs."""
    values = values_of(message)
    if _NEAREST in values:
        return [Nearest(*plain) for plain in json.loads(values[_NEAREST])]
    return Encounter(*json.loads(values[_ENCOUNTER]))
