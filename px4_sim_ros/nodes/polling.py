"""Takes messages from subscriptions without an executor, whose call for each costs much more."""
from __future__ import annotations

import typing

from rclpy.subscription import Subscription


def taken(subscription: Subscription) -> typing.Iterator[bytes]:
    """Yield the serialised messages that have come since the last time."""
    with subscription.handle:
        while (found := subscription.handle.take_message(subscription.msg_type, True)) is not None:
            yield found[0]


class PollingNode:
    """A node that hears some other nodes when it is asked to look.

    They publish on the same topics as ever, which others may hear as well. Only the executor is
    not told of each message: whoever runs the process looks at its nodes in the order of a step.
    To be inherited from before the class of the node.
    """

    # The nodes that are heard so, as those of the same process; none as long as nobody looks.
    beside: frozenset[str] = frozenset()

    def __init__(self, *arguments: typing.Any, **options: typing.Any) -> None:
        self._looked_at: dict[Subscription, typing.Callable[[bytes], None]] = {}
        super().__init__(*arguments, **options)

    @property
    def subscriptions(self) -> typing.Iterator[Subscription]:
        """Those that the executor looks after."""
        return (s for s in super().subscriptions if s not in self._looked_at)

    def hear(
        self, kind: type, topic: str, publisher: str, callback: typing.Callable[[bytes], None],
        profile: typing.Any,
    ) -> Subscription:
        """Return a subscription to serialised messages of a topic of the graph.

        :param publisher: the node that publishes it
        """
        subscription = self.create_subscription(kind, topic, callback, profile, raw=True)
        if publisher in self.beside:
            self._looked_at[subscription] = callback
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Destroy a subscription."""
        self._looked_at.pop(subscription, None)
        self.destroy_subscription(subscription)

    def look(self) -> bool:
        """Take what has come from nodes of the same process; return whether there was anything."""
        found = False
        for subscription, callback in self._looked_at.items():
            take, kind = subscription.handle.take_message, subscription.msg_type
            while (message := take(kind, True)) is not None:
                found = True
                callback(message[0])
        return found

    def finish(self) -> None:
        """Wait for what was begun; called when all nodes of the process had their look."""
