# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs nodes of the graph in this process: all of them, or those that are named."""
from __future__ import annotations

from px4_sim_ros.process import gc_control, signal_mask

if __name__ == '__main__':
    signal_mask.end_while_importing()
    gc_control.hold()           # before what takes long to import

import argparse
import contextlib
import functools
import math
import pathlib
import sys
import time
import typing

import rclpy

from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.process import domain_claim, leaving, signals
from px4_sim_ros.px4.shared_core import SharedCore, shared_core_of
from px4_sim_ros.ros.framework.block_host import BlockHost, HangReport, StepExecutor
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.framework.graph_node import GraphNode
from px4_sim_ros.ros.framework.session import initialise, make_executor
from px4_sim_ros.spec import node_overrides
from px4_sim_ros.spec.resources import own_arguments
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph_vehicles import WORLD_NODES, managed, presences_of
from px4_sim_ros.step.hang_watch import HangWatch

if typing.TYPE_CHECKING:
    from px4_sim_ros.recording.bag.fleet_description import FleetDescription
    from px4_sim_ros.recording.bag.run_description import RunDescription
    from px4_sim_ros.ros.manager.manager import ManagerNode

_SPIN_S = 0.1
# A graph that hangs is left to itself after this.
_STOP_TIMEOUT_S = 2.5


def run(
    names: typing.Sequence[str], ros_arguments: typing.Sequence[str],
    own: typing.Sequence[str] = (), file: pathlib.Path | None = None,
) -> int:
    """Run nodes until they have all ended or a signal comes; return the exit code.

    :param names: all nodes of the graph when empty; of a fleet vehicles, each with all its nodes,
        and the nodes that it has once
    :param own: classes in place of those of the graph, each `NAME=MODULE:CLASS`
    :param file: describes what is flown; None: the parameters do
    """
    stop = signals.Stop()
    held = contextlib.ExitStack()
    try:
        if not names or 'manager' in names:
            held = domain_claim.claim(domain_claim.CLOCK)
        initialise(ros_arguments)
        described = None if file is None else _read(file)
    except ParameterError as error:
        print(f'world: {error}', file=sys.stderr)
        return 2
    nodes: list[typing.Any] = []
    executor = make_executor()
    host = _host(described)
    try:
        make = functools.partial(_make, stop, host)
        fleet = _fleet(described)
        manager = (_make_nodes(names, nodes, own, host, make) if fleet is None
                   else _make_fleet(names, nodes, own, host, make, fleet))
        for node in nodes:
            executor.add_node(node)
        gc_control.release()
        with contextlib.closing(HangWatch(host.runner, HangReport(host, manager, stop))):
            _spin(StepExecutor(executor, host), nodes, manager, stop)
    except signals.Interrupted:
        return 0               # there is no graph yet
    except ParameterError as error:
        print(f'world: {error}', file=sys.stderr)
        return 2
    except RunError as error:
        print(f'world: {error}', file=sys.stderr)
        return 1
    finally:
        signals.ignore()
        for node in nodes:
            if isinstance(node, GraphNode) and not node.finished:
                node.trigger_shutdown()
        executor.shutdown()
        for node in nodes:
            leaving.at_the_end(node.destroy_node)
        leaving.at_the_end(rclpy.shutdown)
        leaving.at_the_end(held.close)
    return max((getattr(node, 'exit_code', 0) for node in nodes), default=0)


def _read(file: pathlib.Path) -> FleetDescription | RunDescription:
    # Without a file it is not needed.
    from px4_sim_ros.recording.bag.fleet_description import read_run_file
    return read_run_file(file)


def _host(described: FleetDescription | RunDescription | None) -> BlockHost:
    if described is None:
        return BlockHost()
    files = {name: run.files() for name, run in described.members.items()}
    fleet = _fleet(described)
    return BlockHost(files=files) if fleet is None else BlockHost(
        SharedCore(shared_core_of(fleet.core_instance)), presences_of(fleet.vehicles), files)


def _fleet(described: FleetDescription | RunDescription | None) -> FleetDescription | None:
    """Return the description of several vehicles, None for one alone."""
    if described is None:
        return None
    from px4_sim_ros.recording.bag.fleet_description import FleetDescription
    return described if isinstance(described, FleetDescription) else None


