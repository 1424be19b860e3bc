# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several vehicles in one runner: one step, in which none waits for another's reply to send."""
import pytest
from small_graph import GRAPH, STEP_US, WORLD, Noted, Process

from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.graph import CLOCK
from px4_sim_ros.step.presence import Change, Presence, PresenceSchedule
from px4_sim_ros.step.runner import ALL_NODES, Group, run_groups

NAMES = 'one', 'two', 'three'


class Fleet:
    """Vehicles with the blocks of the small graph, which all note into one list."""

    heard = ALL_NODES

    def __init__(self, vehicles=NAMES):
        self.notes, self.sent = [], []
        self.blocks = {vehicle: {name: Noted(name, Notes(vehicle, self.notes))
                                 for name in GRAPH.nodes} for vehicle in vehicles}
        self.clock = LockstepClock(STEP_US, 0.0)
        self.runner = run_groups([
            Group(vehicle, GRAPH, WORLD, blocks) for vehicle, blocks in self.blocks.items()],
            self.clock, self)

    def send(self, outputs):
        self.sent += outputs

    def run(self):
        while self.runner.run():
            pass

    def step(self, count=1):
        self.clock.step(count)
        self.run()

    def given(self, vehicle):
        return [note[1:] for note in self.notes if note[0] == vehicle]


class Notes:
    """Takes notes with the name of the vehicle."""

    def __init__(self, vehicle, notes):
        self.vehicle, self.notes = vehicle, notes

    def append(self, note):
        self.notes.append((self.vehicle, *note))


@pytest.fixture
def fleet():
    return Fleet()


def test_all_frames_are_sent_before_any_reply_is_awaited(fleet):
    fleet.step(3)
    for time_us in (4000, 8000, 12_000):
        order = [(vehicle, name) for vehicle, t, name, _ in fleet.notes
                 if t == time_us and name in ('pilot', 'reply')]
        assert order == [*((v, 'pilot') for v in NAMES), *((v, 'reply') for v in NAMES)]


def test_a_step_is_complete_with_the_last_command(fleet):
    fleet.blocks['two']['pilot'].has_reply = False
    fleet.step()
    assert fleet.clock.steps == 0
    # The others have been answered, and are not asked again.
    assert [n[0] for n in fleet.notes if n[2] == 'reply'].count('one') == 1
    assert fleet.runner.under_way == ('two/pilot', 4000)
    fleet.blocks['two']['pilot'].has_reply = True
    fleet.run()
    assert fleet.clock.steps == 1
    assert fleet.runner.under_way == ('', 4000)


def test_a_vehicle_is_given_the_same_however_many_there_are(fleet):
    alone = Process()
    alone.step(20)
    fleet.step(20)
    for vehicle in NAMES:
        assert fleet.given(vehicle) == alone.notes


def test_two_hundred_fly_in_one_step():
    alone, many = Process(), [f'v{i}' for i in range(200)]
    fleet = Fleet(many)
    alone.step(5)
    fleet.step(5)
    assert fleet.clock.steps == 5
    notes = {vehicle: [] for vehicle in many}
    for vehicle, *note in fleet.notes:
        notes[vehicle].append(tuple(note))
    assert all(its == alone.notes for its in notes.values())


def test_what_is_put_out_has_the_name_of_its_vehicle(fleet):
    fleet.step(2)
    fleet.runner.flush()
    alone = Process()
    alone.step(2)
    alone.runner.flush()
    own = [output for output in alone.sent if output.block != 'manager']
    for vehicle in NAMES:
        assert [o for o in fleet.sent if o.vehicle == vehicle] == [
            o._replace(vehicle=vehicle) for o in own]
    assert [o.block for o in fleet.sent if not o.vehicle] == ['manager'] * 2      # the clock, once


def test_blocks_have_their_vehicle_in_their_name(fleet):
    assert set(fleet.runner.slots) == {f'{v}/{name}' for v in NAMES for name in GRAPH.nodes}
    fleet.step()
    assert fleet.runner.busy_s()['two/body'] > 0.0


