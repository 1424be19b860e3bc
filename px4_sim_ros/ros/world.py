"""Runs nodes of the graph in this process: all of them, or those that are named."""
from __future__ import annotations

import argparse
import math
import signal
import sys
import time
import types
import typing

import rclpy
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.config import node_overrides
from px4_sim_ros.config.resources import own_arguments
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.ros.block_host import BlockHost
from px4_sim_ros.ros.block_node import BlockNode
from px4_sim_ros.ros.graph_node import GraphNode
from px4_sim_ros.ros.step_executor import StepExecutor
from px4_sim_ros.step import graph

_SPIN_S = 0.1
# A graph that hangs is left to itself after this.
_STOP_TIMEOUT_S = 2.5


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


def run(
    names: typing.Sequence[str], ros_arguments: typing.Sequence[str],
    own: typing.Sequence[str] = (),
) -> int:
    """Run nodes until they have all ended or a signal comes; return the exit code.

    :param names: all nodes of the graph when empty
    :param own: classes in place of those of the graph, each `NAME=MODULE:CLASS`
    """
    stop = Stop()
    try:
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:      # what rclpy raises for ROS arguments that are wrong
        print(f'world: {error}', file=sys.stderr)
        return 2
    nodes: list[typing.Any] = []
    executor, host = make_executor(), BlockHost()
    try:
        _make_nodes(names, nodes, own, host)
        for node in nodes:
            executor.add_node(node)
        _spin(StepExecutor(executor, host), nodes, stop)
    except ParameterError as error:
        print(f'world: {error}', file=sys.stderr)
        return 2
    except RunError as error:
        print(f'world: {error}', file=sys.stderr)
        return 1
    finally:
        for node in nodes:
            if isinstance(node, GraphNode) and not node.finished:
                node.trigger_shutdown()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown()
    return max((getattr(node, 'exit_code', 0) for node in nodes), default=0)


def _make_nodes(
    names: typing.Sequence[str], nodes: list[typing.Any], own: typing.Sequence[str],
    host: BlockHost,
) -> None:
    """Make the nodes, the manager last in the list: it asks the others as soon as it runs."""
    def make(name: str, *arguments: str) -> typing.Any:
        return graph.load(graph.spec_of(name).node)(name, host, *arguments)

    manager = [make('manager')] if not names or 'manager' in names else []
    nodes += manager       # ended with the others if one of them cannot be made
    names = names or list(manager[0].configured_graph().nodes)
    classes = node_overrides.parse(own, names)
    nodes[:0] = [make(name, classes.get(name, '')) for name in names if name != 'manager']
    host.add([node for node in nodes if isinstance(node, BlockNode)],
             manager[0].driver if manager else None)


def _spin(executor: typing.Any, nodes: typing.Sequence[typing.Any], stop: Stop) -> None:
    """Run until all nodes have ended; after a signal, a manager takes the graph down first."""
    manager = next((node for node in nodes if node.get_name() == 'manager'), None)
    deadline_s = math.inf
    while not all(node.finished for node in nodes) and time.monotonic() < deadline_s:
        if stop.asked and deadline_s == math.inf:
            if manager is None:
                return
            manager.stop('a signal has come')
            deadline_s = time.monotonic() + _STOP_TIMEOUT_S
        executor.spin_once(timeout_sec=_SPIN_S)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='world', description=__doc__)
    parser.add_argument(
        'nodes', nargs='*', metavar='NODE', default=[],
        help=f"which nodes, of {', '.join(graph.NODES)}; all by default")
    node_overrides.add_argument(parser)
    options = parser.parse_args(own_arguments(arguments)[0])
    for name in options.nodes:
        try:
            graph.spec_of(name)
        except KeyError:
            print(f"world: unknown node {name}; nodes are {', '.join(graph.NODES)}",
                  file=sys.stderr)
            return 2
    return run(options.nodes, arguments, options.node)


if __name__ == '__main__':
    sys.exit(main())
