# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each vehicle is given the wakes of the others of a period before, of those that are there."""
import pytest

from px4_sim_ros.model.collisions import Hull
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import COLLISION, COMMAND, HULL, WAKE, WAKES
from px4_sim_ros.step.lane import Lane
from px4_sim_ros.step.presence import Change, Presence, PresenceSchedule
from px4_sim_ros.step.runner import Exchange, Group, run_groups

STEP_US, PERIOD_US = 4000, 20_000


class Fake:
    """Stands for a block of a vehicle: notes the wakes it is given, and puts out one of its own."""

    wants_new_begin = False

    def __init__(self, name, vehicle):
        self.name, self.vehicle, self.given = name, vehicle, {}

    def reset(self):
        pass

    def begin_again(self, time_us):
        pass

    def leave(self):
        pass

    def record_nondeterminism(self, sentence):
        pass

    def step(self, time_us, inputs):
        if self.name == 'wind':
            if WAKES in inputs:
                self.given[time_us] = inputs[WAKES]
            return {'wind': None}
        if self.name == 'hil_bridge':
            return {COMMAND: ()}
        return {WAKE: f'{self.vehicle} at {time_us}'} if time_us % PERIOD_US == 0 else {}


@pytest.fixture
def fleet():
    """Return what runs vehicles of these presences, and their wind blocks."""
    configuration = load_configuration(None, {'': {'downwash': True}})

    def make(**presences):
        groups = [Group(vehicle, configuration.graph, configuration.world, {
            name: Fake(name, vehicle) for name in ('wind', 'dynamics', 'hil_bridge')})
            for vehicle in presences]
        clock = LockstepClock(STEP_US, 0.0)
        runner = run_groups(groups, clock, presences=PresenceSchedule(presences))

        def step(until_us):
            clock.step((until_us - clock.complete_us) // STEP_US)
            while clock.complete_us < until_us:
                runner.run()
        return runner, step, {group.vehicle: group.blocks['wind'].given for group in groups}
    return make


def test_each_gets_the_wakes_of_the_others_of_the_period_before(fleet):
    _, step, given = fleet(a=Presence(), b=Presence(), c=Presence())
    step(40_000)
    assert given == {
        'a': {20_000: (), 40_000: ('b at 20000', 'c at 20000')},
        'b': {20_000: (), 40_000: ('a at 20000', 'c at 20000')},
        'c': {20_000: (), 40_000: ('a at 20000', 'b at 20000')}}


def test_only_who_is_there_blows(fleet):
    _, step, given = fleet(a=Presence(), late=Presence(24_000), guest=Presence(0, 60_000))
    step(100_000)
    assert given['a'] == {20_000: (), 40_000: ('guest at 20000',),
                          60_000: ('guest at 40000', 'late at 40000'),
                          80_000: ('late at 60000',), 100_000: ('late at 80000',)}
    assert given['late'] == {40_000: ('a at 20000', 'guest at 20000'),
                             60_000: ('a at 40000', 'guest at 40000'),
                             80_000: ('a at 60000',), 100_000: ('a at 80000',)}
    assert max(given['guest']) == 60_000


def test_who_is_removed_by_hand_blows_no_more(fleet):
    runner, step, given = fleet(a=Presence(), b=Presence())
    step(52_000)
    runner.change(Change('b', 52_000, False, 'removed by hand'))
    step(80_000)
    assert given['a'][40_000] == ('b at 20000',)
    assert (given['a'][60_000], given['a'][80_000]) == ((), ())


def test_the_order_of_the_vehicles_does_not_matter(fleet):
    _, step, given = fleet(c=Presence(), a=Presence(), b=Presence())
    step(40_000)
    assert given['b'][40_000] == ('a at 20000', 'c at 20000')


def test_who_collides_gets_the_same_force_in_any_order():
    """Of the state of the step before; what is far away gets none."""
    configuration = load_configuration(None, {'': {'collisions': True}})
    motions = {'a': ((0.1, 0.2, 3.0), (1.0, 0.3, 0.0)), 'b': ((0.7, 0.3, 3.1), (-1.0, 0.1, 0.0)),
               'c': ((0.3, 0.7, 2.9), (0.0, -1.7, 0.2)), 'd': ((9.0, 0.0, 3.0), (-1.0, 0.0, 0.0))}
    hulls = {name: Hull(*motion, (0.8, 0.4, -0.2, 0.4), (1.0, 2.0, -3.0), 1.5, (
        30.0, 31.0, 18.0, 1.0, 2.0, 0.0), 0.4, 1900.0, 0.7) for name, motion in motions.items()}
    found = []
    for names in 'abcd', 'dcba', 'bdca':
        lanes = [Lane(name) for name in names]
        for lane in lanes:
            lane.values[HULL] = hulls[lane.vehicle]
        exchange = Exchange.of(configuration.graph, configuration.world)
        assert not any(its[COLLISION] for its in exchange.give(4000, lanes).values())
        exchange.take(4000, lanes)
        found.append({name: exchange.give(8000, lanes)[name] for name in 'abcd'})
    assert found[0] == found[1] == found[2]
    assert found[0]['d'] == {COLLISION: ()} and all(found[0][name][COLLISION] for name in 'abc')
    assert [sum(axis) for axis in zip(*(found[0][name][COLLISION][:3] for name in 'abc'))] == (
        pytest.approx([0.0, 0.0, 0.0], abs=1e-12))
    assert all(any(found[0][name][COLLISION][3:]) for name in 'abc')


def test_without_it_there_is_nothing(fleet):
    configuration = load_configuration(None, {})
    assert Exchange.of(configuration.graph, configuration.world) is None
    assert not {WAKE, WAKES} & set(configuration.graph.topics)
    assert 'wind' not in configuration.graph.nodes


def test_a_replay_has_those_of_the_recording(fleet):
    configuration = load_configuration(None, {'': {'downwash': True, 'commands': 'recording'}})
    assert Exchange.of(configuration.graph, configuration.world) is None
    assert configuration.graph.topics[WAKES].publisher == 'wake_player'
