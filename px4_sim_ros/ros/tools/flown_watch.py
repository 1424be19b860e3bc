# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a flight, printed once when its mission is flown and time runs on."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from px4_sim_ros.messages.diagnostics import node_name, values_of
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.repeatability import (
    FINGERPRINT,
    FLOWN,
    OVER_US,
    first_gap,
    unrepeatable_because,
)

_WHO_KNOWS = 'dynamics', 'pilot', 'hil_bridge', 'manager'


class FlownWatch:
    """Follows what the nodes of a graph say about themselves, up to the end of the mission."""

    def __init__(self, node: Node, autopilot: str, shares_core: bool) -> None:
        self._namespace = node.get_namespace()
        self._autopilot, self._shares_core = autopilot, shares_core
        self._subscription = node.create_subscription(
            DiagnosticArray, side_topics.DIAGNOSTICS.name, self._take, qos.DEEP)
        self.reset()

    def reset(self) -> None:
        """Begin again: the mission does, too."""
        self._last: dict[str, tuple[int, dict[str, str]]] = {}
        self._is_reported = False

    def _take(self, message: typing.Any) -> None:
        for status in message.status:
            self._last[node_name(self._namespace, status.name)] = (
                stamp_us(message.header.stamp), values_of(status))

    def news(self) -> str:
        """Return which flight it was, once, when all that is about it has come; '' before."""
        if self._is_reported or not self._last.keys() >= set(_WHO_KNOWS):
            return ''
        dynamics, pilot = (self._last[name][1] for name in _WHO_KNOWS[:2])
        # The pilot knows some steps before it tells when that was.
        is_flown = dynamics.get(FLOWN) == pilot.get(FLOWN) == 'True' and OVER_US in pilot
        if not is_flown or any(
                self._last[name][0] < int(pilot[OVER_US]) for name in _WHO_KNOWS):
            return ''
        self._is_reported = True
        why_not = unrepeatable_because(
            self._autopilot, self._shares_core, True,
            first_gap(self._last[name][1] for name in _WHO_KNOWS), dynamics[FINGERPRINT])
        other = f'another flight may have another one: {why_not}' if why_not else (
            'another flight has the same')
        return f'the mission is flown: fingerprint {dynamics[FINGERPRINT]}; {other}'
