# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions and services that are asked for what has come, without the executor.

Its call for each message costs more, and it wants the answer to a request at once.
"""
from __future__ import annotations

import typing

from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription


def taken(subscription: Subscription) -> typing.Iterator[bytes]:
    """Yield the serialised messages that have come since the last time."""
    with subscription.handle:
        while (found := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            yield found[0]


def requests(service: typing.Any) -> typing.Iterator[tuple[typing.Any, typing.Any]]:
    """Yield the requests that have come since the last time, each with where its answer goes."""
    while True:
        with service.handle:
            request, header = service.handle.service_take_request(service.srv_type.Request)
        if header is None:
            return
        yield request, header


class PollingNode(Node):
    """A node with subscriptions and services that the executor does not look after.

    See `taken` and `requests`.

    To be inherited from before any other class of node.
    """

    def __init__(self, *arguments: typing.Any, **options: typing.Any) -> None:
        self._polled: list[Subscription | Service] = []
        super().__init__(*arguments, **options)

    @property
    def subscriptions(self) -> typing.Iterator[Subscription]:
        """Those that the executor looks after."""
        return (s for s in super().subscriptions if s not in self._polled)

    @property
    def services(self) -> typing.Iterator[Service]:
        """Those that the executor looks after."""
        return (s for s in super().services if s not in self._polled)

    def create_polled_service(self, kind: type, name: str) -> Service:
        """Return a service whose answers may come later: `send_response` sends them."""
        service = self.create_service(kind, name, lambda request, response: response)
        self._polled.append(service)
        return service

    def create_polled_subscription(
        self, kind: type, topic: str, profile: typing.Any, **options: typing.Any,
    ) -> Subscription:
        """Return a subscription to serialised messages."""
        subscription = self.create_subscription(
            kind, topic, lambda message: None, profile, raw=True, **options)
        self._polled.append(subscription)
        return subscription
