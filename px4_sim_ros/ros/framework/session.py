# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""This process as a participant in ROS: joining, a node of its own, being stopped, leaving."""
from __future__ import annotations

import contextlib
import functools
import importlib
import os
import typing
import warnings

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidNamespaceException
from rclpy.logging import get_logging_directory
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.timer import Timer

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import leaving, signals
from px4_sim_ros.spec.ros_environment import ros_environment


def create_wall_timer(node: Node, period_s: float, callback: typing.Callable[[], None]) -> Timer:
    """Return a timer that a change of the system's time does not disturb."""
    return node.create_timer(
        period_s, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


@functools.cache
def message_class(name: str) -> type:
    """Return the class of `package/msg/Name`."""
    package, kind, cls = name.split('/')
    return getattr(importlib.import_module(f'{package}.{kind}'), cls)


# Added to the niceness of processes that only observe: the flight comes first where there are
# few cores.
OBSERVER_NICENESS = 10


def initialise(arguments: typing.Sequence[str]) -> None:
    """Initialise ROS; signal handlers stay as they are.

    :param arguments: `--ros-args` and what follows
    """
    try:
        with signals.held_back():
            get_logging_directory().mkdir(parents=True, exist_ok=True)
            rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
            # To a client that has gone; one that still waits asks again.
            warnings.filterwarnings(
                'ignore', r'failed to send response \(timeout\)', RuntimeWarning)
    except OSError as error:
        raise ParameterError(f'{get_logging_directory()}: ROS cannot write its logs there:'
                             f' {error.strerror}; set ROS_LOG_DIR to another folder') from error
    except RuntimeError as error:
        raise ParameterError(str(error)) from error


@contextlib.contextmanager
def ros_session(arguments: typing.Sequence[str] = ()) -> typing.Iterator[None]:
    """Initialise ROS with the discovery settings of the graph, and shut it down at the end."""
    os.environ.update(ros_environment())
    initialise(arguments)
    try:
        yield
    finally:
        leaving.at_the_end(rclpy.shutdown)


@contextlib.contextmanager
def ros_node(
    name: str, arguments: typing.Sequence[str] = (), namespace: str = '',
) -> typing.Iterator[Node]:
    with ros_session(arguments):
        try:
            with signals.held_back():      # what rclpy has made by half complains when deleted
                rclpy.get_global_executor()
                node = rclpy.create_node(name, namespace=namespace)
        except InvalidNamespaceException:
            raise ParameterError(
                f'namespace {namespace!r}: must be a ROS namespace such as uav1') from None
        try:
            yield node
        finally:
            leaving.at_the_end(node.destroy_node)


def spin_once(node: Node, timeout_s: float) -> None:
    """Call the callback that is ready first, waiting for it up to a time."""
    rclpy.spin_once(node, timeout_sec=timeout_s)


def make_executor() -> typing.Any:
    """Return the executor with the shortest way from a publisher to a callback."""
    try:
        from rclpy.experimental import EventsExecutor
    except ModuleNotFoundError:      # an interrupted import is another ImportError
        from rclpy.executors import SingleThreadedExecutor
        return SingleThreadedExecutor()
    return EventsExecutor()
