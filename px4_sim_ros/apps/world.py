"""Runs nodes of the graph in this process: all of them, or those that are named."""
from __future__ import annotations

import argparse
import signal
import sys
import types
import typing

import rclpy
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros import graph
from px4_sim_ros.mavlink.lockstep import StallError
from px4_sim_ros.resources import own_arguments

_SPIN_S = 0.1


def make_executor() -> typing.Any:
    """Return the executor with the shortest way from a publisher to a callback."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor
        return SingleThreadedExecutor()
    return EventsExecutor()


class Stop:
    """Remembers that SIGINT or SIGTERM has come."""

    def __init__(self) -> None:
        """Take over both signals."""
        self.asked = False
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        self.asked = True


def run(names: typing.Sequence[str], ros_arguments: typing.Sequence[str]) -> int:
    """Run nodes until they have all ended or a signal comes; return the exit code."""
    stop = Stop()
    try:
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:      # what rclpy raises for ROS arguments that are wrong
        print(f'world: {error}', file=sys.stderr)
        return 2
    nodes: list[typing.Any] = []
    executor = make_executor()
    try:
        # The manager comes last: it asks the others as soon as it is there.
        for name in sorted(names, key=lambda n: n == 'manager'):
            nodes.append(graph.load(graph.NODES[name].node)(name))
            executor.add_node(nodes[-1])
        while not stop.asked and not all(node.finished for node in nodes):
            executor.spin_once(timeout_sec=_SPIN_S)
    except StallError as error:
        print(f'world: {error}', file=sys.stderr)
        return 1
    finally:
        for node in reversed(nodes):
            if not node.finished and node.get_name() in graph.MANAGED:
                node.trigger_shutdown()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown()
    return max((getattr(node, 'exit_code', 0) for node in nodes), default=0)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='world', description=__doc__)
    parser.add_argument(
        'nodes', nargs='*', metavar='NODE', default=[],
        help=f"which nodes, of {', '.join(graph.NODES)}; all by default")
    options = parser.parse_args(own_arguments(arguments)[0])
    for name in options.nodes:
        if name not in graph.NODES:
            print(f"world: unknown node {name}; nodes are {', '.join(graph.NODES)}",
                  file=sys.stderr)
            return 2
    return run(options.nodes or list(graph.NODES), arguments)


if __name__ == '__main__':
    sys.exit(main())
