# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of the node that has all others in hand: its own states follow theirs."""
from __future__ import annotations

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from px4_sim_ros.ros.framework.lifecycle_node import SoundLifecycleNode


class FollowingLifecycle(SoundLifecycleNode):
    """A node that goes through its transitions by itself.

    Of these only `shutdown` is for others: it takes the whole graph down, as the service
    `sim/stop` does.
    """

    lifecycle_state = 'unconfigured'
    """Where it is, or is about to go by itself."""

    def stop(self, reason: str, *, asked: bool = True) -> None:
        """Take the graph down.

        :param asked: whether somebody has asked for the end of the run
        """
        raise NotImplementedError

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take note that the nodes will be configured; nobody else decides that."""
        return self._if_by_itself('inactive')

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take note that all nodes are active; nobody else decides that."""
        return self._if_by_itself('active')

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refuse: it is never at rest."""
        return self._if_by_itself('unconfigured')

    def _if_by_itself(self, goal: str) -> TransitionCallbackReturn:
        if self.lifecycle_state == goal:
            return TransitionCallbackReturn.SUCCESS
        self.get_logger().error('manager brings itself up; only its shutdown is for others')
        return TransitionCallbackReturn.FAILURE

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Refuse: time stands still with sim/pause."""
        self.get_logger().error('manager cannot be deactivated; use sim/pause or sim/stop')
        return TransitionCallbackReturn.FAILURE

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take the graph down."""
        self.lifecycle_state = 'finalized'
        self.stop('the manager was shut down')
        return TransitionCallbackReturn.SUCCESS
