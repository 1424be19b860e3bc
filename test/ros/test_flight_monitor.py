# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the monitor of a flight has got of a graph that has gone before it was read."""
import contextlib
import time
import types

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.signals import SignalHandlerOptions

from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.messages.diagnostics import OK, diagnostic_status
from px4_sim_ros.messages.event_messages import event_message
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.model.encounters import Encounters
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.polling import PollingNode
from px4_sim_ros.ros.framework.session import ros_session
from px4_sim_ros.ros.manager.encounter_watch import EncounterWatch
from px4_sim_ros.ros.tools.flight_monitor import FlightMonitor, Listener
from px4_sim_ros.ros.tools.flown_watch import FlownWatch
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph_vehicles import GraphVehicle
from px4_sim_ros.step.repeatability import FINGERPRINT, FLOWN, OVER_US, NonRepeatability

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


# The fingerprint is reported once, when all nodes that know of it have reported since the end.


def report(watch, name, time_us, **values):
    message = DiagnosticArray(status=[diagnostic_status(f'/{name}', OK, '', values)])
    set_stamp(message.header.stamp, time_us)
    watch._take(message)


FLOWN_SO = {FLOWN: 'True', FINGERPRINT: '0123456789abcdef'}


@pytest.fixture
def watch():
    node = types.SimpleNamespace(
        get_namespace=lambda: '/', create_subscription=lambda *arguments: None)
    return FlownWatch(node, 'embedded', shares_core=False)


def test_it_is_told_when_all_have_reported_since_the_end(watch):
    report(watch, 'dynamics', 8000, **FLOWN_SO)
    report(watch, 'hil_bridge', 8000)
    report(watch, 'manager', 8000)
    assert watch.news() == ''
    report(watch, 'pilot', 4000, **{FLOWN: 'True'})          # and not yet when
    assert watch.news() == ''
    report(watch, 'pilot', 12000, **{FLOWN: 'True', OVER_US: '12000'})
    assert watch.news() == ''                                # the others have not come so far
    report(watch, 'dynamics', 12000, **FLOWN_SO)
    report(watch, 'hil_bridge', 12000)
    assert watch.news() == ''
    report(watch, 'manager', 12000)
    assert watch.news() == ('the mission is flown: fingerprint 0123456789abcdef;'
                            ' another flight has the same')
    assert watch.news() == ''


def test_a_node_that_was_stopped_by_hand_is_told(watch):
    """The manager alone knows of it."""
    gap = NonRepeatability(4000, 'wind was stopped by hand')
    for name in 'dynamics', 'hil_bridge':
        report(watch, name, 12000, **FLOWN_SO)
    report(watch, 'pilot', 12000, **FLOWN_SO, **{OVER_US: '12000'})
    report(watch, 'manager', 12000, **gap.values())
    assert watch.news().endswith(
        'another flight may have another one: t = 0.004000 s: wind was stopped by hand')


# The truth of vehicles in other processes: late, out of turn, and of a new run.

NAMES = 'alpha', 'bravo'


@pytest.fixture
def watched():
    """Return a watch, a list of what it tells, and what publishes where a vehicle is."""
    with ros_session():
        node = PollingNode('manager')
        with contextlib.closing(types.SimpleNamespace(close=node.destroy_node)):
            watch = EncounterWatch(
                node, BlockHost(), Encounters(dict.fromkeys(NAMES, 0.2), 1.0),
                lambda time_us, text, who: None)
            told = []
            watch._tell = told.append
            watch.open([GraphVehicle(name, None, None) for name in NAMES])
            publishers = {name: node.create_publisher(
                Odometry, f'{name}/ground_truth/odom', qos.LOOP) for name in NAMES}

            def publish(name, time_us, east_m):
                message = Odometry()
                set_stamp(message.header.stamp, time_us)
                message.pose.pose.position.x = east_m
                publishers[name].publish(message)

            while not all(p.get_subscription_count() for p in publishers.values()):
                pass
            yield watch, told, publish


def test_places_of_one_time_belong_together(watched):
    watch, told, publish = watched
    for time_us in 4_000, 8_000, 12_000:
        publish('alpha', time_us, 0.0)
    publish('bravo', 4_000, 3.0)
    while not watch._encounters.nearest():
        watch.look()
    assert told == []
    # Those of the later steps come late.
    publish('bravo', 8_000, 1.2)
    publish('bravo', 12_000, 0.3)
    while len(told) < 2:
        watch.look()
    assert [(e.time_us, e.is_collision, e.distance_m) for e in told] == [
        (8_000, False, 1.2), (12_000, True, 0.3)]
    pair, = watch._encounters.nearest()
    assert (pair.distance_m, pair.time_us) == (0.3, 12_000)


def test_a_run_that_begins_again_knows_nothing_of_the_one_before(watched):
    watch, told, publish = watched
    publish('alpha', 4_000, 0.0)
    while not watch._places:
        watch.look()
    watch.reset()
    publish('bravo', 4_000, 0.3)
    while not watch._places:
        watch.look()
    assert told == []
    publish('alpha', 4_000, 5.0)
    while not watch._encounters.nearest():
        watch.look()
    assert watch._encounters.nearest()[0].distance_m == pytest.approx(4.7)
    assert told == []
