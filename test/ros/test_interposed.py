# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A node of a user's, in another process, between two nodes of the graph."""
import sys
import threading
import time

import pytest
import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from stand_in_autopilot import StandInAutopilot, reply

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.process.children import Child
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.spec.parameter_files import write_parameters
from px4_sim_ros.spec.ros_environment import ros_environment

pytestmark = pytest.mark.process

UNTIL_US = 1_000_000
PATIENCE_S = 60.0


def faster(message):
    v = message.twist.linear
    v.x, v.y, v.z = v.x + 10.0, v.y + 20.0, v.z + 30.0


class Relay:
    """A node that changes what is published on a topic, and publishes it on `filtered`."""

    def __init__(self, kind, topic, change):
        self._node = rclpy.create_node('relay')
        publisher = self._node.create_publisher(kind, 'filtered', qos.LOOP)

        def on_message(data):
            message = deserialize_message(data, kind)
            change(message)
            publisher.publish(message)

        self._node.create_subscription(kind, topic, on_message, qos.LOOP, raw=True)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin)
        self._thread.start()

    def close(self):
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()


@pytest.fixture
def ros():
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    yield
    rclpy.shutdown()


def fly(instance, topic, folder):
    """Answer the graph, whose bridge listens to `filtered`, for a while; return what it sent.

    What was measured at the end comes with the step after it, but for the HIL_SENSORs.
    """
    write_parameters(folder / 'run.yaml', {
        'manager': {'speed_factor': 0.0}, 'hil_bridge': {'instance': instance}})
    world = Child('world', [
        sys.executable, '-m', 'px4_sim_ros.ros.world', '--ros-args', '--params-file',
        folder / 'run.yaml', '-r', f'hil_bridge:{topic}:=filtered'],
        environment=ros_environment())
    found, time_us, deadline_s = [], 0, time.monotonic() + PATIENCE_S
    autopilot = None
    try:
        autopilot = StandInAutopilot(port_of(instance))
        while time_us <= UNTIL_US:
            messages = autopilot.messages()
            assert messages and time.monotonic() < deadline_s, 'the graph has stopped'
            found += messages
            for message in messages:
                if message.get_type() == 'HIL_SENSOR' and message.id == 0:
                    time_us = message.time_usec
                    autopilot.send(reply(time_us))
    finally:
        if autopilot is not None:
            autopilot.close()
        world.stop()
    return found


def test_a_part_of_a_fix_is_interposed(instance, tmp_path, ros):
    """The velocity is the relay's, and all else the receiver's; for an IMU see test_examples."""
    relay = Relay(TwistStamped, 'gps/vel', faster)
    try:
        found = fly(instance, 'gps/vel', tmp_path)
    finally:
        relay.close()
    fixes = [m for m in found if m.get_type() == 'HIL_GPS']
    assert len(fixes) == UNTIL_US / 100_000
    for fix in fixes:
        assert (fix.ve, fix.vn, fix.vd) == pytest.approx((1000, 2000, -3000), abs=100)
        assert fix.fix_type == 3
