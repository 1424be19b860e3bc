"""The world goes no further ahead of the recorder than nothing can be lost."""
import random
import types

import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from px4_sim_ros.ros import overdue_watch, qos
from px4_sim_ros.ros.node_status import NodeStatus
from px4_sim_ros.ros.overdue import Overdue, find_lost_recorder
from px4_sim_ros.ros.overdue_watch import OverdueWatch
from px4_sim_ros.ros.recorder import absence_qos
from px4_sim_ros.ros.recorder_watch import WINDOW_STEPS, RecorderWatch
from px4_sim_ros.step import graph
from px4_sim_ros.step.clock import LockstepClock

STEP_US = 4000
WINDOW_US = WINDOW_STEPS * STEP_US


class Node:
    """What a watch needs of a node: the listener that it leaves there."""

    def create_subscription(self, kind, topic, listener, profile):
        self.listener = listener


class World:
    """A clock that is driven and limited by a watch, as the manager does it."""

    def __init__(self):
        self.published_us, self.failures, node = [], [], Node()
        self.clock = LockstepClock(STEP_US, 0.0)
        self.watch = RecorderWatch(node, STEP_US, self.let_go_on, self.failures.append)
        self._listener = node.listener
        self.watch.reset()
        self.let_go_on()

    def let_go_on(self):
        self.clock.limit(self.watch.limit_us)
        self.go_on()

    def go_on(self):
        time_us = self.clock.begin()
        if time_us is not None:
            self.published_us.append(time_us)

    def resume(self):
        self.clock.resume()
        self.go_on()

    def step(self, count):
        self.clock.step(count)
        self.go_on()

    def say(self, recorded_us, folder='bag', problem='', on_failure='continue'):
        """Let the recorder say how far it is, or why it has ended."""
        values = {'recorded_us': recorded_us, 'flushed_us': recorded_us // 2, 'folder': folder,
                  'on_failure': on_failure}
        self._listener(DiagnosticStatus(
            level=DiagnosticStatus.ERROR if problem else DiagnosticStatus.OK, message=problem,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()]))

    def complete(self, count=10 * WINDOW_STEPS):
        """Complete so many steps, as far as time goes."""
        for _ in range(count):
            if self.clock.complete(self.clock.time_us):
                self.go_on()

    def begin_again(self):
        self.clock.reset()
        self.watch.reset()
        self.let_go_on()
        self.resume()


@pytest.fixture
def world():
    found = World()
    found.resume()
    return found


def test_what_is_ahead_fits_into_the_queues():
    assert qos.LOOP.depth > WINDOW_STEPS
    # One topic that all sensors share while they are stopped.
    assert absence_qos(7).depth > 7 * WINDOW_STEPS
    assert qos.LOOP.depth == 100


def test_nobody_gets_further_than_the_window(world):
    world.complete()
    assert world.published_us[-1] == WINDOW_US
    assert (world.clock.at_limit, world.clock.under_way, world.clock.paused) == (
        True, False, False)
    assert world.clock.complete_us == WINDOW_US


def test_time_goes_on_when_more_is_recorded(world):
    world.complete()
    world.say(STEP_US)
    assert world.published_us[-1] == WINDOW_US + STEP_US
    assert world.clock.under_way
    world.complete()
    assert world.published_us[-1] == WINDOW_US + STEP_US
    world.say(100 * STEP_US)
    world.complete()
    assert world.published_us[-1] == WINDOW_US + 100 * STEP_US


@pytest.mark.parametrize('seed', range(5))
def test_whatever_comes_when_the_window_is_kept(seed, world):
    order, recorded_us = random.Random(seed), 0
    for _ in range(2000):
        if order.random() < 0.05:
            recorded_us = order.randrange(recorded_us, world.clock.complete_us + 1, STEP_US)
            world.say(recorded_us)
        else:
            world.complete(1)
        assert world.clock.time_us <= recorded_us + WINDOW_US
    # Each time was published once.
    assert world.published_us == list(range(STEP_US, world.published_us[-1] + 1, STEP_US))


def test_an_acknowledgement_within_a_step_begins_none(world):
    world.complete(10)
    before = len(world.published_us)
    world.say(5 * STEP_US)
    assert len(world.published_us) == before


