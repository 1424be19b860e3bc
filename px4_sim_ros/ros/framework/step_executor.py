# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs a process of the graph: its blocks step by step, and all else now and then."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.ros.framework.block_host import BlockHost

# Of wall time. A subscriber that joins is seen so soon.
_REFRESHED_EVERY_S = 0.005


class StepExecutor:
    """Lets the runner go on as far as it can, then an executor do what else there is."""

    def __init__(self, executor: typing.Any, host: BlockHost) -> None:
        """Take over.

        :param executor: knows the nodes of the process
        """
        self._executor, self._host = executor, host
        self._refreshed_s = 0.0

    def spin_once(self, timeout_sec: float) -> None:
        """Go on with the steps for a while, then do what else there is to do.

        :param timeout_sec: how long to wait when there is nothing
        """
        self._executor.spin_once(timeout_sec=0.0 if self._host.go_on() else timeout_sec)
        now_s = time.monotonic()
        if now_s - self._refreshed_s > _REFRESHED_EVERY_S:
            self._refreshed_s = now_s
            self._host.refresh()
