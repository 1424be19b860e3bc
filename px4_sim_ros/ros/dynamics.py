# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `dynamics`: as the first that waits for the clock it is the one to miss the manager."""
from __future__ import annotations

import typing

from px4_sim_ros.config.compile_ahead import compile_motion
from px4_sim_ros.ros.block_node import BlockNode
from px4_sim_ros.ros.manager_watch import ManagerWatch
from px4_sim_ros.step.repeatability import FINGERPRINT


class DynamicsNode(BlockNode):
    """The face of the block that moves the vehicle."""

    def __init__(self, *arguments: typing.Any) -> None:
        # Before it appears: from then on it is asked, and has to answer.
        compile_motion()
        super().__init__(*arguments)
        self._flown = ''               # the fingerprint of a mission that is over, if others fly on
        self._watch = ManagerWatch(
            self, lambda: self.slot.last_us if self.slot else 0, of_fleet=bool(self.vehicle))

    def activate(self) -> None:
        """Begin with the state of time 0."""
        self._flown = ''
        super().activate()

    def note_flown(self) -> None:
        """Let the fingerprint be that of the flight up to now."""
        # A class of the user's may have none.
        self._flown = getattr(self.block, FINGERPRINT, '')

    def status(self) -> tuple[bytes, str, typing.Mapping[str, object]]:
        """Return what the block reports."""
        level, sentence, values = super().status()
        if self._flown and FINGERPRINT in values:
            values = {**values, FINGERPRINT: self._flown}
        return level, sentence, values