def _make(
    stop: signals.Stop, host: BlockHost, name: str, *arguments: typing.Any,
) -> typing.Any:
    """Return a node of the graph."""
    if stop.asked:
        raise signals.Interrupted(stop.number)
    return graph.load(graph.spec_of(name).node)(name, host, *arguments)


def _make_nodes(
    names: typing.Sequence[str], nodes: list[typing.Any], own: typing.Sequence[str],
    host: BlockHost, make: typing.Callable[..., typing.Any],
) -> ManagerNode | None:
    """Make the nodes, the manager last in the list: it asks the others as soon as it runs."""
    manager: typing.Any = None
    if not names or 'manager' in names:
        manager = make('manager')
        nodes.append(manager)
        names = names or list(manager.configured_graph().nodes)
    classes = node_overrides.parse(own, names)
    _put_in_front(nodes, (
        make(name, classes.get(name, '')) for name in names if name != 'manager'))
    host.add([node for node in nodes if isinstance(node, BlockNode)],
             manager.driver if manager else None)
    return manager


def _make_fleet(
    names: typing.Sequence[str], nodes: list[typing.Any], own: typing.Sequence[str],
    host: BlockHost, make: typing.Callable[..., typing.Any], described: FleetDescription,
) -> ManagerNode | None:
    """Make the nodes of several vehicles, as `_make_nodes` does."""
    vehicles = described.vehicles
    has_recorder = 'recorder' in managed(vehicles)
    names = names or ['manager', *(v.vehicle for v in vehicles), *['recorder'] * has_recorder]
    manager: typing.Any = None
    if 'manager' in names:
        manager = make('manager', vehicles, described.encounters())
        nodes.append(manager)
    for member in vehicles:
        if member.vehicle in names:
            classes = node_overrides.parse(own, member.graph.nodes)
            _put_in_front(nodes, (make(name, classes.get(name, ''), member.vehicle)
                                  for name in member.nodes))
    if 'recorder' in names:
        nodes[:0] = [make('recorder')]
    host.add([node for node in nodes if isinstance(node, BlockNode)],
             manager.driver if manager else None)
    return manager


def _put_in_front(nodes: list[typing.Any], made: typing.Iterable[typing.Any]) -> None:
    """Put nodes in front as they are made, so that none is lost if one of them cannot be."""
    for at, node in enumerate(made):
        nodes.insert(at, node)


def _spin(
    executor: typing.Any, nodes: typing.Sequence[typing.Any], manager: ManagerNode | None,
    stop: signals.Stop,
) -> None:
    """Run until all nodes have ended; after a signal, a manager takes the graph down first."""
    deadline_s = math.inf
    # The manager is the last to end; a node that is left has the name of one of another graph.
    awaited = nodes if manager is None else [manager]
    while not all(node.finished for node in awaited) and time.monotonic() < deadline_s:
        if stop.asked and deadline_s == math.inf:
            if manager is None:
                return
            manager.stop('a signal was received', asked=False)
            deadline_s = time.monotonic() + _STOP_TIMEOUT_S
        executor.spin_once(timeout_sec=_SPIN_S)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Run from the command line."""
    if arguments is None:
        return leaving.run(lambda: main(sys.argv[1:]))
    parser = argparse.ArgumentParser(prog='world', description=__doc__)
    parser.add_argument(
        'nodes', nargs='*', metavar='NODE', default=[],
        help=f"which nodes, of {', '.join(graph.NODES)}; all by default")
    parser.add_argument('--run', type=pathlib.Path, metavar='FILE',
                        help='what is flown, as recordings carry it; of several vehicles NODE is'
                        f" one of them, or {' or '.join(WORLD_NODES)}")
    node_overrides.add_argument(parser)
    options = parser.parse_args(own_arguments(arguments))
    for name in options.nodes if options.run is None else ():
        if not graph.is_node(name):
            print(f"world: unknown node {name}; nodes are {', '.join(graph.NODES)}",
                  file=sys.stderr)
            return 2
    return run(options.nodes, arguments, options.node, options.run)


if __name__ == '__main__':
    leaving.end(main())
