# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Time: how far it goes, when it stands, and what it counts."""
import functools

import pytest
from clock_owner import STEP_US, ClockOwner

from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.pacing import Pacer


@pytest.fixture
def owner():
    return ClockOwner()


@pytest.fixture
def clock(owner):
    return owner.clock


def test_it_stands_still_at_first(owner, clock):
    assert (clock.paused, clock.under_way, owner.published_us) == (True, False, [])


def test_a_step_begins_when_the_one_before_is_complete(owner, clock):
    owner.resume()
    assert owner.published_us == [4000]
    owner.complete(3)
    assert owner.published_us == [4000, 8000, 12_000, 16_000]
    assert (clock.steps, clock.complete_us, clock.time_us) == (3, 12_000, 16_000)


@pytest.mark.parametrize('time_us', [0, 4000, 12_000])
def test_the_end_of_another_step_does_not_count(time_us, owner, clock):
    owner.resume()
    owner.complete(1)
    assert not clock.complete(time_us)
    assert owner.published_us == [4000, 8000]


def test_a_pause_lets_the_step_end(owner, clock):
    owner.resume()
    clock.pause()
    assert clock.under_way
    owner.complete(1)
    assert (clock.under_way, clock.steps, owner.published_us) == (False, 1, [4000])
    assert not clock.complete(4000)
    owner.resume()
    assert owner.published_us == [4000, 8000]


def test_resuming_twice_begins_one_step(owner, clock):
    owner.resume()
    owner.resume()
    assert owner.published_us == [4000]


def test_resuming_while_the_last_step_is_under_way_begins_none(owner, clock):
    owner.resume()
    clock.pause()
    owner.resume()
    assert owner.published_us == [4000]
    owner.complete(1)
    assert owner.published_us == [4000, 8000]


@pytest.mark.parametrize('count', [1, 2, 250])
def test_so_many_steps(count, owner, clock):
    owner.step(count)
    owner.complete(count + 3)
    assert (clock.steps, clock.under_way, len(owner.published_us)) == (count, False, count)


def test_further_steps_are_added(owner, clock):
    owner.step(2)
    owner.step(3)
    owner.complete(10)
    assert clock.steps == 5


def test_so_many_steps_mean_nothing_while_time_goes_on(owner, clock):
    owner.resume()
    owner.step(1)
    owner.complete(10)
    assert clock.steps == 10


def test_a_restart_begins_at_0_and_counts_anew(owner, clock):
    owner.resume()
    owner.complete(5)
    clock.reset()
    assert (clock.time_us, clock.steps, clock.paused, clock.under_way) == (0, 0, True, False)
    owner.resume()
    assert owner.published_us[-1] == 4000


def test_wall_time_leaves_out_the_pauses(owner, clock, monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr('px4_sim_ros.step.clock.time.monotonic', lambda: now_s[0])

    def steps(count):
        for _ in range(count):
            now_s[0] += 0.002
            owner.complete(1)

    owner.resume()
    steps(101)
    clock.pause()
    steps(1)
    now_s[0] += 60.0
    owner.resume()
    steps(100)
    # The first step, which waits for the autopilot, does not count.
    assert clock.wall_s == pytest.approx(201 * 0.002)
    assert clock.real_time_factor() == pytest.approx(2.0)


def test_nothing_begins_by_itself(clock):
    clock.resume()
    assert not clock.under_way
    assert clock.begin() == 4000
    assert clock.begin() is None       # one is under way
    assert clock.complete(4000)
    assert not clock.under_way
    assert clock.begin() == 8000


def test_a_limit_holds_steps_that_are_allowed(clock):
    clock.limit(4000)
    clock.step(2)
    assert clock.begin() == 4000
    assert clock.complete(4000)
    assert (clock.begin(), clock.at_limit, clock.standing) == (None, True, False)
    clock.limit(None)
    assert clock.begin() == 8000
    assert clock.complete(8000)
    assert (clock.begin(), clock.at_limit, clock.standing) == (None, False, True)


@pytest.fixture
def wall(monkeypatch):
    """Return the wall time, which passes only while somebody sleeps."""
    now_s = [100.0]

    def sleep(duration_s):
        now_s[0] += duration_s

    monkeypatch.setattr('px4_sim_ros.step.clock.time.monotonic', lambda: now_s[0])
    monkeypatch.setattr('px4_sim_ros.step.clock.Pacer', functools.partial(
        Pacer, clock_s=lambda: now_s[0], sleep=sleep))
    return now_s


def test_each_step_but_the_first_waits_for_its_wall_time(wall):
    owner = ClockOwner(speed_factor=2.0)
    owner.resume()
    assert (wall[0], owner.clock.paced_s) == (100.0, 0.0)
    owner.complete(3)
    assert wall[0] == pytest.approx(100.006)
    assert owner.clock.paced_s == pytest.approx(0.006)
    # What stood still is not caught up with, and the first step after it begins at once.
    owner.clock.pause()
    owner.complete(1)
    wall[0] += 60.0
    owner.resume()
    assert (wall[0], owner.clock.under_way) == (pytest.approx(160.006), True)
    owner.complete(1)
    assert wall[0] == pytest.approx(160.008)


def test_publishing_is_work_of_the_owner(wall):
    clock = LockstepClock(STEP_US, 0.0)
    clock.resume()
    for time_us in 4000, 8000:
        assert clock.begin() == time_us
        wall[0] += 0.001
        clock.published()
        wall[0] += 0.01
        assert clock.complete(time_us)
    assert clock.busy_s == pytest.approx(0.002)


def test_how_long_the_limit_holds_a_step(wall):
    clock = LockstepClock(STEP_US, 0.0)
    clock.limit(STEP_US)
    clock.resume()
    clock.begin()
    wall[0] += 1.0
    assert clock.held_s == 0.0         # the step takes so long
    clock.complete(STEP_US)
    assert clock.held_s == 0.0
    wall[0] += 0.3
    assert (clock.begin(), clock.held_s) == (None, pytest.approx(0.3))
    clock.pause()
    assert clock.held_s == 0.0         # it would stand anyway
    clock.resume()
    wall[0] += 0.1
    assert clock.held_s == pytest.approx(0.1)
    clock.limit(2 * STEP_US)
    assert clock.held_s == 0.0
