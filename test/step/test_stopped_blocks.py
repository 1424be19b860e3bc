# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the runner does about blocks that are stopped, in a new run, and what it waits for."""
import pytest
from small_graph import STEP_US, Process

from px4_sim_ros.step.graph import CLOCK
from px4_sim_ros.step.lane import Output
from px4_sim_ros.step.slot import NEVER_US, NO_MEASUREMENT


@pytest.fixture
def whole():
    return Process()


def test_a_stopped_sensor_has_no_measurement_and_nobody_waits_for_it(whole):
    whole.step(2)
    whole.slots['compass'].stop()
    whole.step(2)
    assert whole.clock.complete_us == 16_000
    assert [t for t, name in whole.steps() if name == 'compass'] == [4000, 8000]
    assert {t: set(inputs) for t, inputs in whole.given('pilot').items()} == {
        4000: {'north'}, 8000: {'north'}, 12_000: set(), 16_000: {'warmth'}}
    assert [output for output in whole.sent if output.block == 'compass'][2:] == [
        Output(12_000, 'compass', None), Output(16_000, 'compass', None)]


def test_a_stopped_sensor_says_so_at_its_period_only(whole):
    whole.slots['thermometer'].stop()
    whole.step(8)
    assert [output for output in whole.sent if output.block == 'thermometer'] == [
        Output(16_000, 'thermometer', None), Output(32_000, 'thermometer', None)]


def test_what_is_held_stays_when_its_block_is_stopped(whole):
    elsewhere = Process(['body'], has_clock=False)
    whole.step(2)
    whole.slots['fan'].stop()
    whole.step(4)
    for time_us in range(4000, 24_001, 4000):
        elsewhere.put('body', CLOCK, time_us, None)
        elsewhere.put('body', 'command', time_us - STEP_US, 'command')
        elsewhere.put('body', 'air', time_us, 'air' if time_us == 8000 else NO_MEASUREMENT)
        elsewhere.run()
    assert {t: 'air' in inputs for t, inputs in elsewhere.given('body').items()} == {
        t: 'air' in inputs for t, inputs in whole.given('body').items()} == {
        t: t >= 8000 for t in range(4000, 24_001, 4000)}


def test_a_sensor_goes_on_with_the_next_measurement(whole):
    whole.slots['compass'].stop()
    whole.step(2)
    whole.activate('compass')
    whole.step(1)
    assert [t for t, name in whole.steps() if name == 'compass'] == [12_000]
    assert 'north' in whole.given('pilot')[12_000]


def test_a_stopped_sensor_takes_what_comes_from_elsewhere():
    """So it is at the right time when it goes on."""
    process = Process(['thermometer'], has_clock=False)
    process.slots['thermometer'].stop()
    for time_us in range(4000, 16_001, 4000):
        process.put('thermometer', 'truth', time_us, 'early truth')
    process.put('thermometer', 'air', 16_000, 'early air')
    process.run()
    assert process.sent == [Output(16_000, 'thermometer', None)]
    process.activate('thermometer')
    process.put('thermometer', 'truth', 32_000, 'truth')
    process.put('thermometer', 'air', 32_000, 'air')
    process.run()
    assert process.given('thermometer') == {32_000: {'truth': 'truth', 'air': 'air'}}


def test_nobody_waits_for_a_stopped_sensor_elsewhere():
    process = Process(['fan', 'body', 'pilot'])
    process.step(1)
    assert process.steps()[-1] == (4000, 'body')
    process.put('pilot', 'north', 4000, NO_MEASUREMENT)
    process.run()
    assert process.given('pilot') == {4000: {}}
    assert process.clock.complete_us == 4000


def test_any_other_block_that_is_stopped_blocks_the_step(whole):
    whole.step(1)
    whole.slots['body'].stop()
    whole.step(1)
    assert whole.clock.under_way
    assert whole.steps()[-1] == (8000, 'fan')
    assert whole.sent_by()[-1] == (8000, 'fan')            # before it is waited for
    assert whole.run() == 0