def test_a_pause_is_kept_while_the_recorder_is_behind(world):
    world.complete()
    world.clock.pause()
    assert world.clock.standing
    world.say(50 * STEP_US)
    assert (world.published_us[-1], world.clock.standing) == (WINDOW_US, True)
    world.resume()
    assert world.published_us[-1] == WINDOW_US + STEP_US


def test_single_steps_wait_for_the_recorder_as_well():
    world = World()
    world.step(WINDOW_STEPS + 3)
    world.complete()
    assert (world.clock.steps, world.clock.standing) == (WINDOW_STEPS, False)
    world.step(1)
    assert world.clock.time_us == WINDOW_US
    world.say(WINDOW_US)
    world.complete()
    assert (world.clock.steps, world.clock.standing) == (WINDOW_STEPS + 4, True)


def test_wall_time_counts_no_pause_twice(world, monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr('px4_sim_ros.step.clock.time.monotonic', lambda: now_s[0])
    for _ in range(WINDOW_STEPS):
        now_s[0] += 0.002
        world.complete(1)
    for _ in range(3):
        world.clock.pause()
        now_s[0] += 60.0
        world.resume()
    world.say(WINDOW_US)
    now_s[0] += 0.002
    world.complete(1)
    assert world.clock.wall_s == pytest.approx(WINDOW_STEPS * 0.002)


# When the recorder ends.

def test_without_a_recorder_there_is_no_limit(world):
    world.complete()
    world.say(3 * STEP_US, problem='the disk is full')
    assert world.failures == ['the disk is full']
    assert world.watch.limit_us is None
    world.complete(1000)
    assert world.clock.steps == WINDOW_STEPS + 1000


def test_a_failure_is_told_once(world):
    world.say(0, problem='the disk is full')
    world.say(0, problem='the disk is full')
    world.say(4000)
    assert world.failures == ['the disk is full']
    assert world.watch.limit_us is None


def test_after_giving_up_there_is_no_limit(world):
    world.complete()
    world.watch.give_up()
    assert world.clock.under_way
    world.say(STEP_US)
    world.complete(1000)
    assert world.clock.steps == WINDOW_STEPS + 1000
    assert world.failures == []


@pytest.mark.parametrize('policy, ends', [('continue', False), ('fail', True)])
def test_the_recorder_says_whether_the_run_ends_with_it(policy, ends, world):
    world.say(0, on_failure=policy)
    assert world.watch.ends_run is ends


def test_what_is_on_disk_is_known(world):
    world.say(8 * STEP_US)
    assert (world.watch.recorded_us, world.watch.flushed_us) == (8 * STEP_US, 4 * STEP_US)


# A reset.

def test_a_reset_begins_with_a_window_from_0(world):
    world.complete()
    world.say(WINDOW_US)
    world.complete()
    world.begin_again()
    world.complete()
    assert world.clock.complete_us == WINDOW_US


def test_what_was_recorded_of_the_run_before_does_not_count(world):
    """It may be heard late."""
    world.say(1000 * STEP_US)
    world.begin_again()
    world.say(1000 * STEP_US)
    world.say(0, problem='the disk was full')
    world.complete()
    assert (world.clock.complete_us, world.failures) == (WINDOW_US, [])
    world.say(5 * STEP_US, folder='bag_2')
    world.complete()
    assert world.clock.complete_us == WINDOW_US + 5 * STEP_US


def test_a_manager_that_takes_over_does_not_count_what_was_recorded_before(world):
    """The recorder's last word is latched."""
    node = Node()
    watch = RecorderWatch(node, STEP_US, lambda: None, world.failures.append)
    world._listener = node.listener
    world.say(0, problem='the disk was full', on_failure='fail')
    watch.reset()
    world.say(1000 * STEP_US)
    assert (watch.limit_us, watch.ends_run, world.failures) == (WINDOW_US, False, [])
    world.say(STEP_US, folder='bag_2')
    assert watch.limit_us == WINDOW_US + STEP_US


def test_after_a_failure_a_reset_waits_for_the_recorder_again(world):
    world.say(0, problem='the disk is full')
    world.begin_again()
    world.complete()
    assert world.clock.complete_us == WINDOW_US


# A recorder that is slow, or lost.

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
            GRAPH, [], world.clock, 'actuators/command', self.overdue.append,
            lambda overdue: None, lambda node: None)

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
