"""Takes messages from subscriptions without an executor, whose call for each costs much more."""
from __future__ import annotations

import typing

from rclpy.subscription import Subscription


def taken(subscription: Subscription) -> typing.Iterator[bytes]:
    """Yield the serialised messages that have come since the last time."""
    with subscription.handle:
        while (found := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            yield found[0]
