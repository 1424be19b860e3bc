"""The inbox: joins by stamp, whatever the order of arrival."""
import itertools
import random

import pytest

from px4_sim_ros.step.synchronizer import Inbox


def fired(arrivals, periods, period):
    """Return what an inbox fires for (name, time) arrivals."""
    calls = []
    inbox = Inbox(periods, period, lambda t, items: calls.append((t, dict(items))))
    for name, time_us in arrivals:
        inbox.put(name, time_us, (name, time_us))
    return calls


def test_every_order_of_arrival_within_a_time_gives_the_same_calls():
    periods = {'fast': 4, 'slow': 8, 'also_slow': 8}
    arrivals = [('fast', 8), ('slow', 8), ('also_slow', 8)]
    expected = [
        (4, {'fast': ('fast', 4)}),
        (8, {'fast': ('fast', 8), 'slow': ('slow', 8), 'also_slow': ('also_slow', 8)})]
    for order in itertools.permutations(arrivals):
        assert fired([('fast', 4), *order], periods, 4) == expected


def test_what_is_shuffled_within_a_time_is_fired_in_the_order_of_time():
    periods = {'a': 4, 'b': 20, 'c': 100}
    rng, arrivals = random.Random(3), []
    for t in range(4, 2001, 4):
        due = [(name, t) for name, period in periods.items() if t % period == 0]
        arrivals += rng.sample(due, len(due))
    calls = fired(arrivals, periods, 4)
    assert [t for t, _ in calls] == list(range(4, 2001, 4))
    assert all(set(items) == {n for n, p in periods.items() if t % p == 0} for t, items in calls)


@pytest.mark.parametrize('delays', [{}, {'previous': 4}, {'previous': 4, 'slow': 8}])
def test_what_is_due_follows_from_periods_and_delays_alone(delays):
    """Over several turns of what repeats itself; nobody says anything at time 0."""
    periods = {'previous': 4, 'fast': 4, 'slow': 12, 'slower': 20}

    def due(time_us):
        stamps = {name: time_us - delays.get(name, 0) for name in periods}
        return {name for name, stamp in stamps.items() if stamp > 0 and not stamp % periods[name]}

    calls = []
    inbox = Inbox(periods, 4, lambda t, items: calls.append((t, set(items))), delays)
    for t in range(4, 401, 4):
        assert inbox.lacking == due(t)
        for name in due(t):
            inbox.put(name, t - delays.get(name, 0), name)
    assert calls == [(t, due(t)) for t in range(4, 401, 4)]


@pytest.mark.parametrize(('delay', 'ahead'), [(0, 8), (4, 4)])
def test_what_is_ahead_was_left_by_the_run_before(delay, ahead):
    calls = []
    inbox = Inbox({'a': 4, 'b': 4}, 4, lambda t, items: calls.append((t, items)), {'a': delay})
    before = inbox.waits_for()
    inbox.put('a', ahead, 'old')
    assert inbox.waits_for() == before
    inbox.put('a', 4 - delay, 'new')
    inbox.put('b', 4, 'b')
    assert [t for t, _ in calls] == [4]
    assert inbox.waits_for() == {'a': 4 - delay, 'b': 4}


def test_a_sensor_drops_the_steps_between_its_periods():
    arrivals = [('truth', t) for t in range(4, 41, 4)]
    assert [t for t, _ in fired(arrivals, {'truth': 4}, 20)] == [20, 40]


def test_nothing_fires_before_all_is_there():
    assert fired([('a', 4), ('a', 8)], {'a': 4, 'b': 4}, 4) == []


def test_an_old_stamp_is_dropped():
    assert len(fired([('a', 4), ('a', 4), ('a', 0), ('a', 8)], {'a': 4}, 4)) == 2


def test_what_is_lacking_is_what_has_not_come():
    inbox = Inbox({'a': 4, 'b': 4, 'c': 8}, 4, lambda t, items: None)
    inbox.put('a', 4, 1)
    assert inbox.lacking == {'b'}
    inbox.put('b', 4, 1)
    assert inbox.lacking == {'a', 'b', 'c'}


def test_nobody_waits_for_what_is_absent():
    calls = []
    inbox = Inbox({'a': 4, 'b': 4}, 4, lambda t, items: calls.append((t, items)))
    inbox.put('a', 4, 1)
    inbox.put('b', 4, None)
    inbox.put('b', 8, None)
    inbox.put('a', 8, None)
    inbox.put('b', 12, 3)
    inbox.put('a', 12, 2)
    assert calls == [(4, {'a': 1}), (8, {}), (12, {'a': 2, 'b': 3})]


def test_what_is_waited_for_is_told_with_its_last():
    inbox = Inbox({'a': 4, 'b': 8}, 4, lambda t, items: None)
    assert inbox.waits_for() == {'a': -1}
    inbox.put('a', 4, 1)
    assert inbox.waits_for() == {'a': 4, 'b': -1}
