# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Services that answer when it is done what they were asked for; their node goes on meanwhile."""
from __future__ import annotations

import typing

from rclpy.service import Service

from px4_sim_ros.ros.framework.polling import PollingNode, requests
from px4_sim_ros.ros.framework.wall_timer import create_wall_timer
from px4_sim_ros.ros.manager.lifecycle_client import Sequence

# Of wall time: so late a request may be seen, and its end.
_PERIOD_S = 0.02

Handler = typing.Callable[[typing.Any, typing.Any], Sequence[None]]


class _Call(typing.NamedTuple):
    """A request that is under way."""

    sequence: Sequence[None]
    service: Service
    response: typing.Any
    header: typing.Any


class LongServices:
    """Each request is a sequence, which is advanced now and then and fills in the response."""

    def __init__(self, node: PollingNode) -> None:
        """Begin without services."""
        self._node = node
        self._handlers: list[tuple[Service, Handler]] = []
        self._calls: list[_Call] = []
        self._timer = create_wall_timer(node, _PERIOD_S, self._tick)

    def offer(self, kind: type, name: str, handler: Handler) -> None:
        """Offer a service.

        :param handler: given a request and its response, returns a sequence that waits by
            yielding None
        """
        self._handlers.append((self._node.create_polled_service(kind, name), handler))

    def _tick(self) -> None:
        for service, handler in self._handlers:
            for request, header in requests(service):
                response = _new_response(service)
                self._calls.append(_Call(handler(request, response), service, response, header))
        self._calls = [call for call in self._calls if not _is_answered(call)]


def _new_response(service: typing.Any) -> typing.Any:
    return service.srv_type.Response()


def _is_answered(call: _Call) -> bool:
    """Advance a call; return whether that was its end."""
    for _ in call.sequence:
        return False
    call.service.send_response(call.response, call.header)
    return True
