# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""rclpy's node with a lifecycle, with what would end or hang the process mended."""
from __future__ import annotations

import typing

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Log
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle.node import _rclpy
from rclpy.publisher import Publisher

from px4_sim_ros.messages.autopilot import line
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.step import side_topics


class SoundLifecycleNode(LifecycleNode):
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
        """Publish an event on `/rosout`, where recordings have it, whatever the level of the log.

        :param who: the name of its logger; '': that of the node
        """
        if self.log_publisher is not None:
            self.log_publisher.publish(line(time_us, who or self.get_logger().name, text))
