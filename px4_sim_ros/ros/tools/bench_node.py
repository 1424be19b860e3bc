# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ROS part of the benchmark: the middleware alone."""
from __future__ import annotations

import contextlib
import functools
import time
import typing

import rclpy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.message_types import message_class
from px4_sim_ros.ros.framework.polling import taken
from px4_sim_ros.ros.framework.session import make_executor

_MATCH_TIMEOUT_S = 5.0
_ARRIVAL_TIMEOUT_S = 2.0
_SPIN_S = 0.1


def deserialiser(type_name: str) -> typing.Callable[[bytes], typing.Any]:
    """Return what turns bytes into a message of `package/msg/Name`."""
    return functools.partial(deserialize_message, message_type=message_class(type_name))


@contextlib.contextmanager
def polled_hop(data: bytes) -> typing.Iterator[typing.Callable[[], None]]:
    """Yield what publishes a serialised Imu and polls a subscription until it is there."""
    node = rclpy.create_node('unit_costs')
    publisher = node.create_publisher(Imu, 'unit_costs/polled', qos.LOOP)
    subscription = node.create_subscription(
        Imu, 'unit_costs/polled', lambda message: None, qos.LOOP, raw=True)
    _wait_until(lambda: publisher.get_subscription_count() > 0)

    def hop() -> None:
        publisher.publish(data)
        _wait_until(lambda: any(taken(subscription)))

    yield hop
    node.destroy_node()


@contextlib.contextmanager
def called_hop(data: bytes) -> typing.Iterator[typing.Callable[[], None]]:
    """Yield what publishes a serialised Imu and spins the executor until the callback has it."""
    node = rclpy.create_node('unit_costs')
    received: list[bytes] = []
    publisher = node.create_publisher(Imu, 'unit_costs/called', qos.LOOP)
    node.create_subscription(Imu, 'unit_costs/called', received.append, qos.LOOP, raw=True)
    _wait_until(lambda: publisher.get_subscription_count() > 0)
    executor = make_executor()
    executor.add_node(node)

    def hop() -> None:
        received.clear()
        publisher.publish(data)
        deadline_s = time.monotonic() + _ARRIVAL_TIMEOUT_S
        while not received and time.monotonic() < deadline_s:
            executor.spin_once(timeout_sec=_SPIN_S)

    yield hop
    executor.shutdown()
    node.destroy_node()


def _wait_until(condition: typing.Callable[[], object]) -> None:
    deadline_s = time.monotonic() + _MATCH_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise RuntimeError('no message comes through the middleware')
