# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""rclpy's node with a lifecycle, with what would end or hang the process mended."""
from __future__ import annotations

import typing

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle.node import _rclpy


class SoundLifecycleNode(LifecycleNode):
    """Rejects transitions that its state does not have, and has gone when it is destroyed.

    Where rclpy rejects them itself, as it does after 7.1, nothing is left to reject here.
    """

    def __init__(self, name: str, **options: typing.Any) -> None:
        super().__init__(name, **options)
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
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()
