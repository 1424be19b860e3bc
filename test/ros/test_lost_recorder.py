# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorder that is slow is waited for, and one that is lost is not."""
import types

import pytest
from recorded_world import STEP_US, World

from px4_sim_ros.ros.framework.endpoints import NodeStatus
from px4_sim_ros.ros.manager import overdue_watch
from px4_sim_ros.ros.manager.overdue_watch import Overdue, OverdueWatch, find_lost_recorder
from px4_sim_ros.ros.nodes.recorder import RecorderNode
from px4_sim_ros.step import graph
from px4_sim_ros.step.graph_vehicles import GraphVehicle


@pytest.fixture
def world():
    found = World()
    found.resume()
    return found


def lost(complete_us=100 * STEP_US, **values):
    return find_lost_recorder(NodeStatus('active', **values), complete_us)


def test_a_recorder_that_only_waits_for_what_is_not_there_yet_is_not_lost():
    assert lost(waits_for_us=101 * STEP_US, waits_for={'/clock': 100 * STEP_US}) is None


def test_a_recorder_that_lacks_a_message_is_lost():
    assert lost(waits_for_us=100 * STEP_US, waits_for={'mag': 0}) == Overdue(
        'recorder', 'recorder has not got mag for t = 0.400000 s, which was lost')


def test_a_recorder_that_is_writing_is_slow_and_not_lost():
    """What it lacks waits in its queues."""
    assert lost(waits_for_us=STEP_US, waits_for={'mag': 0}, holds='it is writing') is None


def test_a_recorder_that_was_stopped_is_waited_for_no_longer():
    assert lost(problem='it is inactive') == Overdue(
        'recorder', 'recorder does not record: it is inactive')


def test_a_recorder_that_does_not_answer_is_lost():
    assert find_lost_recorder(None, 0) == Overdue('recorder', 'recorder does not answer')


@pytest.mark.parametrize('problem', ['', 'the disk was full'])
def test_a_recording_that_cannot_be_finished_is_reported(problem):
    """At the end, when the flight is over: its summary tells of it."""
    bag, published = types.SimpleNamespace(close=lambda: None, problem=problem), []
    RecorderNode.deactivate(types.SimpleNamespace(
        _bag=bag, _host=types.SimpleNamespace(), _report=lambda bag: None,
        _publish_status=published.append))
    assert published == ([bag] if problem else [])


# Supervision.

GRAPH = graph.of_instances({'recorder': 1})


class Supervised:
    """A watch whose questions are answered at once, with a clock that is set by hand."""

    def __init__(self, monkeypatch, world):
        self.now_s, self.overdue, self.asked = 1000.0, [], 0
        self.statuses = {name: NodeStatus('active', waits_for_us=world.clock.time_us)
                         for name in GRAPH.managed}
        monkeypatch.setattr(overdue_watch, 'time', types.SimpleNamespace(
            monotonic=lambda: self.now_s))
        monkeypatch.setattr('px4_sim_ros.step.clock.time.monotonic', lambda: self.now_s)
        monkeypatch.setattr(overdue_watch.sequences, 'ask_all', self._ask_all)
        self.watch = OverdueWatch(
            [GraphVehicle('', GRAPH, None)], [],
            types.SimpleNamespace(clock=world.clock, awaited=['']),
            self.overdue.append, lambda overdue: None, lambda node: None)

    def _ask_all(self, nodes, report):
        self.asked += 1
        report(self.statuses)
        return iter(())

    def pass_time(self, duration_s):
        for _ in range(round(duration_s / 0.05)):
            self.now_s += 0.05
            self.watch.watch(1.0)


@pytest.fixture
def supervised(monkeypatch, world):
    found = Supervised(monkeypatch, world)
    world.complete()
    world.clock.begun_s = found.now_s
    assert world.clock.at_limit
    return found


def recorder(supervised, **values):
    supervised.statuses['recorder'] = NodeStatus('active', **values)


def test_a_slow_recorder_is_asked_now_and_then_and_never_given_up(supervised):
    recorder(supervised, waits_for_us=STEP_US, waits_for={'mag': 0}, holds='it is writing')
    supervised.pass_time(60.0)
    assert supervised.asked > 10
    assert supervised.overdue == []


def test_a_recorder_that_is_held_back_is_not_asked_before_the_time(supervised):
    supervised.statuses['recorder'] = None
    supervised.pass_time(0.9)
    assert (supervised.asked, supervised.overdue) == (0, [])


@pytest.mark.parametrize('status, sentence', [
    (None, 'recorder does not answer'),
    (NodeStatus('active', waits_for_us=STEP_US, waits_for={'mag': -1}),
     'recorder has not got mag for t = 0.004000 s, which was lost'),
    (NodeStatus('inactive', 'it is inactive'), 'recorder does not record: it is inactive')])
def test_a_lost_recorder_is_named_after_two_rounds(status, sentence, supervised):
    supervised.statuses['recorder'] = status
    supervised.pass_time(1.5)
    assert supervised.overdue == [Overdue('recorder', sentence)]
    assert supervised.asked >= 2


def test_a_recorder_that_catches_up_between_two_rounds_is_not_named(supervised):
    for i in range(40):
        recorder(supervised, waits_for_us=(i + 1) * STEP_US, waits_for={'mag': i * STEP_US})
        supervised.pass_time(0.05)
    assert supervised.asked > 5
    assert supervised.overdue == []


def test_while_it_waits_another_silent_node_is_named(supervised):
    supervised.statuses['imu'] = None
    supervised.pass_time(1.5)
    assert supervised.overdue == [Overdue('imu', 'imu does not answer')]
