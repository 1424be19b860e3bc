"""Requests for transitions that do not fit the state that a node is in."""
from __future__ import annotations

import typing

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle.node import _rclpy


def refuse_misfits(node: LifecycleNode) -> None:
    """Let a node refuse what does not fit its state: rclpy would end the whole process."""
    service: typing.Any = node._service_change_state
    change = service.callback

    def change_or_refuse(
        request: ChangeState.Request, response: ChangeState.Response,
    ) -> ChangeState.Response:
        try:
            return change(request, response)
        except _rclpy.RCLError:
            node.get_logger().error(
                f'transition {request.transition.id} {request.transition.label} does not fit the'
                ' state')
            response.success = False
            return response

    service.callback = change_or_refuse
