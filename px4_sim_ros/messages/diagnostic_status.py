# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a DiagnosticStatus is made; `diagnostics` reads them."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue


def diagnostic_status(
    name: str, level: int, text: str, values: typing.Mapping[str, object], hardware_id: str = '',
) -> DiagnosticStatus:
    """Return a DiagnosticStatus of this name; values are written by `str`."""
    return DiagnosticStatus(
        level=bytes([level]), name=name, hardware_id=hardware_id, message=text,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])
