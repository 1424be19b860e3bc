"""Runs the nodes of a process: those of the step in their order, all else now and then."""
from __future__ import annotations

import time
import typing

from px4_sim_ros.ros.polling import PollingNode

# Of wall time. Services, timers and parameters wait so long at most while steps go on.
_ELSE_EVERY_S = 0.01


class StepExecutor:
    """Looks at nodes in the order of a step, and lets an executor do the rest.

    What a node publishes has come to those of its process when `publish` returns. So nodes that
    are looked at in the order of the graph take a whole step in one round, and nobody has to be
    woken. Those that sleep in most steps come last: what they do then, they do while the
    autopilot works. When one of them is due, what waits for it is done in the next round.
    """

    def __init__(
        self, executor: typing.Any, nodes: typing.Sequence[PollingNode],
    ) -> None:
        """Take over nodes, in the order of the graph.

        :param executor: knows the same nodes
        """
        self._executor = executor
        self._nodes = tuple(nodes)
        self._finishing = [
            node for node in nodes if type(node).finish is not PollingNode.finish]
        names = frozenset(node.get_name() for node in nodes)
        for node in nodes:
            node.beside = names - {node.get_name()}

    def spin_once(self, timeout_sec: float) -> None:
        """Go on with the steps for a while, then do what else there is to do.

        :param timeout_sec: how long to wait when there is nothing
        """
        # Only the executor configures nodes, so the order holds until it is asked again.
        nodes = sorted(self._nodes, key=_skips_steps)
        until_s = time.monotonic() + _ELSE_EVERY_S
        while goes_on := _look(nodes):
            if time.monotonic() > until_s:
                break
            self._finish()
        # All else is done while the autopilot is about a step that was sent, if there is one.
        self._executor.spin_once(timeout_sec=0.0 if goes_on else timeout_sec)
        self._finish()

    def _finish(self) -> None:
        for node in self._finishing:
            node.finish()


def _look(nodes: typing.Iterable[PollingNode]) -> bool:
    """Let all nodes have a look; return whether one of them has found anything."""
    found = False
    for node in nodes:
        found |= node.look()
    return found


def _skips_steps(node: PollingNode) -> bool:
    """Return whether a node has steps in which it does not act; known once it is configured."""
    configuration = getattr(node, 'configuration', None)
    return configuration is not None and node.period_us != configuration.world.step_us
