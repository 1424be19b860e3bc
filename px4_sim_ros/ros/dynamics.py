# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `dynamics`: as the first that waits for the clock it is the one to miss the manager."""
from __future__ import annotations

import typing

from px4_sim_ros.config.compile_ahead import compile_motion
from px4_sim_ros.ros.block_node import BlockNode
from px4_sim_ros.ros.manager_watch import ManagerWatch


class DynamicsNode(BlockNode):
    """The face of the block that moves the vehicle."""

    def __init__(self, *arguments: typing.Any) -> None:
        # Before it appears: from then on it is asked, and has to answer.
        compile_motion()
        super().__init__(*arguments)
        self._watch = ManagerWatch(self, lambda: self.slot.last_us if self.slot else 0)
