# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions whose messages are taken without the executor, whose call for each costs more."""
from __future__ import annotations

import typing

from rclpy.node import Node
from rclpy.subscription import Subscription


def taken(subscription: Subscription) -> typing.Iterator[bytes]:
    """Yield the serialised messages that have come since the last time."""
    with subscription.handle:
        while (found := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            yield found[0]


class PollingNode(Node):
    """A node with subscriptions that the executor does not look after: see `taken`.

    To be inherited from before any other class of node.
    """

    def __init__(self, *arguments: typing.Any, **options: typing.Any) -> None:
        self._polled: list[Subscription] = []
        super().__init__(*arguments, **options)

    @property
    def subscriptions(self) -> typing.Iterator[Subscription]:
        """Those that the executor looks after."""
        return (s for s in super().subscriptions if s not in self._polled)

    def create_polled_subscription(
        self, kind: type, topic: str, profile: typing.Any,
    ) -> Subscription:
        """Return a subscription to serialised messages."""
        subscription = self.create_subscription(
            kind, topic, lambda message: None, profile, raw=True)
        self._polled.append(subscription)
        return subscription
