# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The runner: in which order blocks are stepped, what they are given, what is waited for."""
import random

import pytest
from small_graph import AIR_US, GRAPH, PUBLISHERS, STEP_US, THERMOMETER_US, Process

from px4_sim_ros.step.graph import CLOCK
from px4_sim_ros.step.repeatability import (
    FINGERPRINT,
    OVER_US,
    NonRepeatability,
    first_gap,
    gap_of_strangers,
    unrepeatable_because,
)
from px4_sim_ros.step.runner import Runner


@pytest.fixture
def whole():
    return Process()


# What is stepped, and what it is given.

def test_blocks_are_stepped_in_the_order_of_the_table(whole):
    whole.step(2)
    assert whole.steps() == [
        (4000, 'body'), (4000, 'compass'), (4000, 'pilot'),
        (8000, 'fan'), (8000, 'body'), (8000, 'compass'), (8000, 'pilot')]


def test_a_sensor_is_stepped_at_its_period_only(whole):
    whole.step(100)
    times = [t for t, name in whole.steps() if name == 'thermometer']
    assert times == list(range(THERMOMETER_US, 400_001, THERMOMETER_US))
    assert sum(name == 'compass' for _, name in whole.steps()) == 100


def test_values_are_handed_over_as_they_are(whole):
    value = object()
    whole.blocks['body'].outputs = lambda time_us: {'truth': value}
    whole.step(1)
    assert whole.given('compass')[4000]['truth'] is value


def test_a_block_is_given_what_is_due(whole):
    """And nothing that is left of an earlier step."""
    whole.step(7)
    assert {t: set(inputs) for t, inputs in whole.given('pilot').items()} == {
        4000: {'north'}, 8000: {'north'}, 12_000: {'north'}, 16_000: {'north', 'warmth'},
        20_000: {'north'}, 24_000: {'north'}, 28_000: {'north'}}


def test_a_held_input_is_the_last_value(whole):
    whole.step(6)
    assert {t: inputs.get('air', 'none').partition(' after ')[0]
            for t, inputs in whole.given('body').items()} == {
        4000: 'none', 8000: 'fan at 8000', 12_000: 'fan at 8000', 16_000: 'fan at 16000',
        20_000: 'fan at 16000', 24_000: 'fan at 24000'}
    assert whole.given('thermometer')[16_000]['air'].startswith('fan at 16000')


@pytest.mark.parametrize(('block', 'topic'), [('fan', 'truth'), ('body', 'command')])
def test_an_input_of_the_step_before(block, topic, whole):
    whole.step(5)
    given = whole.given(block)
    assert topic not in given.pop(4000, {})
    assert given
    for time_us in given:
        assert given[time_us][topic].startswith(f'{PUBLISHERS[topic]} at {time_us - STEP_US} ')


def test_the_clock_is_no_value(whole):
    elsewhere = Process(['body'], has_clock=False)
    elsewhere.put('body', CLOCK, 4000, 'tick')
    elsewhere.run()
    whole.step(1)
    assert elsewhere.given('body') == whole.given('body') == {4000: {}}


def test_what_was_done_is_counted(whole):
    whole.step(9)
    assert {name: slot.steps for name, slot in whole.slots.items()} == {
        'fan': 4, 'body': 9, 'compass': 9, 'thermometer': 2, 'pilot': 9}
    assert {name: slot.last_us for name, slot in whole.slots.items()} == {
        'fan': 32_000, 'body': 36_000, 'compass': 36_000, 'thermometer': 32_000, 'pilot': 36_000}
    assert whole.clock.steps == 9
    assert set(whole.runner.busy_s()) == set(GRAPH.nodes)
    assert all(busy_s > 0.0 for busy_s in whole.runner.busy_s().values())


def test_nothing_is_done_before_the_clock_allows_it(whole):
    assert whole.run() == 0
    assert whole.notes == whole.sent == []


# The reply.

def test_all_is_sent_before_a_reply_is_awaited(whole):
    """And there is time for others in between."""
    whole.clock.step(1)
    assert whole.runner.run()
    assert whole.notes[-1][1] == 'pilot'
    assert whole.sent_by() == [(4000, 'manager'), (4000, 'body'), (4000, 'compass')]
    assert whole.clock.under_way
    assert whole.runner.run()
    assert whole.notes[-1][1] == 'reply'
    assert not whole.clock.under_way


