# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the monitor of a flight has got of a graph that has gone before it was read."""
import contextlib
import time

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.duration import Duration
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.messages.diagnostic_status import diagnostic_status
from px4_sim_ros.messages.event_messages import event_message
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.tools.flight_monitor import FlightMonitor, Listener
from px4_sim_ros.step import side_topics

PATIENCE_S = 20.0
WORDS = 50
ARRIVED = Event('arrived', 1.5)


@pytest.fixture
def graph():
    """Return a node in a context of its own, and what ends both."""
    with contextlib.ExitStack() as stack:
        context = rclpy.Context()
        rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
        stack.callback(rclpy.try_shutdown, context=context)
        node = rclpy.create_node('dynamics', context=context)
        stack.callback(node.destroy_node)
        yield node, stack.close


def word(time_us):
    message = DiagnosticArray(status=[diagnostic_status(
        '/dynamics', 0, '', {'steps': time_us // 4000}, 'px4_sim_ros')])
    set_stamp(message.header.stamp, time_us)
    return message


def test_last_words_are_there_after_the_end_of_the_graph(graph):
    """On a busy machine all of it may come between two turns of the monitor."""
    node, end = graph
    reports, events = [], []
    monitor = FlightMonitor({'': Listener(lambda *position: None, events.append)},
                            lambda *report: reports.append(report))
    with contextlib.closing(monitor):
        words = node.create_publisher(
            DiagnosticArray, side_topics.DIAGNOSTICS.name, qos.DEEP)
        pilot = node.create_publisher(
            DiagnosticStatus, side_topics.PILOT_EVENTS.name, qos.LATCHED_LOG)
        deadline_s = time.monotonic() + PATIENCE_S
        while not (words.get_subscription_count() and pilot.get_subscription_count()):
            assert time.monotonic() < deadline_s, 'the monitor does not subscribe'
            monitor.spin(0.01)
        pilot.publish(event_message(ARRIVED))
        for i in range(1, WORDS + 1):
            words.publish(word(4000 * i))
        for publisher in pilot, words:
            assert publisher.wait_for_all_acked(Duration(seconds=PATIENCE_S))
        end()
        monitor.take_rest()
    assert [(name, time_us) for name, time_us, _ in reports] == [
        ('dynamics', 4000 * i) for i in range(1, WORDS + 1)]
    assert events == [ARRIVED]
