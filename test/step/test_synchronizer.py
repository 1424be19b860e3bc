# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The synchronizer: joins inputs by stamp, whatever the order of arrival."""
import itertools
import random
import typing

import pytest

from px4_sim_ros.step.graph import Topic
from px4_sim_ros.step.slot import NEVER_US, NO_MEASUREMENT, Input, StampSynchronizer


def input_of(name, period_us, delay_us=0, is_held=False, part_of=''):
    return Input(Topic(name, '', '', part_of=part_of), period_us, delay_us, is_held)


class Block:
    """Takes the inputs of each time as soon as they are there, as the runner does."""

    def __init__(self, inputs, period_us):
        self.synchronizer = StampSynchronizer(inputs, period_us)
        self.calls = []

    def put(self, name, stamp_us, value):
        self.synchronizer.put(name, stamp_us, lambda: value)
        while not self.synchronizer.lacking:
            time_us = self.synchronizer.next_us
            self.calls.append((time_us, self.synchronizer.take()))


def block_of(periods, period_us, delays=None):
    """Return a block with these periods of its inputs, and its own."""
    return Block([input_of(name, its_us, (delays or {}).get(name, 0))
                  for name, its_us in periods.items()], period_us)


def calls(arrivals, periods, period_us):
    """Return what comes of (name, time) arrivals."""
    block = block_of(periods, period_us)
    for name, time_us in arrivals:
        block.put(name, time_us, (name, time_us))
    return block.calls


def waits_for(synchronizer):
    return {name: synchronizer.last_us[name] for name in synchronizer.lacking}


def test_every_order_of_arrival_within_a_time_gives_the_same_calls():
    periods = {'fast': 4, 'slow': 8, 'also_slow': 8}
    arrivals = [('fast', 8), ('slow', 8), ('also_slow', 8)]
    expected = [
        (4, {'fast': ('fast', 4)}),
        (8, {'fast': ('fast', 8), 'slow': ('slow', 8), 'also_slow': ('also_slow', 8)})]
    for order in itertools.permutations(arrivals):
        assert calls([('fast', 4), *order], periods, 4) == expected


def test_what_is_shuffled_within_a_time_is_taken_in_the_order_of_time():
    periods = {'a': 4, 'b': 20, 'c': 100}
    rng, arrivals = random.Random(3), []
    for t in range(4, 2001, 4):
        due = [(name, t) for name, period in periods.items() if t % period == 0]
        arrivals += rng.sample(due, len(due))
    found = calls(arrivals, periods, 4)
    assert [t for t, _ in found] == list(range(4, 2001, 4))
    assert all(set(items) == {n for n, p in periods.items() if t % p == 0} for t, items in found)


@pytest.mark.parametrize('delays', [{}, {'previous': 4}, {'previous': 4, 'slow': 8}])
def test_what_is_due_follows_from_periods_and_delays_alone(delays):
    """Over several turns of what repeats itself; nobody publishes anything at time 0."""
    periods = {'previous': 4, 'fast': 4, 'slow': 12, 'slower': 20}

    def due(time_us):
        stamps = {name: time_us - delays.get(name, 0) for name in periods}
        return {name for name, stamp in stamps.items() if stamp > 0 and not stamp % periods[name]}

    block = block_of(periods, 4, delays)
    for t in range(4, 401, 4):
        assert block.synchronizer.lacking == due(t)
        for name in due(t):
            block.put(name, t - delays.get(name, 0), name)
    assert [(t, set(items)) for t, items in block.calls] == [(t, due(t)) for t in range(4, 401, 4)]


@pytest.mark.parametrize(('delay', 'ahead'), [(0, 8), (4, 4)])
def test_what_is_ahead_was_left_by_the_run_before(delay, ahead):
    block = block_of({'a': 4, 'b': 4}, 4, {'a': delay})
    before = waits_for(block.synchronizer)
    block.put('a', ahead, 'old')
    assert waits_for(block.synchronizer) == before
    block.put('a', 4 - delay, 'new')
    block.put('b', 4, 'b')
    assert [t for t, _ in block.calls] == [4]
    assert 'old' not in block.calls[0][1].values()
    assert waits_for(block.synchronizer) == {'a': 4 - delay, 'b': 4}


def test_a_sensor_drops_the_steps_between_its_periods():
    arrivals = [('truth', t) for t in range(4, 41, 4)]
    assert [t for t, _ in calls(arrivals, {'truth': 4}, 20)] == [20, 40]


def test_nothing_is_complete_before_all_is_there():
    assert calls([('a', 4), ('a', 8)], {'a': 4, 'b': 4}, 4) == []


