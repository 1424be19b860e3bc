# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the settings of Fast DDS are there for."""
import pathlib
import time

import pytest
import rclpy
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock

from px4_sim_ros.process.children import Child, own_module
from px4_sim_ros.ros.framework import qos

_MESSAGES = 2000


def wakes_of_timers():
    """Return how often the threads of this process that do what Fast DDS does later have slept."""
    wakes = 0
    for task in pathlib.Path('/proc/self/task').iterdir():
        if (task / 'comm').read_text().startswith('dds.ev'):
            status = dict(line.split(':', 1) for line in (task / 'status').read_text().splitlines())
            wakes += int(status['voluntary_ctxt_switches'])
    return wakes


@pytest.mark.slow
def test_a_message_wakes_no_further_thread_of_its_publisher(tmp_path):
    """A thread that is woken for each message takes from the step what the step is there for."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    subscriber = Child('the subscriber', own_module('benchmarks.subscriber'),
                       log=tmp_path / 'subscriber.txt')
    try:
        node = rclpy.create_node('publisher', context=context)
        publisher = node.create_publisher(Clock, '/clock', qos.LOOP)
        while not publisher.get_subscription_count():
            assert subscriber.exit_code is None
            time.sleep(0.01)
        before = wakes_of_timers()
        for _ in range(_MESSAGES):
            publisher.publish(Clock())
        wakes = wakes_of_timers() - before
        assert publisher.wait_for_all_acked(Duration(seconds=10))
    finally:
        subscriber.stop(10.0)
        rclpy.shutdown(context=context)
    assert wakes < _MESSAGES / 4
