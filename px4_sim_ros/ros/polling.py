"""Takes messages from subscriptions without an executor, whose call for each costs much more."""
from __future__ import annotations

import functools
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
        # By topic: the subscription, what takes a message from it, and who is given it.
        self._looked_at: dict[str, tuple[Subscription, typing.Any, typing.Any]] = {}
        super().__init__(*arguments, **options)

    @property
    def subscriptions(self) -> typing.Iterator[Subscription]:
        """Those that the executor looks after."""
        looked_at = [subscription for subscription, _, _ in self._looked_at.values()]
        return (s for s in super().subscriptions if s not in looked_at)

    def hear(
        self, kind: type, topic: str, publisher: str, callback: typing.Callable[[bytes], None],
        profile: typing.Any,
    ) -> Subscription:
        """Return a subscription to serialised messages of a topic of the graph.

        :param publisher: the node that publishes it
        """
        subscription = self.create_subscription(kind, topic, callback, profile, raw=True)
        if publisher in self.beside:
            take = functools.partial(subscription.handle.take_message, kind, True)
            self._looked_at[topic] = subscription, take, callback
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Destroy a subscription."""
        self._looked_at = {topic: looked_at for topic, looked_at in self._looked_at.items()
                           if looked_at[0] is not subscription}
        self.destroy_subscription(subscription)

    def awaited(self) -> typing.Iterable[str]:
        """Return the topics to look at: to look where there is nothing takes time as well."""
        return self._looked_at

    def look(self) -> bool:
        """Take the next message of each topic that is awaited; return whether there was one.

        In lockstep there is seldom a second one, and to look for it in vain takes a third of what
        a message takes. If there is one, it is taken in the next round.
        """
        found = False
        for topic in tuple(self.awaited()):
            if topic in self._looked_at:
                _, take, callback = self._looked_at[topic]
                message = take()
                if message is not None:
                    found = True
                    callback(message[0])
        return found

    def finish(self) -> None:
        """Wait for what was begun; called when all nodes of the process had their look."""