def test_an_old_stamp_is_dropped():
    found = calls([('a', 4), ('a', 4), ('a', 0), ('a', 8)], {'a': 4}, 4)
    assert found == [(4, {'a': ('a', 4)}), (8, {'a': ('a', 8)})]


def test_a_message_that_is_repeated_does_not_take_the_place_of_the_first():
    block = block_of({'a': 4, 'b': 4}, 4)
    block.put('a', 4, 'first')
    block.put('a', 4, 'repeated')
    block.put('b', 4, 'b')
    assert block.calls == [(4, {'a': 'first', 'b': 'b'})]


def test_what_is_lacking_is_what_has_not_come():
    block = block_of({'a': 4, 'b': 4, 'c': 8}, 4)
    block.put('a', 4, 1)
    assert block.synchronizer.lacking == {'b'}
    block.put('b', 4, 1)
    assert block.synchronizer.lacking == {'a', 'b', 'c'}


def test_only_what_is_used_is_read():
    synchronizer, reads = StampSynchronizer([input_of('a', 4)], 20), []

    def read():
        reads.append('a')
        return 'value'

    for stamp_us in 4, 8, 12, 24, 20, 20:
        synchronizer.put('a', stamp_us, read)
    assert reads == ['a']
    assert synchronizer.take() == {'a': 'value'}


def test_nobody_waits_for_a_sensor_without_a_measurement():
    block = block_of({'a': 4, 'b': 4}, 4)
    block.put('a', 4, 1)
    block.put('b', 4, NO_MEASUREMENT)
    block.put('b', 8, NO_MEASUREMENT)
    block.put('a', 8, NO_MEASUREMENT)
    block.put('b', 12, 3)
    block.put('a', 12, 2)
    assert block.calls == [(4, {'a': 1}), (8, {}), (12, {'a': 2, 'b': 3})]


def test_what_is_waited_for_is_known_with_its_last_stamp():
    block = block_of({'a': 4, 'b': 8}, 4)
    assert waits_for(block.synchronizer) == {'a': NEVER_US}
    block.put('a', 4, 1)
    assert waits_for(block.synchronizer) == {'a': 4, 'b': NEVER_US}


def test_a_held_input_keeps_its_last_value_while_none_is_due():
    block = Block([input_of('a', 4), input_of('wind', 12, is_held=True)], 4)
    for t in range(4, 29, 4):
        if t % 12 == 0:
            block.put('wind', t, f'wind of {t}')
        block.put('a', t, t)
    assert block.calls == [
        (4, {'a': 4}), (8, {'a': 8}),
        *((t, {'a': t, 'wind': f'wind of {t - t % 12}'}) for t in range(12, 29, 4))]


def test_what_is_not_held_is_given_once():
    block = block_of({'a': 4, 'slow': 8}, 4)
    for name, t in [('a', 4), ('a', 8), ('slow', 8), ('a', 12)]:
        block.put(name, t, t)
    assert block.calls[1:] == [(8, {'a': 8, 'slow': 8}), (12, {'a': 12})]


class Fix(typing.NamedTuple):
    """A value that comes in two messages."""

    position: str = ''
    velocity: str = ''
    satellites: int = 0


ORDERS = list(itertools.permutations(['fix', 'velocity', 'other']))
PARTS = [input_of('fix', 4), input_of('velocity', 4, part_of='fix'), input_of('other', 4)]


@pytest.mark.parametrize('order', ORDERS)
def test_parts_are_joined_into_the_whole_value(order):
    block = Block(PARTS, 4)
    values = {'fix': Fix('there', satellites=7), 'velocity': {'velocity': 'fast'}, 'other': 1}
    for name in order:
        block.put(name, 4, values[name])
    assert block.calls == [(4, {'fix': Fix('there', 'fast', 7), 'other': 1})]


@pytest.mark.parametrize('order', ORDERS)
def test_without_a_measurement_there_are_no_parts(order):
    block = Block(PARTS, 4)
    values = {'fix': NO_MEASUREMENT, 'velocity': NO_MEASUREMENT, 'other': 1}
    for name in order:
        block.put(name, 4, values[name])
    assert block.calls == [(4, {'other': 1})]


def test_after_a_reset_it_waits_for_the_first_time_and_holds_nothing():
    block = Block([input_of('a', 4), input_of('wind', 4, is_held=True)], 4)
    for name, t in [('wind', 4), ('a', 4), ('wind', 8)]:
        block.put(name, t, f'{name} of {t}')
    block.synchronizer.reset()
    assert block.synchronizer.next_us == 4
    assert waits_for(block.synchronizer) == {'a': NEVER_US, 'wind': NEVER_US}
    block.put('a', 4, 'again')
    block.put('wind', 4, NO_MEASUREMENT)
    assert block.calls[1:] == [(4, {'a': 'again'})]