def test_what_nobody_hears_does_not_leave(whole):
    whole.heard = {'fan', 'pilot'}
    whole.step(2)
    assert whole.sent_by() == [(4000, 'pilot'), (8000, 'fan'), (8000, 'pilot')]
    whole.heard = {'manager'}
    whole.step(1)
    assert whole.sent_by()[3:] == [(12_000, 'manager')]
    whole.heard = ()
    whole.step(1)
    assert len(whole.sent) == 4


def test_the_reply_leaves_while_the_next_is_awaited(whole):
    whole.clock.resume()
    whole.runner.run()
    whole.runner.run()
    assert whole.sent[-1].block == 'compass'
    whole.runner.run()
    assert whole.sent_by()[3:] == [
        (4000, 'pilot'), (8000, 'manager'), (8000, 'fan'), (8000, 'body'), (8000, 'compass')]


def test_the_reply_leaves_at_once_if_the_next_step_may_be_waited_for():
    process = Process(speed_factor=1.0)
    process.clock.step(1)
    process.runner.run()
    process.runner.run()
    assert process.sent_by()[-1] == (4000, 'pilot')


def test_the_last_reply_leaves_when_time_stands_still(whole):
    whole.step(1)
    assert whole.sent_by()[-1] == (4000, 'pilot')
    assert whole.sent[-1].values == {'command': whole.blocks['pilot'].value}


def test_a_step_that_is_held_goes_on_with_its_reply(whole):
    whole.blocks['pilot'].has_reply = False
    whole.step(1)
    for _ in range(3):
        assert not whole.runner.run()
    assert whole.clock.under_way
    assert [t for t, name in whole.steps() if name == 'pilot'] == [4000]
    assert sum(name == 'reply' for _, name, _ in whole.notes) == 4
    whole.blocks['pilot'].has_reply = True
    assert whole.runner.run()
    assert whole.clock.complete_us == 4000


def test_a_block_without_a_reply_to_wait_for(whole):
    whole.blocks['pilot'].finishes = False
    whole.step(3)
    assert whole.clock.complete_us == 12_000
    assert 'reply' not in [name for _, name, _ in whole.notes]


# Inputs from elsewhere.

def test_all_is_sent_before_an_input_from_elsewhere_is_awaited():
    process = Process(['body', 'thermometer', 'compass', 'pilot'])
    process.step(1)
    assert process.steps()[-1] == (4000, 'pilot')          # there is no air yet
    process.step(1)
    assert process.steps()[-1] == (4000, 'pilot')
    assert process.sent_by()[-1] == (8000, 'manager')
    assert process.run() == 0
    process.put('body', 'air', 8000, 'air')
    assert process.runner.run()
    assert process.sent_by()[-3:] == [(8000, 'manager'), (8000, 'body'), (8000, 'compass')]
    assert process.given('body')[8000]['air'] == 'air'


def test_the_command_from_elsewhere_ends_a_step():
    process = Process(['fan', 'body', 'compass', 'thermometer'])
    process.step(2)
    assert process.sent_by()[-1] == (4000, 'compass')
    assert process.clock.under_way
    process.put('body', 'command', 4000, 'command')
    assert process.run() == 0
    process.command.put('command', 4000, lambda: b'')
    process.run()
    assert process.clock.complete_us == 4000
    assert process.given('body')[8000]['command'] == 'command'


def test_a_process_without_the_clock_follows_its_inputs():
    process = Process(['compass', 'thermometer'], has_clock=False)
    assert process.run() == 0
    for time_us in range(4000, 32_001, 4000):
        process.put('compass', 'truth', time_us, f'truth of {time_us}')
        process.put('thermometer', 'truth', time_us, f'truth of {time_us}')
        if time_us % AIR_US == 0:
            process.put('thermometer', 'air', time_us, f'air of {time_us}')
        process.run()
    assert process.steps() == [
        (4000, 'compass'), (8000, 'compass'), (12_000, 'compass'),
        (16_000, 'compass'), (16_000, 'thermometer'), (20_000, 'compass'),
        (24_000, 'compass'), (28_000, 'compass'), (32_000, 'compass'), (32_000, 'thermometer')]
    assert process.given('thermometer')[32_000] == {
        'truth': 'truth of 32000', 'air': 'air of 32000'}


def test_a_runner_without_blocks_has_nothing_to_do():
    assert not Runner().run()