def test_a_block_that_was_stopped_goes_on_with_a_new_run_only(whole):
    whole.step(1)
    whole.slots['body'].stop()
    whole.activate('body')
    whole.step(1)
    assert whole.clock.under_way
    assert whole.run() == 0
    assert whole.slots['body'].next_us == STEP_US
    whole.notes.clear()
    whole.runner.reset()
    whole.clock.reset()
    whole.step(1)
    assert whole.clock.complete_us == 4000
    assert [name for _, name in whole.steps()] == ['body', 'compass', 'pilot']


def test_a_block_that_was_stopped_before_the_first_step_has_missed_nothing(whole):
    whole.slots['body'].stop()
    whole.activate('body')
    whole.step(1)
    assert whole.clock.complete_us == 4000


@pytest.mark.parametrize('has_reply', [False, True])
def test_a_step_is_not_finished_while_its_block_is_stopped(has_reply, whole):
    whole.blocks['pilot'].has_reply = has_reply
    whole.clock.step(1)
    whole.runner.run()
    whole.slots['pilot'].stop()
    whole.notes.clear()
    assert whole.run() == 0
    assert (whole.notes, whole.clock.under_way) == ([], True)
    # Nor after it is there again: it knows nothing of the step that it was about.
    whole.activate('pilot')
    assert whole.run() == 0


# A new run.

def test_after_a_reset_all_begins_at_the_first_step(whole):
    whole.step(7)
    first, whole.sent = whole.sent, []
    for stop_after in 0, 1, 2:          # complete, within a step, and while it is held
        whole.blocks['pilot'].has_reply = stop_after != 2
        whole.clock.resume()
        for _ in range(stop_after):
            whole.runner.run()
        whole.runner.reset()
        whole.clock.reset()
        whole.blocks['pilot'].has_reply = True
        whole.sent = []
        whole.activate(*whole.blocks)
        whole.step(7)
        assert whole.sent == first


def test_what_was_left_of_the_run_before_is_not_sent(whole):
    whole.clock.resume()
    whole.runner.run()
    whole.runner.run()
    sent = len(whole.sent)
    whole.runner.reset()
    whole.runner.flush()
    assert len(whole.sent) == sent


def test_a_reset_concerns_what_came_from_elsewhere_as_well():
    process = Process(['body'])
    process.step(3)
    process.command.put('command', 4000, lambda: b'')
    process.put('body', 'command', 4000, 'command')
    process.put('body', 'air', 8000, 'air')
    process.run()
    assert process.given('body') == {4000: {}, 8000: {'air': 'air', 'command': 'command'}}
    process.runner.reset()
    process.clock.reset()
    process.step(1)
    assert process.given('body')[4000] == {}
    assert process.command.lacking == {'command'}
    assert process.command.next_us == 4000


# What is waited for.

def test_a_block_waits_for_what_it_lacks_from_elsewhere():
    process = Process(['body', 'thermometer', 'compass', 'pilot'])
    process.step(2)
    assert process.runner.waits_for('body') == (8000, {'air': NEVER_US})
    process.put('body', 'air', 8000, 'air')
    process.step(2)
    assert process.runner.waits_for('body') == (16_000, {'air': 8000})


def test_a_block_waits_for_blocks_of_its_process():
    process = Process(['body', 'compass', 'thermometer', 'pilot'])
    assert process.runner.waits_for('compass') == (4000, {'truth': NEVER_US})
    process.step(1)
    process.step(1)
    assert process.runner.waits_for('compass') == (8000, {'truth': 4000})
    assert process.runner.waits_for('pilot') == (8000, {'north': 4000})
    assert process.runner.waits_for('thermometer') == (16_000, {'air': NEVER_US, 'truth': 4000})


def test_who_has_acted_waits_for_the_next_step(whole):
    whole.step(2)
    # The command of the step before is there.
    assert whole.runner.waits_for('body') == (12_000, {})
    assert whole.runner.waits_for('compass') == (12_000, {'truth': 8000})
    assert whole.runner.waits_for('fan') == (16_000, {'truth': 8000})


def test_a_block_that_missed_a_step_waits_for_the_first_of_a_new_run(whole):
    whole.step(2)
    whole.slots['body'].stop()
    whole.activate('body')
    assert whole.runner.waits_for('body')[0] == STEP_US
