# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The speed that is asked for, by a clock of the test."""
import pytest

from px4_sim_ros.step.pacing import Pacer, PaceWatch

STEP_US = 4000


class Machine:
    """Runs steps that take a while each."""

    def __init__(self, speed_factor):
        self.now_s, self.steps = 100.0, 0
        self.speed_factor = speed_factor
        self.pacer = Pacer(speed_factor, STEP_US, lambda: self.now_s, self.sleep)
        self.watch = PaceWatch(STEP_US, lambda: self.now_s)
        self.said = []

    def sleep(self, duration_s):
        self.now_s += duration_s + 60e-6      # as sleeping does

    def run(self, duration_s, step_cost_s, goes_on=True):
        until_s = self.now_s + duration_s
        while self.now_s < until_s:
            self.now_s += step_cost_s
            self.steps += 1
            self.pacer.wait()
            sentence = self.watch.remark(
                self.speed_factor, self.steps, self.pacer.lost_s, goes_on)
            if sentence:
                self.said.append(sentence)


@pytest.mark.parametrize('speed_factor', [0.5, 1.0, 2.0, 5.0, 8.0])
def test_a_speed_that_is_possible_is_kept(speed_factor):
    machine = Machine(speed_factor)
    machine.run(10.0, 0.9 * STEP_US * 1e-6 / 8.0)
    assert machine.steps * STEP_US * 1e-6 / 10.0 == pytest.approx(speed_factor, rel=0.002)
    assert machine.said == []


def test_a_short_delay_is_caught_up_with():
    machine = Machine(5.0)
    machine.run(3.0, 400e-6)
    machine.now_s += 0.08
    machine.run(7.0, 400e-6)
    assert machine.steps * STEP_US * 1e-6 / 10.08 == pytest.approx(5.0, rel=0.002)
    assert machine.said == []


def test_a_machine_that_cannot_is_told_at_once_and_once():
    machine = Machine(10.0)
    machine.run(1.1, STEP_US * 1e-6 / 7.2)
    assert machine.said == ['10 times real time is asked for, and this machine does 7.2']
    machine.run(10.0, STEP_US * 1e-6 / 7.2)
    assert len(machine.said) == 1
    machine.run(2.1, STEP_US * 1e-6 / 20.0)
    machine.run(2.1, STEP_US * 1e-6 / 7.2)
    assert len(machine.said) == 1      # no back and forth
    machine.speed_factor = 9.0
    machine.run(2.1, STEP_US * 1e-6 / 7.2)
    assert machine.said[1:] == ['9 times real time is asked for, and this machine does 7.2']


def test_what_holds_time_is_no_slow_machine():
    machine = Machine(10.0)
    machine.run(10.0, STEP_US * 1e-6 / 7.2, goes_on=False)
    assert machine.said == []


def test_what_was_lost_while_something_else_held_time_does_not_count():
    """As in the first step, which waits for the autopilot."""
    machine = Machine(2.0)
    machine.run(1.0, 100e-6, goes_on=False)
    machine.now_s += 5.0
    machine.run(0.002, 100e-6, goes_on=False)
    machine.run(5.0, 100e-6)
    assert machine.said == []


def test_as_fast_as_possible_is_never_too_slow():
    machine = Machine(0.0)
    machine.run(5.0, 0.1)
    assert machine.said == []


def test_a_speed_that_is_kept_is_not_reported_for_what_was_lost_once():
    """It said: 0.5 times real time is asked for, and this machine does 0.50."""
    now_s = [0.0]
    watch = PaceWatch(4000, lambda: now_s[0])
    assert watch.remark(0.5, 0, 0.0, True) == ''
    now_s[0] = 2.0
    assert watch.remark(0.5, 249, 0.11, True) == ''             # 0.498 times real time
    now_s[0] = 4.0
    assert watch.remark(0.5, 495, 0.22, True) == (
        '0.5 times real time is asked for, and this machine does 0.492')