@pytest.mark.parametrize('seed', range(20))
def test_however_blocks_are_spread_over_processes_the_same_comes_of_it(seed):
    """Whatever the order in which messages arrive."""
    order, steps = random.Random(seed), 30
    whole = Process()
    whole.step(steps)
    count = order.randint(2, 5)
    places = {name: order.randrange(count) for name in GRAPH.nodes}
    processes = [Process([name for name, place in places.items() if place == i], i == 0)
                 for i in range(count)]
    processes[0].clock.step(steps)
    under_way = []
    while processes[0].clock.steps < steps:
        process = order.choice(processes)
        sent = len(process.sent)
        process.runner.run()
        under_way += [(to, topic, output.time_us, value) for output in process.sent[sent:]
                      for topic, value in output.values.items() for to in processes]
        order.shuffle(under_way)
        for _ in range(min(len(under_way), order.randint(0, 3))):
            deliver(*under_way.pop())
    assert processes[0].run() == 0         # the last command leaves
    found = [output for process in processes for output in process.sent]
    assert sorted(found, key=in_order) == sorted(whole.sent, key=in_order)


def in_order(output):
    return output.time_us, output.block


def deliver(process, topic, time_us, value):
    """Give a message to all in a process who subscribe to it."""
    for name, slot in process.slots.items():
        if slot.synchronizer is not None and topic in slot.synchronizer.last_us:
            process.put(name, topic, time_us, value)
    if process.command is not None and topic == 'command':
        process.command.put(topic, time_us, lambda: value)


def test_those_behind_one_that_holds_the_step_wait_for_it():
    process = Process()
    process.step(2)
    process.blocks['body'].finishes, process.blocks['body'].has_reply = True, False
    process.step()
    assert process.runner.waits_for('compass') == (12_000, {'truth': 8000})
    process.blocks['body'].has_reply = True
    process.run()
    assert process.runner.waits_for('compass') == (16_000, {'truth': 12_000})


# Why another flight may have another fingerprint.


def test_the_first_gap_of_all_is_told_with_its_time():
    late = NonRepeatability(2_000_000, 'the autopilot has gone')
    early = NonRepeatability(1_004_000, 'it was late')
    assert first_gap([{'steps': '3'}]) == ''
    assert first_gap([late.values(), {}, early.values()]) == 't = 1.004000 s: it was late'
    as_texts = {key: str(value) for key, value in late.values().items()}
    assert first_gap([as_texts]) == 't = 2.000000 s: the autopilot has gone'


def test_what_comes_after_the_flight_of_the_fingerprint_is_no_gap():
    """Under ros2 launch time goes on; what the pilot alone says of its mission ends no flight."""
    gap = NonRepeatability(2_000_000, 'the autopilot has gone').values()
    assert first_gap([gap, {FINGERPRINT: '0123', OVER_US: '1996000'}]) == ''
    for other in {FINGERPRINT: '0123', OVER_US: '2000000'}, {FINGERPRINT: '0123'}, {OVER_US: 4000}:
        assert first_gap([gap, other]).endswith('the autopilot has gone')


@pytest.mark.parametrize(('autopilot', 'nodes', 'is_known'), [
    ('px4', {'dynamics'}, False), ('px4', {'pilot'}, True), ('px4', {'px4_topics'}, True),
    ('embedded', {'dynamics'}, True)])
def test_who_flies_a_px4_without_a_pilot_is_not_known(autopilot, nodes, is_known):
    assert (gap_of_strangers(autopilot, nodes) == '') == is_known


@pytest.mark.parametrize('changed, reason', [
    ({}, ''),
    ({'autopilot': 'embedded', 'shares_core': False}, ''),
    ({'is_flown': False}, 'no mission was flown to its end'),
    ({'autopilot': 'none'}, 'the autopilot was started elsewhere'),
    ({'shares_core': False}, 'PX4 does not run with the schedule repeatable'),
    ({'gap': 't = 3 s: it was late'}, 't = 3 s: it was late'),
    ({'fingerprint': ''}, 'the fingerprint was lost'),
])
def test_what_forbids_it(changed, reason):
    all_is_well = {'autopilot': 'px4', 'shares_core': True, 'is_flown': True, 'gap': '',
                   'fingerprint': '0123456789abcdef'}
    assert unrepeatable_because(**(all_is_well | changed)) == reason
