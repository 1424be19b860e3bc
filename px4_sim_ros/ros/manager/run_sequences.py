# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a run begins, begins again and ends: what the manager does step by step with all nodes."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.ros.manager import sequences
from px4_sim_ros.ros.manager.bring_up import BringUp
from px4_sim_ros.ros.manager.lifecycle_client import Sequence, TransitionError
from px4_sim_ros.ros.manager.supervision import Supervision

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.manager import ManagerNode

_LAST_WORD_S = 0.1


class RunSequences:
    """The sequences that take a run from one phase to the next."""

    def __init__(self, manager: ManagerNode, bring_up: BringUp, supervision: Supervision) -> None:
        self._manager, self._bring_up, self._supervision = manager, bring_up, supervision

    def come_up(self) -> Sequence[None]:
        """Configure and activate all nodes; then take the first step.

        :raises TransitionError: a node does not appear, refuses, or takes too long
        :raises NotAloneError: another node publishes /clock
        """
        manager = self._manager
        manager.publish_status()
        deadline_s = self._startup_deadline_s()
        yield from self._bring_up.begin(deadline_s)
        self._supervision.begin_run()
        manager.lifecycle_state = 'inactive'
        manager.trigger_configure()
        yield from self._start(deadline_s)
        manager.lifecycle_state = 'active'
        manager.trigger_activate()
        manager.get_logger().info('all nodes are active and matched')

    def begin_again(self) -> Sequence[None]:
        """Bring all nodes back to their seeded start; a run of which one refuses is stopped."""
        manager = self._manager
        try:
            yield from self._bring_up.finish_step(self._supervision.is_recorded)
            yield from self._bring_up.rewind()
            manager.control.run += 1
            manager.sim_clock.reset()
            self._supervision.begin_run()
            # The starter of an autopilot starts it again now.
            manager.publish_status()
            yield from self._start(self._startup_deadline_s())
        except TransitionError as error:
            manager.get_logger().error(f'the reset has failed: {error}')
            manager.enter(RunState.STOPPED, f'the reset has failed: {error}')
        else:
            manager.get_logger().info(f'run {manager.control.run} begins at t = 0')

    def take_down(self) -> Sequence[None]:
        """Stop all nodes, then end them; continue after a failure."""
        manager = self._manager
        yield from self._bring_up.finish_step(self._supervision.is_recorded)
        yield from self._bring_up.end(manager.log_failure)
        if manager.lifecycle_state != 'finalized':
            manager.trigger_shutdown()
        manager.publish_last_status()
        # A subscriber loses what it has not read yet when the publisher goes.
        yield from sequences.wait_until(lambda: False, _LAST_WORD_S)
        manager.finished = True

    def _startup_deadline_s(self) -> float:
        return time.monotonic() + self._manager.get_parameter('startup_timeout_s').value

    def _start(self, deadline_s: float) -> Sequence[None]:
        """Activate all nodes and begin at time 0."""
        yield from self._bring_up.start(deadline_s)
        if not self._manager.get_parameter('paused').value:
            self._manager.sim_clock.resume()
        self._manager.enter(RunState.RUNNING)
