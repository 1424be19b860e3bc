# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Requests for transitions that the state of a node does not have."""
from __future__ import annotations

import typing

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle.node import _rclpy


def reject_invalid_transitions(node: LifecycleNode) -> None:
    """Let a node reject transitions that its state does not have: rclpy would end the process."""
    service: typing.Any = node._service_change_state
    change = service.callback

    def change_or_reject(
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

    service.callback = change_or_reject
