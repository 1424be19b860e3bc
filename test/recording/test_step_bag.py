# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps are recorded whole, by value; what comes beside them has the time of the last one."""
import errno

import bags
import pytest

from px4_sim_ros.recording.bag import step_bag
from px4_sim_ros.recording.bag.reader import Message
from px4_sim_ros.recording.bag.step_bag import StepBag, StepWriter
from px4_sim_ros.step.graph import CLOCK, COMMAND
from px4_sim_ros.step.lane import Output

STEP_US = bags.STEP_US


class Writer:
    """Keeps what is written, as long as there is room."""

    flushed_us = 0

    def __init__(self, room=1000, flush_at_us=0):
        self.flush_at_us = flush_at_us
        self.written, self.room, self.closed = [], room, 0

    def write(self, topic, time_us, data):
        self.write_all(time_us, [(topic, data)])

    def write_all(self, time_us, messages):
        for topic, _ in messages:
            if len(self.written) == self.room:
                raise OSError(errno.ENOSPC, 'No space left on device')
            self.written.append((topic, time_us))

    def close(self):
        self.closed += 1

    def end_text(self, reason):
        return f'the recording ends: {reason}'


def bag_of(writer, beside=(), reports=None):
    run, waiting = bags.description(), list(beside)

    def gather(time_us):
        found = [Message('/rosout', time_us, data) for data in waiting]
        waiting.clear()
        return found

    return StepBag(writer, run.graph, run.world, gather,
                   lambda: reports.append(1) if reports is not None else None)


def step(index):
    time_us = index * STEP_US
    return [Output(time_us, 'manager', {CLOCK: time_us}),
            Output(time_us, 'hil_bridge', {COMMAND: (0.0,) * 4})]


def test_a_step_is_written_when_its_command_is_there():
    writer = Writer()
    bag = bag_of(writer)
    clock, command = step(1)
    bag.send([clock])
    assert (writer.written, bag.complete_us) == ([], 0)
    bag.send([command, step(2)[0]])
    assert writer.written == [(CLOCK, STEP_US), (COMMAND, STEP_US)]
    assert bag.complete_us == STEP_US
    bag.close()
    bag.close()
    assert (len(writer.written), writer.closed) == (2, 1)


def test_what_comes_beside_the_steps_has_the_time_of_the_last_one():
    writer = Writer()
    bag = bag_of(writer, beside=[b'landed'])
    bag.send(step(1))
    bag.send(step(2))
    assert writer.written[2] == ('/rosout', STEP_US)


def test_steps_wait_until_there_are_some_or_a_flush_is_due(monkeypatch):
    monkeypatch.setattr(step_bag, '_AT_ONCE', 6)
    writer = Writer(flush_at_us=4 * STEP_US)
    bag = bag_of(writer)
    counts = []
    for index in range(1, 8):
        bag.send(step(index))
        counts.append(len(writer.written))
    # Three steps, then the two that a flush is due with; from there on it is due with each.
    assert counts == [0, 0, 6, 6, 10, 12, 14]
    assert bag.complete_us == 7 * STEP_US


def test_what_comes_while_time_stands_still_does_not_pile_up():
    writer = Writer(flush_at_us=4 * STEP_US)
    bag = bag_of(writer)
    bag.send(step(1))
    for _ in range(150):
        bag.write([Message('/rosout', STEP_US, b'')])
    assert len(writer.written) == 100


def test_a_bag_has_the_same_bytes_however_many_steps_are_written_at_once(tmp_path, monkeypatch):
    """What comes beside the steps stays in its place between them."""
    run, found = bags.description(), []
    for count in 1, 6, 1000:
        monkeypatch.setattr(step_bag, '_AT_ONCE', count)
        folder = tmp_path / str(count) / 'bag'
        writer = bags.begin_bag(folder, run, flush_us=100_000, split_duration_s=0.3)
        steps = StepWriter(writer, run.graph, run.world, lambda error: pytest.fail(str(error)))
        for index in range(1, 200):
            steps.send(step(index))
            if index % 7 == 0:
                data = bags.serialised('rcl_interfaces/msg/Log')
                steps.write([Message('/rosout', steps.complete_us, data)])
        steps.close()
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert len(found[0]) == 4
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize('room', [0, 3])
def test_a_failure_is_reported_once_and_nothing_is_written_after_it(room):
    writer, reports = Writer(room), []
    bag = bag_of(writer, reports=reports)
    for index in range(1, 5):
        bag.send(step(index))
    bag.close()
    assert bag.problem == 'the recording ends: No space left on device'
    assert (len(writer.written), writer.closed, reports) == (room, 0, [1])