def test_a_reset_begins_again_for_all(fleet):
    fleet.step(3)
    before = list(fleet.notes)
    fleet.notes.clear()
    for blocks in fleet.blocks.values():
        for block in blocks.values():
            block.reset()
    fleet.runner.reset()
    fleet.clock.reset()
    fleet.step(3)
    assert fleet.notes == before


def on_the_way(presences):
    """Return a fleet with these presences, and the list of what is told of them."""
    fleet, told = Fleet(), []
    fleet.runner = run_groups([
        Group(vehicle, GRAPH, WORLD, blocks) for vehicle, blocks in fleet.blocks.items()],
        fleet.clock, fleet, PresenceSchedule(presences))
    fleet.runner.on_change = told.append
    return fleet, told


def test_one_joins_and_another_one_leaves_at_boundaries_of_steps():
    fleet, told = on_the_way({'two': Presence(40_000), 'three': Presence(0, 24_000)})
    fleet.step(20)
    alone = Process()
    alone.step(20)
    assert fleet.given('one') == alone.notes
    assert fleet.given('three') == [note for note in alone.notes if note[0] <= 24_000]
    # It is given at the same phases what one alone is, from the first step on.
    assert [note[:2] for note in fleet.given('two')] == [
        note[:2] for note in alone.notes if note[0] > 40_000]
    assert told == [Change('three', 24_000, False), Change('two', 40_000, True)]
    assert fleet.clock.steps == 20
    assert fleet.runner.slots['two/body'].steps == 10
    assert fleet.runner.waits_for('body', 'three') == (0, {})


def test_a_step_without_vehicles_is_complete_at_once():
    fleet, told = on_the_way({name: Presence(0, 8000) for name in NAMES})
    fleet.step(5)
    assert fleet.clock.steps == 5
    assert len(told) == 3


def test_one_that_holds_the_step_is_taken_out_by_hand_and_the_others_go_on():
    fleet, told = on_the_way({})
    fleet.step(2)
    fleet.blocks['two']['pilot'].has_reply = False
    fleet.step()
    assert fleet.runner.awaited == ['two']
    fleet.runner.change(Change('two', 8000, False, 'it was removed'))
    assert told[-1].text == 'it was removed'
    fleet.run()
    fleet.step(2)
    assert fleet.clock.steps == 5
    assert [note[0] for note in fleet.given('two')][-1] == 12_000
    # It comes back, where it began.
    fleet.blocks['two']['pilot'].has_reply = True
    fleet.runner.change(Change('two', 20_000, True, 'it was added'))
    fleet.notes.clear()
    fleet.step(2)
    assert {note[0] for note in fleet.given('two')} == {24_000, 28_000}
    assert told[-1] == Change('two', 20_000, True, 'it was added')
    # A reset knows nothing of that.
    fleet.runner.presences.reset()
    fleet.runner.reset()
    assert fleet.runner.presences.is_constant


def test_one_that_holds_the_step_begins_again_after_it():
    fleet, told = on_the_way({})
    fleet.step(2)
    fleet.blocks['two']['pilot'].has_reply = False
    fleet.step()
    fleet.runner.change(Change('two', 12_000, True, 'it was restarted'))
    fleet.run()
    assert fleet.clock.steps == 3          # by the others
    fleet.blocks['two']['pilot'].has_reply = True
    fleet.notes.clear()
    fleet.step(2)
    assert fleet.clock.steps == 5
    assert {note[0] for note in fleet.given('two')} == {16_000, 20_000}
    assert told == [Change('two', 12_000, True, 'it was restarted')]


def test_where_the_clock_is_elsewhere_it_waits_for_the_time_at_which_it_joins():
    process = Process(has_clock=False)
    process.runner.presences = PresenceSchedule({'': Presence(40_000, 48_000)})
    process.runner.reset()
    process.run()
    for time_us in range(4000, 60_000, 4000):
        for name in 'fan', 'body':
            process.put(name, CLOCK, time_us, None)
        process.run()
    assert {time_us for time_us, _ in process.steps()} == {44_000, 48_000}
    process.runner.change(Change('', 60_000, True, 'it was added'))
    process.run()
    assert process.runner.waits_for('body')[0] == 64_000
