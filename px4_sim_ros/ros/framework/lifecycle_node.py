# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""rclpy's node with a lifecycle, with what would end or hang the process mended."""
from __future__ import annotations

import typing

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Log
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.node import _rclpy
from rclpy.publisher import Publisher

from px4_sim_ros.messages.autopilot import line
from px4_sim_ros.model.errors import printable
from px4_sim_ros.model.timebase import timed
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.step import side_topics

# What nodes log has the simulated time in front, and as its stamp on `/rosout`.
#
# ROS itself stamps by the wall clock, so it publishes none of it.


class TimedLogger:
    """A node's logger whose sentences have the simulated time."""

    def __init__(
        self, logger: typing.Any, time_us: typing.Callable[[], int], publisher: Publisher | None,
    ) -> None:
        self._logger, self._time_us, self._publisher = logger, time_us, publisher

    # Each on a line of its own: rclpy refuses another severity from the same one.

    def info(self, text: str) -> None:
        """Log what is as it should be."""
        self._logger.info(self._line(text, Log.INFO))

    def warning(self, text: str) -> None:
        """Log what the user should know."""
        self._logger.warning(self._line(text, Log.WARN))

    def error(self, text: str) -> None:
        """Log what has failed."""
        self._logger.error(self._line(text, Log.ERROR))

    def print(self, text: str) -> None:
        """Log what is published already, at the level INFO."""
        self._logger.info(printable(timed(text, self._time_us())))

    def _line(self, text: str, level: int) -> str:
        """Return a sentence as it is logged; publish it if the logger logs it."""
        time_us = self._time_us()
        text = printable(timed(text, time_us))
        if self._publisher is not None and self._logger.is_enabled_for(level):
            self._publisher.publish(line(time_us, self._logger.name, text, level))
        return text

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self._logger, name)


class StrictLifecycleNode(LifecycleNode):
    """Rejects transitions that its state does not have, and has gone when it is destroyed.

    It publishes on `/rosout` itself, with simulated time: see `TimedLogger`.

    Where rclpy rejects them itself, as it does after 7.1, nothing is left to reject here.
    """

    log_publisher: Publisher | None = None

    def __init__(self, name: str, **options: typing.Any) -> None:
        super().__init__(name, enable_rosout=False, **options)
        self.log_publisher = self.create_publisher(Log, side_topics.LOG.name, qos.LATCHED_LOG)
        service: typing.Any = self._service_change_state
        self._change = service.callback
        service.callback = self._change_or_reject

    def _change_or_reject(
        self, request: ChangeState.Request, response: ChangeState.Response,
    ) -> ChangeState.Response:
        try:
            return self._change(request, response)
        except _rclpy.RCLError:      # it would end the process
            self.get_logger().error(
                f'transition {request.transition.id} {request.transition.label} does not fit the'
                ' state')
            response.success = False
            return response

    def destroy_node(self) -> None:
        """Destroy the node and its state machine, which would keep it until Python collects it.

        Its DDS participant would be left to the destructors at the end of the process, where
        Fast DDS now and then hangs or crashes.
        """
        self.log_publisher = None
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def publish_line(self, time_us: int, text: str, who: str = '') -> None:
        """Publish an event on `/rosout`, whatever the level of the log."""
        if self.log_publisher is not None:
            self.log_publisher.publish(line(time_us, who or self.get_logger().name, text))


class FollowingLifecycle(StrictLifecycleNode):
    """A node that goes through its transitions by itself.

    Of these only `shutdown` is for others: it takes the whole graph down, as the service
    `sim/stop` does.
    """

    lifecycle_state = 'unconfigured'
    """Where it is, or is about to go by itself."""

    def stop(self, reason: str, *, asked: bool = True) -> None:
        """Take the graph down."""
        raise NotImplementedError

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Record that the nodes will be configured; this process alone decides that."""
        return self._if_by_itself('inactive')

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Record that all nodes are active; this process alone decides that."""
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
