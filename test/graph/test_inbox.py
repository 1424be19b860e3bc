"""The inbox: joins by stamp, whatever the order of arrival."""
import itertools
import random

from px4_sim_ros.nodes.inbox import Inbox


def fired(arrivals, periods, period):
    """Return what an inbox fires for (name, time) arrivals."""
    calls = []
    inbox = Inbox(periods, period, lambda t, items: calls.append((t, dict(items))))
    for name, time_us in arrivals:
        inbox.put(name, time_us, (name, time_us))
    return calls


def test_every_order_of_arrival_gives_the_same_calls():
    periods = {'fast': 4, 'slow': 8}
    arrivals = [('fast', 4), ('fast', 8), ('slow', 8), ('fast', 12)]
    expected = [
        (4, {'fast': ('fast', 4)}),
        (8, {'fast': ('fast', 8), 'slow': ('slow', 8)}),
        (12, {'fast': ('fast', 12)})]
    for order in itertools.permutations(arrivals):
        assert fired(order, periods, 4) == expected


def test_a_long_random_order_is_fired_in_the_order_of_time():
    periods = {'a': 4, 'b': 20, 'c': 100}
    arrivals = [(n, t) for n, p in periods.items() for t in range(p, 2001, p)]
    random.Random(3).shuffle(arrivals)
    times = [t for t, _ in fired(arrivals, periods, 4)]
    assert times == list(range(4, 2001, 4))


def test_a_sensor_drops_the_steps_between_its_periods():
    arrivals = [('truth', t) for t in range(4, 41, 4)]
    assert [t for t, _ in fired(arrivals, {'truth': 4}, 20)] == [20, 40]


def test_nothing_fires_before_all_is_there():
    assert fired([('a', 4), ('a', 8)], {'a': 4, 'b': 4}, 4) == []


def test_an_old_stamp_is_dropped():
    assert len(fired([('a', 4), ('a', 4), ('a', 0), ('a', 8)], {'a': 4}, 4)) == 2


def test_missing_names_who_owes_a_message():
    inbox = Inbox({'a': 4, 'b': 4, 'c': 8}, 4, lambda t, items: None)
    inbox.put('a', 4, 1)
    assert inbox.missing(4) == ['b']
    assert inbox.missing(8) == ['a', 'b', 'c']


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
