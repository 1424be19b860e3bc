# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The world goes no further ahead of the recorder than nothing can be lost."""
import random

import pytest
from recorded_world import STEP_US, WINDOW_US, Node, World

from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.manager.recorder_watch import WINDOW_STEPS, RecorderWatch
from px4_sim_ros.ros.nodes.recorder import absence_qos


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


def test_the_recorder_is_behind_when_time_has_stood_for_a_while(make_node, monkeypatch):
    """Not whenever the window is reached: at full speed that is most of the time."""
    now_s = [100.0]
    monkeypatch.setattr('px4_sim_ros.step.clock.time.monotonic', lambda: now_s[0])
    manager = make_node('manager')
    clock = manager.sim_clock

    def sentence():
        return manager._supervision.status(manager.control, 'active').sentence

    manager.control.enter(RunState.RUNNING)
    clock.limit(STEP_US)
    clock.resume()
    clock.complete(clock.begin())
    now_s[0] += 0.15
    assert (clock.begin(), sentence()) == (None, 'RUNNING')
    now_s[0] += 0.1
    assert sentence() == 'the recorder is behind'
    clock.limit(2 * STEP_US)
    assert sentence() == 'RUNNING'
